"""Our client against servers of other makers: one function per server, one JSON line per step.

Each function takes a connected client and asserts nothing by luck: it knows what that pinned version of the server
answers. Connecting and closing are the same for all and stand in `use`.
"""
import concurrent.futures
import json
import pathlib
import tempfile
import time
from typing import Any, Callable, Dict, List

from mcp_ref import connect
from official_walk import expect

SECONDS = 20.0


class Steps:
    """Prints the steps of one walk and the seconds each took."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.started = time.monotonic()

    def done(self, step: str, **seen: Any) -> None:
        """End a step."""
        now = time.monotonic()
        print(json.dumps(dict(server=self.server, step=step, seconds=round(now - self.started, 3), **seen)), flush=True)
        self.started = now


def texts(result: Any) -> List[str]:
    """The text blocks of a tool's result."""
    return [block.text for block in result.content if getattr(block, "text", None) is not None]


def names(items: Any) -> List[str]:
    """The names of listed things."""
    return [item.name for item in items]


def everything(client: Any, steps: Steps) -> None:
    """The reference server that has one of everything."""
    listed = {"tools": names(client.tools()), "resources": names(client.resources()),
              "templates": names(client.resource_templates()), "prompts": names(client.prompts())}
    expect("get-sum" in listed["tools"] and all(listed.values()), "lists", listed)
    steps.done("lists", **{member: len(found) for member, found in listed.items()})

    expect(texts(client.call_tool("echo", {"message": "h\u00e9llo"})) == ["Echo: h\u00e9llo"], "echo")
    expect("5" in texts(client.call_tool("get-sum", {"a": 2, "b": 3}))[0], "get-sum")
    weather = client.call_tool("get-structured-content", {"location": "New York"}).structured_content
    expect(set(weather) == {"temperature", "conditions", "humidity"}, "structured content", weather)
    kinds = [block.type for block in client.call_tool("get-tiny-image", {}).content]
    expect("image" in kinds, "image", kinds)
    kinds = [block.type for block in client.call_tool("get-resource-links", {"count": 2}).content]
    expect(kinds.count("resource_link") == 2, "resource links", kinds)
    steps.done("tools")

    first = client.list_resources().resources[0]
    expect(bool(client.read_resource(first.uri).contents[0].text), "contents", first.uri)
    blob = client.read_resource("demo://resource/dynamic/blob/1").contents[0].blob
    expect(bool(blob), "blob", blob)
    expect(bool(client.get_prompt("args-prompt", {"city": "Paris"}).messages), "prompt")
    steps.done("resources and prompts")
    progress_and_cancel(client, steps)


def progress_and_cancel(client: Any, steps: Steps) -> None:
    """Follow a long operation, and give up another."""
    seen: List[float] = []
    client.call_tool("trigger-long-running-operation", {"duration": 0.6, "steps": 3},
                     progress=lambda progress, total=None, message=None: seen.append(progress))
    expect(seen == [1, 2, 3], "progress", seen)
    steps.done("progress", seen=seen)

    future = client.submit_tool("trigger-long-running-operation", {"duration": 60, "steps": 2})
    expect(future.cancel(), "cancel() said no")
    concurrent.futures.wait([future], timeout=SECONDS)
    expect(future.cancelled(), "not cancelled", future)
    expect(texts(client.call_tool("echo", {"message": "after"})) == ["Echo: after"], "echo after a cancellation")
    steps.done("cancel")


def filesystem(client: Any, steps: Steps) -> None:
    """The server that reads and writes files below one folder; it has tools only."""
    expect("write_file" in names(client.tools()), "tools")
    folder = texts(client.call_tool("list_allowed_directories", {}))[0].splitlines()[-1].strip()
    path = str(pathlib.Path(folder) / "note.txt")
    client.call_tool("write_file", {"path": path, "content": "h\u00e9llo\u2028"})
    expect(pathlib.Path(path).read_bytes() == "h\u00e9llo\u2028".encode("utf-8"), "what was written")
    result = client.call_tool("read_text_file", {"path": path})
    expect(result.structured_content == {"content": "h\u00e9llo\u2028"}, "what was read", result)
    refused = client.call_tool("read_text_file", {"path": str(pathlib.Path(folder).parent / "outside.txt")})
    expect(refused.is_error is True, "outside of the folder", refused)
    steps.done("write, read, refuse")


def current_time(client: Any, steps: Steps) -> None:
    """The clock, a server in Python; it has empty lists of resources and prompts."""
    lists = [names(client.tools()), names(client.resources()), names(client.prompts())]
    expect(lists == [["get_current_time", "convert_time"], [], []], "lists", lists)
    steps.done("lists")
    arguments = {"source_timezone": "Etc/UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    answer = client.call_tool("convert_time", arguments).structured_content
    expect(answer["time_difference"] == "+9.0h", "convert_time", answer)
    bad = client.call_tool("get_current_time", {"timezone": "No/Where"})
    expect(bad.is_error is True, "an unknown zone", bad)
    steps.done("tools")


WALKS: Dict[str, Callable[[Any, Steps], None]] = {
    "everything": everything, "filesystem": filesystem, "time": current_time,
}


def use(name: str, command: List[str]) -> None:
    """Start a server, walk through it, close it. Raises what went wrong."""
    steps = Steps(name)
    with tempfile.TemporaryDirectory() as folder:
        arguments = [str(pathlib.Path(folder).resolve())] if name == "filesystem" else []
        with connect(command + arguments) as client:
            steps.done("connect", protocol=client.revision.name)
            WALKS[name](client, steps)
    steps.done("close")
