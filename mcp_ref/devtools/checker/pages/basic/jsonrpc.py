"""Rules of messages as such: members, ids, and which response belongs to which request [2024-11-05 basic/messages],
[2025-03-26.. basic/index §Messages].
"""

from functools import lru_cache
from typing import Any, Dict, Optional, Union

from .....methods import NOTIFICATION as A_NOTIFICATION, REQUEST as A_REQUEST, known_since, lookup
from .....revisions import Revision
from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful, UsedIds
from ...observed import ERROR, NOISE, NOTIFICATION, ODD, REQUEST, RESULT, Message, ObservedBatch, id_key
from ...rules import BATCH, KEPT, MESSAGE, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import is_integer, is_object_text, shown, typed

UNDECIDED.update({
    "jsonrpc.result-type-known-set": "the set of types that a client knows is inside it; no message carries it",
    "jsonrpc.result-type-unknown-invalid": "a client that refuses a result does not say so on the wire",
    "jsonrpc.result-type-absent-complete":
        "a client that refuses a result without type is silent, like one that has no further question",
})

_IDS = ("jsonrpc.request-id-*", "session:jsonrpc.request-id-type", "session:jsonrpc.request-id-not-null")
"""Faults of requests from which follows that responses do not fit."""
_LONG_NAME = 100
"""Characters above which a name of a method is not remembered: the specification has none so long."""
_NO_PARAMS: Dict[str, Any] = {}
_LONG_ID = 1000
"""Characters of an id above which a receiver may refuse to read it."""


class Faults:
    """The number of messages of each party that its receiver perhaps could not read, less the errors about them."""

    def __init__(self) -> None:
        self.count: Dict[str, int] = {CLIENT: 0, SERVER: 0}
        self.ids: "Forgetful[Any, None]" = Forgetful(Bounds().entries)
        """Ids of messages that are no requests: an error may be about one of them."""


def _is_plain(id: Any) -> bool:
    """Return True for an id that every receiver can take: an integer, or a string that is not long."""
    return type(id) is int or (isinstance(id, str) and len(id) <= _LONG_ID)


class UsedRequestIds:
    """The ids that each party has used in a session."""

    def __init__(self) -> None:
        self.used: Dict[str, UsedIds] = {party: UsedIds(Bounds().ids) for party in (CLIENT, SERVER)}


@lru_cache(maxsize=1024)
def _kind(method: str, revision: Optional[Revision]) -> str:
    known = known_since(method)
    row = lookup(method, revision if revision in known else known[-1]) if known else None
    return row.kind if row is not None else ""


def kind_by_name(message: Message) -> str:
    """Return ``request`` or ``notification`` for a method of the specification, "" for any other."""
    return _kind(message.method, message.revision) if len(message.method) <= _LONG_NAME else ""


def envelope(message: Message) -> Optional[Broken]:
    """Return what is wrong with the members of a message by JSON-RPC alone, None if nothing is."""
    data, kind = message.data, message.kind
    if data.get("jsonrpc") != "2.0":
        if "jsonrpc" not in data:
            return Broken("jsonrpc is missing", "jsonrpc")
        return Broken('jsonrpc is %s, and not the string "2.0"' % shown(data["jsonrpc"]), "jsonrpc")
    if kind == RESULT:
        return None
    if kind == ODD:
        return Broken("method is %s" % typed(data["method"]) if "method" in data
                      else "neither method, result nor error", "method")
    if kind in (REQUEST, NOTIFICATION) and "params" in data and not isinstance(data["params"], (dict, list)):
        return Broken("params is %s" % typed(data["params"]), "params")
    if kind == ERROR and "result" in data:
        return Broken("result beside error", "error")
    if kind == ERROR and not message.error:
        return Broken("error is %s" % shown(data["error"]), "error")
    if kind == ERROR and not ("code" in message.error and isinstance(message.error.get("message"), str)):
        return Broken("error without code or message", "error")
    return None


def _form(message: Union[Message, ObservedBatch]) -> Any:
    """Return the facts about the form of a request or a result: its method, if the form is good.

    Any other message is returned itself, for it is like no other.
    """
    if type(message) is Message and message.data.get("jsonrpc") == "2.0" and type(message.id) in (int, str):
        if message.kind == REQUEST:
            return message.method if type(message.data.get("params", _NO_PARAMS)) is dict else message
        if message.kind == RESULT and message.request is not None and not message.again:
            return message.method
    return message


@rule("jsonrpc.follow-spec", on=(REQUEST, NOTIFICATION, RESULT, ERROR, ODD, NOISE, BATCH), spoils=True,
      facts=_form, follows=("jsonrpc.r*", "jsonrpc.error-*", "http.post-body-*", "http.batch-body-*"), scene="""
    on stdio 2025-06-18
  + C> {"jsonrpc": "2.0", "id": 1, "method": "ping"}
  - C> {"jsonrpc": 2.0, "id": 1, "method": "ping"}
    S #1 {}
""")
def follow_spec(message: Union[Message, ObservedBatch]) -> Verdict:
    """A message has the members of a JSON-RPC 2.0 request, notification or response, and the version in jsonrpc."""
    if isinstance(message, ObservedBatch):
        return None if message else "an empty array"
    if message.kind != NOISE:
        return envelope(message) or KEPT
    posted = message.exchange is not None and message.sender == CLIENT
    if message.connection.transport == "stdio" or posted:  # their rules say what lines and bodies of POSTs are
        return None
    if message.batch is not None:
        return "an array with %s in it" % typed(message.event.message[message.batch[0]])
    if is_object_text(message.event.text):
        return CannotTell("a message whose bytes are not canonical JSON")
    return "%d characters that are no JSON object" % len(message.event.text)


@rule("jsonrpc.request-id-type", on=(REQUEST, NOTIFICATION), spoils=True, facts=_form, scene="""
    on stdio 2025-06-18
  + C #"a" tools/list {}
  - C> {"jsonrpc": "2.0", "id": {"n": 1}, "method": "tools/list"}
  + S #"a" {"tools": []}
""")
def request_id_type(message: Message) -> Verdict:
    """A request has an id, which is a string or an integer."""
    if message.kind == NOTIFICATION:
        asks = kind_by_name(message) == A_REQUEST
        return Broken("%s without id" % message.method, "id") if asks else None
    if message.id is None or kind_by_name(message) == A_NOTIFICATION:
        return None
    return KEPT if isinstance(message.id, str) or is_integer(message.id) else Broken(
        "the id is %s" % typed(message.id), "id")


@rule("jsonrpc.request-id-not-null", on=REQUEST, spoils=True, facts=_form, scene="""
    on stdio 2025-06-18
  + C #1 tools/list {}
  - C> {"jsonrpc": "2.0", "id": null, "method": "tools/list"}
  + S #1 {"tools": []}
""")
def request_id_not_null(message: Message) -> Verdict:
    """The id of a request is not null."""
    if kind_by_name(message) == A_NOTIFICATION:
        return None
    return KEPT if message.id is not None else Broken("%s with the id null" % message.method, "id")


@rule("jsonrpc.notification-no-id", on=MESSAGE, when="notice", spoils=True, scene="""
    on stdio 2025-06-18
  + C notifications/roots/list_changed
  - C #7 notifications/roots/list_changed
""")
def notification_no_id(message: Message) -> Verdict:
    """A notification has no id."""
    if message.kind not in (REQUEST, NOTIFICATION) or kind_by_name(message) != A_NOTIFICATION:
        return None
    return KEPT if message.kind == NOTIFICATION else Broken("%s with the id %s" % (
        message.method, shown(message.id)), "id")


@rule("jsonrpc.request-id-unique-session", on=REQUEST, spoils=True, scene="""
    on stdio 2025-06-18
    C #3 tools/list {}
    S #3 {"tools": []}
  + C #4 tools/list {}
  - C #3 tools/list {}
  + S #4 {"tools": []}
  - S #3 {"tools": []}
""")
def request_id_unique_session(message: Message) -> Verdict:
    """No request has an id that its sender has used before in the session."""
    if type(message.id) not in (str, int):
        return None
    used = message.session.state(UsedRequestIds).used[message.sender]
    if message.id not in used:
        return CannotTell("the first ids of so many") if used.forgot else KEPT
    if message.exchange is None:
        return Broken("the id %s was used before" % shown(message.id), "id")
    before = message.pending or _answered(message)
    if message.session.id is None and message.connection.transport != "http+sse":
        return CannotTell("sessions: several clients may share the connection")
    if before is None or before.exchange is None or not _was_taken(before):
        return CannotTell("whether the request with this id before was taken, or is sent again")
    return Broken("the id %s was used before" % shown(message.id), "id")


def _answered(message: Message) -> Optional[Message]:
    found: Optional[Message] = message.connection.answered[message.sender].get(
        (id_key(message.id), message.session if message.connection.http else None))
    return found


def _was_taken(request: Message) -> bool:
    """Return True if the server has accepted a POST: then sending it again is no second try."""
    if request.exchange is None or request.exchange.complete is False:  # the response was perhaps lost on its way
        return False
    status = request.exchange.status
    return status is not None and 200 <= status < 300 and request.answer is not None


@rule("jsonrpc.request-id-unique-inflight", on=REQUEST, spoils=True, scene="""
    on stdio 2026-07-28
    C #7 tools/call {"name": "slow", "arguments": {}}
  + C #8 tools/call {"name": "quick", "arguments": {}}
  - C #7 tools/call {"name": "quick", "arguments": {}}
    S #7 {"content": []}
  + S #8 {"content": []}
  - S #7 {"content": []}
""")
def request_id_unique_inflight(message: Message) -> Verdict:
    """A request does not have the id of another one that waits for its response."""
    before = message.pending
    if type(message.id) not in (str, int) or message.sender != CLIENT:
        return None
    if before is None or before.cancelled is not None:
        return KEPT
    if message.exchange is not None or before.exchange is not None:
        return CannotTell("which client sent the request: several may share the connection")
    return Broken("the request #%s of message %d has no response yet" % (message.id, before.index), "id")


def _unknown(message: Message) -> Verdict:
    """Return the verdict about a response whose id no request that is known has."""
    connection, asker = message.connection, message.receiver
    exchange = message.exchange
    alone = exchange is not None and exchange.request is not None and exchange.method == "POST" and (
        len(exchange.sent) == 1 and connection.transport != "http+sse")
    if message.kind == RESULT and "id" not in message.data:
        return Broken("no id", "id")
    if exchange is not None and (exchange.status or 0) >= 400 and not alone:
        return CannotTell("which message an HTTP error is about")
    if not alone:
        known = connection.ids[asker]
        if not message.session.from_start or known.forgot:
            return CannotTell("the requests before")
        if type(message.id) in (str, int) and message.id in known:
            return CannotTell("a request that was too long ago")
        if connection.noise[asker] or (_is_plain(message.id) and (
                asker, message.id) in connection.state(Faults).ids):
            return CannotTell("what of the messages that are none was a request")
        if exchange is not None and connection.transport != "http+sse":
            return CannotTell("the request: it may have come on another connection")
    if message.kind == ERROR and _is_plain(message.id) and (asker, message.id) in connection.state(Faults).ids:
        return None  # about a message that is no request, and has an id
    return Broken("no request has the id %s" % shown(message.id) if message.id is not None else "no id", "id")


def _second(message: Message) -> Verdict:
    """Return the verdict about a response to a request that has one already."""
    exchange = message.exchange
    if exchange is not None and (exchange.method == "GET" or message.sse) and (
            message.connection.transport != "http+sse"):
        return CannotTell("whether an event was sent once more after a stream was resumed")
    by = message.request.notes.get("by") if message.request is not None else None
    if exchange is not None and message.sender == CLIENT and (
            by is None or by.status is None or by.status // 100 != 2 or by.complete is False):
        return CannotTell("whether the first response was taken, or is sent again")
    return Broken("the request #%s has a response already" % message.id, "id")


@rule("jsonrpc.response-same-id", on=(RESULT, ERROR), spoils=True, facts=_form, follows=(
    *_IDS, "jsonrpc.notification-no-response", "stdio.client-no-responses", "batch.receive"), scene="""
    on stdio 2025-06-18
    C #"5" tools/list {}
  + S #"5" {"tools": []}
  - S #5 {"tools": []}
""")
def response_same_id(message: Message) -> Verdict:
    """A response has the id of a request that its receiver has sent and that has no response yet."""
    if message.kind == ERROR and message.revision is not None and message.revision.errors_may_omit_id:
        return None
    return _own(message)


@rule("jsonrpc.error-same-id", on=ERROR, spoils=True, follows=(
    *_IDS, "jsonrpc.notification-no-response", "stdio.client-no-responses", "batch.receive"), scene="""
    on stdio 2025-11-25
    C #9 tools/call {"name": "x", "arguments": {}}
  + S #9 !-32602 "Unknown tool"
  - S> {"jsonrpc": "2.0", "error": {"code": -32602, "message": "Unknown tool"}}
""")
def error_same_id(message: Message) -> Verdict:
    """An error has the id of the request that it answers, unless that could not be read."""
    return _own(message)


def _own(message: Message) -> Verdict:
    """Return the verdict about the id of a response."""
    if message.id is not None or message.kind == RESULT:
        return _unknown(message) if message.request is None else _second(message) if message.again else KEPT
    if _about_notification(message) or message.error.get("code") == -32700:
        return None
    return _without_id(message)


def _without_id(message: Message) -> Verdict:
    """Return the verdict about an error without id: some message of its receiver must have been unreadable."""
    if message.exchange is not None and (message.exchange.status or 0) >= 400:
        return CannotTell("what the server could read of the request")
    if message.exchange is not None and (message.exchange.stream or len(message.exchange.sent) != 1):
        return CannotTell("which message the error is about")
    if "bytes" not in message.connection.recorded or not message.session.from_start:
        return CannotTell("bytes that are no message")
    if message.connection.state(Faults).count[message.receiver]:
        return None
    return Broken("no id, and no message was unreadable", "id")


def _about_notification(message: Message) -> bool:
    """Return True if what the receiver sent last, in this exchange or on this pipe, is a notification."""
    if message.exchange is not None and not message.exchange.stream:
        return bool(message.exchange.sent) and message.exchange.sent[-1].kind == NOTIFICATION
    last = message.connection.last.get(message.receiver)
    return last is not None and last.kind == NOTIFICATION


@rule("jsonrpc.notification-no-response", on=(RESULT, ERROR), spoils=True, facts=_form, scene="""
    on stdio 2025-06-18
    C notifications/roots/list_changed
  - S> {"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "Method not found"}}
    C #1 ping
    S #1 {}
""")
def notification_no_response(message: Message) -> Verdict:
    """Nobody answers a notification."""
    if message.request is not None:
        return KEPT
    if message.exchange is not None:  # the rules of HTTP say what a POST of a notification is answered by
        return None
    if message.id is not None or not _about_notification(message) or message.error.get("code") == -32700:
        return None
    verdict = _without_id(message)
    if not isinstance(verdict, Broken):
        return verdict
    return Broken("a response without id after the notification %s" % (
        message.connection.last[message.receiver].method))


@rule("jsonrpc.response-result-or-error", on=(RESULT, ERROR, ODD), spoils=True, scene="""
    on stdio 2025-06-18
    C #4 ping
  + S #4 {}
  - S> {"jsonrpc": "2.0", "id": 4}
""")
def response_result_or_error(message: Message) -> Verdict:
    """A response has a result or an error."""
    return _has_outcome(message)


@rule("jsonrpc.result-field", on=(RESULT, ERROR, ODD), spoils=True, facts=_form, scene="""
    on stdio 2025-11-25
    C #4 ping
  + S #4 {}
  - S> {"jsonrpc": "2.0", "id": 4}
""")
def result_field(message: Message) -> Verdict:
    """A response that is no error has a result."""
    return _has_outcome(message)


def _has_outcome(message: Message) -> Verdict:
    if message.kind != ODD:
        return KEPT
    return Broken("neither result nor error", "result") if "id" in message.data and (
        "method" not in message.data) else None


@rule("jsonrpc.response-not-both", on=(RESULT, ERROR), spoils=True, scene="""
    on stdio 2025-06-18
    C #4 ping
  + S> {"jsonrpc": "2.0", "id": 4, "result": {}}
  - S> {"jsonrpc": "2.0", "id": 4, "result": {}, "error": null}
""")
def response_not_both(message: Message) -> Verdict:
    """A response does not have both a result and an error."""
    return Broken("result and error %s" % shown(message.data["error"]), "error") if (
        "result" in message.data and "error" in message.data) else KEPT


@rule("jsonrpc.error-code-message", on=ERROR, spoils=True, scene="""
    on stdio 2025-06-18
    C #4 tools/call {"name": "x", "arguments": {}}
  + S> {"jsonrpc": "2.0", "id": 4, "error": {"code": -32602, "message": "Unknown tool"}}
  - S> {"jsonrpc": "2.0", "id": 4, "error": {"code": -32602}}
""")
def error_code_message(message: Message) -> Verdict:
    """An error has a code and a message, which is a string."""
    if "result" in message.data:
        return None
    if not isinstance(message.data["error"], dict):
        return Broken("error is %s" % typed(message.data["error"]), "error")
    if "code" not in message.error:
        return Broken("no code", "error.code")
    if not isinstance(message.error.get("message"), str):
        return Broken("message is %s" % typed(message.error["message"]) if "message" in message.error
                      else "no message", "error.message")
    return KEPT


@rule("jsonrpc.error-code-integer", on=ERROR, spoils=True, scene="""
    on stdio 2025-06-18
    C #4 tools/call {"name": "x", "arguments": {}}
  + S> {"jsonrpc": "2.0", "id": 4, "error": {"code": -32602, "message": "Unknown tool"}}
  - S> {"jsonrpc": "2.0", "id": 4, "error": {"code": "ENOENT", "message": "Unknown tool"}}
""")
def error_code_integer(message: Message) -> Verdict:
    """The code of an error is an integer."""
    if "code" not in message.error:
        return None
    code = message.error["code"]
    return KEPT if is_integer(code) else Broken("the code is %s" % shown(code), "error.code")


@observe(on=REQUEST)
def remember_id(message: Message) -> None:
    """Note the id of a request; a trace of others may hold several sessions of a pipe, each with its handshake."""
    ids = message.session.state(UsedRequestIds)
    if message.method == "initialize" and message.sender == CLIENT and "start" not in message.connection.recorded:
        ids.used = UsedRequestIds().used
    if type(message.id) in (str, int):
        ids.used[message.sender].add(message.id)


@observe(on=(REQUEST, NOTIFICATION, RESULT, ERROR, ODD, NOISE))
def remember_faults(message: Message) -> None:
    """Note a message that its receiver may not have been able to read, and each error that is about such a one."""
    kind = message.kind
    if kind == RESULT and message.data.get("jsonrpc") == "2.0" and "params" not in message.data:
        return
    if kind == NOISE or envelope(message) or (kind == REQUEST and not _is_plain(message.id)) or (
            not message.params and "params" in message.data and not isinstance(message.data["params"], dict)):
        faults = message.connection.state(Faults)
        faults.count[message.sender] += 1
        if kind == ODD and _is_plain(message.id):
            faults.ids[message.sender, message.id] = None
    elif kind == ERROR and message.id is None:
        count = message.connection.state(Faults).count
        count[message.receiver] -= count[message.receiver] > 0


@observe(on=BATCH)
def remember_empty(batch: ObservedBatch) -> None:
    """Note a batch that is not allowed, or empty: it may be answered by an error without id."""
    agreed = batch.session.initialize_result is not None and batch.revision is not None and batch.revision.batching
    if not batch or not agreed:
        batch.session.connection.state(Faults).count[batch.sender] += 1
