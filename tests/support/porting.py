"""The pages in ``examples/porting``: their programs, their tables, and one walk through two servers.

A page shows programs of another library beside ours. A block of theirs has the mark ``no-run: theirs`` and a reason;
the block behind it is ours. The first pair of a page is a whole server each. A table that begins with ``<!-- every KIND
of PATH -->`` has a row for each public name of something of theirs; the first cell of a row has the names.
"""
import fnmatch
import pathlib
import re
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from mcp_ref import Client, connect
from mcp_ref.client import Elicitation, PeerError, Sampling
from mcp_ref.messages.elicitation import ElicitRequestFormParams
from tests.meta.facts import ROOT
from tests.meta.test_readme import Block, blocks

FOLDER = ROOT / "examples" / "porting"
LIBRARIES = ("fastmcp", "mcp_1", "mcp_2", "zeromcp")
SECONDS = 20.0
COMPLETE: Dict[str, Tuple[str, ...]] = {
    "fastmcp": (
        "options fastmcp.FastMCP", "members fastmcp.FastMCP", "options fastmcp.FastMCP.tool",
        "options fastmcp.FastMCP.resource", "options fastmcp.FastMCP.prompt",
        "options fastmcp.FastMCP.custom_route", "options fastmcp.FastMCP.mount", "options fastmcp.FastMCP.run",
        "options fastmcp.FastMCP.run_http_async", "options fastmcp.FastMCP.run_stdio_async",
        "options fastmcp.FastMCP.http_app", "members fastmcp.Context",
        "members fastmcp.server.middleware.Middleware", "names fastmcp.dependencies", "names fastmcp",
        "names fastmcp.exceptions", "names fastmcp.tools", "names fastmcp.resources", "names fastmcp.prompts",
        "names fastmcp.server.auth", "options fastmcp.Client", "members fastmcp.Client",
    ),
    "mcp_1": (
        "options mcp.server.fastmcp.FastMCP", "members mcp.server.fastmcp.FastMCP",
        "options mcp.server.fastmcp.FastMCP.tool", "options mcp.server.fastmcp.FastMCP.resource",
        "options mcp.server.fastmcp.FastMCP.prompt", "options mcp.server.fastmcp.FastMCP.custom_route",
        "options mcp.server.fastmcp.FastMCP.run", "members mcp.server.fastmcp.Context", "names mcp.server.fastmcp",
        "names mcp.server.fastmcp.exceptions", "options mcp.server.lowlevel.Server",
        "members mcp.server.lowlevel.Server", "options mcp.server.lowlevel.Server.call_tool",
        "options mcp.server.lowlevel.Server.run", "members mcp.server.session.ServerSession",
        "options mcp.ClientSession", "members mcp.ClientSession",
    ),
    "mcp_2": (
        "options mcp.server.MCPServer", "members mcp.server.MCPServer", "options mcp.server.MCPServer.tool",
        "options mcp.server.MCPServer.resource", "options mcp.server.MCPServer.prompt",
        "options mcp.server.MCPServer.custom_route", "options mcp.server.MCPServer.run",
        "options mcp.server.MCPServer.run_streamable_http_async", "options mcp.server.MCPServer.run_sse_async",
        "members mcp.server.mcpserver.Context", "names mcp.server.mcpserver",
        "names mcp.server.mcpserver.exceptions", "options mcp.server.lowlevel.Server",
        "members mcp.server.lowlevel.Server", "options mcp.server.lowlevel.Server.run",
        "members mcp.server.session.ServerSession", "options mcp.Client", "members mcp.Client",
    ),
    "zeromcp": (
        "names zeromcp", "options zeromcp.McpServer", "members zeromcp.McpServer", "attributes zeromcp.McpServer",
        "options zeromcp.McpServer.tool", "options zeromcp.McpServer.oauth", "options zeromcp.McpServer.serve",
        "options zeromcp.McpServer.stdio", "members zeromcp.McpRequestContext", "members zeromcp.McpAuthInfo",
    ),
}
"""The tables that a page has to have."""
_TABLE = re.compile(r"^<!-- every (?P<kind>[a-z ]+) of (?P<path>[\w.]+) -->\n\|.*\n\|[-|]+\n(?P<rows>(?:\|.*\n)+)",
                    re.MULTILINE)
_DIFFERENCES = re.compile(r"^\| where \| theirs \| ours \| why \|\n\|[-|]+\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE)


class Pair(NamedTuple):
    """A program of theirs and the one of ours that does the same."""

    theirs: Block
    ours: Block


class Table(NamedTuple):
    """A table that has every name of a kind (``members``, ``options``) that something of theirs has."""

    kind: str
    path: str
    rows: List[List[str]]

    def names(self) -> Set[str]:
        """The names in the first cells."""
        return {name for row in self.rows for name in re.findall(r"`(\w+)`", row[0])}


def page(library: str) -> pathlib.Path:
    """The page about a library."""
    return FOLDER / ("from_%s.md" % library)


def pairs(library: str) -> List[Pair]:
    """The pairs of programs of a page, in order."""
    found: List[Pair] = []
    theirs: Optional[Block] = None
    for block in blocks(page(library).read_text(encoding="utf-8")):
        if block.language == "python" and block.reason.startswith("theirs"):
            assert theirs is None, "%s:%d: nothing of ours beside it" % (library, theirs.line)
            theirs = block
        elif block.language == "python" and theirs is not None:
            found.append(Pair(theirs, block))
            theirs = None
    assert theirs is None and found
    return found


def tables(library: str) -> List[Table]:
    """The tables of a page that promise to be complete."""
    text = page(library).read_text(encoding="utf-8")
    return [Table(found["kind"], found["path"], cells(found["rows"])) for found in _TABLE.finditer(text)]


def differences(library: str) -> List[List[str]]:
    """The rows of the page's table of differences: patterns of places, theirs, ours, why."""
    found = _DIFFERENCES.search(page(library).read_text(encoding="utf-8"))
    assert found is not None, "the page of %s has no table of differences" % library
    return cells(found["rows"])


def cells(rows: str) -> List[List[str]]:
    """Cut the rows of a table into cells; ``\\|`` inside of a cell is a bar."""
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
            for row in rows.splitlines()]


# The walk


CALLS: Tuple[Tuple[str, Dict[str, Any]], ...] = (
    ("add", {"a": 2, "b": 3}), ("add", {"a": 2}), ("add", {"a": "x"}), ("add", {}), ("add", {"a": 1, "c": 1}),
    ("find", {"title": "Emma"}), ("titles", {}), ("cover", {"title": "Emma"}), ("lend", {"title": "Emma"}),
    ("lend", {"title": "Ulysses"}), ("scan", {"shelves": 2}), ("order", {"title": "Ulysses"}),
    ("blurb", {"title": "Emma"}), ("folders", {}), ("nothing", {}),
)
"""Tools and arguments; what a server does not list is not called, but for ``nothing``."""
URIS = ("config://library", "book://Emma", "book://Ulysses", "nothing://here")
PROMPTS: Tuple[Tuple[str, Dict[str, str]], ...] = (
    ("review", {"title": "Emma"}), ("review", {"title": "Emma", "tone": "dry"}), ("review", {}), ("nothing", {}))


class User:
    """The person, the model and the log behind the client."""

    def __init__(self) -> None:
        self.seen: List[Any] = []
        self.logged = threading.Event()

    def offers(self) -> Dict[str, Any]:
        """Options of the client."""
        return {"roots": ["/srv/books"], "sampling": Sampling(self._sample, model="nobody"),
                "elicitation": Elicitation(form=self._fill_in), "on_log": self._log}

    def _sample(self, params: Any, context: Any) -> str:
        self.seen.append(["sample", params.messages[-1].text, params.max_tokens])
        return "A clever girl errs."

    def _fill_in(self, params: ElicitRequestFormParams, context: Any) -> Dict[str, Any]:
        self.seen.append(["elicit", params.message, sorted(params.requested_schema.properties)])
        return {"copies": 2}

    def _log(self, level: str, data: Any, logger: Optional[str]) -> None:
        self.seen.append(["log", level, data])
        self.logged.set()

    def progress(self, progress: float, total: Optional[float], message: Optional[str]) -> None:
        """Note progress."""
        self.seen.append(["progress", progress, total, message])


def walk(command: List[str], revision: Optional[str] = None) -> Tuple[str, Dict[str, Any]]:
    """Start a server, use all that it offers, and return the revision and what came back, a value for each place."""
    user = User()
    found: Dict[str, Any] = {}
    with connect(command, env={"PYTHONPATH": str(ROOT)}, stderr=False, check_results=False,
                 revisions=[revision] if revision else None, **user.offers()) as client:
        _lists(client, found)
        for name, arguments in CALLS:
            if name not in found["tool"] and name != "nothing":
                continue
            found[_shown("call", name, arguments)] = _kept(
                lambda: client.call_tool(name, arguments, progress=user.progress, timeout=SECONDS))
        for uri in URIS:
            found["read %s" % uri] = _kept(lambda: client.read_resource(uri))
        for name, values in PROMPTS:
            found[_shown("get", name, values)] = _kept(lambda: client.get_prompt(name, values))
        if "completions" in client.server_capabilities:
            found["complete"] = _kept(lambda: client.complete("review", "title", "E"))
        # In 2026-07-28 a server logs only for requests that ask for it, which these do not.
        assert client.revision.stateless or user.logged.wait(SECONDS), "nothing was logged"
        for kind, *told in user.seen:
            found.setdefault("seen " + kind, []).append(told)
        return client.revision.name, {place: value for place, value in flat(found) if not _default(place, value)}


def _shown(verb: str, name: str, values: Dict[str, Any]) -> str:
    return " ".join([verb, name, *("%s=%s" % item for item in values.items())])


def _default(place: str, value: Any) -> bool:
    """True for a member that says the same as its absence."""
    return value is False and place.rsplit(" ", 1)[-1] in ("isError", "required", "hasMore")


def _lists(client: Client, found: Dict[str, Any]) -> None:
    found["server"] = {"name": client.server_info.name, "version": client.server_info.version,
                       "instructions": client.instructions, "capabilities": client.server_capabilities}
    lists: Dict[str, Callable[[], List[Any]]] = {
        "tool": client.tools, "resource": client.resources, "template": client.resource_templates,
        "prompt": client.prompts}
    for kind, items in lists.items():
        try:
            found[kind] = {each.name: _plain(each) for each in items()}
        except PeerError as error:
            found[kind] = "%d" % error.code


def _kept(call: Callable[[], Any]) -> Any:
    try:
        return _plain(call())
    except PeerError as error:
        return {"error": {"code": error.code, "message": error.message}}


def _plain(message: Any) -> Any:
    """A message as JSON."""
    from mcp_ref import REVISIONS, codec
    return codec.encode(message, REVISIONS[-1])


def flat(value: Any, place: str = "") -> Iterator[Tuple[str, Any]]:
    """Each value inside of a value that is no object, with its place."""
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from flat(each, "%s %s" % (place, name) if place else name)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, each in enumerate(value):
            yield from flat(each, "%s %d" % (place, number))
    else:
        yield place, value


def compare(theirs: Dict[str, Any], ours: Dict[str, Any]) -> Dict[str, Tuple[Any, Any]]:
    """The places at which two walks differ."""
    return {place: (theirs.get(place, "-"), ours.get(place, "-")) for place in sorted({*theirs, *ours})
            if theirs.get(place, "-") != ours.get(place, "-")}


def unexplained(found: Dict[str, Tuple[Any, Any]], rows: List[List[str]]) -> List[str]:
    """Return the differences that no row of a page explains, and the rows that explain nothing."""
    patterns = [pattern for row in rows for pattern in re.findall(r"`([^`]+)`", row[0])]
    return (["%s: theirs %r, ours %r" % (place, *values) for place, values in found.items()
             if not any(fnmatch.fnmatchcase(place, pattern) for pattern in patterns)]
            + ["%s: no difference there" % pattern for pattern in patterns
               if not any(fnmatch.fnmatchcase(place, pattern) for place in found)])


def write(block: Block, folder: pathlib.Path, name: str) -> str:
    """Write a program into a folder, for a process to run."""
    path = folder / name
    path.write_text(block.code, encoding="utf-8")
    return str(path)


def ours(library: str, folder: pathlib.Path) -> List[str]:
    """The command of our server of a page."""
    return [sys.executable, write(pairs(library)[0].ours, folder, "ours.py")]
