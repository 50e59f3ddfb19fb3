"""What both official Python clients do with `examples/everything_server.py`, beyond the common walk.

Runs inside the environments of the official SDK only. The client offers roots, sampling, elicitation and a callback for
logs; `Person` stands behind them and remembers what came. The servers of other makers here (`official_server_v2`,
`typescript_server`) have the same tools, but for some that their SDK has no means for.
"""
import asyncio
import contextlib
import time
import warnings
from typing import Any, AsyncIterator, Dict, List, Set

import mcp.types as types
from official_walk import STEP_SECONDS, StepFailed, bounded, expect, report, wire

CONFIG = "config://app"
STATELESS = "2026-07-28"
LACKING = {
    "everything": set(),
    "official-python": {"media", "ask_payment", "needs_login", "changes in sessions"},
    "official-typescript": {"needs_login", "changes in sessions"},
}
"""The servers that have the tools of the walk, and the ones that each has not."""
warnings.simplefilter("ignore")  # version 2 warns of what its newest revision has no more, such as the log level


class Person:
    """Who is asked, and what was heard."""

    def __init__(self) -> None:
        self.heard: List[str] = []
        self.logs: List[Any] = []
        self.changed = asyncio.Condition()

    def callbacks(self) -> Dict[str, Any]:
        """Options of either client."""
        return {"sampling_callback": self.sample, "elicitation_callback": self.elicit,
                "list_roots_callback": self.roots, "logging_callback": self.log, "message_handler": self.message}

    async def sample(self, context: Any, params: Any) -> Any:
        """The model."""
        return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="42"), model="m")

    async def elicit(self, context: Any, params: Any) -> Any:
        """The user, in front of a form or a link."""
        if getattr(params, "mode", "form") == "url":
            return types.ElicitResult(action="accept")
        return types.ElicitResult(action="accept", content={"name": "Ada", "colour": "green"})

    async def roots(self, context: Any) -> Any:
        """Where a server may work."""
        return types.ListRootsResult(roots=[types.Root(uri="file:///tmp/work", name="work")])

    async def log(self, params: Any) -> None:
        """A log message."""
        self.logs.append(wire(params))
        await self._tell()

    async def message(self, message: Any) -> None:
        """Everything else that comes unasked."""
        if isinstance(message, Exception):
            raise message
        inner = getattr(message, "root", message)
        self.heard.append(getattr(inner, "method", type(inner).__name__))
        await self._tell()

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def until(self, what: str, condition: Any) -> None:
        """Wait until something has been heard."""
        async with self.changed:
            try:
                await asyncio.wait_for(self.changed.wait_for(condition), STEP_SECONDS)
            except asyncio.TimeoutError:
                raise StepFailed("%s did not come; heard %r" % (what, self.heard)) from None


async def walk_everything(client: Any, person: Person, server: str, stateless: bool = False) -> None:
    """Use every feature that the common walk does not touch, in either era."""
    lacking = LACKING[server]
    await see_results(client, lacking)
    await be_asked(client, lacking, stateless)
    if stateless or "changes in sessions" not in lacking:
        await be_told(client, person, stateless)
    await complete(client)


async def text(client: Any, tool: str, arguments: Any = None) -> str:
    """Call a tool that answers with one text."""
    result = await bounded(client.call_tool(tool, arguments or {}))
    expect(not result.get("isError"), tool, result)
    return str(result["content"][0]["text"])


async def see_results(client: Any, lacking: Set[str]) -> None:
    """Every kind of content, structured content (which these clients check), and a failure."""
    started, kinds = time.monotonic(), []
    if "media" not in lacking:
        media = await bounded(client.call_tool("media", {}))
        kinds = [block["type"] for block in media["content"]]
        expect(kinds == ["text", "image", "audio", "resource", "resource_link"], "media", kinds)
    weather = await bounded(client.call_tool("weather", {"city": "Bern"}))
    expect(weather["structuredContent"] == {"city": "Bern", "celsius": 21.5, "wet": False}, "weather", weather)
    for region in ("us-west1", " caf\u00e9 "):
        expect(await text(client, "route", {"region": region}) == "routed to " + region, "route", region)
    failed = await bounded(client.call_tool("fail", {}))
    expect(failed["isError"] is True and "another one" in failed["content"][0]["text"], "fail", failed)
    report("every kind of result", started, kinds=kinds)


async def be_asked(client: Any, lacking: Set[str], stateless: bool) -> None:
    """A form, a link, the model, the roots; all of it for one call; on the way to a prompt; an error with a link."""
    started = time.monotonic()
    answers = [await text(client, "ask_name"), await text(client, "ask_model", {"question": "6 times 7?"}),
               await text(client, "interview")]
    expect(answers == ["Ada likes green", "42", "Ada, 42, 1"], "answers", answers)
    roots = await bounded(client.call_tool("show_roots", {}))
    expect("file:///tmp/work" in str(roots["content"]), "roots", roots)
    if "ask_payment" not in lacking:
        answers.append(await text(client, "ask_payment"))
        expect(answers[-1].endswith("accept"), "a link", answers)
    if stateless or "needs_login" not in lacking:
        letter = await bounded(client.get_prompt("letter", {}))
        expect("Please write to Ada." in str(letter["messages"]), "letter", letter)
    if not stateless and "needs_login" not in lacking:  # the error is no more in the stateless era
        await be_sent_to_log_in(client)
    report("asked", started, answers=answers)


async def be_sent_to_log_in(client: Any) -> None:
    """The error that has a link."""
    try:
        await bounded(client.call_tool("needs_login", {}))
    except Exception as error:
        expect("-32042" in repr(error) or getattr(error, "code", None) == -32042
               or error.error.code == -32042, "needs_login", error)  # type: ignore[attr-defined]
    else:
        raise StepFailed("needs_login asked for nothing")


async def be_told(client: Any, person: Person, stateless: bool) -> None:
    """Log messages by level, an update of a resource, a new tool."""
    started = time.monotonic()
    if not stateless:  # there the client says with each request what it wants to hear
        await bounded(client.set_logging_level("warning"))
    await text(client, "log", {"text": "too quiet", "level": "info"})
    await text(client, "log", {"text": "loud", "level": "error"})
    await person.until("a log message", lambda: person.logs)
    expect([entry["data"] for entry in person.logs] == [{"text": "loud"}], "logs", person.logs)
    async with listening(client, stateless):
        await text(client, "visit")
        await person.until("an update", lambda: "notifications/resources/updated" in person.heard)
        await text(client, "learn", {"name": "brand_new"})
        await person.until("a change", lambda: "notifications/tools/list_changed" in person.heard)
    expect(await text(client, "brand_new") == "I am new", "the new tool")
    report("told", started, heard=sorted(set(person.heard)))


@contextlib.asynccontextmanager
async def listening(client: Any, stateless: bool) -> AsyncIterator[None]:
    """While we are told of changes."""
    if stateless:
        async with client.listen(tools_list_changed=True, resource_subscriptions=[CONFIG]) as subscription:
            honored = wire(subscription.honored)
            expect(honored == {"toolsListChanged": True, "resourceSubscriptions": [CONFIG]}, "listening", honored)
            yield
        return
    await bounded(client.subscribe_resource(CONFIG))
    yield
    await bounded(client.unsubscribe_resource(CONFIG))


async def complete(client: Any) -> None:
    """Completion of a prompt's arguments, one by the other, and of a template's variable."""
    started = time.monotonic()
    prompt = types.PromptReference(type="ref/prompt", name="travel")
    first = await bounded(client.complete(prompt, {"name": "start", "value": "B"}))
    expect(first["completion"]["values"] == ["Berlin", "Bern", "Bologna", "Brno"], "start", first)
    second = await bounded(client.complete(prompt, {"name": "goal", "value": "ber"}, {"start": "Bern"}))
    expect(second["completion"]["values"] == ["Berlin"], "goal", second)
    template = types.ResourceTemplateReference(type="ref/resource", uri="city://{name}")
    cities = await bounded(client.complete(template, {"name": "name", "value": "L"}))
    expect(cities["completion"]["values"] == ["Lima", "Lisbon", "London"], "city", cities)
    report("completion", started)
