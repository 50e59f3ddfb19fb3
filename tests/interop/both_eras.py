"""Our client against servers of other makers that speak both eras, each in both; `make interop` runs them.

 - servers of the official SDKs (Python 2.x, TypeScript 2.x), over stdio and Streamable HTTP; they have the tools of
   `examples/everything_server.py`, as far as their SDK has the means
 - `time` and `git`, which are made with the Python one

The walk is one and the same: nothing in it asks for the era. `WALKS` has each by name, as a function of the peers'
commands (`tests/tools/peers.py`).
"""
import pathlib
import tempfile
import threading
from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import peers
import small_servers
from http_walks import serving
from mcp_ref import connect
from mcp_ref.client.elicitation import Elicitation
from mcp_ref.client.sampling import Sampling
from mcp_ref.errors import PeerError
from official_walk import expect
from steps import SECONDS, Steps, names, texts

HERE = pathlib.Path(__file__).resolve().parent
CONFIG, STATELESS = "config://app", "2026-07-28"
UPDATED, TOOLS_CHANGED = "notifications/resources/updated", "notifications/tools/list_changed"
ERAS = {"auto": STATELESS, "modern": STATELESS, "legacy": "2025-11-25"}
"""What our client is told to speak, and what comes of it."""


class Official(NamedTuple):
    """A server made with an official SDK."""

    peer: str
    script: str
    lacking: Sequence[str]
    """Parts of the walk that it has no means for in sessions."""
    lacking_over_http: Sequence[str]
    """Further ones, for sessions over HTTP."""


SERVERS = {
    "python": Official("official_v2", "official_server_v2.py", ("a letter", "changes"), ()),
    "typescript": Official("typescript", "typescript_server.cjs", ("a letter", "changes"), ("questions",)),
}


class User:
    """The person and the model behind the client, and what they hear."""

    def __init__(self) -> None:
        self.logs: List[Any] = []
        self.heard: Dict[str, threading.Event] = {UPDATED: threading.Event(), TOOLS_CHANGED: threading.Event()}
        self.logged = threading.Event()

    def offers(self, folder: str) -> Dict[str, Any]:
        """Options of the client."""
        return {"roots": [folder], "sampling": Sampling(lambda params, context: "42", model="m"), "on_log": self.log,
                "elicitation": Elicitation(form=self.fill_in, url=lambda request, context: True),
                "on_notification": self.notice}

    def fill_in(self, params: Any, context: Any) -> Dict[str, Any]:
        """The user, in front of a form: gives what it asks for."""
        known = {"name": "Ada", "colour": "green"}
        return {name: known[name] for name in params.requested_schema.properties}

    def log(self, level: str, data: Any, logger: Optional[str]) -> None:
        """A log message."""
        self.logs.append(data)
        self.logged.set()

    def notice(self, method: str, params: Any) -> None:
        """A notification."""
        if method in self.heard:
            self.heard[method].set()


def walk(client: Any, user: User, steps: Steps, lacking: Sequence[str]) -> None:
    """All of it, but for the parts that this server has not."""
    results(client, steps)
    progress_and_cancel(client, steps)
    if "questions" not in lacking:
        asked(client, steps, lacking)
    if "changes" not in lacking:
        told(client, user, steps)
    completed(client, steps)


def results(client: Any, steps: Steps) -> None:
    """Lists, every kind of result, and errors."""
    listed = {"tools": names(client.tools()), "resources": names(client.resources()),
              "templates": names(client.resource_templates()), "prompts": names(client.prompts())}
    expect("add" in listed["tools"] and all(listed.values()), "lists", listed)
    expect(texts(client.call_tool("echo", {"text": "h\u00e9llo"})) == ["h\u00e9llo"], "echo")
    expect(texts(client.call_tool("add", {"a": 2, "b": 3})) == ["5"], "add")
    weather = client.call_tool("weather", {"city": "Bern"}).structured_content
    expect(weather == {"city": "Bern", "celsius": 21.5, "wet": False}, "weather", weather)
    for region in ("us-west1", " caf\u00e9 "):
        expect(texts(client.call_tool("route", {"region": region})) == ["routed to " + region], "route", region)
    failed = client.call_tool("fail")
    expect(failed.is_error is True and "another one" in texts(failed)[0], "fail", failed)
    expect("everything" in client.read_resource(CONFIG).contents[0].text, "the resource")
    try:
        expect(False, "read", client.read_resource("nothing://here"))
    except PeerError as error:
        steps.done("results", refused=error.code)
    expect("Lima" in client.read_resource("city://Lima").contents[0].text, "the template")
    review = client.get_prompt("review", {"code": "x"})
    expect(review.messages[0].content.text.endswith("x"), "the prompt", review)


def progress_and_cancel(client: Any, steps: Steps) -> None:
    """Follow one call, give up another."""
    seen: List[float] = []
    client.call_tool("count", {"to": 3}, progress=lambda progress, total=None, message=None: seen.append(progress))
    expect(seen == [1, 2, 3], "progress", seen)
    future = client.submit_tool("slow", {"seconds": 3})
    expect(future.cancel() and future.cancelled(), "cancel", future)
    expect(texts(client.call_tool("echo", {"text": "after"})) == ["after"], "echo after a cancellation")
    steps.done("progress, cancel", seen=seen)


def asked(client: Any, steps: Steps, lacking: Sequence[str]) -> None:
    """The user, the model, the roots; all of them for one call; and on the way to a prompt."""
    answers = [texts(client.call_tool(name, arguments))[0] for name, arguments in (
        ("ask_name", {}), ("ask_model", {"question": "6 times 7?"}), ("interview", {}))]
    expect(answers == ["Ada likes green", "42", "Ada, 42, 1"], "answers", answers)
    roots = texts(client.call_tool("show_roots"))
    expect("file://" in roots[0], "roots", roots)
    if "a letter" not in lacking:
        letter = client.get_prompt("letter")
        expect("Please write to Ada." in letter.messages[0].content.text, "letter", letter)
    steps.done("asked", answers=answers)


def told(client: Any, user: User, steps: Steps) -> None:
    """Log messages by level, an update of a resource, a new tool."""
    client.set_log_level("warning")
    client.call_tool("log", {"text": "too quiet", "level": "info"})
    client.call_tool("log", {"text": "loud", "level": "error"})
    expect(user.logged.wait(SECONDS) and user.logs == [{"text": "loud"}], "logs", user.logs)
    updated = threading.Event()
    with client.listen("tools", uris=[CONFIG], callback=lambda uri: updated.set()) as wish:
        expect(wish.agreed == wish.wanted, "listening", wish.agreed)
        client.call_tool("visit")
        expect(updated.wait(SECONDS) and user.heard[UPDATED].is_set(), "no update")
        expect("brand_new" not in names(client.tools()), "a tool too early")
        client.call_tool("learn", {"name": "brand_new"})
        expect(user.heard[TOOLS_CHANGED].wait(SECONDS), "no change")
    expect("brand_new" in names(client.tools()) and texts(client.call_tool("brand_new")) == ["I am new"], "a new tool")
    steps.done("told")


def completed(client: Any, steps: Steps) -> None:
    """One argument by the other, and a variable."""
    first = client.complete("travel", "start", "B").completion.values
    expect(first == ["Berlin", "Bern", "Bologna", "Brno"], "start", first)
    second = client.complete("travel", "goal", "ber", {"start": "Bern"}).completion.values
    expect(second == ["Berlin"], "goal", second)
    city = client.complete("city://{name}", "name", "L").completion.values
    expect(city == ["Lima", "Lisbon", "London"], "city", city)
    steps.done("completion")


def official(name: str, era: str, over_http: bool, commands: Dict[str, List[str]]) -> None:
    """A server of an official SDK, in one era, over one transport."""
    server = SERVERS[name]
    command = [*commands[server.peer], str(HERE / server.script)]
    if over_http:
        with serving([*command, "{port}"], "/mcp", **peers.node_path()) as url:
            _use(url, "%s %s http" % (name, era), era, [*server.lacking, *server.lacking_over_http])
    else:
        _use(command, "%s %s stdio" % (name, era), era, server.lacking)


def _use(target: Any, name: str, era: str, lacking: Sequence[str]) -> None:
    user, steps, expected = User(), Steps(name), ERAS[era]
    env = peers.node_path() if isinstance(target, list) else None
    with tempfile.TemporaryDirectory() as made:
        folder = str(pathlib.Path(made).resolve())
        with connect(target, env=env, era=era, **user.offers(folder)) as client:
            expect(client.revision.name == expected, "the revision", client.revision.name)
            steps.done("connect", protocol=client.revision.name)
            walk(client, user, steps, () if expected == STATELESS else lacking)
        steps.done("close")


def small(name: str, era: str, commands: Dict[str, List[str]]) -> None:
    """`time` or `git`, over stdio, in one era."""
    steps, expected = Steps("%s %s" % (name, era)), ERAS[era]
    with tempfile.TemporaryDirectory() as made:
        folder, command = str(pathlib.Path(made).resolve()), commands[name]
        if name == "git":
            small_servers.repository(folder)
            command = [*command, "--repository", folder]
        with connect(command, era=era) as client:
            expect(client.revision.name == expected, "the revision", client.revision.name)
            steps.done("connect", protocol=client.revision.name)
            if name == "git":
                small_servers.git(client, steps, folder)
            else:
                small_servers.current_time(client, steps)
        steps.done("close")


WALKS: Dict[str, Callable[[Dict[str, List[str]]], None]] = {
    **{"%s-%s-%s" % (name, era, "http" if over_http else "stdio"): partial(official, name, era, over_http)
       for name in SERVERS for era in ERAS for over_http in (False, True)},
    **{"%s-%s" % (name, era): partial(small, name, era) for name in ("time", "git") for era in ("modern", "legacy")},
}
"""Every walk by name."""
