"""Scenes over Streamable HTTP: refusals that only HTTP knows, challenges, and redirects to another origin.

[2025-03-26..2025-11-25 basic/transports §Streamable HTTP], [2026-07-28 basic/transports/streamable-http],
[2025-06-18..2025-11-25 basic/authorization], [2026-07-28 basic/authorization/index].
"""

from typing import Any, Dict, List, Sequence, Tuple

from ....http11.message import Exchange, HttpRequest
from ....http11.server.server import HttpServer
from ....methods import CALL_TOOL, DISCOVER, INITIALIZE, INITIALIZED, LIST_TOOLS
from ...scenes import KEPT, Broken, CannotTell, Said, Verdict, every
from ..stage import ClientRun, ClientStage, web_scene
from .manners import BASE, base, first_of

Fields = Sequence[Tuple[str, str]]
REFUSALS: Tuple[Tuple[int, Fields], ...] = (
    (400, ()), (403, ()), (500, ()), (503, (("Retry-After", "1"),)))
REDIRECTS = (307, 308, 302)
MOST_REPEATS = 5
"""Reading: a request that is refused so often, as it was, is not responded to; the checker counts so, too."""


class Elsewhere:
    """Another origin, at a loopback port of its own: what comes there is noted, and answered with 404."""

    def __init__(self) -> None:
        self.requests: List[HttpRequest] = []
        self._server = HttpServer(self._handle)

    def __enter__(self) -> "Elsewhere":
        self._server.open()
        return self

    def __exit__(self, *error: Any) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        """The URL of the origin."""
        return self._server.url

    def _handle(self, exchange: Exchange) -> None:
        self.requests.append(exchange.request)
        exchange.reply(404)


def _refuse(script: Any, methods: Sequence[str], status: int, fields: Fields) -> None:
    """Have every request with one of these methods answered with a status and no message; "": what has no message,
    too."""
    def door(request: HttpRequest, message: Any) -> Any:
        method = message.get("method", "") if isinstance(message, dict) else ""
        return (status, fields, b"") if method in methods else None

    script.door = door


def _repeats(run: ClientRun, method: str) -> int:
    return len([each for each in run.script.sent(method) if each.field("authorization") is None])


@web_scene("refused-by-http", "lifecycle.initialized-notification", only=lambda revision: revision.handshake)
def refused_by_http(stage: ClientStage) -> Said:
    """`initialize` is refused with 400, 403, 500 and 503, without a message: the client does not say that it is
    initialized."""
    found: List[Verdict] = []
    for status, fields in REFUSALS:
        script = stage.script()
        _refuse(script, (INITIALIZE, DISCOVER, ""), status, fields)
        run = stage.run(script)
        found.append(Broken("initialize was refused with %d, and the client has sent %s" % (status, run.said()))
                     if INITIALIZED in run.methods else KEPT)
    return every(found)


@web_scene("statuses", *BASE)
def statuses(stage: ClientStage) -> Said:
    """A request is refused with 400, 403, 500 and 503, without a message: the client ends, and does not repeat it
    without end."""
    method, found = first_of(stage, LIST_TOOLS, CALL_TOOL), []  # type: str, List[Verdict]
    for status, fields in REFUSALS:
        script = stage.script()
        _refuse(script, (method,), status, fields)
        run = stage.run(script)
        # No page says how often a request may be repeated, or for how long, nor that a client ends.
        found.append(KEPT if run.ended else CannotTell(
            "%s was refused with %d: the client has sent it %d times, and did not end by itself" % (
                method, status, _repeats(run, method))))
    return base(stage, every(found))


def _leaked(requests: Sequence[HttpRequest], how: str, sent: Sequence[Any]) -> Dict[str, Verdict]:
    """Return the verdicts on what came to another origin. ``sent``: what came to the server."""
    found: Dict[str, Verdict] = {}
    for id, name in (("auth.only-issued-tokens", "authorization"),
                     ("http.session-id-secure-handling", "mcp-session-id")):
        if not any(each.field(name) is not None for each in sent):
            found[id] = CannotTell("the client has sent no %s to the server" % name)
        elif any(each.headers.get(name) is not None for each in requests):
            found[id] = Broken("%s: %s was sent to another origin" % (how, name))
        else:
            found[id] = KEPT
    return found


LEAKS = ("auth.only-issued-tokens", "http.session-id-secure-handling")


@web_scene("redirected", *LEAKS)
def redirected(stage: ClientStage) -> Said:
    """A request is redirected to another origin: neither a token nor the id of the session comes there."""
    method = first_of(stage, LIST_TOOLS, CALL_TOOL)
    found: Dict[str, List[Verdict]] = {id: [] for id in LEAKS}
    for status in REDIRECTS:
        with Elsewhere() as elsewhere:
            script = stage.script()
            _refuse(script, (method,), status, (("Location", elsewhere.url + "/mcp"),))
            run = stage.run(script)
            for id, verdict in _leaked(elsewhere.requests, "after %d" % status, run.heard).items():
                found[id].append(verdict)
    return {id: every(verdicts) for id, verdicts in found.items()}


@web_scene("challenged", "auth.parse-www-authenticate", *LEAKS)
def challenged(stage: ClientStage) -> Said:
    """A request is refused with 401, without a challenge, and with one that names another origin: the client does not
    repeat it as it was, and tells that origin neither a token nor the id of the session."""
    method = first_of(stage, LIST_TOOLS, CALL_TOOL)
    found: Dict[str, List[Verdict]] = {id: [] for id in ("auth.parse-www-authenticate", *LEAKS)}
    for named in (False, True):
        with Elsewhere() as elsewhere:
            script = stage.script()
            challenge = 'Bearer resource_metadata="%s/.well-known/oauth-protected-resource"' % elsewhere.url
            _refuse(script, (method,), 401, (("WWW-Authenticate", challenge),) if named else ())
            run = stage.run(script)
            times = _repeats(run, method)
            found["auth.parse-www-authenticate"].append(KEPT if times < MOST_REPEATS else Broken(
                "%s was refused with 401, and sent %d times without a token" % (method, times)))
            for id, verdict in _leaked(elsewhere.requests, "after 401", run.heard).items():
                found[id].append(verdict)
    return {id: every(verdicts) for id, verdicts in found.items()}
