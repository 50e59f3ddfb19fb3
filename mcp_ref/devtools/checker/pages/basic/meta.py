"""Rules of ``_meta`` [2025-06-18.. basic/index §`_meta`], and of requests that stand for themselves
[2026-07-28 basic/index §Statelessness].
"""

import re
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from .....methods import EMBEDDED, lookup
from .....wiretrace import CLIENT, SERVER
from ...observed import ERROR, META_CAPABILITIES, META_CLIENT, META_REVISION, NOTIFICATION, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import labels_are_fit, name_is_fit, prefix_has_labels, shown, typed
from .versioning import MISSING_CAPABILITY, speaks_modern

_INSIDE = "what moves a party is inside it; equal behaviour and other behaviour both prove nothing"

UNDECIDED.update({
    "meta.reserved-no-assumptions": "assumptions are inside the party",
    "meta.info-no-behavior": _INSIDE,
    "stateless.multiple-conversations": "which conversation a request belongs to is not on the wire",
    "stateless.no-connection-affinity":
        "a cursor or a state that is refused on another connection may have expired, or be another user's",
})

META_SERVER = "io.modelcontextprotocol/serverInfo"
_INVALID_PARAMS = -32602
_LISTS = ("tools", "resources", "resourceTemplates", "prompts", "contents", "content", "messages", "roots")
"""The members of results whose items may have a ``_meta``."""
_ANY_LIST = frozenset(_LISTS)
_LONG_KEY = 200
"""Characters above which a key is not remembered."""
_MOST = 1000
"""Keys of one message that are looked at."""
_UNREADY = re.compile(r"not (?:yet )?(?:been )?initiali[sz]ed|before initiali[sz]|initiali[sz]e first|"
                      r"must (?:first )?(?:be )?initiali[sz]e", re.IGNORECASE)


class NamedParties:
    """The parties that have named themselves in ``_meta`` of a session."""

    def __init__(self) -> None:
        self.named: Dict[str, bool] = {CLIENT: False, SERVER: False}


def _metas(message: Message) -> List[Mapping[str, Any]]:
    """Return each ``_meta`` whose place the protocol defines: that of the message, and those of items of its result."""
    found = [message.meta] if message.meta else []
    named = [name for name in message.result if name in _ANY_LIST] if message.kind == RESULT else []
    for name in named if len(named) < 2 else sorted(named, key=_LISTS.index):
        items = message.result[name]
        for item in items[:_MOST] if isinstance(items, list) else ():
            if isinstance(item, dict) and isinstance(item.get("_meta"), dict):
                found.append(item["_meta"])
    return found


@lru_cache(maxsize=1024)
def _unfit(key: str) -> Tuple[str, ...]:
    """Return what is wrong with a key, by the names of the rules below."""
    return tuple(name for name, fit in (("prefix", prefix_has_labels), ("label", labels_are_fit), ("name", name_is_fit))
                 if not fit(key))


def _keys(message: Message) -> Tuple[str, ...]:
    """Return all keys of a message on which the three rules below depend."""
    metas = _metas(message)
    return tuple(metas[0] if len(metas) == 1 else (key for meta in metas for key in meta))[:_MOST] if metas else ()


def _judged(message: Message, fault: str) -> Verdict:
    """Judge the keys of a message: the first one that has the fault is told."""
    keys = _keys(message)
    wrong = next((key for key in keys if fault in (
        _unfit(key) if len(key) <= _LONG_KEY else _unfit.__wrapped__(key))), None)
    if wrong is not None:
        return Broken("the key %s" % shown(wrong), "_meta")
    return KEPT if keys else None


_KEY = """
    on stdio 2025-06-18
  + C #1 tools/list {"_meta": {"com.example/x": 1}}
  - C #1 tools/list {"_meta": {"%s": 1}}
    S #1 {"tools": []}
"""


@rule("meta.prefix-labels", on=(REQUEST, NOTIFICATION, RESULT), facts=_keys, scene=_KEY % "com..example/x")
def prefix_labels(message: Message) -> Verdict:
    """The prefix of a key of ``_meta`` is made of labels with dots between, and ends with the only slash."""
    return _judged(message, "prefix")


@rule("meta.prefix-label-chars", on=(REQUEST, NOTIFICATION, RESULT), facts=_keys, scene=_KEY % "1com.example_/x")
def prefix_label_chars(message: Message) -> Verdict:
    """A label in a key of ``_meta`` begins with a letter, ends with a letter or digit, and may have hyphens between."""
    return _judged(message, "label")


@rule("meta.name-alnum-ends", on=(REQUEST, NOTIFICATION, RESULT), facts=_keys, scene=_KEY % "com.example/_x")
def name_alnum_ends(message: Message) -> Verdict:
    """The name in a key of ``_meta`` is empty, or begins and ends with a letter or digit."""
    return _judged(message, "name")


def missing(request: Message) -> Tuple[str, ...]:
    """Return the needed members of ``_meta`` that a request lacks, or has with another type."""
    if isinstance(request.meta.get(META_REVISION), str) and isinstance(request.meta.get(META_CAPABILITIES), dict):
        return ()  # as nearly always: four rules ask
    found = []
    if not isinstance(request.meta.get(META_REVISION), str):
        found.append(META_REVISION)
    if not isinstance(request.meta.get(META_CAPABILITIES), dict):
        found.append(META_CAPABILITIES)
    return tuple(found)


@rule("meta.required-fields", on=REQUEST, scene="""
    on stdio 2026-07-28
  + C #1 tools/list {}
  - C> {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": \
{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}
  + S #1 {"tools": []}
  - S #1 !-32602 "clientCapabilities is missing"
""")
def required_fields(message: Message) -> Verdict:
    """Each request of a client has the version and the client's capabilities in ``_meta``."""
    if message.sender != CLIENT:
        return None
    lacking = missing(message)
    return Broken("%s without %s" % (message.method, " and ".join(lacking)), "params._meta") if lacking else KEPT


def _malformed(message: Message) -> bool:
    """Return True for the response to a client's request that lacks what it needs in ``_meta``."""
    return message.sender == SERVER and message.request is not None and bool(missing(message.request))


@rule("meta.missing-required-rejected", on=(RESULT, ERROR), provoked="meta.required-fields", scene="""
    on stdio 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
    C> {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "a", "arguments": {}, "_meta": \
{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "c", \
"version": "1"}}}}
  + S #2 !-32602 "clientCapabilities is missing"
  - S #2 {"content": []}
""")
def missing_required_rejected(message: Message) -> Verdict:
    """A request that lacks a needed member of ``_meta`` is refused with -32602."""
    request = message.request
    if request is None or not _malformed(message):
        return None
    if message.kind == ERROR:  # with another code something else may be wrong with it, too
        return KEPT if message.error.get("code") == _INVALID_PARAMS else None
    return "a result, and the request had no %s" % " and ".join(missing(request)) if (
        speaks_modern(message.connection)) else CannotTell("whether the server is of a revision without handshake")


def _bad_request(message: Message) -> Verdict:
    """Return the verdict about the HTTP status of an error that needs 400."""
    exchange = message.exchange
    if exchange is None or exchange.status is None:
        return None
    if exchange.status == 400:
        return KEPT
    if exchange.stream:
        return CannotTell("whether the stream had begun when the fault showed")
    return Broken("the status %d" % exchange.status, "status")


@rule("meta.missing-required-http-400", on=ERROR, needs="http", provoked="meta.required-fields", scene="""
    on http 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
    C [2]> {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": \
{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}
  + S [2] 400 {"Content-Type": "application/json"}
  - S [2] 200 {"Content-Type": "application/json"}
    S [2] #2 !-32602 "clientCapabilities is missing"
""")
def missing_required_http_400(message: Message) -> Verdict:
    """Over HTTP a request that lacks a needed member of ``_meta`` is refused with the status 400."""
    return _bad_request(message) if _malformed(message) and (
        message.error.get("code") == _INVALID_PARAMS) else None


_CONFIGURATION = {party: CannotTell("the configuration of the %s" % party) for party in (CLIENT, SERVER)}


def _named(message: Message, party: str, key: str) -> Verdict:
    """Return the verdict about a party that names itself: on all of its messages, or (so configured) on none."""
    if message.sender != party:
        return None
    if isinstance(message.meta.get(key), dict):
        return KEPT
    if party == CLIENT and message.connection.http:
        return CannotTell("which client sent the request: several may share the connection")
    return Broken("%s without %s, which others had" % (message.method, key), "_meta") if (
        message.session.state(NamedParties).named[party]) else _CONFIGURATION[party]


@rule("meta.client-info", on=REQUEST, follows="meta.required-fields", scene="""
    on stdio 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
  + C #2 tools/call {"name": "a", "arguments": {}}
  - C> {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "a", "arguments": {}, "_meta": \
{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}
    S #2 {"content": []}
""")
def client_info(message: Message) -> Verdict:
    """A client that says who it is says so on each request."""
    return _named(message, CLIENT, META_CLIENT)


@rule("meta.server-info", on=RESULT, scene="""
    on stdio 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": [], "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}}
    C #2 tools/list {}
  + S #2 {"tools": [], "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}}
  - S #2 {"tools": []}
""")
def server_info(message: Message) -> Verdict:
    """A server that says who it is says so on each result."""
    return _named(message, SERVER, META_SERVER)


def inputs_of(message: Message) -> Iterator[Tuple[str, str]]:
    """Yield the methods of the requests for input in a result, and the feature that each needs of the client."""
    asked = message.result.get("inputRequests")
    for each in list(asked.values())[:_MOST] if isinstance(asked, dict) else ():
        method = each.get("method") if isinstance(each, dict) else None
        row = lookup(method, message.revision) if isinstance(method, str) and message.revision is not None else None
        if row is not None and row.carrier == EMBEDDED and row.capability is not None:
            yield row.name, row.capability


@rule("meta.undeclared-capabilities", "stateless.no-inferred-capabilities", "mrtr.declared-capabilities-only",
      on=RESULT, scene="""
    on stdio 2026-07-28 client={"elicitation": {"form": {}}}
    C #1 tools/call {"name": "a", "arguments": {}}
  + S #1 {"resultType": "input_required", "inputRequests": {"q": {"method": "elicitation/create", "params": \
{"mode": "form", "message": "Name?", "requestedSchema": {"type": "object", "properties": {}}}}}}
  - S #1 {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}}
""")
def undeclared_capabilities(message: Message) -> Verdict:
    """A server asks a client for nothing whose capability this request has not declared, whatever others have."""
    if message.sender != SERVER:
        return None
    verdict = None
    for method, capability in inputs_of(message):
        declared = message.has_capability(CLIENT, capability)
        if declared is False:
            return Broken("%s, and the request has not declared %s" % (method, capability), "result.inputRequests")
        verdict = KEPT if declared else verdict
    return verdict


_REFUSED = """
    on http 2026-07-28 client={}
    C [1] #1 tools/call {"name": "a", "arguments": {}}
  + S [1] 400 {"Content-Type": "application/json"}
  - S [1] %s {"Content-Type": "application/json"}
  + S [1] #1 !-32021 "Missing capability" {"requiredCapabilities": {"elicitation": {}}}
  - S [1] #1 !-32021 "Missing capability" %s
"""


@rule("meta.capability-missing-error", on=ERROR, scene=_REFUSED % (400, '{"missing": ["elicitation"]}'))
def capability_missing_error(message: Message) -> Verdict:
    """An error that the client lacks a capability lists what is missing, as an object of capabilities."""
    if message.error.get("code") != MISSING_CAPABILITY:
        return None
    data = message.error.get("data")
    required = data.get("requiredCapabilities") if isinstance(data, dict) else None
    if isinstance(required, dict) and required:
        return KEPT
    return Broken("requiredCapabilities is %s" % ("empty" if required == {} else typed(required)),
                  "error.data.requiredCapabilities")


@rule("meta.capability-missing-http-400", on=ERROR, needs="http",
      scene=_REFUSED % (200, '{"requiredCapabilities": {"elicitation": {}}}'))
def capability_missing_http_400(message: Message) -> Verdict:
    """Over HTTP an error that the client lacks a capability has the status 400."""
    return _bad_request(message) if message.error.get("code") == MISSING_CAPABILITY else None


_PARENT = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?\Z")
_STATE = re.compile(r"[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,256}\Z")
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_TEXT = r"(?:[ \t]*[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+)?"
_BAGGAGE = re.compile(r"%s[ \t]*=%s(?:[ \t]*;[ \t]*%s(?:[ \t]*=%s)?)*\Z" % (_TOKEN, _TEXT, _TOKEN, _TEXT))
_LONGEST = 8192


def _is_traced(key: str, value: str) -> bool:
    """Return True if a value has the form of the trace context that its key names."""
    if key == "traceparent":
        found = _PARENT.match(value)
        return found is not None and (found.group(1) != "00" or found.group(2) is None)
    form = _STATE if key == "tracestate" else _BAGGAGE
    return all(form.match(each.strip(" \t")) for each in value.split(",") if each.strip(" \t"))


@rule("meta.trace-context", on=(REQUEST, NOTIFICATION, RESULT), when="meta", scene="""
    on stdio 2026-07-28
  + C #1 tools/list {"_meta": {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"}}
  - C #1 tools/list {"_meta": {"traceparent": "abc"}}
    S #1 {"tools": []}
""")
def trace_context(message: Message) -> Verdict:
    """The trace context in ``_meta`` has the forms that W3C gives it."""
    verdict: Verdict = None
    for key in ("traceparent", "tracestate", "baggage"):
        value = message.meta.get(key)
        if key not in message.meta:
            continue
        if not isinstance(value, str):
            return Broken("%s is %s" % (key, typed(value)), "_meta." + key)
        if "***" in value or len(value) > _LONGEST:
            return CannotTell("a value that was masked or shortened")
        if not _is_traced(key, value):
            return Broken("%s is %s" % (key, shown(value)), "_meta." + key)
        verdict = KEPT
    return verdict


@rule("stateless.no-prior-requests", on=(RESULT, ERROR), scene="""
    on stdio 2026-07-28
    C #1 server/discover {}
    S #1 {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    C #2 tools/list {}
  + S #2 {"tools": []}
  - S #2 !-32600 "Server not initialized"
""")
def no_prior_requests(message: Message) -> Verdict:
    """A request that has all it needs is not refused because none came before it."""
    if message.sender != SERVER or message.request is None or missing(message.request):
        return None
    if message.kind == RESULT:
        return KEPT
    text = message.error.get("message")
    if not isinstance(text, str) or not _UNREADY.search(text[:_LONGEST]):
        return None
    return Broken("the error says %s" % shown(text), "error.message") if speaks_modern(
        message.connection) else CannotTell("whether the server is of a revision without handshake")


@observe(on=(REQUEST, RESULT), when="meta")
def remember_name(message: Message) -> None:
    """Note that a party has named itself."""
    key = META_CLIENT if message.kind == REQUEST else META_SERVER
    if isinstance(message.meta.get(key), dict):
        message.session.state(NamedParties).named[message.sender] = True
