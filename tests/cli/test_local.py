"""`demo` and `crosscheck`."""
import json

from mcp_ref.revisions import NAMES
from tests.meta.facts import SPEC, missing

from .running import here, one_line_of, run


def test_demo_runs_the_main_job_with_the_wire_visible(tmp_path):
    done = run("demo")
    assert done.returncode == 0, done.err
    for line in ("S> result #1 server/discover", "elicitation/create", "progress: [1, 2, 3]", "reserve: reserved 12A",
                 "greeting://you: Hello, you!"):
        assert line in done.out


def test_crosscheck_needs_a_folder_with_all_schemas(tmp_path, capsys):
    code, out, err = here(capsys, "crosscheck", str(tmp_path))
    assert (code, out) == (2, "") and all(name in one_line_of(err) for name in NAMES)


def test_crosscheck_finds_what_a_schema_has_and_the_classes_have_not(tmp_path, capsys):
    if not SPEC.is_dir():
        missing("NOT CHECKED: no copy of the specification")
    for name in NAMES:
        schema = json.loads((SPEC / name / "schema.json").read_text(encoding="utf-8"))
        if name == NAMES[0]:
            schema["definitions"]["Tool"]["properties"]["novel"] = {"type": "string"}
        (tmp_path / name).mkdir()
        (tmp_path / name / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    code, out, err = here(capsys, "crosscheck", str(tmp_path), "--json")
    found = json.loads(out)
    assert code == 1 and len(found["differences"]) == 1 and "Tool" in found["differences"][0] and found["errata"]
    code, out, err = here(capsys, "crosscheck", str(tmp_path))
    assert code == 1 and "difference: " in out
