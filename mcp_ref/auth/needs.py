"""Which scopes a message needs: of everything, of its method, and of the one thing that it names.

>>> needs = Needs(["files:read"], {"tools/call:delete": "files:write", "resources/subscribe": ["files:watch"]})
>>> needs.of([("tools/call", {"name": "delete"})])
['files:read', 'files:write']

All that fits counts, not just what fits best: a tool that needs more than other tools need not repeat what they need.
All messages of a batch count, so that a client gets to know at once what it has to ask for
[2026-07-28 basic/authorization/index §Runtime Insufficient Scope Errors] SHOULD.

What leads to the same thing needs the same: `subscriptions/listen` what `resources/subscribe` needs for each resource
that it names, for it took its place; `completion/complete` what it takes to get the prompt or to read the resource (by
its template) whose arguments it helps to find, for it may tell what is in there.

Where what a message needs depends on more than a name, a function ``f(method, params)`` says it, for requests and
notifications alike, each as it came. That is the way for a resource of a template, too: one such resource has many
URIs.
"""

import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ..methods import METHODS

Scopes = Union[str, Iterable[str], None]
"""Names of scopes, or one text of names with blanks between; None: none."""
Asked = Callable[[str, Dict[str, Any]], Scopes]
Message = Tuple[str, Optional[Mapping[str, Any]]]
"""Method and params."""

OFFLINE = "offline_access"
"""Asks an authorization server for a refresh token, which is no business of a resource
[2026-07-28 basic/authorization/index §Refresh Tokens] SHOULD NOT."""
NAMED: Dict[str, str] = {
    "tools/call": "name", "prompts/get": "name", "resources/read": "uri", "resources/subscribe": "uri",
    "resources/unsubscribe": "uri",
}
"""Method -> the member of its params that says which one."""
_COMPLETED = {"ref/prompt": "prompts/get", "ref/resource": "resources/read"}
"""Type of what is completed -> the method that uses it."""
_METHODS = frozenset(row.name for row in METHODS)
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")


def scope_list(scopes: Scopes) -> List[str]:
    """Scopes in order, each once, without `OFFLINE`. Raises ValueError for what is none [RFC 6749 §3.3]."""
    names = scopes.split(" ") if isinstance(scopes, str) else list(scopes or ())
    for name in names:
        if not isinstance(name, str) or not _SCOPE.match(name):
            raise ValueError("%.80r is no scope: it has visible ASCII characters, and no quotes, backslashes or blanks"
                             % (name,))
    return [name for name in dict.fromkeys(names) if name != OFFLINE]


class Needs:
    """Which scopes messages need: ``everything`` all of them, ``more`` some of them.

    Raises ValueError for a key of ``more`` that would never fit.
    """

    def __init__(self, everything: Scopes, more: Union[Mapping[str, Scopes], Asked, None] = None) -> None:
        self.everything = scope_list(everything)
        self._asked: Optional[Asked] = None
        self._table: Dict[str, List[str]] = {}
        if callable(more):
            self._asked = more
        else:
            for key, scopes in (more or {}).items():
                self._table[_checked(key)] = scope_list(scopes)

    def of(self, messages: Sequence[Message]) -> List[str]:
        """All scopes that these messages need, each once."""
        found = list(self.everything)
        for method, params in messages:
            if self._asked is not None:
                found += scope_list(self._asked(method, dict(params or {})))
            elif self._table:
                for meant, named in _meanings(method, params or {}):
                    found += self._table.get(meant, ())
                    name = named.get(NAMED.get(meant, ""))
                    if isinstance(name, str):
                        found += self._table.get("%s:%s" % (meant, name), ())
        return list(dict.fromkeys(found))


def _meanings(method: str, params: Mapping[str, Any]) -> Iterator[Tuple[str, Mapping[str, Any]]]:
    """This message, and those that lead to the same thing."""
    yield method, params
    if method == "subscriptions/listen":
        uris = _member(params, "notifications").get("resourceSubscriptions")
        for uri in uris if isinstance(uris, list) else ():
            yield "resources/subscribe", {"uri": uri}
    elif method == "completion/complete":
        reference = _member(params, "ref")
        meant = _COMPLETED.get(str(reference.get("type")))
        if meant is not None:
            yield meant, reference


def _member(params: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A member that is an object; {} if it is none."""
    found = params.get(name)
    return found if isinstance(found, dict) else {}


def _checked(key: str) -> str:
    """A key of the table, as it is."""
    method, colon, name = key.partition(":")
    if method not in _METHODS:
        raise ValueError("%r: there is no method %s; for those of extensions let needs be a function" % (key, method))
    if colon and (method not in NAMED or not name):
        raise ValueError("%r: names can follow %s" % (key, ", ".join(NAMED)))
    return key
