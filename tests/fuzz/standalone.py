"""Targets for what stands alone: envelopes, states that come back, mirrored header fields, trace context, eras of HTTP.

All of it comes from anybody, before anything is known of who sent it.
"""
import json
from base64 import urlsafe_b64encode
from random import Random
from typing import Any, Dict, List, Optional, Tuple

from mcp_ref.errors import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, RpcError
from mcp_ref.jsonrpc import Notification, Request, ResultResponse
from mcp_ref.protocol import envelope, metakeys, requeststate
from mcp_ref.protocol.streamable_http import mirrored, refusals
from mcp_ref.revisions import HANDSHAKE_REVISIONS, REVISIONS, Revision, find

from ..support.http_modern import standard_headers
from .engine import Broken, Target
from .inventing import mutated, name, text, value
from .wire import one_line

LINE = 2000
STATELESS = [revision for revision in REVISIONS if revision.stateless]

# -- Envelopes -----------------------------------------------------------------------------------


def good_meta(random: Random, revision: Optional[Revision] = None) -> Dict[str, Any]:
    """What a request of this revision says of itself, in order."""
    capabilities = {each: {} for each in ("roots", "sampling", "elicitation") if random.random() < 0.7}
    made = envelope.fields(
        revision or random.choice(STATELESS), capabilities,
        {"name": text(random), "version": "1"} if random.random() < 0.5 else None,
        random.choice(("debug", "info", "error")) if random.random() < 0.3 else None)
    if random.random() < 0.2:
        made["progressToken"] = value(random, 1)
    return made


def meta(random: Random) -> Any:
    """The same, half of them with a fault."""
    made: Any = good_meta(random)
    if random.random() < 0.15:
        made[envelope.VERSION] = random.choice(REVISIONS).name if random.random() < 0.5 else text(random)
    return mutated(random, made, random.randrange(1, 4)) if random.random() < 0.5 else made


def make_envelope(random: Random) -> Tuple[Any, int]:
    """Params, and which revisions are spoken, a bit for each."""
    params = {"_meta": meta(random), name(random): value(random, 1)}
    return (mutated(random, params) if random.random() < 0.2 else params), random.randrange(1 << len(REVISIONS))


def check_envelope(case: Tuple[Any, int]) -> None:
    """Only the two errors, as a line, which name what is spoken; what is read says what was sent."""
    params, bits = case
    if not isinstance(params, dict):
        return  # which `jsonrpc` refuses
    ours = spoken(bits)
    carried = envelope.carries(params)
    try:
        found = envelope.read(params, ours)
    except RpcError as error:
        one_line(error.message, LINE)
        if error.code == UNSUPPORTED_PROTOCOL_VERSION:
            if error.data["supported"] != [each.name for each in reversed(ours)]:
                raise Broken("supported: %r" % (error.data,)) from None
        elif error.code != INVALID_PARAMS:
            raise Broken("code: %d" % error.code) from None
        return
    if not carried or found.revision not in ours or not found.revision.stateless:
        raise Broken("accepted: %r" % (found,))
    sent = params["_meta"]
    again = envelope.fields(found.revision, found.capabilities, found.client_info or None, found.log_level)
    if any(sent.get(key) != kept for key, kept in again.items()):
        raise Broken("read: %r" % (found,))
    envelope.checked(sent)


def spoken(bits: int) -> List[Revision]:
    """The revisions whose bits are set, oldest first."""
    return [revision for revision in REVISIONS if bits >> revision.rank & 1]


# -- States --------------------------------------------------------------------------------------

KEYS = requeststate.Keys(["the key that signs now, and", "the key that signed before"])
STRANGE = requeststate.Keys(["a key that nobody here knows"])
NOW, ENDS, MAX = 1000, 2000, 4000


def good_state(random: Random) -> Dict[str, Any]:
    """The payload of a token."""
    bound = list(requeststate.bind(None, "tools/call", {"name": "a"}))
    return {"b": bound, "i": "1", "e": ENDS, "n": random.randrange(1, 4), "u": text(random),
            "q": {name(random): "d" * 40}, "a": {name(random): ["d" * 40, value(random, 1)]},
            "k": {name(random): [value(random, 2)]}}


def signed(payload: Any, keys: requeststate.Keys) -> str:
    """A token of whatever JSON, as a program of another version might have signed it."""
    body = json.dumps(payload).encode("ascii")
    told = "r1.%s.%s" % (keys.first, urlsafe_b64encode(body).decode("ascii").rstrip("="))
    return "%s.%s" % (told, keys.sign(keys.first, told))


def make_state(random: Random) -> Tuple[Any, str, bool]:
    """A payload, what is done to its token, and whether a key of ours signs it."""
    payload: Any = good_state(random)
    if random.random() < 0.6:
        payload = mutated(random, payload, random.randrange(1, 4))
    token = signed(payload, KEYS)
    if random.random() < 0.4:
        for _ in range(random.randrange(1, 3)):
            at = random.randrange(len(token) + 1)
            token = random.choice((token[:at] + text(random) + token[at:], token[:at] + token[at + 1:],
                                   token[:at] + random.choice("._-=A\xe9") + token[at + 1:], token.swapcase()))
    return payload, token, random.random() < 0.9


def check_state(case: Tuple[Any, str, bool]) -> None:
    """One error, the same for all; what is accepted is what was signed, for this request alone and in its time."""
    payload, token, known = case
    right = requeststate.bind(None, "tools/call", {"name": "a"})
    whole = signed(payload, KEYS)
    others = [requeststate.bind(principal, method, {"name": named}) for principal, method, named in (
        ("p", "tools/call", "a"), (None, "prompts/get", "a"), (None, "tools/call", "b"))]
    found = _unsealed(token, right, KEYS if known else STRANGE, NOW)
    if found is None:
        return
    if not known or token != whole:
        raise Broken("accepted: what was not signed so")
    if payload["e"] <= NOW or payload["i"] != found.id or found.answers != payload.get("a", {}):
        raise Broken("read: %r" % (found.__dict__,))
    if any(_unsealed(token, other, KEYS, NOW) is not None for other in others):
        raise Broken("bound: taken for another request")
    if _unsealed(token, right, KEYS, payload["e"]) is not None:
        raise Broken("time: taken after its end")
    again = requeststate.seal(found, right, KEYS)
    kept = requeststate.unseal(again, right, KEYS, NOW, 10 * MAX)
    if kept.__dict__ != dict(found.__dict__, rounds=found.rounds or 1):
        raise Broken("again: %r" % (kept.__dict__,))


def _unsealed(
    token: str, binding: requeststate.Binding, keys: requeststate.Keys, now: float
) -> Optional[requeststate.State]:
    try:
        return requeststate.unseal(token, binding, keys, now, MAX)
    except requeststate.StateRefused as error:
        if error.code != INVALID_PARAMS or error.message != requeststate.REFUSAL or error.data is not None:
            raise Broken("refusal: %r" % (error,)) from None
        one_line(error.reason, LINE)
        return None


# -- Mirrored header fields ----------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"}, "dry": {"type": ["boolean", "null"], "x-mcp-header": "dry"},
    "place": {"type": "object", "properties": {"zone": {"type": "integer", "x-mcp-header": "zone"}}},
    "rest": {"type": "array", "items": {"type": "string"}}}}
FIELDS = ("", " ", "\t", "us", "=?base64?", "?=", "=?base64??=", "SGVsbG8=", "\xe9", "\x00", "\r\n", "1", ".0", "e2",
          "-", "true", "a b", "==", "=?BASE64?", "+", "0x1", "9" * 30)


def make_mirrored(random: Random) -> Tuple[Any, Any, List[Tuple[str, str]]]:
    """A schema, params of a call, and header fields that somebody sends instead of the right ones."""
    schema = mutated(random, SCHEMA, random.randrange(4))
    arguments: Any = {"region": text(random), "dry": random.choice((True, False, None)),
                      "place": {"zone": random.choice((0, 42, -1, 2 ** 53, 1.0))}}
    params: Any = {"name": text(random), "arguments": mutated(random, arguments, random.randrange(3))}
    fields = [(random.choice(("mcp-method", "mcp-name", "mcp-param-region", "mcp-param-zone", "mcp-param-dry")),
               "".join(random.choice(FIELDS) for _ in range(random.randrange(4)))) for _ in range(random.randrange(3))]
    return schema, mutated(random, params) if random.random() < 0.2 else params, fields


def check_mirrored(case: Tuple[Any, Any, List[Tuple[str, str]]]) -> None:
    """Only ValueError, as a line; the fields made from a body fit it, and others only if they say the same."""
    schema, params, fields = case
    try:
        found = mirrored.annotations(schema)
    except ValueError as error:
        one_line(str(error), LINE)
        found = []
    params = params if isinstance(params, dict) else None
    for field, said in fields:
        _check_field(said)
    made: Dict[str, str] = {}
    try:
        made.update(standard_headers("tools/call", params))
        made.update(mirrored.param_headers(found, None if params is None else params.get("arguments")))
    except ValueError as error:
        one_line(str(error), LINE)
    else:
        got = {each.lower(): sent for each, sent in made.items()}
        lacking = mirrored.name_of("tools/call", params) is None
        wrong = mirrored.fault("tools/call", params, found, lambda each: got.get(each.lower()))
        if wrong and not lacking:  # a call without a name is refused for that
            raise Broken("fits: %s" % wrong)
    sent = dict({each.lower(): kept for each, kept in made.items()}, **dict(fields))
    wrong = mirrored.fault("tools/call", params, found, lambda each: sent.get(each.lower()))
    if wrong is not None:
        one_line(wrong, LINE)
    elif sent["mcp-method"].strip(" \t") != "tools/call" or not _says(sent["mcp-name"], params["name"]):
        raise Broken("taken: %r for %r" % (sent, params))


def _says(field: str, name: Any) -> bool:
    """Whether a field says this name; one that is no string, which only the call is refused for, as JSON reads it."""
    read = mirrored.decode_value(field)
    return read == name if isinstance(name, str) else bool(json.loads(read) == name)


def _check_field(said: str) -> None:
    try:
        read = mirrored.decode_value(said)
    except ValueError as error:
        one_line(str(error), LINE)
        return
    if mirrored.decode_value(mirrored.encode_value(read)) != read:
        raise Broken("again: %r" % read)
    for other in (0, 1, 42, -1, 1.0, True, "1", 2 ** 53):
        if mirrored.same(read, other) and json.dumps(other) != read and read != other and float(read) != other:
            raise Broken("same: %r and %r" % (read, other))


# -- Trace context -------------------------------------------------------------------------------

TRACES = ("00", "01", "ff", "-", "0" * 32, "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "0" * 16, "a=1", ",",
          "=", "@", "a@b", ";", "p", " ", "\t", "\n", "\x00", "\xe9", "%20", "\"", "A", "a" * 300, "b=2,", "1")
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def make_trace(random: Random) -> Dict[str, Any]:
    """A `_meta` with a trace context."""
    made: Dict[str, Any] = {"traceparent": PARENT, "tracestate": "a=1,b@c=2", "baggage": "a=1;p,b = 2;q=3"}
    for key in list(made):
        if random.random() < 0.5:
            made[key] = "".join(random.choice(TRACES) for _ in range(random.randrange(8)))
    if random.random() < 0.1:
        made["tracestate"] = ",".join("k%d=v" % number for number in range(random.randrange(20, 45)))
    found = mutated(random, made) if random.random() < 0.2 else made
    return found if isinstance(found, dict) else made


def check_trace(case: Dict[str, Any]) -> None:
    """Nothing raises; what is kept is as it came, has its form, and can be a header field."""
    found = metakeys.trace_context(case)
    if metakeys.trace_context(found) != found or any(case[key] is not kept for key, kept in found.items()):
        raise Broken("kept: %r" % (found,))
    for key in metakeys.KEYS:
        wrong = metakeys.trace_fault(key, case[key]) if key in case else ""
        one_line(wrong, LINE)
        if not wrong and key in case and ("\n" in case[key] or "\r" in case[key] or "\x00" in case[key]):
            raise Broken("form: %s %r" % (key, case[key]))
    if "tracestate" in found and "traceparent" not in found:
        raise Broken("state: without a parent")


# -- Eras of HTTP --------------------------------------------------------------------------------


def make_era(random: Random) -> Tuple[int, int, str, Any, Any, bool]:
    """Which revisions are spoken, a kind of message, its method and params, the header, whether it is in a session."""
    params: Any = {"_meta": meta(random)} if random.random() < 0.7 else value(random, 2)
    header: Any = random.choice((None, random.choice(REVISIONS).name, text(random)))
    inner = params.get("_meta") if isinstance(params, dict) else None
    if isinstance(inner, dict) and random.random() < 0.5:
        header = inner.get(envelope.VERSION)
    bits = random.randrange(1 << len(HANDSHAKE_REVISIONS)) | sum(1 << each.rank for each in STATELESS)
    method = random.choice(("initialize", "ping", "tools/call", "notifications/cancelled", text(random)))
    return bits, random.randrange(3), method, params, header, random.random() < 0.5


def check_era(case: Tuple[int, int, str, Any, Any, bool]) -> None:
    """An era that is spoken, or one of three errors as a line; a request is modern only by what it says of itself."""
    bits, kind, method, params, header, in_session = case
    ours = spoken(bits | sum(1 << each.rank for each in STATELESS))
    params, header = params if isinstance(params, dict) else None, header if isinstance(header, str) else None
    frame: Any = (Request(1, method, params), Notification(method, params), ResultResponse(1, {}))[kind]
    eras = refusals.HttpEras(ours)
    judged = eras.judge(frame, header, in_session)
    if isinstance(judged, RpcError):
        one_line(judged.message, LINE)
        if judged.code not in (HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION, -32600):
            raise Broken("code: %d" % judged.code)
        return
    carried = envelope.carries(params)
    if judged == refusals.LEGACY and (not eras.legacy or (kind == 0 and carried)):
        raise Broken("legacy: which is not spoken, or not what it says")
    version = (params or {}).get("_meta", {}).get(envelope.VERSION) if carried else None
    if judged == refusals.MODERN and kind == 0 and isinstance(version, str) and header != version:
        raise Broken("modern: %r in the header, %r in _meta" % (header, version))
    if judged == refusals.MODERN and kind == 2:
        raise Broken("modern: a response")
    known = find(header) if header is not None else None
    if judged == refusals.LEGACY and kind == 0 and method != "initialize" and not in_session and (
            header is not None and (known is None or known not in ours)):
        raise Broken("legacy: with a header that is not ours")


TARGETS = (
    Target("envelopes", make_envelope, check_envelope),
    Target("states", make_state, check_state),
    Target("mirrored", make_mirrored, check_mirrored),
    Target("traces", make_trace, check_trace),
    Target("eras", make_era, check_era),
)
