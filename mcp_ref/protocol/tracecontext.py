"""Trace context: three members of `_meta` that say to which distributed trace a request belongs.

``traceparent``, ``tracestate`` and ``baggage`` are the only names there that need no prefix, and their values are those
of the HTTP headers of these names [2026-07-28 basic/index §`_meta`] MUST. They may come in every revision, because
implementations sent them before the page had them.

============  ===============================================================================================
member        form
============  ===============================================================================================
traceparent   ``version-traceid-parentid-flags`` in small hexadecimal digits: 2, 32, 16 and 2 of them; version ff
              and ids of zeros alone are invalid; versions after 00 may go on behind a hyphen
tracestate    at most 32 members ``key=value`` with commas between them, each key once
baggage       at most 180 members ``name=value``, properties behind semicolons, 8192 characters in all
============  ===============================================================================================

Sources: W3C Trace Context (Recommendation of 2021) §3.2 and §3.3, W3C Baggage §3.3.

A request that comes is never refused for this: a broken trace is no reason to lose a request. A value of a wrong form
is dropped, and ``tracestate`` together with a ``traceparent`` that cannot be read, as the recommendation requires.
What we send is checked like everything else that we send. This package makes no spans, so a trace context is passed on
as it came; a program that makes spans writes a ``traceparent`` of its own.
"""

import re
from typing import Any, Dict, Mapping

from ..urls import TOKEN
from .envelope import TRACE_KEYS

KEYS = TRACEPARENT, TRACESTATE, BAGGAGE = TRACE_KEYS

_MAX_STATES = 32
_MAX_BAGGAGE = 180
_MAX_LENGTH = {TRACEPARENT: 512, TRACESTATE: _MAX_STATES * 520, BAGGAGE: 8192}
"""Characters; a longer value is not parsed."""

_PARENT = r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[^\x00]*)?"
_STATE = (
    r"([a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
    r"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)
_PAIR = TOKEN + r"[ \t]*=[ \t]*[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*"
_PROPERTY = "(?:%s|%s)" % (_PAIR, TOKEN)
"""Compiled when first needed, which `re` remembers."""


def trace_context(meta: Mapping[str, Any]) -> Dict[str, str]:
    """Return the well-formed members of the trace context in a `_meta`, by name; {} if there are none."""
    found = {key: meta[key] for key in KEYS if key in meta and not trace_fault(key, meta[key])}
    if TRACEPARENT not in found:
        found.pop(TRACESTATE, None)
    return found


def trace_fault(key: str, value: Any) -> str:
    """Return what is wrong with the value of one of KEYS; "" for a good value."""
    if not isinstance(value, str):
        return "it is a text, not %.40r" % (value,)
    if len(value) > _MAX_LENGTH[key]:
        return "it has at most %d characters, not %d" % (_MAX_LENGTH[key], len(value))
    return _FAULTS[key](value)


def _parent_fault(value: str) -> str:
    parts = re.fullmatch(_PARENT, value)
    if parts is None:
        return "it is version-traceid-parentid-flags in small hexadecimal digits, not %.80r" % value
    version, trace, parent, _, more = parts.groups()
    if version == "ff" or (version == "00" and more is not None):
        return "version %s is not of this form: %.80r" % (version, value)
    return "" if trace.strip("0") and parent.strip("0") else "an id of zeros alone means none: %.80r" % value


def _state_fault(value: str) -> str:
    members = [member.strip(" \t") for member in value.split(",")]
    found = [re.fullmatch(_STATE, member) for member in members if member]
    if not all(found):
        return "it is key=value, with commas between several, not %.80r" % value
    keys = [member.group(1) for member in found if member]
    if not 0 < len(keys) <= _MAX_STATES:
        return "it has 1 to %d members, not %d" % (_MAX_STATES, len(keys))
    return "" if len(set(keys)) == len(keys) else "a key is there twice: %.80r" % value


def _baggage_fault(value: str) -> str:
    members = value.split(",")
    if len(members) > _MAX_BAGGAGE:
        return "it has at most %d members, not %d" % (_MAX_BAGGAGE, len(members))
    for member in members:
        pair, *properties = [part.strip(" \t") for part in member.split(";")]
        if not re.fullmatch(_PAIR, pair) or not all(re.fullmatch(_PROPERTY, each) for each in properties):
            return "it is name=value, with commas between several, not %.80r" % value
    return ""


_FAULTS = {TRACEPARENT: _parent_fault, TRACESTATE: _state_fault, BAGGAGE: _baggage_fault}
