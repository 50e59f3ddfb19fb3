"""What both official Python clients do with a server: the steps of the walk, one JSON line each.

Runs inside the environments of the official SDK only. Versions 1 and 2 name their calls alike, and a dump by alias
shows what they received as it stood on the wire, so the walk is written once.

A line is `{"step": ..., "seconds": ..., ...what was seen}`. The first step that goes wrong ends the walk with an
exception, and so the script with a non-zero exit code.
"""
import asyncio
import json
import sys
import time
from typing import Any, Awaitable, Callable, Dict, List

Json = Dict[str, Any]
Abandon = Callable[["asyncio.Task[Any]"], Awaitable[None]]
STEP_SECONDS = 120.0  # only a step that fails takes as long
CANCEL_AFTER_SECONDS = 0.3
# What a required argument of a tool or prompt that we know nothing about is given, by its JSON type.
SAMPLES: Json = {"integer": 3, "number": 3, "boolean": True, "array": [], "object": {}}


class StepFailed(Exception):
    """The server did something else than the step expects."""


def report(step: str, started: float, **seen: Any) -> None:
    """Print one step."""
    print(json.dumps(dict(step=step, seconds=round(time.monotonic() - started, 3), **seen)), flush=True)


def expect(truth: bool, what: str, *values: Any) -> None:
    """Raise StepFailed where a step did not see what it should."""
    if not truth:
        raise StepFailed("%s: %r" % (what, values))


def wire(model: Any) -> Json:
    """What was received, in the names and shapes of the wire."""
    dumped: Json = json.loads(model.model_dump_json(by_alias=True, exclude_none=True))
    return dumped


async def bounded(call: Awaitable[Any]) -> Json:
    """Wait for an answer, not for ever."""
    return wire(await asyncio.wait_for(call, STEP_SECONDS))


def required(schema: Json, **preset: Any) -> Json:
    """Arguments that a tool's input schema asks for."""
    properties = schema.get("properties", {})
    return {name: preset.get(name, SAMPLES.get(properties.get(name, {}).get("type"), "x"))
            for name in schema.get("required", [])}


async def walk(client: Any, abandon: Abandon) -> None:
    """Use every feature of the example server through a connected client.

    `abandon(task)` cancels a running call in the way of the SDK's version.
    """
    lists = await list_everything(client)
    tools = {tool["name"]: tool for tool in lists["tools"]}
    await call_the_tools(client)
    await read_and_get(client, lists)
    if "count" in tools:
        await follow_progress(client, required(tools["count"]["inputSchema"]))
    if "slow" in tools:
        await cancel_a_call(client, required(tools["slow"]["inputSchema"]), abandon)


async def list_everything(client: Any) -> Dict[str, List[Json]]:
    """All four lists."""
    lists = {}
    for member, call in (("tools", client.list_tools), ("resources", client.list_resources),
                         ("resourceTemplates", client.list_resource_templates), ("prompts", client.list_prompts)):
        started = time.monotonic()
        lists[member] = (await bounded(call()))[member]
        names = [item.get("name") for item in lists[member]]
        report("list " + member, started, count=len(names), names=names[:10])
    return lists


async def call_the_tools(client: Any) -> None:
    """Call `echo` and `add`, and check the answers."""
    started = time.monotonic()
    result = await bounded(client.call_tool("echo", {"text": "h\u00e9llo"}))
    expect([block.get("text") for block in result["content"]] == ["h\u00e9llo"], "echo answered", result)
    report("call echo", started, result=result)
    started = time.monotonic()
    result = await bounded(client.call_tool("add", {"a": 2, "b": 3}))
    expect([block.get("text") for block in result["content"]] == ["5"], "add answered", result)
    expect(result.get("structuredContent", {"result": 5}) == {"result": 5}, "add answered", result)
    report("call add", started, result=result)


async def read_and_get(client: Any, lists: Dict[str, List[Json]]) -> None:
    """Read the first resource and get the first prompt."""
    for resource in lists["resources"][:1]:
        started = time.monotonic()
        result = await bounded(client.read_resource(resource["uri"]))
        expect(bool(result["contents"]), "no contents", result)
        report("read resource", started, uri=resource["uri"], contents=len(result["contents"]))
    for prompt in lists["prompts"][:1]:
        started = time.monotonic()
        arguments = {argument["name"]: "x" for argument in prompt.get("arguments", []) if argument.get("required")}
        result = await bounded(client.get_prompt(prompt["name"], arguments))
        expect(bool(result["messages"]), "no messages", result)
        report("get prompt", started, name=prompt["name"], messages=len(result["messages"]))


async def follow_progress(client: Any, arguments: Json) -> None:
    """Call `count` and check that its progress rises and precedes its result."""
    seen: List[float] = []

    async def on_progress(progress: float, total: Any = None, message: Any = None) -> None:
        seen.append(progress)

    started = time.monotonic()
    await bounded(client.call_tool("count", arguments, progress_callback=on_progress))
    expect(bool(seen) and seen == sorted(set(seen)), "progress", seen)
    report("progress", started, seen=seen)


async def cancel_a_call(client: Any, arguments: Json, abandon: Abandon) -> None:
    """Give up a call of `slow` and check that the connection goes on."""
    started = time.monotonic()
    task = asyncio.ensure_future(client.call_tool("slow", arguments))
    await asyncio.sleep(CANCEL_AFTER_SECONDS)  # so that the server has begun with it
    expect(not task.done(), "slow was not slow", task)
    await abandon(task)
    result = await bounded(client.call_tool("echo", {"text": "after"}))
    expect([block.get("text") for block in result["content"]] == ["after"], "after a cancellation", result)
    report("cancel", started)


async def stop(task: "asyncio.Task[Any]") -> None:
    """Cancel a task here and wait until it has ended."""
    task.cancel()
    await asyncio.wait([task], timeout=STEP_SECONDS)
    expect(task.done(), "the cancelled call does not end")


def run(main: Callable[[List[str]], Awaitable[None]]) -> int:
    """Run a script's main with its arguments (the server's command) and give its exit code."""
    try:
        asyncio.run(main(sys.argv[1:]))  # type: ignore[arg-type]
    except BaseException as error:  # noqa: B902 - exception groups too; the reader of the JSON lines wants the cause
        print(json.dumps({"step": "failed", "causes": [repr(cause) for cause in causes(error)]}), flush=True)
        return 1
    return 0


def causes(error: BaseException) -> List[BaseException]:
    """The exceptions inside exception groups."""
    inner = getattr(error, "exceptions", None)
    return [leaf for part in inner for leaf in causes(part)] if inner else [error]
