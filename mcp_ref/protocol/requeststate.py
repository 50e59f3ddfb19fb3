"""The state that a server gives to a client between the rounds of one request, and verifies when it comes back.

[2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)]. A server that asks by its result keeps nothing:
the answers so far travel in ``requestState``, through the client, which is not trusted.

    token = seal(State(id, expires, answers={...}), bind(principal, method, params, server), keys)
    state = unseal(token, bind(principal, method, params, server), keys, now=time.time(), max_bytes=262_144)

A token is ``r1.<key id>.<payload>.<signature>``, all of it ASCII; the payload is JSON in base64url, the signature
HMAC-SHA256 of everything before it, in hexadecimal digits. **It is signed and not encrypted: the client can read it**,
that is its own answers and the values that the author's code recorded. `unseal` accepts it

==========================  ====================================================================================
if                          because it
==========================  ====================================================================================
the signature is right      MUST be protected against change where it matters, and MUST be refused otherwise
it has not expired          SHOULD be of use for a short time only
the principal is the same   SHOULD be of no use to another principal
the server is the same      another server may have a tool of that name
method and params are too   SHOULD be of no use for any other request (`_meta` and the members of the rounds aside)
==========================  ====================================================================================

The server is a value that all processes share which serve the same clients. It is needed because several servers may
have the same keys, which come from one variable of the environment.

Any other token raises `StateRefused`: always the same error on the wire, so that an attacker does not learn which check
failed. No part of a token is decoded before its signature was verified. A token may be used several times: each state
has an ``id``, by which a server that remembers ids can refuse the second use.
"""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ..errors import INVALID_PARAMS, RpcError
from ..jsontext import dumps
from .results import DEPENDING

REFUSAL = "Invalid params: params.requestState is not one that can be used for this request now"
MIN_KEY_BYTES = 16

_FORM = "r1"
_sorted = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
"""An encoder that sorts members: a client may send the members of its params in another order each time."""
_SHORT = 16
"""Digits that tell servers apart; no peer makes any of them."""
_NOT_SALIENT = DEPENDING | {"_meta"}


class StateRefused(RpcError):
    """The one answer to every state that is not accepted; ``reason`` is for the server's own log."""

    def __init__(self, reason: str) -> None:
        super().__init__(INVALID_PARAMS, REFUSAL)
        self.reason = reason


# -- What is in it -----------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class State:
    """The state of a request when a round ends. It has no ``repr``, because it holds answers of users."""

    id: str
    """A unique text."""
    expires: int
    """The first second, by the wall clock, in which the state is refused."""
    rounds: int = 1
    """The number of rounds that the request has had."""
    asked: Dict[str, str] = field(default_factory=dict)
    """Key -> digest of each question of the last round."""
    answers: Dict[str, Tuple[str, Any]] = field(default_factory=dict)
    """Key -> digest of the question, and its answer, as JSON, of earlier rounds."""
    kept: Dict[str, List[Any]] = field(default_factory=dict)
    """Values that the handler computed once: key -> JSON value, and the keys of questions that were asked for it."""
    note: Optional[str] = None
    """A text of the handler's author."""


class Binding(NamedTuple):
    """The request that a state belongs to; made by `bind`."""

    principal: str
    method: str
    params: str
    server: str = ""


_MEMBERS = (("n", "rounds", int), ("q", "asked", dict), ("a", "answers", dict), ("k", "kept", dict), ("u", "note", str))
"""Name in the payload, attribute of `State`, type; empty ones are left out of the payload."""


def digest(value: Any, in_order: Callable[[Any], str] = dumps) -> str:
    """Return a short text for a JSON value: equal for equal values whose members are in the same order."""
    return sha256(in_order(value).encode("ascii")).hexdigest()[:40]


def bind(principal: Any, method: str, params: Mapping[str, Any], server: Any = None) -> Binding:
    """Return the binding of a request; ``principal`` and ``server`` are JSON values, None for no principal."""
    salient = {name: value for name, value in params.items() if name not in _NOT_SALIENT}
    by = "" if principal is None else digest(principal, _sorted)
    return Binding(by, method, digest(salient, _sorted), "" if server is None else digest(server, _sorted)[:_SHORT])


# -- Keys --------------------------------------------------------------------------------------


class Keys:
    """The secrets that states are signed with: the first one signs, all of them verify.

    To change keys put the new one first in all processes, and remove the old one when its last state has expired. Each
    is a str or bytes of at least MIN_KEY_BYTES; ``secrets.token_urlsafe(32)`` makes a good one. Raises TypeError or
    ValueError for others; the text does not show them.
    """

    def __init__(self, keys: Sequence[Union[str, bytes]]) -> None:
        if isinstance(keys, (str, bytes)):
            raise TypeError("keys for states are a list: the one that signs, and older ones")
        self._keys: Dict[str, bytes] = {}
        for at, key in enumerate(keys):
            if not isinstance(key, (str, bytes)):
                raise TypeError("key %d for states is a str or bytes, not %s" % (at, type(key).__name__))
            secret = key.encode("utf-8") if isinstance(key, str) else key
            if len(secret) < MIN_KEY_BYTES:
                raise ValueError("key %d for states has %d bytes; it needs %d" % (at, len(secret), MIN_KEY_BYTES))
            self._keys[sha256(b"mcp_ref key id\0" + secret).hexdigest()[:8]] = secret
        if not self._keys:
            raise ValueError("states need at least one key")
        self.first = next(iter(self._keys))
        """Return the id of the key that signs."""

    def __contains__(self, id: object) -> bool:
        return id in self._keys

    def sign(self, id: str, text: str) -> str:
        """Return the signature of an ASCII text by the key of this id."""
        return hmac.digest(self._keys[id], text.encode("ascii"), "sha256").hex()

    def __repr__(self) -> str:
        return "<Keys %s>" % ", ".join(self._keys)


# -- Out and in --------------------------------------------------------------------------------


def seal(state: State, binding: Binding, keys: Keys) -> str:
    """Return the token of a state. Raises `JsonError` for a value that JSON cannot hold."""
    payload: Dict[str, Any] = {"b": binding, "i": state.id, "e": state.expires}
    members = state.__dict__
    for name, attribute, _ in _MEMBERS:
        value = members[attribute]
        if value or value == "":  # a note that is empty is not the same as none
            payload[name] = value
    first = keys.first
    text = urlsafe_b64encode(dumps(payload).encode("ascii")).decode("ascii").rstrip("=")
    body = "%s.%s.%s" % (_FORM, first, text)
    return "%s.%s" % (body, keys.sign(first, body))


def unseal(token: Any, binding: Binding, keys: Keys, now: float, max_bytes: int) -> State:
    """Return the state in a token that came with this request. ``now`` is in seconds of the wall clock.

    Raises `StateRefused`.
    """
    if not isinstance(token, str) or not token.isascii():
        raise StateRefused("it is no text of ours")
    if len(token) > max_bytes:
        raise StateRefused("it has more than max_state_bytes (%d)" % max_bytes)
    body, _, signature = token.rpartition(".")
    parts = body.split(".")
    if len(parts) != 3 or parts[0] != _FORM:
        raise StateRefused("it does not have the form of ours")
    if parts[1] not in keys:
        raise StateRefused("it is signed with a key that is not known here; all processes need the same state_keys")
    if not hmac.compare_digest(signature, keys.sign(parts[1], body)):
        raise StateRefused("the signature is wrong")
    return _read(parts[2], binding, now)


def _read(payload: str, binding: Binding, now: float) -> State:
    """Return the state in a payload that was signed with a key of ours, perhaps by a program of another version.

    The payload is our own JSON, so no limits are needed.
    """
    try:
        found = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        bound = Binding(*found["b"])
        state = State(found["i"], found["e"])
        for name, attribute, kind in _MEMBERS:
            if name in found:
                if type(found[name]) is not kind:
                    raise ValueError(name)
                setattr(state, attribute, found[name])
        expired = now >= state.expires
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StateRefused("it cannot be read, though it is signed") from None
    for name, theirs, ours in zip(Binding._fields, bound, binding):
        if theirs != ours:
            raise StateRefused("it belongs to a request with another value of %s" % name)
    if expired:
        raise StateRefused("it has expired")
    return state
