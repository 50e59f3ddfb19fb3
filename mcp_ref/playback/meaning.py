"""The meaning of JSON values of the protocol: what two recordings of the same conversation have in common.

What is made anew in each conversation is set aside: an id, a cursor, a token, a moment. Where the protocol has such a
value in a member of its own (ASIDE), it is enough that both have one. In texts, which are the server's own, dates in
ISO 8601, times of the day with seconds, and UUIDs are set aside. Everything else counts, the order of arrays too; the
order of members does not.
"""

import re
from base64 import b64decode
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from ..jsontext import dumps
from ..wiretrace.text import plain, shorten

ASIDE = frozenset((
    "nextCursor", "cursor", "requestState", "taskId", "createdAt", "lastUpdatedAt", "lastModified", "elicitationId",
    "progressToken", "requestId", "io.modelcontextprotocol/subscriptionId", "traceparent", "tracestate", "baggage",
))
"""Members of the protocol whose value is made anew in each conversation."""
MASK = re.compile(r"\*\*\*(?:[0-9a-f]{8}!?)?")
"""The mask of a secret in a trace; see `mcp_ref.wiretrace`."""
_ANEW = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    r"|\b\d{1,2}:\d\d:\d\d(?:\s?[AP]M\b)?"
    r"|\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|\*\*\*[0-9a-f]{8}!?")
_LISTS = {"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}
"""Members of results that are lists of named things -> the member that names one."""
_SHOWN = 60


class Difference(NamedTuple):
    """A place where two values differ, with both, shortened for people; "absent" for what one does not have."""

    path: str
    left: str
    right: str

    def __str__(self) -> str:
        return "%s: %s, %s" % (self.path or "all of it", self.left, self.right)


def differences(left: Any, right: Any, path: str = "") -> Iterator[Difference]:
    """Yield where two values differ in meaning."""
    if isinstance(left, dict) and isinstance(right, dict):
        yield from _of_objects(left, right, path)
    elif isinstance(left, list) and isinstance(right, list):
        for place in range(max(len(left), len(right))):
            ends = [side[place] if place < len(side) else _ABSENT for side in (left, right)]
            yield from differences(ends[0], ends[1], "%s[%d]" % (path, place))
    elif not _same(left, right):
        yield Difference(path, _shown(left), _shown(right))


def _text_of(blob: Any) -> Any:
    """Return the text that a value has in base64, if it is one: a moment may be in it."""
    try:
        return b64decode(blob, validate=True).decode("utf-8") if isinstance(blob, str) else blob
    except ValueError:
        return blob


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return plain_form(left) == plain_form(right) or _hides(left, right) or _hides(right, left)
    return isinstance(left, bool) == isinstance(right, bool) and bool(plain_form(left) == plain_form(right))


def _hides(masked: str, text: str) -> bool:
    """Return True if a text may be what another one was before secrets were masked in it."""
    parts = MASK.split(masked)
    at = len(parts[0])
    if len(parts) == 1 or not text.startswith(parts[0]):
        return False
    for part in parts[1:-1]:
        at = text.find(part, at) + len(part)
        if at < len(part):
            return False
    return text.endswith(parts[-1], at)


def _of_objects(left: Dict[str, Any], right: Dict[str, Any], path: str) -> Iterator[Difference]:
    for name in [*left, *(name for name in right if name not in left)]:
        inner = "%s.%s" % (path, name) if path else name
        ends = left.get(name, _ABSENT), right.get(name, _ABSENT)
        if name in ASIDE and _ABSENT not in ends:
            continue
        if name == "blob":
            ends = _text_of(ends[0]), _text_of(ends[1])
        key = _LISTS.get(name)
        tables = [named(end, key) for end in ends] if key else [{}, {}]
        if key and all(tables):
            yield from _of_named(tables[0], tables[1], inner)
        else:
            yield from differences(ends[0], ends[1], inner)


def _of_named(left: Dict[str, Any], right: Dict[str, Any], path: str) -> Iterator[Difference]:
    """Compare lists of named things by their names, then their order."""
    for name in [*left, *(name for name in right if name not in left)]:
        yield from differences(left.get(name, _ABSENT), right.get(name, _ABSENT), "%s[%s]" % (path, name))
    common = [name for name in left if name in right]
    others = [name for name in right if name in left]
    if common != others:
        yield Difference(path + ", in another order", _shown(common), _shown(others))


def named(items: Any, key: str) -> Dict[str, Any]:
    """Return the items of a list by the member that names each; {} for what is no list of such, or names one twice."""
    if not isinstance(items, list) or not all(isinstance(each, dict) and isinstance(each.get(key), str)
                                              for each in items):
        return {}
    found = {each[key]: each for each in items}
    return found if len(found) == len(items) else {}


def plain_form(value: Any) -> Any:
    """Return a value without what is made anew in each conversation, for comparing."""
    if isinstance(value, dict):
        return {name: None if name in ASIDE else plain_form(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain_form(item) for item in value]
    return _ANEW.sub("*", value) if isinstance(value, str) else value


def key_of(method: str, params: Any) -> str:
    """Return what makes a request the same as another one: its method and its parameters, without ``_meta``."""
    return "%s %s" % (method, dumps(_sorted(without_meta(params))))


def without_meta(params: Any) -> Dict[str, Any]:
    """Return params without ``_meta``, which is of the message and not of what is asked."""
    return {name: member for name, member in params.items() if name != "_meta"} if isinstance(params, dict) else {}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def masks_in(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the strings in a value that have a masked secret."""
    if isinstance(value, str) and MASK.search(value):
        yield path
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from masks_in(member, "%s.%s" % (path, name) if path else name)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from masks_in(item, "%s[%d]" % (path, place))


def shown_request(method: str, params: Any) -> str:
    """Return a request in a few words, for people."""
    what = without_meta(params)
    return plain(shorten("%s %s" % (method, dumps(what)) if what else method, 2 * _SHOWN))


def texts(found: List[Difference], names: Tuple[str, str]) -> List[str]:
    """Return differences as lines, in which each value has the name of the side that it is from."""
    return ["%s: %s %s, %s %s" % (each.path or "all of it", each.left, names[0], each.right, names[1])
            for each in found]


class _Absent:
    def __repr__(self) -> str:
        return "absent"


_ABSENT: Any = _Absent()


def _shown(value: Any) -> str:
    return repr(value) if value is _ABSENT else plain(shorten(dumps(value), _SHOWN))
