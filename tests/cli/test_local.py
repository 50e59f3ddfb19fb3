"""`demo` and `crosscheck`."""
import json

from mcp_ref.revisions import NAMES
from tests.meta.facts import SPEC, missing

from .running import here, one_line_of, run


def test_demo_runs_the_main_job_in_numbered_steps_with_the_wire_of_each(tmp_path):
    done = run("demo")
    assert done.returncode == 0, done.err
    *steps, last = [part.splitlines() for part in done.out.split("\n\n")[1:]]
    assert [step[0].partition(". ")[0] for step in steps] == [str(number) for number in range(1, 13)]
    for number, words in ((1, "S> result #1 server/discover"), (3, "=> hello, wire"), (4, "=> {'result': 5}"),
                          (5, "'progress': [1, 2, 3]"), (6, "elicitation/create"), (6, "=> reserved 12A"),
                          (9, "=> Hello, you!"), (12, "=> done")):
        assert words in "\n".join(steps[number - 1]), number
    for step in steps[:-1]:
        assert step[0].endswith(".") and "C> " in step[1] and "S> " in step[-2] and "   => " in step[-1]
    assert done.out.count('"_meta"') <= 2 and '"_meta"' in steps[0][1] and '"_meta"' not in "".join(steps[2])
    assert last[0].startswith("Next: python3 -m mcp_ref explain ") and not done.err


def test_demo_says_what_was_not_as_expected(monkeypatch, capsys):
    from mcp_ref import demo

    monkeypatch.setattr(demo, "STEPS", tuple(
        step._replace(act=lambda client: None) if step.name == "add" else step for step in demo.STEPS))
    assert demo.main() == 1 and "=> not what was expected" in capsys.readouterr().out


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
