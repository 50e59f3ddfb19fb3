"""Rules of log messages [.. server/utilities/logging]."""

from typing import Any, Dict, Tuple

from ....methods import LISTEN, LOG_MESSAGE, SET_LOG_LEVEL
from ....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...observed import ERROR, META_SUBSCRIPTION, NOTIFICATION, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import shown, typed
from ..basic.lifecycle import UNDECLARED
from ..basic.progress import FLOOD, flooded
from ..basic.versioning import Era, speaks_modern

_CAUSE = "the cause of an error is inside the server; its text would only be guessed at"

UNDECIDED.update({
    "logging.configuration-error": _CAUSE,
    "logging.internal-error": _CAUSE,
})

META_LEVEL = "io.modelcontextprotocol/logLevel"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_INVALID_PARAMS = -32602


class Logs:
    """The requests of a session that have set a level and wait for their response, and the rate of log messages."""

    def __init__(self) -> None:
        self.open: "Forgetful[int, Message]" = Forgetful(Bounds().entries)
        self.rates: "Forgetful[Any, Tuple[float, int]]" = Forgetful(1)


@rule("logging.capability", on=NOTIFICATION, method=LOG_MESSAGE, follows=UNDECLARED, scene="""
  + on stdio 2025-06-18 server={"logging": {}}
  - on stdio 2025-06-18 server={"tools": {}}
    S notifications/message {"level": "info", "data": "ready"}
""")
def capability(message: Message) -> Verdict:
    """A server that sends log messages has declared that it does."""
    if message.sender != SERVER:
        return None
    declared = message.has_capability(SERVER, "logging")
    if declared is None:
        return CannotTell("the capabilities of the server")
    stateless = message.revision is not None and message.revision.stateless
    if not declared and stateless and message.time > message.connection.state(Era).fresh_until:
        return CannotTell("the capabilities of the server now: they may have changed since it has told them")
    return KEPT if declared else Broken("a log message, and logging was not declared", "capabilities.logging")


def _refusal(message: Message, level: Any) -> Verdict:
    """Return the verdict about the response to a request that names a level."""
    if level in LEVELS or message.sender != SERVER:
        return None
    if message.kind == RESULT:
        return "a result for the level %s" % shown(level)
    code = message.error.get("code")
    return KEPT if code == _INVALID_PARAMS else None


@rule("logging.invalid-level", on=(RESULT, ERROR), method=SET_LOG_LEVEL, provoked="schema.params", scene="""
    on stdio 2025-06-18
    C #1 logging/setLevel {"level": "verbose"}
  + S #1 !-32602 "Unknown level"
  - S #1 {}
""")
def invalid_level(message: Message) -> Verdict:
    """A level that does not exist is refused with -32602."""
    level = message.request.params.get("level") if message.request is not None else LEVELS[0]
    verdict = _refusal(message, level)
    if message.session.initialized is None or not isinstance(level, str):
        return None
    if verdict is None and message.kind == ERROR and level not in LEVELS and message.error.get("code") != -32601:
        return Broken("the code %s for the level %s" % (shown(message.error.get("code")), shown(level)), "error.code")
    return verdict


@rule("logging.invalid-level-meta", on=(RESULT, ERROR), provoked="schema.params", scene="""
    on stdio 2026-07-28 server={"logging": {}, "tools": {}}
    C #1 tools/list {}
    S #1 {"tools": []}
    C #2 tools/list {"_meta": {"io.modelcontextprotocol/logLevel": "loud"}}
  + S #2 !-32602 "Unknown level"
  - S #2 {"tools": []}
""")
def invalid_level_meta(message: Message) -> Verdict:
    """A request with a log level that does not exist is refused with -32602."""
    request = message.request
    if request is None or META_LEVEL not in request.meta:
        return None
    verdict = _refusal(message, request.meta[META_LEVEL])
    if isinstance(verdict, str) and not speaks_modern(message.connection):
        return CannotTell("whether the server is of a revision without handshake")
    return verdict


@rule("logging.request-stream-only", on=NOTIFICATION, method=LOG_MESSAGE, scene="""
    on stdio 2026-07-28
    C #1 subscriptions/listen {"notifications": {"toolsListChanged": true}}
    S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, \
"notifications": {"toolsListChanged": true}}
    C #2 tools/call {"name": "a", "arguments": {}, "_meta": {"io.modelcontextprotocol/logLevel": "info"}}
  + S notifications/message {"level": "info", "data": "ready"}
  - S notifications/message {"level": "info", "data": "ready", "_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
    S #2 {"content": []}
""")
def request_stream_only(message: Message) -> Verdict:
    """A log message comes with the response to the request that asked for it, not in a subscription."""
    if message.sender != SERVER:
        return None
    if META_SUBSCRIPTION in message.meta:
        return Broken("a log message with a subscription id", "params._meta")
    asked = message.exchange.request if message.exchange is not None else None
    if asked is not None and asked.method == LISTEN:
        return "a log message on the stream of the subscription #%s" % asked.id
    return KEPT


@rule("logging.opt-in", on=NOTIFICATION, method=LOG_MESSAGE, follows="logging.request-stream-only", scene="""
    on http 2026-07-28
  + C [1] #1 tools/call {"name": "a", "arguments": {}, "_meta": {"io.modelcontextprotocol/logLevel": "info"}}
  - C [1] #1 tools/call {"name": "a", "arguments": {}}
    S [1] stream
    S [1] notifications/message {"level": "info", "data": "ready"}
    S [1] #1 {"content": []}
""")
def opt_in(message: Message) -> Verdict:
    """A server sends log messages only for a request that has asked for them by a level."""
    if message.sender != SERVER:
        return None
    if message.exchange is not None:
        asked = message.exchange.request
        if asked is None:
            return CannotTell("the request of the stream")
        return KEPT if META_LEVEL in asked.meta else "a log message for #%s, which has named no level" % asked.id
    logs = message.session.state(Logs)
    if len(logs.open):
        return KEPT
    return "a log message, and no request is open that has named a level" if (
        message.session.from_start and not logs.open.forgot) else CannotTell("the requests before")


@rule("logging.rate-limit", "logging.rate-limit-both", on=NOTIFICATION, method=LOG_MESSAGE, needs="times",
      reading="more than %d log messages in a second are a flood" % FLOOD, scene="""
    on stdio 2025-06-18
    S notifications/message {"level": "info", "data": "ready"}
  - repeat 1001 S notifications/message {"level": "info", "data": "<n>"}
""")
def rate_limit(message: Message) -> Verdict:
    """The log of a server is not a flood of messages."""
    return flooded(message, message.session.state(Logs).rates, "") if message.sender == SERVER else None


@rule("logging.validate-fields", on=NOTIFICATION, method=LOG_MESSAGE, party=SERVER, scene="""
    on stdio 2025-06-18
  + S notifications/message {"level": "info", "data": "ready"}
  - S notifications/message {"level": "trace", "data": "ready"}
""")
def validate_fields(message: Message) -> Verdict:
    """A log message has one of the eight levels, data, and perhaps the name of a logger."""
    params: Dict[str, Any] = dict(message.params)
    if message.sender != SERVER:
        return None
    if params.get("level") not in LEVELS:
        return Broken("the level %s" % shown(params.get("level")), "params.level")
    if "data" not in params:
        return Broken("no data", "params.data")
    if "logger" in params and not isinstance(params["logger"], str):
        return Broken("logger is %s" % typed(params["logger"]), "params.logger")
    return KEPT


@observe(on=REQUEST, when="meta")
def remember_level(message: Message) -> None:
    """Note a request that has named a level."""
    if message.sender == CLIENT and META_LEVEL in message.meta:
        message.session.state(Logs).open[message.index] = message


@observe(on=(RESULT, ERROR))
def forget_level(message: Message) -> None:
    """Note that a request has its response."""
    if message.sender == SERVER and message.request is not None and META_LEVEL in message.request.meta:
        message.session.state(Logs).open.pop(message.request.index)
