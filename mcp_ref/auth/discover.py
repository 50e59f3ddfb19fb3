"""From a refusal to the authorization server: the field WWW-Authenticate, and the search for metadata.

A field WWW-Authenticate holds one challenge or several, and a reply may have several such fields; each challenge is a
scheme and either parameters or one word (a *token68*) [RFC 9110 §11.6.1]. Reading never fails: what cannot be read is
left out, and the rest counts. Two common deviations are accepted: values such as URLs without quotes, and blanks in
place of the comma after a quoted value
[2025-06-18 basic/authorization §Authorization Server Location]
[2025-11-25 basic/authorization §Protected Resource Metadata Discovery Requirements]
[2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements]
MUST.

>>> parse(['Bearer realm="a", scope="x y", Negotiate YWJj'])[0].scopes
['x', 'y']
>>> format_challenge("Bearer", [("error", "invalid_token"), ("scope", "x y")])
'Bearer error="invalid_token", scope="x y"'

Discovery leads from there to the endpoints of the authorization server:

====  ==============================================================  ======================================
step  asked                                                           what decides
====  ==============================================================  ======================================
1     ``resource_metadata`` of the challenge, if it has one           its answer, nothing else
2     otherwise the well-known places of the MCP server, in order     the first that has a document
3     the well-known places of one issuer in that document, in order  the first that has a document
4     no document in step 2: OAuth metadata at the server's origin    the document, or the default endpoints
====  ==============================================================  ======================================

[2025-06-18 basic/authorization §Authorization Server Location]
[2025-11-25 basic/authorization §Authorization Server Discovery]
[2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements];
step 4 is the way of 2025-03-26, for servers that know no other
[2025-03-26 basic/authorization §Server Metadata Discovery]. A client uses the documents of both servers
[2025-03-26..2025-06-18 basic/authorization §Authorization Flow > Overview]
[2025-11-25 basic/authorization §Overview] [2026-07-28 basic/authorization/index §Overview] MUST.

Reading: a place *has no document* if it answers 4xx, or with a body that does not call itself JSON (many sites answer
every path with a page). Every other answer is final: a document that is broken or belongs to another server is an
error and no reason to ask further; so is a server that fails, is busy (429), or redirects elsewhere. The URL in a
challenge has a document, or discovery fails. Step 4 is open to every revision: the revision of a server is not known
yet when it asks for a token, and its documents tell.

The documents are dataclasses: `ProtectedResource`, an MCP server about itself [RFC 9728 §2], and
`AuthorizationServer`, an issuer about itself, as OAuth metadata [RFC 8414 §2] or as OpenID configuration, which have
the same members. Only members that are used here are read; the others stay in ``raw``. A member that is null counts as
absent. `DiscoveryFailed` names the member that is wrong: ``authorization_servers[0]: expected string, got integer``.

A server elsewhere cannot make us ask programs on this machine: documents that name one are refused, and the URLs in
documents are connected to only at addresses that the server may lead to, see `mcp_ref.auth.fetch`.
"""

import re
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..diagnostics.packagelog import get_logger
from ..errors import DiscoveryFailed, IssuerMismatch
from ..jsonrpc import json_type
from ..revisions import LATEST
from ..urls import TOKEN, is_token
from .fetch import (
    Fetcher, Fields, HttpAnswer, canonical, checked, covers, origin, resource_metadata_urls, server_metadata_urls,
    shown, split,
)

_WORD = re.compile(TOKEN)
_TOKEN68 = re.compile(r"([A-Za-z0-9\-._~+/]+=*)[ \t]*(?=,|\Z)")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NEXT = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"?)*', re.DOTALL)
"""The text up to the next comma that is not inside quotes; a quotation without an end goes to the end."""
_PLAIN = re.compile(r'[^ \t",]+')
_BLANKS = re.compile(r"[ \t,]*")
_END = re.compile(r"[ \t]*(?=,|\Z)")
_END_OF_QUOTED = re.compile(r"(?=[ \t,]|\Z)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PRINTABLE = re.compile(r"[\x20-\x7e]*\Z")
SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")
"""One scope [RFC 6749 §3.3]."""
OFFLINE = "offline_access"
"""A scope that asks an authorization server for a refresh token, which is no business of a resource
[2026-07-28 basic/authorization/index §Refresh Tokens] SHOULD NOT."""

TOKEN_SCHEMES = ("bearer", "dpop")
"""Schemes that ask for an access token, always by parameters [RFC 6750 §3] [RFC 9449 §7.1]."""


class Challenge(NamedTuple):
    """One challenge. ``scheme`` and the names of ``params`` are in lower case; ``token`` is the word of schemes that
    have one instead of parameters, such as Negotiate."""

    scheme: str
    params: Dict[str, str]
    token: Optional[str] = None

    def get(self, name: str) -> Optional[str]:
        """Return the value of a parameter; None if there is none."""
        return self.params.get(name.lower())

    @property
    def scopes(self) -> Optional[List[str]]:
        """The scopes that the server wants, in its order; None if it names none [RFC 6750 §3]."""
        return scope_list(self.params.get("scope"))


def scope_list(text: Optional[str]) -> Optional[List[str]]:
    """Return the scopes of a text, each once; words that cannot be one are left out. Returns None if none is left."""
    found = [word for word in (text or "").split(" ") if SCOPE.match(word)]
    return list(dict.fromkeys(found)) or None


def parse(values: Sequence[str]) -> List[Challenge]:
    """Return the challenges of these fields, in order. Never raises; of a parameter that comes twice the first one
    counts."""
    return [challenge for value in values for challenge in _read(value)]


def find(challenges: Sequence[Challenge], name: str) -> Optional[str]:
    """Return the first value of this parameter in the challenges that ask for an access token; None if there is none.
    """
    for challenge in challenges:
        value = challenge.get(name)
        if value is not None and challenge.scheme in TOKEN_SCHEMES:
            return value
    return None


def scopes_wanted(challenges: Sequence[Challenge]) -> Optional[List[str]]:
    """Return the scopes that the server wants of an access token; None if it names none."""
    return scope_list(find(challenges, "scope"))


def _read(text: str) -> List[Challenge]:
    found: List[Challenge] = []
    at = 0
    while True:
        at = _skip(_BLANKS, text, at)
        if at == len(text):
            return found
        word = _WORD.match(text, at)
        equals = _EQUALS.match(text, word.end()) if word else None
        if word is None:
            at = _skip(_NEXT, text, at)
        elif equals is None:
            at = _scheme(text, word, found)
        else:
            at = _parameter(text, word.group().lower(), equals.end(), found)


def _skip(pattern: "re.Pattern[str]", text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _scheme(text: str, word: "re.Match[str]", found: List[Challenge]) -> int:
    """Take the scheme of the challenge that begins here, and its word if it has one. Returns the place to go on."""
    scheme, at = word.group().lower(), word.end()
    blank = text[at:at + 1]
    wordy = blank == " " and scheme not in TOKEN_SCHEMES
    token = _TOKEN68.match(text, _skip(_BLANKS, text, at)) if wordy else None
    found.append(Challenge(scheme, {}, token.group(1) if token else None))
    if token is not None:
        return token.end()
    return at if blank in (" ", "\t", ",", "") else _skip(_NEXT, text, at)


def _parameter(text: str, name: str, at: int, found: List[Challenge]) -> int:
    """Keep the value of a parameter, if it can be read. Returns the place to go on."""
    quoted = _QUOTED.match(text, at)
    match = quoted or _PLAIN.match(text, at)
    if match is None or (_END_OF_QUOTED if quoted else _END).match(text, match.end()) is None:
        return _skip(_NEXT, text, at)
    value = _ESCAPED.sub(r"\1", quoted.group(1)) if quoted else match.group()
    if found and found[-1].token is None:
        found[-1].params.setdefault(name, value)
    return match.end()


def format_challenge(scheme: str, params: Sequence[Tuple[str, str]] = ()) -> str:
    """Return one challenge as the value of a field.

    Raises ValueError for text that such a field cannot carry: line ends, other control characters, and beyond ASCII.
    """
    for name in [scheme] + [name for name, _ in params]:
        if not is_token(name):
            raise ValueError("%.80r cannot be a name in a challenge" % name)
    for name, value in params:
        if not _PRINTABLE.match(value):
            raise ValueError("the %s of a challenge can have printable ASCII characters only" % name)
    pairs = ('%s="%s"' % (name, re.sub(r'(["\\])', r"\\\1", value)) for name, value in params)
    return (scheme + " " + ", ".join(pairs)).rstrip()


RESOURCE = "protected resource metadata"
SERVER = "authorization server metadata"
ISSUER_SLASH = "issuer-slash"
UNANNOUNCED_PKCE = "unannounced-pkce"
TOLERABLE = (ISSUER_SLASH, UNANNOUNCED_PKCE)
"""Faults of authorization servers that a user may accept, by ``tolerate`` of a grant: metadata whose issuer has a final
slash more or less, and metadata that does not announce PKCE, which is used all the same."""


_KINDS: Dict[Any, Tuple[type, str]] = {
    str: (str, "string"), Optional[str]: (str, "string"), bool: (bool, "boolean"), List[str]: (list, "array"),
    Optional[List[str]]: (list, "array"),
}
"""Type of a field -> the type of its member, and the name of that in JSON."""
_WIRE = {"iss_parameter_supported": "authorization_response_iss_parameter_supported"}
"""Field -> the name of its member, if that is another one."""
_MISSING = {"authorization_servers": "names no authorization server"}
"""Required member -> the reason against a document without it, if that is not "is missing"."""


def _read_document(kind: type, value: Any, what: str) -> Dict[str, Any]:
    """Return the arguments that make a dataclass of a document; ``what`` it is. Raises `DiscoveryFailed`."""
    if not isinstance(value, dict):
        raise DiscoveryFailed("the %s: expected object, got %s" % (what, json_type(value)))

    def wrong(path: str, why: str) -> DiscoveryFailed:
        return DiscoveryFailed("the %s: %s: %s" % (what, path, why))

    read: Dict[str, Any] = {"raw": value}
    for each in fields(kind):
        if each.type not in _KINDS:
            continue  # ``raw``
        name, (wanted, expected) = _WIRE.get(each.name, each.name), _KINDS[each.type]
        found = value.get(name)
        if found is not None and not isinstance(found, wanted):
            raise wrong(name, "expected %s, got %s" % (expected, json_type(found)))
        if not found and each.default is MISSING:
            raise wrong(name, _MISSING.get(name, "is missing"))
        for number, item in enumerate(found if isinstance(found, list) else ()):
            if not isinstance(item, str):
                raise wrong("%s[%d]" % (name, number), "expected string, got %s" % json_type(item))
        if found is not None:
            read[each.name] = found
    return read


@dataclass
class ProtectedResource:
    """The document of an MCP server about the tokens that it takes [RFC 9728 §2]."""

    resource: str
    """The identifier, exactly as published: the value of every ``resource`` parameter."""
    authorization_servers: List[str]
    """Issuers, exactly as published; at least one
    [2025-06-18..2025-11-25 basic/authorization §Authorization Server Location]
    [2026-07-28 basic/authorization/authorization-server-discovery §Authorization Server Location] MUST."""
    scopes_supported: Optional[List[str]] = None
    bearer_methods_supported: Optional[List[str]] = None
    dpop_bound_access_tokens_required: bool = False
    raw: Dict[str, Any] = field(default_factory=dict)
    """The whole document."""

    @classmethod
    def of(cls, value: Any, here: bool = True) -> "ProtectedResource":
        """Read a document. ``here``: True if it may name issuers on this machine. Raises `DiscoveryFailed`."""
        read = _read_document(cls, value, RESOURCE)
        split(read["resource"], "resource")
        for number, issuer in enumerate(read["authorization_servers"]):
            checked(issuer, "authorization_servers[%d]" % number, here)
        return cls(**read)


@dataclass
class AuthorizationServer:
    """The document of an issuer about itself [RFC 8414 §2]; None: it does not say.

    ``authorization_endpoint`` may be absent, if no grant needs it.
    """

    issuer: str
    """The identifier, exactly as published."""
    token_endpoint: str
    authorization_endpoint: Optional[str] = None
    registration_endpoint: Optional[str] = None
    introspection_endpoint: Optional[str] = None
    jwks_uri: Optional[str] = None
    scopes_supported: Optional[List[str]] = None
    code_challenge_methods_supported: Optional[List[str]] = None
    token_endpoint_auth_methods_supported: Optional[List[str]] = None
    token_endpoint_auth_signing_alg_values_supported: Optional[List[str]] = None
    grant_types_supported: Optional[List[str]] = None
    dpop_signing_alg_values_supported: Optional[List[str]] = None
    client_id_metadata_document_supported: bool = False
    iss_parameter_supported: bool = False
    """The member ``authorization_response_iss_parameter_supported`` [RFC 9207 §3]."""
    raw: Dict[str, Any] = field(default_factory=dict)
    """The whole document; empty if there is none."""

    @classmethod
    def of(cls, value: Any, here: bool = True) -> "AuthorizationServer":
        """Read a document. ``here``: True if its endpoints may be on this machine. Raises `DiscoveryFailed`.

        `discover` checks that it is the document of the issuer that was asked for.
        """
        read = _read_document(cls, value, SERVER)
        server_metadata_urls(checked(read["issuer"], "issuer", here))
        for name in ("token_endpoint", "authorization_endpoint", "registration_endpoint", "introspection_endpoint",
                     "jwks_uri"):
            if name in read:
                checked(read[name], name, here)
        return cls(**read)

    @classmethod
    def by_default(cls, origin: str) -> "AuthorizationServer":
        """Return the authorization server at the origin of an MCP server that publishes nothing
        [2025-03-26 basic/authorization §Fallbacks for Servers without Metadata Discovery] MUST."""
        return cls(
            issuer=origin,
            authorization_endpoint=origin + "/authorize",
            token_endpoint=origin + "/token",
            registration_endpoint=origin + "/register",
        )


_LATER = (408, 425, 429)
"""Statuses of a server that would perhaps answer another time [RFC 9110 §15.5.9] [RFC 8470 §5.2] [RFC 6585 §4]."""


@dataclass
class Discovered:
    """The result of discovery: all that has to be known before a token is asked for."""

    resource: str
    """The value of every ``resource`` parameter: exactly as published, or the server's own URL in canonical form."""
    resource_document: Optional[ProtectedResource]
    server: AuthorizationServer
    legacy: bool
    """True if the MCP server published nothing, so that its origin is the authorization server [2025-03-26]."""

    @property
    def resource_scopes(self) -> Optional[List[str]]:
        """The scopes that the protected resource lists, without words that are no scope; None if it lists none."""
        document = self.resource_document
        if document is None or document.scopes_supported is None:
            return None
        return [scope for scope in scope_list(" ".join(document.scopes_supported)) or () if scope != OFFLINE]


def first(issuers: List[str]) -> str:
    """Return the first of several issuers."""
    return issuers[0]


def discover(
    fetcher: Fetcher,
    server_url: str,
    challenges: Sequence[Challenge] = (),
    revision: str = LATEST.name,
    prefer: Callable[[List[str]], str] = first,
    slash_tolerant: bool = False,
) -> Discovered:
    """Find the authorization server of the MCP server at this URL.

    ``challenges``: of its refusal. ``revision``: goes into ``MCP-Protocol-Version``
    [2025-03-26 basic/authorization §Server Metadata Discovery Headers] SHOULD. ``prefer``: chooses among the issuers
    that the server names. ``slash_tolerant``: whether metadata may name the issuer with a final slash more or less.
    Raises `DiscoveryFailed`, `IssuerMismatch`, and `AuthError` where nobody answers.
    """
    url, ask = checked(server_url.partition("#")[0], "URL of the server"), _DocumentReader(fetcher, revision)
    document = _resource(ask, url, challenges)  # steps 1 and 2
    if document is None:
        # Step 4 [2025-03-26 basic/authorization §Authorization Base URL] MUST.
        base = origin(url)
        found = ask.first(server_metadata_urls(base)[:1], SERVER)
        server = AuthorizationServer.by_default(base) if found is None else _own(found, [base, _other_slash(base)])
        return Discovered(canonical(url), None, server, True)
    # Step 3: one issuer, chosen by us of those that the document names.
    issuer = prefer(list(document.authorization_servers))
    if issuer not in document.authorization_servers:
        raise DiscoveryFailed("%s is not an authorization server of %s, which names: %s" % (
            shown(issuer), shown(url), ", ".join(map(shown, document.authorization_servers))))
    return Discovered(document.resource, document, _server(ask, issuer, slash_tolerant), False)


def metadata_of(fetcher: Fetcher, issuer: str, revision: str = LATEST.name) -> AuthorizationServer:
    """Return the metadata of the authorization server that calls itself so. Raises as `discover`."""
    return _server(_DocumentReader(fetcher, revision), checked(issuer, "issuer"))


class _DocumentReader:
    """Asks for documents, in the words of one revision."""

    def __init__(self, fetcher: Fetcher, revision: str) -> None:
        self.fetcher = fetcher
        self._headers: Fields = [("MCP-Protocol-Version", revision)]
        self.said = ""
        """The answer of the last place that had no document, for people."""

    def first(self, places: Sequence[str], what: str) -> Optional[Dict[str, Any]]:
        """Return the first document at these places; None if there is none at any. Raises `DiscoveryFailed`."""
        for url in places:
            answer = self.fetcher.get(url, self._headers)
            if answer.status == 200 and _is_json(answer):
                return answer.json(what)
            if answer.status in _LATER or not (answer.status == 200 or 400 <= answer.status < 500):
                raise DiscoveryFailed("asked for %s, %s answered %d" % (what, shown(answer.url), answer.status))
            self.said = "it answers %d, %s" % (
                answer.status, shown(answer.headers.get("content-type", "")) or "without a Content-Type")
            get_logger(__name__).debug("no %s at %s: %s", what, shown(answer.url), self.said)
        return None


def _is_json(answer: HttpAnswer) -> bool:
    """True if an answer calls itself JSON, or does not say what it is."""
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/plain":  # as web servers send files without an extension
        return answer.body.lstrip()[:1] == b"{"
    return kind in ("", "application/json", "text/json", "application/octet-stream") or kind.endswith("+json")


def _resource(ask: _DocumentReader, url: str, challenges: Sequence[Challenge]) -> Optional[ProtectedResource]:
    """Return the document of the MCP server at this URL; None if it publishes none."""
    here = split(url, "URL").loopback
    named = find(challenges, "resource_metadata")
    if named is None:
        found = ask.first(resource_metadata_urls(url), RESOURCE)
        if found is None:
            return None
    else:
        found = ask.first([checked(named, "resource_metadata of the challenge", here)], RESOURCE)
        if found is None:
            raise DiscoveryFailed("%s says that its metadata is at %s, but there is no such document: %s"
                                  % (shown(url), shown(named), ask.said))
    document = ProtectedResource.of(found, here)
    if not covers(document.resource, url):
        raise DiscoveryFailed("the %s is that of another resource: %s, not %s"
                              % (RESOURCE, shown(document.resource), shown(url)))
    return document


def _server(ask: _DocumentReader, issuer: str, slash_tolerant: bool = False) -> AuthorizationServer:
    """Return the metadata of this issuer."""
    places = server_metadata_urls(issuer)
    found = ask.first(places, SERVER)
    if found is None:
        raise DiscoveryFailed("the authorization server %s has no metadata at: %s; %s"
                              % (shown(issuer), ", ".join(places), ask.said))
    server = _own(found, [issuer, _other_slash(issuer)] if slash_tolerant else [issuer])
    reach = ask.fetcher.reach
    if reach is not None and reach.trusts(issuer):  # the user has named it, so its endpoints may be anywhere, too
        reach.trust([server.token_endpoint, server.registration_endpoint, server.introspection_endpoint,
                     server.jwks_uri])
    return server


def _other_slash(issuer: str) -> str:
    return issuer[:-1] if issuer.endswith("/") else issuer + "/"


def _own(found: Dict[str, Any], issuers: List[str]) -> AuthorizationServer:
    """Read the document if it is that of this issuer, character by character, in one of these spellings
    [RFC 8414 §3.3]
    [2026-07-28 basic/authorization/authorization-server-discovery §Authorization Server Metadata Discovery] MUST."""
    named = found.get("issuer")
    if named not in issuers:
        hint = "; only the final slash differs, but both have to be identical: if you trust them to be one, allow it " \
               "by tolerate=[%r]" % ISSUER_SLASH if named == _other_slash(issuers[0]) else ""
        raise IssuerMismatch("the %s asked of %s is that of another issuer%s%s" % (
            SERVER, shown(issuers[0]), ": " + shown(named) if isinstance(named, str) else "", hint))
    return AuthorizationServer.of(found, split(issuers[0], "URL").loopback)
