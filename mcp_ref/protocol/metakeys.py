"""The members of `_meta`: the grammar of their names, reserved prefixes, trace context, the page of a tool.

A key is a name, perhaps behind a prefix: ``com.example/owner``. The rules came with 2025-06-18
[2025-06-18.. basic/index §`_meta`]; in older revisions a key may be anything.

=======  ==================================================================================  =========
part     form                                                                                if not
=======  ==================================================================================  =========
prefix   labels with dots between them, then a slash; may be missing                         MUST
label    letters, digits, hyphens; begins with a letter, ends with a letter or digit         MUST
name     letters, digits, ``-``, ``_``, ``.``; ends with letters or digits, or is empty      MUST
=======  ==================================================================================  =========

The rule for reserved prefixes changed in 2025-11-25, and neither set contains the other:

===========================  ==============================  =====================================
prefix                       2025-06-18: ``mcp`` is a label  since: ``mcp`` is the second label
                             and not the last
===========================  ==============================  =====================================
``mcp.dev/``                 reserved                        free
``com.mcp/``                 free                            reserved
``com.mcp.tools/``           reserved                        reserved
``com.example.mcp/``         free                            free
===========================  ==============================  =====================================

The same holds for ``modelcontextprotocol``. A peer may send a key under such a prefix: the protocol, or an extension
that this package does not know, may define it. Its value is kept and not interpreted, unless DEFINED lists the key
[2025-06-18.. basic/index §`_meta`] MUST NOT.

Reading: letters and digits are those of ASCII, as the page writes out ``[a-z0-9A-Z]`` for names. A reserved label is
one in any case (``io.MCP/``), because prefixes are host names turned round.

All functions take time in proportion to the number of keys. Values are not checked, except those of a trace context.

``traceparent``, ``tracestate`` and ``baggage`` say to which distributed trace a request belongs. They are the only
names that need no prefix, and their values are those of the HTTP headers of these names [2026-07-28 basic/index
§`_meta`] MUST. They may come in every revision, because implementations sent them before the page had them.

============  ===============================================================================================
member        form
============  ===============================================================================================
traceparent   ``version-traceid-parentid-flags`` in small hexadecimal digits: 2, 32, 16 and 2 of them; version ff
              and ids of zeros alone are invalid; versions after 00 may go on behind a hyphen
tracestate    at most 32 members ``key=value`` with commas between them, each key once
baggage       at most 180 members ``name=value``, properties behind semicolons, 8192 characters in all
============  ===============================================================================================

Sources: W3C Trace Context (Recommendation of 2021) §3.2 and §3.3, W3C Baggage §3.3.

A request that arrives is never refused for its trace context: a broken trace is no reason to lose a request. A value of
a wrong form is dropped, and ``tracestate`` together with a ``traceparent`` that cannot be read, as the recommendation
requires. What we send is checked like everything else that we send. This package makes no spans and passes a trace
context on as it came; a program that makes spans writes a ``traceparent`` of its own.

``ui`` in the `_meta` of a tool describes its page [2026-07-28 extensions/apps/apps §Resource Discovery]. What has
another form than the specification gives it counts as absent.
"""

import re
from typing import Any, Callable, Collection, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Tuple

from ..errors import LocalProtocolError
from ..revisions import R2025_06_18, R2025_11_25, R2026_07_28, REVISIONS, Revision
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


CITATION = "2025-06-18.. basic/index §`_meta`"
SHOWN = 5
"""Faults that are reported of one object; a hostile one may have a million."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ALNUM = _LETTERS | frozenset("0123456789")
_IN_LABEL = _ALNUM | frozenset("-")
_IN_NAME = _ALNUM | frozenset("-_.")
_OURS = ("modelcontextprotocol", "mcp")


class Defined(NamedTuple):
    """A row of DEFINED: a key that the protocol itself gives a meaning."""

    key: str
    since: Optional[str]
    until: Optional[str]


_IO = "io.modelcontextprotocol/"
DEFINED: Tuple[Defined, ...] = (
    Defined("progressToken", None, None),
    Defined(_IO + "related-task", R2025_11_25, R2025_11_25),
    Defined(_IO + "model-immediate-response", R2025_11_25, R2025_11_25),
    Defined(_IO + "protocolVersion", R2026_07_28, None),
    Defined(_IO + "clientInfo", R2026_07_28, None),
    Defined(_IO + "clientCapabilities", R2026_07_28, None),
    Defined(_IO + "logLevel", R2026_07_28, None),
    Defined(_IO + "subscriptionId", R2026_07_28, None),
    Defined(_IO + "serverInfo", R2026_07_28, None),
)
"""[2025-03-26.. basic/index §Requests], [2025-11-25 basic/utilities/tasks §Related Task Metadata],
[2025-11-25 basic/utilities/tasks §Creating Tasks], [2026-07-28 basic/index §`_meta`]"""

_KEYS: Dict[Revision, FrozenSet[str]] = {
    revision: frozenset(row.key for row in DEFINED if revision.has(row.since, row.until)) for revision in REVISIONS
}
"""The keys of DEFINED by revision. Most objects have no others, and need no further check."""

_RESERVED: Tuple[Tuple[str, Optional[str], Callable[[List[str]], List[str]]], ...] = (
    (R2025_06_18, R2025_06_18, lambda labels: labels[:-1]),
    (R2025_11_25, None, lambda labels: labels[1:2]),
)
"""First and last revision, and the labels of a prefix that make it a reserved one if they are the protocol's."""


def fault(key: str) -> str:
    """Return what is wrong with the form of one key; "" for a good key."""
    prefix, slash, name = key.partition("/")
    if slash:
        for label in prefix.split("."):
            if not (label and label[0] in _LETTERS and label[-1] in _ALNUM and _IN_LABEL.issuperset(label)):
                return "the prefix must be labels of letters, digits and hyphens with dots between them, not %s" % (
                    _shown(prefix))
    else:
        name = key
    if name and not (name[0] in _ALNUM and name[-1] in _ALNUM and _IN_NAME.issuperset(name)):
        return "the name must begin and end with a letter or digit and hold only these, '-', '_' and '.', not %s" % (
            _shown(name))
    return ""


def identifier_fault(identifier: Any) -> str:
    """Return what is wrong with the identifier of an extension, a key with a prefix; "" for a good one.

    [2026-07-28 basic/versioning §Extension Negotiation] MUST. Reading: a reserved prefix is no fault, since official
    extensions have one.
    """
    if not isinstance(identifier, str):
        return "an identifier is a text, not %.40r" % (identifier,)
    wrong = fault(identifier)
    if wrong or "/" in identifier:
        return wrong
    return "an identifier has a prefix, as com.example/thing does"


def reserved(key: str, revision: Revision) -> bool:
    """Return True if a key without `fault` has a prefix that this revision reserves for the protocol."""
    prefix, slash, _ = key.partition("/")
    labels = prefix.lower().split(".") if slash else []
    return any(label in _OURS for since, until, chosen in _RESERVED if revision.has(since, until)
               for label in chosen(labels))


def defined(key: str, revision: Revision) -> bool:
    """Return True if the protocol of this revision gives this key a meaning."""
    return key in _KEYS[revision]


def violations(meta: Any, revision: Revision) -> List[str]:
    """Return the faults of the keys of a `_meta` that came: a line for each of the first few; [] if there are none.

    Keys under reserved prefixes are no fault, see above. A value that is no object has no keys.
    """
    found: List[str] = []
    if not revision.meta_key_rules or not isinstance(meta, dict) or _KEYS[revision].issuperset(meta):
        return found
    for key in meta:
        wrong = fault(key)
        if wrong:
            found.append("_meta key %s: %s" % (_shown(key), wrong))
            if len(found) >= SHOWN:
                break
    return found


def violations_in(message: Mapping[str, Any], revision: Revision) -> List[str]:
    """Return the faults of the keys of every `_meta` of params or of a result that came, as `violations` does."""
    found: List[str] = []
    for meta in metas(message):
        found += violations(meta, revision)
        if len(found) >= SHOWN:
            return found[:SHOWN]
    return found


def check_own(meta: Optional[Mapping[str, Any]]) -> None:
    """Raise ValueError, saying what to do, for a `_meta` that our user gives to a tool, a resource or a prompt.

    These are shown in every revision, so the keys have to follow the rules of all of them.
    """
    for revision in REVISIONS:
        wrong = _own_fault(meta, revision)
        if wrong:
            raise ValueError(wrong)


def check(message: Mapping[str, Any], revision: Revision, known: Collection[str] = ()) -> None:
    """Raise `LocalProtocolError`, saying what to do, if params or a result of ours hold a `_meta` that may not be sent.

    Keys that the protocol defines in the revision may be sent, and those that are ``known`` from extensions.
    """
    for meta in metas(message):
        wrong = _own_fault(meta, revision, known)
        if wrong:
            raise LocalProtocolError(wrong, CITATION)


def metas(message: Any) -> List[Any]:
    """Return every `_meta` of params or of a result: its own, and those of the content, messages and lists in it.

    Values that users fill in (arguments, structured content, schemas) may have members of that name; they do not count.
    """
    found: List[Any] = []
    if isinstance(message, dict):
        _collect(message, found)
    return found


def _collect(message: Mapping[str, Any], found: List[Any]) -> None:
    for name, inner in message.items():
        if name == "_meta":
            found.append(inner)
        elif name in _HOLDERS:
            for item in inner if isinstance(inner, (list, tuple)) else (inner,):
                if isinstance(item, dict):
                    _collect(item, found)


_HOLDERS = frozenset((
    "content", "contents", "messages", "prompts", "resource", "resourceTemplates", "resources", "roots", "tools",
))
"""Members that hold an object, or an array of objects, which has a `_meta` of its own."""


def _own_fault(meta: Optional[Mapping[Any, Any]], revision: Revision, known: Collection[str] = ()) -> str:
    if not revision.meta_key_rules or not isinstance(meta, Mapping) or _KEYS[revision].issuperset(meta):
        return ""
    for key in meta:
        if not isinstance(key, str):
            return "_meta key %.80r: keys are str" % (key,)
        wrong = fault(key)
        if wrong:
            return "_meta key %s: %s" % (_shown(key), wrong)
        if key in TRACE_KEYS and revision.trace_context:
            wrong = trace_fault(key, meta[key])
            if wrong:
                return "_meta key %s: %s" % (key, wrong)
        if reserved(key, revision) and not defined(key, revision) and key not in known:
            return "_meta key %s: this prefix is reserved for MCP in %s; use a host name of yours turned round, " \
                   "such as com.example/%s" % (_shown(key), revision, _shown(key.partition("/")[2])[1:-1])
    return ""


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 80 else text[:77] + "...")


MODEL = "model"
"""The one of those in ``visibility`` whose calls come from a model."""


def ui_of(meta: Optional[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return what the `_meta` of a tool says of its page; {} for a tool without."""
    found = (meta or {}).get("ui")
    return found if isinstance(found, dict) else {}


def is_for_model(meta: Optional[Mapping[str, Any]]) -> bool:
    """Return False for the `_meta` of a tool that pages of apps alone may call
    [2026-07-28 extensions/apps/apps §Visibility:] MUST NOT."""
    visibility = ui_of(meta).get("visibility")
    return not isinstance(visibility, list) or MODEL in visibility
