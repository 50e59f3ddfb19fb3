"""`demo` and `crosscheck`."""
import json
import os
import re
import subprocess
import sys

import pytest

from mcp_ref.revisions import NAMES
from tests.support.outside import SPEC

from .running import ROOT, here, one_line_of, run


def steps_of(out):
    """The lines of each step, with the sentence on one line."""
    parts = [part.splitlines() for part in out.split("\n\n")[1:]]
    for lines in parts:
        while not lines[0].endswith("."):
            lines[:2] = [lines[0] + " " + lines[1].strip()]
    return parts


@pytest.mark.parametrize("words, marks", [([], ("tools/call -", "<-")), (["--wire"], ("C> ", "S> "))])
def test_demo_runs_the_main_job_in_numbered_steps_with_the_messages_of_each(words, marks):
    done = run("demo", *words)
    assert done.returncode == 0, done.err
    *steps, last = steps_of(done.out)
    assert [step[0].partition(". ")[0] for step in steps] == [str(number) for number in range(1, 13)]
    for number, said in ((3, "=> hello, wire"), (4, "=> {'result': 5}"), (5, "'progress': [1, 2, 3]"),
                         (6, "=> reserved 12A"), (9, "=> Hello, you!"), (12, "=> done"), (3, marks[0]), (3, marks[1])):
        assert said in "\n".join(steps[number - 1]), number
    for step in steps[:-1]:
        assert step[0].endswith(".") and "   => " in step[-1]
    assert last[0].startswith("Next: python3 -m mcp_ref demo --wire ") and not done.err


def test_demo_shows_a_ladder_of_at_most_80_columns_without_the_wire():
    done = run("demo")
    steps = steps_of(done.out)
    assert re.fullmatch(r" {3}server/discover -+>", steps[0][1]) and re.fullmatch(r" {3}<-+ result", steps[0][2])
    assert steps[5][2].endswith("- input_required elicitation")
    assert max(map(len, done.out.splitlines())) <= 80 and "_meta" not in done.out and "\x1b" not in done.out


def test_demo_with_the_wire_shows_meta_once_for_each_side():
    done = run("demo", "--wire")
    steps = steps_of(done.out)
    for number, words in ((1, "S> result #1 server/discover"), (6, "elicitation/create")):
        assert words in "\n".join(steps[number - 1])
    assert all("C> " in step[1] and "S> " in step[-2] for step in steps[:11])
    assert done.out.count('"_meta"') <= 2 and '"_meta"' in steps[0][1] and '"_meta"' not in "".join(steps[2])


@pytest.mark.skipif(os.name == "nt", reason="NOT CHECKED: there are no terminals to make here")
@pytest.mark.parametrize("words, columns, colour", [
    ([], 60, True), (["--wire"], 60, True), ([], 60, False), ([], 200, True)])
def test_demo_fits_a_terminal_and_has_colours_there(words, columns, colour):
    done = on_terminal(["demo", *words], columns, {} if colour else {"NO_COLOR": "1"})
    assert ("\x1b[36m" in done and "\x1b[32m" in done) is colour
    lines = re.sub(r"\x1b\[[0-9;]*m", "", done).splitlines()
    assert "   => hello, wire" in lines
    wide = [line for line in lines if len(line) > min(columns, 100) and not line.startswith("   => ")]
    assert not wide


def on_terminal(words, columns, environment):
    """What a command prints on a terminal of so many columns."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TERM")}
    with subprocess.Popen([sys.executable, "-m", "mcp_ref", *words], cwd=str(ROOT), stdin=subprocess.DEVNULL,
                          stdout=theirs, env=dict(env, TERM="xterm", **environment)) as process:
        os.close(theirs)
        found = bytearray()
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux has this error for a terminal whose other side is closed
                part = b""
            if not part:
                break
            found += part
    os.close(ours)
    assert process.returncode == 0
    return found.decode().replace("\r\n", "\n")


def test_demo_says_what_was_not_as_expected(monkeypatch, capsys):
    from mcp_ref.cli import demo

    monkeypatch.setattr(demo, "STEPS", tuple(
        step._replace(act=lambda client: None) if step.name == "add" else step for step in demo.STEPS))
    assert demo.main() == 1 and "=> not what was expected" in capsys.readouterr().out


def test_crosscheck_needs_a_folder_with_all_schemas(tmp_path, capsys):
    code, out, err = here(capsys, "crosscheck", str(tmp_path))
    assert (code, out) == (2, "") and all(name in one_line_of(err) for name in NAMES)


@pytest.mark.needs("specification")
def test_crosscheck_finds_what_a_schema_has_and_the_classes_have_not(tmp_path, capsys):
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
