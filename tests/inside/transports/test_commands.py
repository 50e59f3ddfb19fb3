"""Command lines of Windows, as functions: splitting one into words, and quoting words for a batch file."""
import itertools
import shlex
import subprocess
from typing import Any, List

import pytest

from mcp_ref.errors import ConnectFailed
from mcp_ref.transports.lines import process
from mcp_ref.transports.lines.process import arguments, command_line, split_for_windows

WORDS = [
    ('server.exe --name "a b"', ["server.exe", "--name", "a b"]),
    ('server.exe --name="a b"c x', ["server.exe", "--name=a bc", "x"]),
    ('"C:\\Program Files\\node.exe" a\\b "c:\\d e\\\\" f', ["C:\\Program Files\\node.exe", "a\\b", "c:\\d e\\", "f"]),
    ('x "say ""hi"" twice"', ["x", 'say "hi" twice']),
    ('x {\\"a\\":1} \\\\\\"q', ["x", '{"a":1}', '\\"q']),
    ("x 'a b'", ["x", "'a", "b'"]),
    ('x "" y', ["x", "", "y"]),
    ("  x\t y\\\\ ", ["x", "y\\\\"]),
    ("\\\\share\\tool.exe a\\", ["\\\\share\\tool.exe", "a\\"]),
    ("", []),
]


@pytest.mark.parametrize("text, words", WORDS)
def test_a_command_line_of_windows_is_split_as_its_programs_do(text: str, words: List[str]) -> None:
    assert split_for_windows(text) == words


def test_what_python_joins_for_windows_is_split_into_the_same_words() -> None:
    """All words of up to four of these characters, by themselves and between two others."""
    for length in range(5):
        for signs in itertools.product('a \\"\t', repeat=length):
            words = ["x", "".join(signs), "".join(signs) + "z", "y"]
            assert split_for_windows(subprocess.list2cmdline(words)) == words


def test_a_quotation_that_does_not_end_is_an_error_there_too() -> None:
    with pytest.raises(ConnectFailed, match="No closing quotation"):
        arguments('server.exe "unclosed', windows=True)
    assert arguments('"my server.exe" --json="{}"', windows=True) == ["my server.exe", "--json={}"]
    assert arguments("'my server' x", windows=False) == shlex.split("'my server' x") == ["my server", "x"]


BATCH = "C:\\node\\npx.CMD"


@pytest.mark.parametrize("word, quoted", [
    ("-y", "-y"), ("@scope/server-1.0", "@scope/server-1.0"), ("C:\\a\\b", "C:\\a\\b"), ("", '""'),
    ("https://h.example/x?a=1&b=2", '"https://h.example/x?a=1&b=2"'), ("a&calc.exe", '"a&calc.exe"'),
    ("a|b>c<d^e(f)", '"a|b>c<d^e(f)"'), ("two words", '"two words"'), ("a,b;c=d", '"a,b;c=d"'),
    ("C:\\two words\\", '"C:\\two words\\\\"'), ("caf\xe9", '"caf\xe9"'), ("*?", '"*?"'),
])
def test_the_arguments_of_a_batch_file_are_quoted_so_that_they_run_nothing(word: str, quoted: str) -> None:
    assert command_line([BATCH, word], windows=True) == BATCH + " " + quoted
    assert split_for_windows(quoted) == [word]  # as the program behind it reads it


@pytest.mark.parametrize("word", [
    'a"&calc.exe&"', "%PATH%", "%CMDCMDLINE:~-1%&calc", "!x!", "a\r\ncalc", "a\ncalc", "\0",
])
@pytest.mark.parametrize("batch", [BATCH, "x.bat", "x.Bat", "x.cmd.", "x.cmd ", "x.bat. ."])
def test_what_cannot_be_quoted_for_a_batch_file_is_refused(batch: str, word: str) -> None:
    with pytest.raises(ConnectFailed, match="batch file"):
        command_line([batch, "-y", word], windows=True)


@pytest.mark.parametrize("program", ["C:\\python.exe", "cmd", "a.bat.exe", "C:\\x.cmd\\tool"])
def test_programs_and_other_systems_get_the_words_as_they_are(program: str) -> None:
    words = [program, '"%PATH%"', "a&b"]
    assert command_line(words, windows=True) == words
    assert command_line(["x.bat", '"%"'], windows=False) == ["x.bat", '"%"']


def test_a_refused_batch_file_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp_ref.transports.lines.child import StdioChild

    def for_windows(words: Any) -> Any:
        return command_line(["x.bat", *words[1:]], windows=True)

    before = len(process._LIVE)
    monkeypatch.setattr(process, "command_line", for_windows)
    with pytest.raises(ConnectFailed, match="'%' in an argument"):
        StdioChild(["true", "%PATH%"]).open()
    assert len(process._LIVE) == before
