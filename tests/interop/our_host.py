"""Our host with five servers of other makers at once: names, consent, work on each, one that dies, the audit log."""
import json
import os
import pathlib
import signal
import tempfile
import threading
from typing import Any, Dict, List

import small_servers
from mcp_ref import Host
from mcp_ref.host import Denied, Policy, ToolCall
from official_walk import expect
from steps import SECONDS, Steps


def use(commands: Dict[str, List[str]]) -> None:
    """All of it. Raises what went wrong."""
    steps, lost, asked = Steps("host"), threading.Event(), []
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made).resolve()
        repository = folder / "repository"
        repository.mkdir()
        small_servers.repository(str(repository))
        entries = {
            "everything": {"command": commands["everything"][0]},
            "files": {"command": commands["filesystem"][0], "args": [str(folder)]},
            "graph": {"command": commands["memory"][0], "env": {"MEMORY_FILE_PATH": str(folder / "memory.json")}},
            "clock": {"command": commands["time"][0]},
            "code": {"command": commands["git"][0], "args": ["--repository", str(repository)]},
        }

        def ask(call: ToolCall) -> bool:
            asked.append(call.name)
            return call.name != "files__write_file"

        audit = folder / "audit.jsonl"
        with Host.from_config({"mcpServers": entries}, policy=Policy(tool_call=ask), roots=[folder], audit=audit,
                              on_lost=lambda name, reason: lost.set()) as host:
            expect(not host.failed and sorted(host.clients) == sorted(entries), "connected", host.failed)
            steps.done("connect", servers=len(host.clients))
            work(host, str(repository), steps)
            refuse(host, folder, steps)
            lose_one(host, lost, steps)
            lose_one_without_a_session(host, steps)
        steps.done("close")
        lines = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
        events = {line["event"] for line in lines}
        expect({"connect", "tool_call", "disconnect"} <= events and len(asked) >= 6, "audit log", events, asked)
        steps.done("audit log", lines=len(lines))


def work(host: Any, repository: str, steps: Steps) -> None:
    """A call to each."""
    tools = {tool.qualified: tool for tool in host.tools()}
    expect(len(tools) > 40 and {tool.server for tool in tools.values()} == set(host.clients), "tools", sorted(tools))
    steps.done("tools", count=len(tools))
    calls: Dict[str, Dict[str, Any]] = {
        "everything__get-sum": {"a": 2, "b": 3},
        "files__list_allowed_directories": {},
        "graph__create_entities": {"entities": [{"name": "Ada", "entityType": "person", "observations": []}]},
        "clock__get_current_time": {"timezone": "Etc/UTC"},
        "code__git_log": {"repo_path": repository},
    }
    for name, arguments in calls.items():
        result = host.call_tool(name, arguments)
        expect(not result.is_error, name, result)
    steps.done("a call to each")
    expect("Ada" in host.read_resource("graph", "memory://knowledge-graph").contents[0].text, "resource")
    expect(bool(host.get_prompt("everything__simple-prompt").messages), "prompt")
    steps.done("resource and prompt")


def refuse(host: Any, folder: pathlib.Path, steps: Steps) -> None:
    """What the user does not allow is not sent."""
    target = folder / "never.txt"
    try:
        host.call_tool("files__write_file", {"path": str(target), "content": "x"})
    except Denied:
        expect(not target.exists(), "the file was written")
    else:
        raise AssertionError("files__write_file was allowed")
    steps.done("deny")


def lose_one(host: Any, lost: threading.Event, steps: Steps) -> None:
    """A server with a session dies; the others go on, and it can be started again."""
    os.kill(host.clients["graph"].connection.transport.pid, signal.SIGKILL)
    expect(lost.wait(SECONDS), "nobody noticed that a server died")
    expect(not host.call_tool("everything__echo", {"message": "still there"}).is_error, "the others")
    host.restart("graph")
    expect(not host.call_tool("graph__read_graph", {}).is_error, "after a restart")
    steps.done("lose one, start it again")


def lose_one_without_a_session(host: Any, steps: Steps) -> None:
    """A server without sessions dies, and the next call that needs it starts it again."""
    connection = host.clients["clock"].connection
    expect(connection.session.rules.stateless, "the revision", connection.session.rules)
    os.kill(connection.transport.pid, signal.SIGKILL)
    expect(connection.wait_closed(SECONDS), "nobody noticed that a server died")
    expect(not host.call_tool("clock__get_current_time", {"timezone": "Etc/UTC"}).is_error, "after its death")
    expect(host.clients["clock"].connection.transport.pid != connection.transport.pid, "the same process")
    steps.done("lose one without a session")
