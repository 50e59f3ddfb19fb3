"""The commands that use a server: info, tools, call, resources, read, prompts, prompt, complete, tasks, ping.

With ``--json`` the output has the shape of the specification's results, in the agreed revision:

===========  =====================================================================
command      its JSON
===========  =====================================================================
info         ``{"server": Implementation, "revision": "...", "capabilities": ServerCapabilities,
             "instructions": "...", "counts": {"tools": 3, ...}, "forgiven": {"null": 2, ...}}``: counts of
             what the server declares, and of what it wrote carelessly (see `mcp_ref.forgiving`)
tools        ``{"tools": [Tool, ...]}``, all pages in one
resources    ``{"resources": [Resource, ...], "resourceTemplates": [...]}``
prompts      ``{"prompts": [Prompt, ...]}``
call         CallToolResult (``isError`` too, and then the exit code is 1)
read         ReadResourceResult
prompt       GetPromptResult
complete     CompleteResult
ping         ``{"milliseconds": [0.21, ...], "revision": "...", "server": Implementation}``
===========  =====================================================================

`tools`, `resources` and `prompts` with a name show only what has it, in the same shape.
`python3 -m mcp_ref explain Tool` tells the members of each.

The command `tasks` is for calls that a server works on while nobody waits for them:

===========  ==============================  ================================================================
action       shows                           with ``--json``
===========  ==============================  ================================================================
list         a line for each task            ``{"tasks": [Task, ...]}``, all pages in one; 2025-11-25 only
get          the line of the task            the task, as the server tells it
wait         the line, when it is over       the same
cancel       the line                        the same
result       the result, when it is there    CallToolResult (``isError`` too, and then the exit code is 1)
===========  ==============================  ================================================================

In 2026-07-28 a task that asks something ends ``wait`` and ``result`` where there is no terminal, with exit code 1:
the question stays open. ``call --task`` begins one and shows its line. The messages of a task that is waited for go
to standard error. Where a server ends with its command, as a child does, a task lasts no longer; so this is for
servers that stay.
"""

import argparse
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from ...client.connecting import is_command
from ...codec import encode
from ...errors import (
    METHOD_NOT_FOUND, CapabilityMissing, LocalProtocolError, McpError, PeerError, PeerProtocolError, ProtocolError,
    RequestTimeout,
)
from ...options import closest
from ...protocol.lifecycle import UNDECLARED
from ..output import DONE, FAILED, Command, Commands, UsageError, as_json, note, one_line, program, say, say_json, show
from .asking import is_interactive
from .connecting import connected, save_option, server_options
from .values import (
    Typed, details, pairs_of, prompt_details, prompt_signature, read_words, settled, signature, texts_of, word,
)

if TYPE_CHECKING:
    from ...client import Client, ToolTask
    from ...messages.tasks import Task


def begin(options: Any, client: "Client", arguments: Dict[str, Any]) -> int:
    """Call a tool as a task, for ``call --task``. A server may answer at once all the same."""
    task = options.asking.attempt(client, lambda: client.start_tool(options.name, arguments))
    if task.id is not None:
        if is_command(options.server) and not task.done:
            note("the server ends with this command, and the task with it: leave out --task to wait for the result, or"
                 " start the server by itself (python3 -m mcp_ref run FILE --http 127.0.0.1:8000) and give its URL")
        return _show(options, task)
    note("answered at once, without a task")
    return _show_result(options, client, task)


def tasks(options: Any) -> int:
    """Run one action of the command `tasks`, and return its exit code."""
    if (options.id is None) != (options.action == "list"):
        raise UsageError("tasks %s takes %s" % (
            options.action, "no id" if options.action == "list" else "the id of a task"))
    with connected(options) as client:
        if options.action == "list":
            return _list_tasks(options, client)
        # Without a terminal nobody can answer, and to decline would end the work: what the task asks stays open.
        task = client.task(options.id, progress=_step, rounds=None if is_interactive() else "manual")
        return ACTIONS[options.action](options, client, task)


def _list_tasks(options: Any, client: "Client") -> int:
    if client.revision.stateless:
        raise LocalProtocolError("revision %s has no list of tasks: keep the ids that call --task shows, and ask with"
                                 " tasks get SERVER ID; --era legacy asks the server for those of 2025-11-25" % (
                                     client.revision,))
    found: "List[Task]" = []
    cursor: Optional[str] = None
    for _ in range(client.limits.max_pages):
        page = client.list_tasks(cursor)
        found += page.tasks
        cursor = page.next_cursor
        if cursor is None:
            break
    else:
        raise PeerProtocolError("tasks/list does not end: there are more pages than max_pages")
    if options.json:
        say_json({"tasks": [encode(each, client.revision) for each in found]})
        return DONE
    say("tasks: %d" % len(found))
    for each in found:
        say("  " + _line(each.task_id, each.status, each.status_message))
    return DONE


def _get(options: Any, client: "Client", task: "ToolTask") -> int:
    return _show(options, task)


def _wait(options: Any, client: "Client", task: "ToolTask") -> int:
    _wait_for(options, task)
    return _show(options, task)


def _wait_for(options: Any, task: "ToolTask") -> None:
    """Wait until a task is over. Raises `LocalProtocolError` for one that asks something where nobody can answer."""
    if not task.wait(options.timeout):
        raise RequestTimeout("task %s is %s still" % (one_line(task.id or ""), task.status))
    if not task.done:
        asked = ("%s %s" % (each.get("method"), (each.get("params") or {}).get("message", ""))
                 for each in task.questions.values())
        raise LocalProtocolError(
            "task %s asks something, and there is no terminal: %s; it stays open: run this on a terminal to answer" % (
                one_line(task.id or ""), one_line(", ".join(asked))))


def _cancel(options: Any, client: "Client", task: "ToolTask") -> int:
    task.cancel()
    try:
        task.refresh()
    except PeerError as error:  # a server need not keep a task that was cancelled
        note(one_line("cancelled; %s" % error))
    return _show(options, task)


def _result(options: Any, client: "Client", task: "ToolTask") -> int:
    _wait_for(options, task)
    return _show_result(options, client, task)


ACTIONS: "Dict[str, Callable[[Any, Client, ToolTask], int]]" = {
    "get": _get, "wait": _wait, "cancel": _cancel, "result": _result,
}
"""Action -> what is done with one task."""


def _show_result(options: Any, client: "Client", task: "ToolTask") -> int:
    result = task.result()
    show(options, client, result, result.content)
    return FAILED if result.is_error else DONE


def _show(options: Any, task: "ToolTask") -> int:
    if options.json:
        say_json(dict(task.state))
    else:
        say(_line(task.id or "", task.status, task.message))
    return DONE


def _line(id: str, status: str, message: Optional[str]) -> str:
    return one_line("%s %s%s" % (id, status, ": " + message if message else ""))


def _step(value: float, total: Optional[float], message: Optional[str]) -> None:
    note(one_line("... %s" % (message or value)))


def tasks_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command `tasks`."""
    server_options(parser)
    save_option(parser)
    parser.add_argument("id", metavar="ID", nargs="?", help="the task")


_BELOW = "\n      "


class ServerList(NamedTuple):
    """A list that a server offers."""

    member: str
    """The name of the list in the result."""
    title: str
    items: Callable[[Any], Iterable[Any]]
    name: Callable[[Any], str]
    """Returns what an item is called by."""
    head: Callable[[Any], str]
    """Returns the line of an item."""
    about: Callable[[Any], Optional[str]]
    """Returns the description of an item, None if it has none."""
    between: str = "  - "
    """The text between line and description, where only the first line of the description is shown."""
    schemas: Callable[[Any], Dict[str, Any]] = lambda item: {}
    """Returns what else ``--long`` shows of an item: title -> JSON."""
    details: Callable[[Any], Iterable[str]] = lambda item: ()
    """Returns the lines below the description of the only item that is shown."""


def _tool_schemas(tool: Any) -> Dict[str, Any]:
    found = {"input schema": tool.input_schema, "output schema": tool.output_schema}
    return {title: schema for title, schema in found.items() if schema is not None}


LISTS: Dict[str, Tuple[ServerList, ...]] = {
    "tools": (
        ServerList("tools", "tools", lambda client: client.tools(), lambda item: item.name,
                   signature, lambda item: item.description, _BELOW, _tool_schemas, details),
    ),
    "resources": (
        ServerList("resources", "resources", lambda client: client.resources(), lambda item: item.uri,
                   lambda item: one_line(item.uri), lambda item: item.description or item.name),
        ServerList("resourceTemplates", "templates", lambda client: client.resource_templates(),
                   lambda item: item.uri_template, lambda item: one_line(item.uri_template),
                   lambda item: item.description or item.name),
    ),
    "prompts": (
        ServerList("prompts", "prompts", lambda client: client.prompts(), lambda item: item.name,
                   prompt_signature, lambda item: item.description, _BELOW, details=prompt_details),
    ),
}


def _list(options: Any) -> int:
    rows = LISTS[options.lists]
    with connected(options) as client:
        found = {listed.member: _items(client, listed) for listed in rows}
        if options.name is not None:
            wanted = {listed.member: [item for item in found[listed.member] if listed.name(item) == options.name]
                      for listed in rows}
            if not any(wanted.values()):
                meant = _meant(client, options.lists, options.name)
                raise UsageError("the server lists no %s%s" % (
                    one_line("%s %r" % (rows[0].title[:-1], options.name)),
                    meant or "; %s SERVER shows all" % options.lists))
            found = wanted
        if options.json:
            say_json({member: [encode(item, client.revision) for item in items] for member, items in found.items()})
            return DONE
        for listed in rows:
            if options.name is None:
                say("%s: %d" % (listed.title, len(found[listed.member])))
            for item in found[listed.member]:
                _show_item(listed, item, options.long, options.name is not None)
    return DONE


def _show_item(listed: ServerList, item: Any, schemas: bool, alone: bool) -> None:
    """Print an item and the first line of its description; with ``schemas`` or ``alone``, all of it and more."""
    head, lines = "  " + listed.head(item), [one_line(line) for line in (listed.about(item) or "").strip().splitlines()]
    if not schemas and not alone:
        say(listed.between.join([head] + lines[:1]))
        return
    say(_BELOW.join([head] + lines + (list(listed.details(item)) if alone else [])))
    for title, schema in listed.schemas(item).items() if schemas else ():
        say("      %s: %s" % (title, as_json(schema).replace("\n", _BELOW)))


def _describe(options: Any) -> int:
    """Show the tool or prompt that is named, and where the options of the command are."""
    code = _list(options)
    if not options.json:
        say("Options: %s %s --help" % (program(), options.command))
    return code


@contextmanager
def _naming(client: Any, lists: str, name: str) -> Iterator[None]:
    """Add to an error of the server the name that was probably meant, if it lists no such item."""
    try:
        yield
    except PeerError as error:
        error.args = ("%s%s" % (error, _meant(client, lists, name)),)
        raise


def _meant(client: Any, lists: str, name: str) -> str:
    """Return words that name the item which was probably meant by a name that is not in the lists of a server."""
    try:
        found = [(listed, found_items(client, listed)) for listed in LISTS[lists]]
    except McpError:
        return ""  # it is only a hint
    names = [listed.name(item) for listed, items in found if not isinstance(items, str) for item in items]
    close = "" if name in names else closest(name, names)
    return "; did you mean %s?" % one_line(close) if close else ""


def _info(options: Any) -> int:
    with connected(options) as client:
        revision = client.revision
        lists = [listed for rows in LISTS.values() for listed in rows]
        counts = {listed.member: _count(client, listed) for listed in lists}
        server = None if client.server_info is None else encode(client.server_info, revision)
        found = {"server": server, "revision": str(revision), "capabilities": dict(client.server_capabilities),
                 "instructions": client.instructions,
                 "counts": {member: number for member, number in counts.items() if number is not None},
                 "forgiven": client.connection.counters.forgiven() or None}
        if options.json:
            say_json({name: value for name, value in found.items() if value is not None})
            return DONE
        _show_info(found, {listed.member: listed.title for listed in lists})
    return DONE


def _show_info(found: Dict[str, Any], titles: Dict[str, str]) -> None:
    server = found["server"] or {}
    say("server: %s" % (one_line("%s %s" % (server["name"], server["version"])) if server else "does not say its name"))
    for member in ("title", "description", "websiteUrl"):
        if server.get(member):
            say("%s: %s" % (member, one_line(server[member])))
    say("revision: %s" % found["revision"])
    declared = [_capability(name, value) for name, value in found["capabilities"].items()]
    say("capabilities: %s" % (", ".join(declared) or "none"))
    for member, number in found["counts"].items():
        say("%s: %d" % (titles[member], number))
    if found["forgiven"]:
        kinds = ["%s %d" % (kind, number) for kind, number in sorted(found["forgiven"].items())]
        say("forgiven: %s (doctor shows where)" % ", ".join(kinds))
    if found["instructions"]:
        say("instructions:")
        for line in found["instructions"].strip().splitlines():
            say(("  " + one_line(line)).rstrip())


def _capability(name: str, value: Any) -> str:
    """Return a capability with its members, such as ``resources (listChanged, subscribe)``."""
    members = value if isinstance(value, dict) else {}
    inside = ", ".join(word(each) for each, declared in members.items() if declared is not False)
    return word(name) + (" (%s)" % inside if inside else "")


def _count(client: Any, listed: ServerList) -> Optional[int]:
    """Return the number of items; None for a list that the server does not have."""
    found = found_items(client, listed)
    return None if isinstance(found, str) else len(found)


def _items(client: Any, listed: ServerList) -> List[Any]:
    """Return all items; a note on standard error says if some were left out, or if the server has no such list: []."""
    forgiven = client.connection.counters.forgiven
    before = forgiven().get("item", 0)
    found = found_items(client, listed)
    lost = forgiven().get("item", 0) - before
    if lost:
        note("%d of the %s could not be read and %s left out; doctor shows where" % (
            lost, listed.title, "was" if lost == 1 else "were"))
    if isinstance(found, str):
        undeclared = found == "declares no " + listed.title
        note("this server " + found + "; --tolerate %s asks for them all the same" % UNDECLARED * undeclared)
        return []
    return found


def found_items(client: Any, listed: ServerList) -> Union[str, List[Any]]:
    """Return all items, or the reason why the server has no such list."""
    try:
        return list(listed.items(client))
    except CapabilityMissing:
        return "declares no " + listed.title
    except PeerError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
        return "has no list of " + listed.title


def _call(options: Any) -> int:
    given = read_words(options.arguments)
    with connected(options) as client:
        arguments = settled(given, _input_schema(client, options.name, given))
        if options.task:
            return begin(options, client, arguments)
        with _naming(client, "tools", options.name):
            result = options.asking.attempt(client, lambda: client.call_tool(
                options.name, arguments, progress=_progress, extend_on_progress=True))
        show(options, client, result, result.content)
        meant = _meant(client, "tools", options.name) if result.is_error else ""
        if meant:
            note("the server lists no tool %s%s" % (one_line(repr(options.name)), meant))
        return FAILED if result.is_error else DONE


def _input_schema(client: Any, name: str, given: Dict[str, Any]) -> Any:
    """Return the input schema of a tool; None if no typed value depends on it, or if it cannot be fetched."""
    if not any(isinstance(value, Typed) for value in given.values()):
        return None
    try:
        return client.tool(name).input_schema
    except (LookupError, CapabilityMissing):  # the call will tell
        return None
    except (PeerError, ProtocolError) as error:
        note(one_line("the schema of %s cannot be fetched: %s; values that are JSON are sent as JSON" % (name, error)))
        return None


def _read(options: Any) -> int:
    with connected(options) as client:
        with _naming(client, "resources", options.uri):
            result = options.asking.attempt(client, lambda: client.read_resource(
                options.uri, progress=_progress, extend_on_progress=True))
        show(options, client, result, result.contents)
    return DONE


def _prompt(options: Any) -> int:
    arguments = texts_of(options.arguments)
    with connected(options) as client:
        with _naming(client, "prompts", options.name):
            result = options.asking.attempt(client, lambda: client.get_prompt(
                options.name, arguments, progress=_progress, extend_on_progress=True))
        if options.json:
            show(options, client, result, [message.content for message in result.messages])
            return DONE
        for message in result.messages:
            say("# " + message.role)
            show(options, client, None, [message.content])
    return DONE


def _complete(options: Any) -> int:
    settled = pairs_of(options.context, "--context")
    with connected(options) as client:
        with _naming(client, "prompts", options.ref):
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
    """Return the reference in ``ref/prompt:NAME`` or ``ref/resource:URI``; else the text, which the client resolves."""
    from ...messages.completion import PromptReference, ResourceTemplateReference

    kind, colon, rest = text.partition(":")
    if colon and kind == PromptReference.type:
        return PromptReference(rest)
    return ResourceTemplateReference(rest) if colon and kind == ResourceTemplateReference.type else text


def _ping(options: Any) -> int:
    from ...deadline import clock

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


def _progress(value: float, total: Optional[float], message: Optional[str]) -> None:
    share = "%g/%g " % (value, total) if total is not None else "" if message else "%g" % value
    note(one_line("... %s%s" % (share, message or "")))


# Options


def _lists(name: str, shows: str) -> Callable[[argparse.ArgumentParser], None]:
    def configure(parser: argparse.ArgumentParser) -> None:
        server_options(parser)
        parser.add_argument("name", nargs="?", metavar="URI" if name == "resources" else "NAME",
                            help="show only this one, in full")
        parser.add_argument("--long", action="store_true", help="show " + shows)
        parser.set_defaults(lists=name)

    return configure


def _call_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("name", help="the tool; with --help after it, its parameters are shown")
    parser.set_defaults(command="call", lists="tools", long=False)
    parser.add_argument("--task", action="store_true",
                        help="begin a task, show its id, and do not wait; see the command tasks")
    save_option(parser)
    _arguments(parser)


def _read_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("uri", help="the resource's URI")
    save_option(parser)


def _prompt_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("name", help="the prompt; with --help after it, its arguments are shown")
    parser.set_defaults(command="prompt", lists="prompts", long=False)
    save_option(parser)
    _arguments(parser)


def _complete_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("ref", metavar="REF",
                        help="a prompt's name or a resource template's URI; ref/prompt:NAME and ref/resource:URI "
                             "where that is not plain")
    parser.add_argument("argument", metavar="ARGUMENT", help="the argument of the prompt or variable of the template")
    parser.add_argument("value", metavar="VALUE", help="the beginning of the value, as typed so far")
    parser.add_argument("--context", action="append", default=[], metavar="NAME=VALUE",
                        help="an argument that is filled in already; may be repeated")


def _ping_options(parser: argparse.ArgumentParser) -> None:
    server_options(parser)
    parser.add_argument("--count", type=int, default=3, help="the number of pings (default: 3)")


def _arguments(parser: argparse.ArgumentParser) -> None:
    from . import values

    parser.add_argument("arguments", nargs="*", default=[], help="name=value words, one JSON object, @file or -")
    parser.epilog = values.__doc__


COMMANDS: Commands = {
    "info": Command(_info, server_options, uses_server=True),
    "tools": Command(_list, _lists("tools", "whole descriptions, and the schemas"), uses_server=True),
    "call": Command(_call, _call_options, uses_server=True, describe=_describe),
    "resources": Command(_list, _lists("resources", "whole descriptions"), uses_server=True),
    "read": Command(_read, _read_options, uses_server=True),
    "prompts": Command(_list, _lists("prompts", "whole descriptions"), uses_server=True),
    "prompt": Command(_prompt, _prompt_options, uses_server=True, describe=_describe),
    "complete": Command(_complete, _complete_options, uses_server=True),
    "tasks": Command(tasks, tasks_options, uses_server=True, actions=("list", *ACTIONS)),
    "ping": Command(_ping, _ping_options, uses_server=True),
}
