"""Every code block of the README, and of the pages in `examples/`, runs as it stands; and the README stays short.

Blocks of `python`, `sh` and `console` run in a folder of their own that looks like the checkout (links to the package,
the examples and the Makefile), with this interpreter as `python3`; of a `console` block the lines after `$ `. There
`server.py` is the first server of the README. A block that cannot run here has `<!-- no-run: reason -->` on the line
above it. Of the `json` blocks, which are for hosts, each server is started that has a command.
"""
import ast
import builtins
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Set

import pytest

from mcp_ref import Server, connect
from tests.meta.facts import ROOT, expect_nothing
from tests.support.patience import WAIT

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "examples").rglob("*.md"))]
MOST_BYTES = 14 * 1024
WIDEST = 125
LINKED = ("mcp_ref", "examples", "Makefile", "setup.cfg")
BLOCK = re.compile(r"^(?:<!--\s*no-run:(?P<reason>.*?)-->\s*\n)?```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```\s*$",
                   re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A code block: the line it begins at, its language, its code, and the reason why it is not run ("" if it is)."""

    line: int
    language: str
    code: str
    reason: str

    @property
    def runs(self) -> bool:
        """Is it to be run?"""
        return self.language in COMMANDS and not self.reason


def blocks(text: str) -> Iterator[Block]:
    """The code blocks of a page in Markdown."""
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("code"))
        yield Block(line, found["language"], found["code"], (found["reason"] or "").strip())


def prompted(code: str) -> str:
    """What a person types in a transcript of a console."""
    return "\n".join(line[2:] for line in code.splitlines() if line.startswith("$ "))


COMMANDS: Dict[str, "List[str]"] = {"python": [sys.executable, "-c"], "sh": ["sh", "-euc"], "console": ["sh", "-euc"]}


def run(block: Block, folder: pathlib.Path) -> "subprocess.CompletedProcess[bytes]":
    """Run a block in a folder that looks like the checkout, and that shares its bytecode."""
    for name in LINKED:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    (folder / "server.py").write_text(SERVER, encoding="utf-8")
    code = prompted(block.code) if block.language == "console" else block.code
    environment = dict(os.environ, PYTHONPATH=str(ROOT),
                       PATH=os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", ""))
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARGS", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)  # of the `make test` that runs this
    return subprocess.run([*COMMANDS[block.language], code], cwd=str(folder), env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT)


ALL = [(page.name, block) for page in PAGES if page.is_file() for block in blocks(page.read_text(encoding="utf-8"))]
"""The page and the block, for all of them."""
EACH = {block.code: (page, block) for page, block in reversed(ALL) if block.runs}
"""Code that runs -> its first place: what several pages show runs once."""
SERVER = next((block.code for _, block in ALL if "server.run()" in block.code), "")


@pytest.mark.parametrize("block", [pytest.param(block, id="%s:%d" % (page, block.line))
                                   for page, block in reversed(list(EACH.values()))])
def test_code_block_runs(block: Block, tmp_path: pathlib.Path) -> None:
    done = run(block, tmp_path)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize("block", [pytest.param(block, id="%s:%d" % (page, block.line)) for page, block in ALL
                                   if block.language == "json"])
def test_a_host_can_start_the_server_that_a_json_block_names(block: Block, tmp_path: pathlib.Path) -> None:
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    (tmp_path / "mcp_ref").symlink_to(ROOT / "mcp_ref")
    (listed,) = json.loads(block.code).values()
    (entry,) = listed.values()
    assert set(entry) - {"type"} == {"command", "args"} and entry["command"] == "/usr/bin/python3"
    (script,) = entry["args"]
    with connect([sys.executable, script.replace("/path/to", str(tmp_path))]) as client:
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"


@pytest.mark.parametrize("block", [pytest.param(block, id="%s:%d" % (page, block.line)) for page, block in ALL
                                   if block.language == "python" and not block.runs])
def test_a_block_that_is_not_run_has_all_that_it_uses(block: Block) -> None:
    expect_nothing(undefined(block))


def undefined(block: Block) -> List[str]:
    """Return the names that a block in Python uses and does not define, each as ``line: name``."""
    names = [node for node in ast.walk(ast.parse(block.code)) if isinstance(node, (ast.Name, ast.alias, ast.arg))]
    made = {name.asname or name.name for name in names if isinstance(name, ast.alias)}
    made |= {name.arg for name in names if isinstance(name, ast.arg)}
    made |= set(re.findall(r"(?:class|def) (\w+)", block.code))
    made |= set(re.findall(r"except \w+ as (\w+)", block.code))
    made |= {name.id for name in names if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    return ["%d: %s" % (block.line + name.lineno, name.id) for name in names
            if isinstance(name, ast.Name) and name.id not in made | set(dir(builtins))]


def keywords(function: Callable[..., Any]) -> Set[str]:
    """The options of a call that have to be named."""
    return {name for name, option in inspect.signature(function).parameters.items()
            if option.kind is inspect.Parameter.KEYWORD_ONLY}


def test_the_table_of_options_names_all_of_http_with_their_defaults() -> None:
    heading = "| option | meaning | default |\n|---|---|---|\n"
    page = ROOT / "examples" / "servers.md"
    table = page.read_text(encoding="utf-8").split(heading)[1].split("\n\n")[0].splitlines()
    rows = {row.split("`")[1]: row.split("|")[3].strip() for row in table}
    assert set(rows) == keywords(Server.run_http) == keywords(Server.listen) | {"ready"}
    assert set(rows) - keywords(Server.wsgi) == {"legacy", "ssl_context", "fds", "ready", "health", "metrics"}
    said = {name: inspect.signature(Server.run_http).parameters[name].default for name in rows}
    assert {name for name, default in said.items() if default not in (None, ())} == {"sessions", "legacy"}
    assert rows["sessions"] == '`"%s"`' % said["sessions"] and rows["legacy"] == str(said["legacy"])


def test_pages_have_code_and_each_block_says_its_language() -> None:
    expect_nothing(["%s:%d: no language" % (page, block.line) for page, block in ALL if not block.language])
    assert {page for page, block in ALL if block.runs} >= {"README.md", "servers.md", "clients.md"}


def test_the_first_commands_need_the_folder_that_readme_says_and_nothing_else(tmp_path: pathlib.Path) -> None:
    text = README.read_text(encoding="utf-8")
    said = "Commands run in the folder that has `mcp_ref/`. With the code above in `server.py` there:\n\n```sh\n"
    block = text.partition(said)[2].partition("```")[0]
    assert block.count("python3 -m mcp_ref") == 2
    (tmp_path / "mcp_ref").symlink_to(ROOT / "mcp_ref")
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    done = subprocess.run(["sh", "-euc", block], cwd=str(tmp_path), env={"PATH": path},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")


def test_readme_is_short_and_every_line_fits_a_screen() -> None:
    size = len(README.read_bytes())
    assert size <= MOST_BYTES, "README.md has %d bytes: a longer text belongs into a page of examples/" % size
    expect_nothing(["%s:%d: %d columns" % (page.name, number, len(line)) for page in PAGES
                    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
                    if len(line) > WIDEST and not line.startswith(("|", '{"jsonrpc"'))])


LINK = re.compile(r"\]\((?!https?://)([^)#]*)(#[^)]*)?\)")


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_every_link_leads_somewhere(page: pathlib.Path) -> None:
    text = page.read_text(encoding="utf-8")
    expect_nothing(["%s: %s" % (page.name, file + (anchor or "")) for file, anchor in LINK.findall(text)
                    if not ((page.parent / file).is_file() if file else anchor in anchors(text))])


def anchors(text: str) -> Set[str]:
    """What a link can lead to inside a page: its headings, as they stand in a URL."""
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {"#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page, runs, code", [
    ("```python\nimport mcp_ref\n```", True, 0), ("```python\nimport mcp_ref.nothing\n```", True, 1),
    ("```sh\npython3 -c 'import mcp_ref'\nls mcp_ref\n```", True, 0), ("```sh\nfalse\ntrue\n```", True, 1),
    ("```console\n$ exit 7\n8\n```", True, 7), ("```json\n{}\n```", False, 0),
    ("<!-- no-run: takes a minute -->\n```sh\nfalse\n```", False, 0),
])
def test_blocks_are_found_and_run(page: str, runs: bool, code: int, tmp_path: pathlib.Path) -> None:
    block, = blocks("# Title\n\n" + page + "\n")
    assert block.runs == runs
    assert not runs or run(block, tmp_path).returncode == code
