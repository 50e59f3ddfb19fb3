"""The command line: run a server, use a server, see the wire.

    python3 -m mcp_ref run FILE                     serve the server in a Python file over stdio
    python3 -m mcp_ref tools SERVER                 list tools; also: resources, prompts
    python3 -m mcp_ref call SERVER NAME a=1 b=2     call a tool
    python3 -m mcp_ref read SERVER URI              read a resource
    python3 -m mcp_ref prompt SERVER NAME code=x    get a prompt
    python3 -m mcp_ref ping SERVER                  see how quickly it answers
    python3 -m mcp_ref demo                         all of it, with the wire visible
    python3 -m mcp_ref crosscheck FOLDER            compare the dataclasses with the official schemas

SERVER is a command in quotes, ``tcp://host:port`` or ``unix:///path``. ``--trace`` shows the wire on
standard error. Exit codes: 0 done, 1 the peer or a tool said no, 2 wrong usage, 3 no connection.
"""

import argparse
import sys
from typing import Any, Callable, Dict, List, Optional

from .errors import ConnectFailed, ConnectionLost, McpError
from .revisions import HANDSHAKE_REVISIONS

OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one command; the exit code."""
    options = _parser().parse_args(arguments)
    if not options.command:
        _parser().print_help()
        return USAGE
    command: Callable[[Any], int] = options.command
    try:
        return command(options)
    except (ConnectFailed, ConnectionLost) as error:
        return _fail(str(error), UNREACHABLE)
    except (McpError, OSError, ValueError) as error:
        return _fail(str(error), FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _fail(text: str, code: int) -> int:
    print("mcp_ref: %s" % text, file=sys.stderr)
    return code


# The commands


def _run(options: Any) -> int:
    """Serve the `Server` that a file makes."""
    import runpy

    from .server import Server

    made = runpy.run_path(options.file, run_name="mcp_ref_served")
    servers = [value for value in made.values() if isinstance(value, Server)]
    chosen = made[options.name] if options.name in made else servers[0] if len(servers) == 1 else None
    if not isinstance(chosen, Server):
        found = "%d servers" % len(servers)
        raise ValueError("%s has %s; name the one to serve: --name VARIABLE" % (options.file, found))
    chosen.run()
    return OK


def _tools(options: Any) -> int:
    with _connect(options) as client:
        return _show(options, "tools", list(client.tools()), client.revision, lambda t: (t.name, t.description))


def _resources(options: Any) -> int:
    with _connect(options) as client:
        found: List[Any] = list(client.resources())
        code = _show(options, "resources", found, client.revision, lambda r: (r.uri, r.description or r.name))
        templates: List[Any] = list(client.resource_templates())
        return code or _show(
            options, "templates", templates, client.revision, lambda r: (r.uri_template, r.description or r.name)
        )


def _prompts(options: Any) -> int:
    with _connect(options) as client:
        return _show(options, "prompts", list(client.prompts()), client.revision, lambda p: (p.name, p.description))


def _call(options: Any) -> int:
    with _connect(options) as client:
        arguments = _arguments(options.arguments)
        result = client.call_tool(options.name, arguments, timeout=options.timeout, progress=_progress)
        _print_message(options, result, client.revision, result.content)
        return FAILED if result.is_error else OK


def _read(options: Any) -> int:
    with _connect(options) as client:
        result = client.read_resource(options.uri, timeout=options.timeout)
        _print_message(options, result, client.revision, result.contents)
        return OK


def _prompt(options: Any) -> int:
    with _connect(options) as client:
        texts = {name: value if isinstance(value, str) else _json(value) for name, value in
                 _arguments(options.arguments).items()}
        result = client.get_prompt(options.name, texts, timeout=options.timeout)
        _print_message(options, result, client.revision, [message.content for message in result.messages])
        return OK


def _ping(options: Any) -> int:
    from .deadline import clock

    with _connect(options) as client:
        for _ in range(options.count):
            start = clock()
            client.ping(timeout=options.timeout)
            print("%.2f ms" % ((clock() - start) * 1000.0))
    return OK


def _demo(options: Any) -> int:
    from .demo import main as demo

    return demo()


def _crosscheck(options: Any) -> int:
    from .crosscheck import main as crosscheck

    return crosscheck(options.folder)


# Helpers


def _connect(options: Any) -> Any:
    from .client import connect

    trace = None
    if options.trace:
        from .wiretrace import to_text

        trace = to_text(sys.stderr)
    revisions = [options.revision] if options.revision else None
    return connect(options.server, trace=trace, revisions=revisions)


def _arguments(words: List[str]) -> Dict[str, Any]:
    """Arguments from ``name=value`` words, or one JSON object; a value is JSON if it can be, else a str."""
    import json

    if len(words) == 1 and words[0].lstrip().startswith("{"):
        found = json.loads(words[0])
        return dict(found)
    arguments: Dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError("arguments look like name=value or one JSON object, not %r" % word)
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=2)


def _show(options: Any, title: str, items: List[Any], revision: Any, row: Callable[[Any], Any]) -> int:
    from .codec import encode

    if options.json:
        print(_json([encode(item, revision) for item in items]))
        return OK
    print("%s: %d" % (title, len(items)))
    for item in items:
        name, description = row(item)
        first_line = (description or "").strip().split("\n")[0]
        print("  %s%s" % (name, "  - " + first_line if first_line else ""))
    return OK


def _print_message(options: Any, result: Any, revision: Any, blocks: List[Any]) -> None:
    from .codec import encode

    if options.json:
        print(_json(encode(result, revision)))
        return
    for block in blocks:
        text = getattr(block, "text", None)
        print(text if text is not None else _json(encode(block, revision)))


def _progress(value: float, total: Optional[float], message: Optional[str]) -> None:
    share = "%g/%g" % (value, total) if total is not None else "%g" % value
    print("... %s %s" % (share, message or ""), file=sys.stderr)


# Options


def _parser() -> argparse.ArgumentParser:
    """The parser; each command's help tells what it prints."""
    description = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python3 -m mcp_ref",
        description=description[0],
        epilog=description[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    run = commands.add_parser("run", help="serve the server in a Python file over stdio")
    run.set_defaults(command=_run)
    run.add_argument("file", help="a Python file that makes a mcp_ref Server")
    run.add_argument("--name", default="server", help="its variable (default: server, or the only one there is)")

    for name, command, text in (
        ("tools", _tools, "list a server's tools"),
        ("resources", _resources, "list a server's resources and resource templates"),
        ("prompts", _prompts, "list a server's prompts"),
    ):
        _client_command(commands, name, command, text)
    call = _client_command(commands, "call", _call, "call a tool; exit code 1 if it failed")
    call.add_argument("name", help="the tool")
    call.add_argument("arguments", nargs="*", help="name=value, or one JSON object")
    read = _client_command(commands, "read", _read, "read a resource")
    read.add_argument("uri")
    prompt = _client_command(commands, "prompt", _prompt, "get a prompt")
    prompt.add_argument("name", help="the prompt")
    prompt.add_argument("arguments", nargs="*", help="name=value, or one JSON object")
    ping = _client_command(commands, "ping", _ping, "see how quickly a server answers")
    ping.add_argument("--count", type=int, default=3, help="how often (default: 3)")

    demo = commands.add_parser("demo", help="start the example server, use it, and show the wire")
    demo.set_defaults(command=_demo)
    crosscheck = commands.add_parser("crosscheck", help="compare the dataclasses with the official schemas")
    crosscheck.set_defaults(command=_crosscheck)
    crosscheck.add_argument("folder", help="a folder with REVISION/schema.json")
    return parser


def _client_command(commands: Any, name: str, command: Callable[[Any], int], text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(command=command)
    parser.add_argument("server", help='a command in quotes, such as "python3 server.py", or tcp://, unix://')
    parser.add_argument("--trace", action="store_true", help="show the wire on standard error")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="for one answer (default: 60)")
    parser.add_argument("--revision", choices=[str(r) for r in HANDSHAKE_REVISIONS], help="speak only this revision")
    return parser
