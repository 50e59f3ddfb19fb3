"""The commands that use a server: tools, call, resources, read, prompts, prompt, complete, ping.

What ``--json`` prints has the shape of the specification's results, in the agreed revision:

===========  =====================================================================
command      its JSON
===========  =====================================================================
tools        ``{"tools": [Tool, ...]}``, all pages in one
resources    ``{"resources": [Resource, ...], "resourceTemplates": [...]}``
prompts      ``{"prompts": [Prompt, ...]}``
call         CallToolResult (``isError`` too, and then the exit code is 1)
read         ReadResourceResult
prompt       GetPromptResult
complete     CompleteResult
ping         ``{"milliseconds": [0.21, ...], "revision": "...", "server": Implementation}``
===========  =====================================================================

`python3 -m mcp_ref explain Tool` tells the members of each.
"""

import argparse
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ..codec import encode
from ..errors import METHOD_NOT_FOUND, CapabilityMissing, PeerError, ProtocolError
from .command import Command, Commands
from .connecting import connected, server_options
from .failures import DONE, FAILED, UsageError
from .output import note, one_line, say, say_json
from .values import Typed, pairs_of, read_words, settled, texts_of


class Listed(NamedTuple):
    """A list that a server offers."""

    member: str
    """Its name in the result."""
    title: str
    items: Callable[[Any], Iterator[Any]]
    row: Callable[[Any], Tuple[str, Optional[str]]]
    """Of an item, what is shown first and what describes it."""


LISTS: Dict[str, Tuple[Listed, ...]] = {
    "tools": (Listed("tools", "tools", lambda client: client.tools(), lambda item: (item.name, item.description)),),
    "resources": (
        Listed("resources", "resources", lambda client: client.resources(),
               lambda item: (item.uri, item.description or item.name)),
        Listed("resourceTemplates", "templates", lambda client: client.resource_templates(),
               lambda item: (item.uri_template, item.description or item.name)),
    ),
    "prompts": (
        Listed("prompts", "prompts", lambda client: client.prompts(), lambda item: (item.name, item.description)),
    ),
}


def _list(options: Any) -> int:
    with connected(options) as client:
        found = {listed.member: _items(client, listed) for listed in LISTS[options.lists]}
        if options.json:
            say_json({member: [encode(item, client.revision) for item in items] for member, items in found.items()})
            return DONE
        for listed in LISTS[options.lists]:
            say("%s: %d" % (listed.title, len(found[listed.member])))
            for item in found[listed.member]:
                say(_row(*listed.row(item)))
    return DONE


def _items(client: Any, listed: Listed) -> List[Any]:
    """All items; none of a server that does not have such a list."""
    try:
        return list(listed.items(client))
    except CapabilityMissing:
        note("this server declares no " + listed.title)
    except PeerError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
        note("this server has no list of " + listed.title)
    return []


def _row(name: str, description: Optional[str]) -> str:
    first = (description or "").strip().split("\n")[0]
    return "  " + one_line(name) + ("  - " + one_line(first) if first else "")


def _call(options: Any) -> int:
    given = read_words(options.arguments)
    with connected(options) as client:
        arguments = settled(given, _input_schema(client, options.name, given))
        result = options.asking.attempt(client, lambda: client.call_tool(
            options.name, arguments, progress=_progress, extend_on_progress=True))
        _show(options, client, result, result.content)
        return FAILED if result.is_error else DONE


def _input_schema(client: Any, name: str, given: Dict[str, Any]) -> Any:
    """What the tool says of its arguments; None if nothing that was typed depends on it, or if it cannot be had."""
    if not any(isinstance(value, Typed) for value in given.values()):
        return None
    try:
        return client.tool(name).input_schema
    except (LookupError, CapabilityMissing):  # the call will tell
        return None
    except (PeerError, ProtocolError) as error:
        note(one_line("the schema of %s cannot be had: %s; values are sent as JSON where they can be" % (name, error)))
        return None


def _read(options: Any) -> int:
    with connected(options) as client:
        result = options.asking.attempt(client, lambda: client.read_resource(
            options.uri, progress=_progress, extend_on_progress=True))
        _show(options, client, result, result.contents)
    return DONE


def _prompt(options: Any) -> int:
    arguments = texts_of(options.arguments)
    with connected(options) as client:
        result = options.asking.attempt(client, lambda: client.get_prompt(
            options.name, arguments, progress=_progress, extend_on_progress=True))
        if options.json or not result.messages:
            _show(options, client, result, [])
            return DONE
        for message in result.messages:
            say("# " + message.role)
            _show(options, client, None, [message.content])
    return DONE


def _complete(options: Any) -> int:
    settled = pairs_of(options.context, "--context")
    with connected(options) as client:
        result = client.complete(_reference(options.ref), options.argument, options.value, settled or None)
        if options.json:
            say_json(encode(result, client.revision))
            return DONE
        found = result.completion
        for value in found.values:
            say(value)
        if found.has_more or (found.total or 0) > len(found.values):
            note("... more, %s in all" % ("number unknown" if found.total is None else found.total))
    return DONE


def _reference(text: str) -> Any:
    """A prompt's name or a template's URI; which of them, the client tells, unless the text says it."""
    from ..messages.completion import PromptReference, ResourceTemplateReference

    kind, colon, rest = text.partition(":")
    if colon and kind == PromptReference.type:
        return PromptReference(rest)
    return ResourceTemplateReference(rest) if colon and kind == ResourceTemplateReference.type else text


def _ping(options: Any) -> int:
    from ..deadline import clock

    if options.count < 1:
        raise UsageError("--count must be 1 or more")
    times: List[float] = []
    with connected(options) as client:
        for _ in range(options.count):
            start = clock()
            client.ping()
            times.append(round((clock() - start) * 1000.0, 3))
            if not options.json:
                say("%.2f ms" % times[-1])
        if options.json:
            server = encode(client.server_info, client.revision)
            say_json({"milliseconds": times, "revision": str(client.revision), "server": server})
    return DONE


def _show(options: Any, client: Any, result: Any, blocks: List[Any]) -> None:
    """A result: as JSON whole, else the text of its blocks and the JSON of what is not text."""
    if options.json:
        say_json(encode(result, client.revision))
        return
    for block in blocks:
        text = getattr(block, "text", None)
        if text is None:
            say_json(encode(block, client.revision))
        else:
            say(text)


def _progress(value: float, total: Optional[float], message: Optional[str]) -> None:
    share = "%g/%g" % (value, total) if total is not None else "%g" % value
    note(one_line("... %s %s" % (share, message or "")))


# Options


def _lists(name: str) -> Callable[[argparse.ArgumentParser], None]:
    def configure(parser: argparse.ArgumentParser) -> None:
        server_options(parser)
        parser.set_defaults(lists=name)

    return configure


def _call_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("name", help="the tool")
    _arguments(parser)


def _read_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("uri", help="the resource's URI")


def _prompt_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("name", help="the prompt")
    _arguments(parser)


def _complete_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("ref", metavar="REF",
                        help="a prompt's name or a resource template's URI; ref/prompt:NAME and ref/resource:URI "
                             "where that is not plain")
    parser.add_argument("argument", metavar="ARGUMENT", help="the argument of the prompt or variable of the template")
    parser.add_argument("value", metavar="VALUE", help="as far as it is typed")
    parser.add_argument("--context", action="append", default=[], metavar="NAME=VALUE",
                        help="another argument that is settled already; may be repeated")


def _ping_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("--count", type=int, default=3, help="how often (default: 3)")


def _arguments(parser: argparse.ArgumentParser) -> None:
    from . import values

    parser.add_argument("arguments", nargs="*", default=[], help="name=value words, one JSON object, @file or -")
    parser.epilog = values.__doc__


COMMANDS: Commands = {
    "tools": Command(_list, _lists("tools"), uses_server=True),
    "call": Command(_call, _call_options, uses_server=True),
    "resources": Command(_list, _lists("resources"), uses_server=True),
    "read": Command(_read, _read_options, uses_server=True),
    "prompts": Command(_list, _lists("prompts"), uses_server=True),
    "prompt": Command(_prompt, _prompt_options, uses_server=True),
    "complete": Command(_complete, _complete_options, uses_server=True),
    "ping": Command(_ping, _ping_options, uses_server=True),
}
