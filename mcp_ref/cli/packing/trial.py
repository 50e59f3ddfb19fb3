"""The server of a bundle, started as a host starts it: what it says of itself, and whether that is what is written."""

import ast
import contextlib
import os
import re
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ...errors import ConnectFailed, ConnectionLost, PeerError
from ..output import one_line
from .archive import BadBundle, unpack
from .manifest import ServerListed
from .settings import Value, expanded

if TYPE_CHECKING:
    from ...client import Client

_ISOLATED = ["-I", "-S", "-B"]
"""Options of an interpreter that finds only what a bundle brings."""
_QUOTED = 200
"""Characters that are quoted of a line."""


@contextlib.contextmanager
def running(
    content: Mapping[str, bytes], manifest: Mapping[str, Any], values: Mapping[str, Value], python: Sequence[str] = (),
    noise: Optional[List[str]] = None,
) -> "Iterator[Client]":
    """Start the server of a bundle as a host does, in a folder of its own. ``python`` is put in place of its command.

    ``noise`` gets the lines on stdout that are no messages. Raises what `mcp_ref.client.connect` raises.
    """
    from ...client import connect
    from ...wiretrace import MESSAGE, SERVER, Event, Trace

    def seen(event: Event) -> None:
        if noise is not None and event.kind == MESSAGE and event.direction == SERVER and event.message is None:
            noise.append(one_line(event.text)[:_QUOTED])

    with tempfile.TemporaryDirectory(prefix="mcpb-") as folder:
        home, place = os.path.join(folder, "bundle"), os.path.join(folder, "elsewhere")
        for each in (home, place):
            os.mkdir(each)
        unpack(dict(content), home)
        command, env = expanded(manifest, home, values, sys.platform)
        if not python and os.path.exists(os.path.join(home, command[0])):
            command[0] = os.path.join(home, command[0])
        with connect([*python, *command[1:]] if python else command, env=env, cwd=place,
                     trace=Trace(seen)) as client:
            yield client


def listed_by(
    content: Mapping[str, bytes], manifest: Mapping[str, Any], values: Mapping[str, Value],
    authored: Mapping[str, bytes], script: str, noise: List[str],
) -> ServerListed:
    """Return what the server says of itself, started from the bundle's files with nothing else to import.

    ``noise``: see `running`.
    """
    try:
        with running(content, manifest, values, [sys.executable, *_ISOLATED], noise) as client:
            info = client.server_info
            tools = [{"name": tool.name, **({"description": tool.description} if tool.description else {})}
                     for tool in _items(client, "tools")]
            prompts, others = static_prompts(client)
    except (ConnectFailed, ConnectionLost) as error:
        raise BadBundle("the server does not start from its bundle: %s%s" % (
            error, _hint(str(error), script))) from None
    identity: Dict[str, Optional[str]] = {}
    if info is not None:
        identity = {"name": re.sub(r"[^A-Za-z0-9._-]+", "-", info.name).strip("-."), "version": info.version,
                    "display_name": info.title, "description": info.description, "homepage": info.website_url}
    identity["description"] = identity.get("description") or _first_paragraph(authored[os.path.basename(script)])
    return ServerListed({member: value for member, value in identity.items() if value}, tools, prompts, others)


def _first_paragraph(source: bytes) -> Optional[str]:
    text = ast.get_docstring(ast.parse(source))
    return " ".join(text.split("\n\n")[0].split()) if text else None


def _hint(said: str, script: str) -> str:
    """Return what to do about a server that did not start, by what it said."""
    missing = re.search(r"No module named '([\w.]+)'", said)
    if missing:
        name = missing.group(1).split(".")[0]
        home = os.path.dirname(os.path.abspath(script))
        there = next((each for each in (name + ".py", name) if os.path.exists(os.path.join(home, each))), None)
        return "; a bundle has all that it needs in it: %s" % (
            "--include %s" % there if there else "put the package %s beside %s, and --include it" % (name, script))
    left_out = re.search(r"copy again with --only ([\w,-]+)", said)
    if left_out:
        return "; give --only %s" % left_out.group(1)
    return "; its file has to call server.run() at the end" if "code 0" in said else ""


def _items(client: "Client", what: str) -> List[Any]:
    """Return the tools or prompts of a server; none where it does not declare that it has any."""
    return list(getattr(client, what)()) if what in client.server_capabilities else []


def static_prompts(client: "Client") -> Tuple[List[Dict[str, Any]], bool]:
    """Return the prompts whose text is the same whatever the arguments are, and whether there are others.

    The arguments are asked for with the manifest's placeholders as values: they must come back as they are.
    """
    found, others = [], False
    for prompt in _items(client, "prompts"):
        names = [argument.name for argument in prompt.arguments or ()]
        texts = [_text_of(client, prompt.name, names) for _ in range(2)]
        if texts[0] is None or texts[0] != texts[1] or not all("${arguments.%s}" % name in texts[0] for name in names):
            others = True
            continue
        found.append({"name": prompt.name, **({"description": prompt.description} if prompt.description else {}),
                      **({"arguments": names} if names else {}), "text": texts[0]})
    return found, others


def _text_of(client: "Client", name: str, arguments: List[str]) -> Optional[str]:
    try:
        messages = client.get_prompt(name, {each: "${arguments.%s}" % each for each in arguments}).messages
    except PeerError:
        return None  # it takes not every text
    text = getattr(messages[0].content, "text", None) if len(messages) == 1 and messages[0].role == "user" else None
    return text if isinstance(text, str) else None


def differences(client: "Client", manifest: Mapping[str, Any]) -> List[str]:
    """Return how the lists of a running server differ from those of the manifest."""
    wrong = []
    for what, there in (("tools", [tool.name for tool in _items(client, "tools")]),
                        ("prompts", [prompt.name for prompt in _items(client, "prompts")])):
        named = [each["name"] for each in manifest.get(what, ())]
        wrong += ["manifest.json: %s: the server has no %s" % (what, one_line(name))
                  for name in named if name not in there]
        if not manifest.get(what + "_generated"):
            wrong += ["manifest.json: %s: %s of the server is missing" % (what, one_line(name))
                      for name in there if name not in named]
    return wrong
