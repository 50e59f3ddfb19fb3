"""Access: verified tokens, the principals that send requests with them, and the scopes that these need.

A verifier turns the text of a token into an `AccessToken`; the resource server checks what every token has to pass
(audience, expiry, scopes) and makes a `Principal` of it. Neither keeps the token itself. A `ScopePolicy` says which
scopes a message needs: those of everything, those of its method, and those of the one thing that it names.

>>> policy = ScopePolicy(["files:read"], {"tools/call:delete": "files:write", "resources/subscribe": ["files:watch"]})
>>> policy.scopes_for([("tools/call", {"name": "delete"})])
['files:read', 'files:write']

All keys that fit count, not just the one that fits best: a tool that needs more than other tools need not repeat what
they need. All messages of a batch count, so that a client gets to know at once what it has to ask for
[2026-07-28 basic/authorization/index §Runtime Insufficient Scope Errors] SHOULD.

Messages that lead to the same thing need the same: `subscriptions/listen` needs what `resources/subscribe` needs for
each resource that it names, for it took its place; `completion/complete` needs what it takes to get the prompt or to
read the resource (by its template) whose arguments it helps to find, for it may tell what is in there.

A name that is a URI stands for every spelling of it that may lead to the same resource, see
`mcp_ref.protocol.uris.folded`: if that is in doubt, the scopes are needed. A URI without a query holds with any
query. A URI template (``resources/read:repo://{owner}/{name}``) holds for all URIs that fit it. A client that
subscribes to a resource, or opens `subscriptions/listen` for it, needs what its readers need by URI, and for a URI that
ends with a slash what anything below it needs, for it hears of all of that.

Reading: the names in a list or a completion are not kept secret by these keys. ``resources/list``,
``resources/templates/list`` and ``completion/complete`` have keys of their own.

If the scopes depend on more than that, a function ``f(method, params)`` returns them, for requests and notifications
alike, each as it came. URIs come in whatever spelling the client has chosen: compare them by
`mcp_ref.protocol.uris.folded`, for a function behind a template gets its variables decoded.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from json import dumps
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ...methods import CALL_TOOL, COMPLETE, GET_PROMPT, LISTEN, METHODS, READ_RESOURCE, SUBSCRIBE, UNSUBSCRIBE
from ...options import strict_options
from ...protocol.uris import Folded, folded, normal
from ...uritemplate import Template
from ..discover import OFFLINE, SCOPE


@strict_options
@dataclass
class AccessToken:
    """The contents of a verified token. Members that a verifier does not know of are left as they are.

    ``subject``: the person or program that it speaks for. ``client_id``: the program that presents it. ``issuer``: the
    authorization server that made it, as it names itself. ``audience``: for whom it was made, the canonical URL of an
    MCP server. ``scopes``: those that were granted. ``expires_at``: seconds since 1970 UTC; None: it does not say.
    ``claims``: all that it says, or the answer of an introspection.
    """

    subject: Optional[str] = None
    client_id: Optional[str] = None
    issuer: Optional[str] = None
    audience: List[str] = field(default_factory=list)
    scopes: List[str] = field(default_factory=list)
    expires_at: Optional[float] = None
    claims: Dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Leave the claims out: they may say more of a person than a log should know."""
        shown = ("subject", "client_id", "issuer", "scopes", "expires_at")
        return "AccessToken(%s)" % ", ".join("%s=%r" % (name, getattr(self, name)) for name in shown)

    @property
    def thumbprint(self) -> Optional[str]:
        """The thumbprint of the key that the token is bound to [RFC 9449 §6]: the claim ``cnf.jkt``; None if it is not
        bound.

        A thumbprint that is no text is "", which no key has.
        """
        confirmation = self.claims.get("cnf")
        found = confirmation.get("jkt") if isinstance(confirmation, dict) else None
        return found if found is None or isinstance(found, str) else ""

    @property
    def unproved(self) -> bool:
        """True if the token is bound to something else than a key of DPoP, such as a certificate of TLS [RFC 8705 §3.1]
        ``x5t#S256``: a binding that nothing here checks.

        Reading: RFC 7800 §3.1 lets one ignore members of ``cnf`` that one does not understand, where no profile says
        otherwise. A token that was bound so that a thief could not use it is refused here, rather than taken as if it
        were not. Where a proxy has checked the binding, have ``verify`` leave ``cnf`` out of ``claims``.
        """
        confirmation = self.claims.get("cnf")
        if confirmation is None:
            return False
        return not isinstance(confirmation, dict) or not confirmation.keys() <= {"jkt"}

    @property
    def misfit(self) -> Optional[str]:
        """The name of a member that is not of its type, as where claims were taken as they came; None: all are right.
        """
        for name, kinds in _KINDS:
            found = getattr(self, name)
            texts = found if kinds is _TEXTS and isinstance(found, kinds) else ()
            if not isinstance(found, kinds) or isinstance(found, bool) or not all(isinstance(t, str) for t in texts):
                return name
        return None


_TEXT, _TEXTS = (str, type(None)), (list, tuple, set, frozenset)
_KINDS: Tuple[Tuple[str, Tuple[type, ...]], ...] = (
    ("subject", _TEXT), ("client_id", _TEXT), ("issuer", _TEXT), ("audience", _TEXTS), ("scopes", _TEXTS),
    ("expires_at", (int, float, type(None))), ("claims", (dict,)),
)

Verify = Callable[[str], Optional[AccessToken]]
"""A function that gets a token and returns its contents, or None if it is not good. It may raise `Unauthorized`, whose
text the client gets, or another `AuthError` if the token cannot be checked now."""


class Principal(str):
    """The sender of a request: a text that is the same for every token of the same subject, client and issuer.

    Sessions, states and rates belong to it, so that they survive a refresh of the token. A token that names no subject
    is a principal of its own, though it names a client: it may be that of any person who uses this client. One of the
    client itself has a subject [RFC 9068 §2.2]. ``access``: the contents of the token of this request; its members can
    be read here, too: ``ctx.principal.scopes``.
    """

    access: AccessToken

    @classmethod
    def of(cls, access: AccessToken, token: str) -> "Principal":
        """Make the principal of this token. Its text does not tell what the token is."""
        named: List[Optional[str]] = [access.issuer, access.subject, access.client_id]
        digest = ""
        if access.subject is None:
            digest = sha256(token.encode("utf-8", "backslashreplace")).hexdigest()
            named.append(digest)
        nobody = access.subject is None and access.client_id is None
        made = cls("token " + digest if nobody else dumps(named, separators=(",", ":")))
        made.access = access
        return made

    @property
    def subject(self) -> Optional[str]:
        """The person or program that the token speaks for; None: it does not say."""
        return self.access.subject

    @property
    def client_id(self) -> Optional[str]:
        """The program that presents the token; None: it does not say."""
        return self.access.client_id

    @property
    def issuer(self) -> Optional[str]:
        """The authorization server that made the token; None: it does not say."""
        return self.access.issuer

    @property
    def scopes(self) -> List[str]:
        """The scopes that were granted."""
        return self.access.scopes

    @property
    def expires_at(self) -> Optional[float]:
        """The end of the token in seconds since 1970; None: it does not say."""
        return self.access.expires_at

    @property
    def claims(self) -> Dict[str, Any]:
        """The claims of the token, or the answer of an introspection."""
        return self.access.claims


Scopes = Union[str, Iterable[str], None]
"""Names of scopes, or one text of names with blanks between; None: no scopes."""
Asked = Callable[[str, Dict[str, Any]], Scopes]
Message = Tuple[str, Optional[Mapping[str, Any]]]
"""Method and params."""

NAMED: Dict[str, str] = {
    CALL_TOOL: "name", GET_PROMPT: "name", READ_RESOURCE: "uri", SUBSCRIBE: "uri", UNSUBSCRIBE: "uri",
}
"""Method -> the member of its params that names the one thing."""
_COMPLETED = {"ref/prompt": GET_PROMPT, "ref/resource": READ_RESOURCE}
"""Type of the reference that is completed -> the method that uses it."""
_BY_URI = tuple(method for method, member in NAMED.items() if member == "uri")
_WATCHED = (SUBSCRIBE, READ_RESOURCE)
"""Methods whose keys hold for a subscription to a URI, too."""
_METHODS = frozenset(row.name for row in METHODS)


def checked_scopes(scopes: Scopes) -> List[str]:
    """Return the scopes in order, each once, without `OFFLINE`. Raises ValueError for a text that is no scope
    [RFC 6749 §3.3]."""
    names = scopes.split(" ") if isinstance(scopes, str) else list(scopes or ())
    for name in names:
        if not isinstance(name, str) or not SCOPE.match(name):
            raise ValueError("%.80r is no scope: it has visible ASCII characters, and no quotes, backslashes or blanks"
                             % (name,))
    return [name for name in dict.fromkeys(names) if name != OFFLINE]


class ScopePolicy:
    """The scopes that messages need: ``everything`` for all of them, ``more`` for some of them.

    Raises ValueError for a key of ``more`` that would never fit.
    """

    def __init__(self, everything: Scopes, more: Union[Mapping[str, Scopes], Asked, None] = None) -> None:
        self.everything = checked_scopes(everything)
        self._asked: Optional[Asked] = None
        self._table: Dict[str, List[str]] = {}
        self._uris: Dict[str, _Uris] = {}
        if callable(more):
            self._asked = more
            return
        for key, scopes in (more or {}).items():
            method, _, name = _checked(key).partition(":")
            if name and method in _BY_URI:
                self._uris.setdefault(method, _Uris()).add(name, checked_scopes(scopes))
            else:
                self._table[key] = checked_scopes(scopes)

    def scopes_for(self, messages: Sequence[Message]) -> List[str]:
        """Return all scopes that these messages need, each once."""
        found = list(self.everything)
        for method, params in messages:
            if self._asked is not None:
                found += checked_scopes(self._asked(method, dict(params or {})))
            elif self._table or self._uris:
                for meant, named in _meanings(method, params or {}):
                    found += self._table.get(meant, ())
                    name = named.get(NAMED.get(meant, ""))
                    if isinstance(name, str):
                        found += self._by_name(meant, name)
        return list(dict.fromkeys(found))

    def _by_name(self, method: str, name: str) -> List[str]:
        """Return the scopes that a message of this method needs for the one thing that it names."""
        if method not in _BY_URI:
            return self._table.get("%s:%s" % (method, name), [])
        if not self._uris:
            return []
        watched = method == SUBSCRIBE
        tables = [self._uris[each] for each in (_WATCHED if watched else (method,)) if each in self._uris]
        asked = _often(name) if len(name) <= _SHORT else folded(name)
        return [scope for table in tables for scope in table.of(name, asked, watched and asked.is_folder)]


_SHORT = 256
"""Characters of a URI whose folded form is kept: peers choose them, and 1,000 are kept at a time."""
_often = lru_cache(maxsize=1000)(folded)


class _Uris:
    """The scopes for URIs and templates of them, in the keys of one method."""

    def __init__(self) -> None:
        self._fixed: Dict[Tuple[str, Tuple[str, ...]], List[Tuple[Folded, List[str]]]] = {}
        """Place and path -> URIs and scopes, whatever the query."""
        self._templates: List[Tuple[Template, List[str]]] = []

    def add(self, name: str, scopes: List[str]) -> None:
        """Enter the scopes of a URI or a template. Raises ValueError for a malformed template."""
        if "{" in name or "}" in name:
            self._templates.append((Template(name).prepare(), scopes))
        else:
            uri = folded(name)
            self._fixed.setdefault((uri.place, uri.path), []).append((uri, scopes))

    def of(self, name: str, asked: Folded, below: bool) -> Iterator[str]:
        """Yield the scopes that this URI needs, which folded is ``asked``; ``below``: and those of all that lies below
        it."""
        if below:
            for same in self._fixed.values():
                for uri, scopes in same:
                    if uri.lies_in(asked):
                        yield from scopes
        else:
            for uri, scopes in self._fixed.get((asked.place, asked.path), ()):
                if not uri.query or uri.query == asked.query:
                    yield from scopes
        for template, scopes in self._templates:
            if _fits(template, name) or below and _may_lie_in(template, asked):
                yield from scopes


def _fits(template: Template, name: str) -> bool:
    """True if this is the template itself, as completion names it, or a URI that fits it."""
    return name == template.template or template.match(name) is not None or template.match(normal(name)) is not None


def _may_lie_in(template: Template, folder: Folded) -> bool:
    """True if a URI that fits the template may lie below a folder, by the template's text before the first variable.

    A name that the first variable ends does not count, for it is not known how it goes on.
    """
    text = template.template.partition("{")[0]
    begin, slash, _ = text.rpartition("/")
    if "://" not in begin + slash or begin.endswith(":/"):
        return True  # a variable in the scheme or the authority
    above = folded(begin + slash)
    return folder.lies_in(above) or above.lies_in(folder)


def _meanings(method: str, params: Mapping[str, Any]) -> Iterator[Tuple[str, Mapping[str, Any]]]:
    """Yield this message, and those that lead to the same thing."""
    yield method, params
    if method == LISTEN:
        uris = _member(params, "notifications").get("resourceSubscriptions")
        for uri in uris if isinstance(uris, list) else ():
            yield SUBSCRIBE, {"uri": uri}
    elif method == COMPLETE:
        reference = _member(params, "ref")
        meant = _COMPLETED.get(str(reference.get("type")))
        if meant is not None:
            yield meant, reference


def _member(params: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a member that is an object; {} if it is none."""
    found = params.get(name)
    return found if isinstance(found, dict) else {}


def _checked(key: str) -> str:
    """Return a key of the table as it is. Raises ValueError for one that would never fit."""
    method, colon, name = key.partition(":")
    if method not in _METHODS:
        raise ValueError("%r: there is no method %s; for those of extensions let needs be a function" % (key, method))
    if colon and (method not in NAMED or not name):
        raise ValueError("%r: names can follow %s" % (key, ", ".join(NAMED)))
    return key
