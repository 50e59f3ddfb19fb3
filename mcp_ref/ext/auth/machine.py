"""Grants without a person: for services, for employees of a company, for programs on a platform.

====================  =======================================================  =====================================
grant                 gets a token for                                         by
====================  =======================================================  =====================================
`ClientCredentials`   the client itself                                        its secret, or a signature
                                                                               [RFC 6749 §4.4] [RFC 7523 §2.2]
`EnterpriseManaged`   a person who is signed in at the company's own           the ID token, which the identity
                      identity provider; that one decides about access         provider exchanges [RFC 8693 §2] for an
                                                                               assertion [RFC 7523 §2.1]
`WorkloadIdentity`    a program, known to the platform that it runs on         the platform's assertion
                                                                               [RFC 7523 §2.1]
====================  =======================================================  =====================================

Each takes the place of `OAuth` and is used in the same way::

    auth = ClientCredentials("my-service", secret, issuer="https://auth.example.com")
    with connect("https://mcp.example.com/mcp", auth=auth) as client: ...

The credentials are those of one authorization server. Its identifier is passed as ``issuer``, and no part of them goes
to any other that an MCP server may name [2026-07-28 basic/authorization/client-registration §Authorization Server
Binding] MUST. A grant without ``issuer`` is refused when it is made: the MCP server names the authorization server, no
person looks at a page of it, and so any MCP server could have the secret sent to a host of its choice.

A token that comes with a refresh token is renewed by it; any other is asked for anew a little before it ends. If the
server wants more scopes, they are asked for, once
[2025-11-25 basic/authorization §Step-Up Authorization Flow]
[2026-07-28 basic/authorization/index §Step-Up Authorization Flow] MAY.
"""

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple, Union

from ...auth.client.grant import GRANT, Grant, GrantOptions
from ...auth.client.registration import bind
from ...auth.client.single_flight import Authorization
from ...auth.client.token_endpoint import ClientInfo, Token, TokenEndpoint, method_for, method_of
from ...auth.fetch import configured, origin, shown
from ...auth.jose import split_jwt
from ...errors import DiscoveryFailed, TokenRefused
from ...options import takes, with_defaults

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...auth.discover import AuthorizationServer, Discovered

CLIENT_CREDENTIALS = "client_credentials"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
"""An assertion of an identity provider for another authorization server ("ID-JAG")."""

FINAL = frozenset(("invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"))
"""Errors after which the same assertion is not shown again [RFC 6749 §5.2]."""

Form = List[Tuple[str, str]]


class AnyIssuer:
    """The type of `UNSAFE_ANY_ISSUER`."""

    def __repr__(self) -> str:
        return "UNSAFE_ANY_ISSUER"


UNSAFE_ANY_ISSUER = AnyIssuer()
"""A value for ``issuer``: the credentials go to **whatever authorization server the MCP server names first**, and to no
other after that, as long as the store remembers. For tests of clients against servers that are made up for them."""


class MachineOptions(GrantOptions, total=False):
    """The options that these grants have, see `MachineGrant`."""

    issuer: Union[str, AnyIssuer, None]
    method: Optional[str]


MACHINE: MachineOptions = {"issuer": None, "method": None, **GRANT}
takes_machine_options = takes(MachineOptions, MACHINE)


class MachineGrant(Grant):
    """Base of these grants: one client, known to one authorization server.

    ``client_id``, and ``client_secret`` or ``signer`` (or neither: a public client), as registered there; ``issuer``:
    its identifier, an https URL; ``method``: how the client authenticates (None: as the server's metadata says; see
    `token_endpoint`). The other options are those of `Grant`. Raises ValueError without ``issuer``, and for one that is
    no such URL.
    """

    _needs_proof = False
    """True if the client must show a secret or a signature."""

    @takes_machine_options
    def __init__(
        self, client_id: str, client_secret: Optional[str] = None, **options: "Unpack[MachineOptions]"
    ) -> None:
        given = with_defaults(MachineGrant.__init__, MACHINE, options, self)
        issuer, method = given["issuer"], given["method"]
        of_any_grant: Any = {name: value for name, value in given.items() if name in GRANT}
        super().__init__(**of_any_grant)
        if self._needs_proof and client_secret is None and self.signer is None:
            raise ValueError("client credentials are client_id and client_secret, or client_id and signer")
        if client_secret is not None and self.signer is not None:
            raise ValueError("a client shows who it is with client_secret or with signer, not with both")
        if not issuer:
            raise ValueError(
                "%s needs issuer=, the authorization server that the credentials are for: without it they would go to "
                "any that an MCP server names, and no person would notice" % type(self).__name__)
        self.issuer = None if isinstance(issuer, AnyIssuer) else configured(issuer, "issuer")
        self._client_id, self._secret, self._method = client_id, client_secret, method

    @property
    def account(self) -> str:
        """The kind of the grant and the client id; see `Grant.account`."""
        return " ".join(filter(None, (type(self).__name__, self._client_id)))

    @property
    def _name(self) -> str:
        """The key of the credentials in the store."""
        return self._client_id or self.account

    def client(self, discovered: "Discovered", context: Authorization) -> ClientInfo:
        """Return the client that the credentials are of; see `Grant.client`.

        Raises `RegistrationRefused` for an authorization server that the credentials are not of
        [2026-07-28 basic/authorization/client-registration §Authorization Server Binding] MUST NOT.
        """
        bind(self._name, self.issuer, discovered.server.issuer, context)
        method = self._method or method_for(discovered.server, self._secret, self.signer)
        if method == "none":  # use the credentials nevertheless: a server may take them without saying so
            method = method_of(self.signer) if self.signer else "client_secret_basic" if self._secret else "none"
        return ClientInfo(self._client_id, self._secret, method, discovered.server.issuer)

    def _choose(self, issuers: List[str]) -> str:
        home = self.issuer or (self.store.get("issuer", self._name) or {}).get("issuer")
        return home if home in issuers else issuers[0]


def wanted(grant_type: str, discovered: "Discovered", scopes: Optional[List[str]]) -> Form:
    """Return the fields that all token requests for a resource have in common
    [2025-06-18..2025-11-25 basic/authorization §Resource Parameter Implementation]
    [2026-07-28 basic/authorization/index §Resource Parameter Implementation] MUST."""
    fields = [("grant_type", grant_type), ("resource", discovered.resource)]
    return fields + [("scope", " ".join(scopes))] if scopes else fields


class ClientCredentials(MachineGrant):
    """A client that acts on its own behalf [RFC 6749 §4.4].

    ``client_secret`` is shown by HTTP Basic or in the form; with ``signer`` the client signs an assertion instead
    (``private_key_jwt``, see `mcp_ref.auth.client.token_endpoint`). One of the two is needed [RFC 6749 §4.4] MUST.
    Raises ValueError without.
    """

    _needs_proof = True

    def obtain(self, discovered: "Discovered", scopes: Optional[List[str]], context: Authorization) -> Token:
        """Ask the token endpoint for a token of the client itself; see `Grant.obtain`."""
        endpoint = context.endpoint(discovered, self.client(discovered, context), self.signer)
        return endpoint.request(wanted(CLIENT_CREDENTIALS, discovered, scopes), scopes)


class EnterpriseManaged(MachineGrant):
    """A person of a company whose identity provider decides what programs may do for them; no page is shown.

    ``id_token``: the person's, from signing in at the identity provider; or a callable that returns one which is still
    good. ``idp_issuer``: the identity provider, whose metadata is asked for; ``idp_token_endpoint``: its token
    endpoint, so that the metadata need not be asked for. ``idp_client_id``, ``idp_client_secret``: how it knows this
    client; ``client_id``, ``client_secret`` (or ``signer``): how the MCP server's authorization server knows it.
    ``user``: keeps the tokens of several people apart who share a ``store``. ``subject_token_type``: the type of
    ``id_token``, if it is no ID token.
    """

    @takes_machine_options
    def __init__(
        self, client_id: str, client_secret: Optional[str] = None, *, id_token: Union[str, Callable[[], str]],
        idp_client_id: str, idp_client_secret: Optional[str] = None, idp_issuer: Optional[str] = None,
        idp_token_endpoint: Optional[str] = None, subject_token_type: str = ID_TOKEN, user: str = "",
        **options: "Unpack[MachineOptions]"
    ) -> None:
        given = with_defaults(EnterpriseManaged.__init__, MACHINE, options, self)
        if idp_issuer is None and idp_token_endpoint is None:
            raise ValueError("pass idp_issuer or idp_token_endpoint: where the identity provider is")
        super().__init__(client_id, client_secret, **given)
        self._id_token, self._subject_token_type, self._user = id_token, subject_token_type, user
        self._idp_client = (idp_client_id, idp_client_secret)
        self._idp_issuer, self._idp_token_endpoint = idp_issuer, idp_token_endpoint

    @property
    def account(self) -> str:
        """The account of the client and the ``user``; see `Grant.account`."""
        return " ".join(filter(None, (super().account, self._user)))

    @property
    def own_servers(self) -> Sequence[str]:
        """The ``issuer`` and the identity provider; see `Grant.own_servers`."""
        given = (self._idp_issuer, self._idp_token_endpoint)
        return [*super().own_servers, *(url for url in given if url is not None)]

    def obtain(self, discovered: "Discovered", scopes: Optional[List[str]], context: Authorization) -> Token:
        """Get an assertion from the identity provider, and a token for that; see `Grant.obtain`."""
        client = self.client(discovered, context)
        assertion = self._exchanged(discovered, scopes, context)
        endpoint = context.endpoint(discovered, client, self.signer)
        return endpoint.request([*wanted(JWT_BEARER, discovered, scopes), ("assertion", assertion)], scopes)

    def _exchanged(self, discovered: "Discovered", scopes: Optional[List[str]], context: Authorization) -> str:
        """Get the identity provider's assertion for the discovered authorization server [RFC 8693 §2.1]."""
        from ...auth.discover import AuthorizationServer, metadata_of

        if self._idp_token_endpoint is not None:
            provider = AuthorizationServer(self._idp_issuer or self._idp_token_endpoint, self._idp_token_endpoint)
        else:
            provider = metadata_of(context.fetcher, self._idp_issuer or "")
        client_id, secret = self._idp_client
        info = ClientInfo(client_id, secret, method_for(provider, secret), provider.issuer)
        answer = TokenEndpoint(context.fetcher, provider, info, now=context.now).answer([
            *wanted(TOKEN_EXCHANGE, discovered, scopes), ("audience", discovered.server.issuer),
            ("requested_token_type", ID_JAG), ("subject_token_type", self._subject_token_type),
            ("subject_token", self._id_token if isinstance(self._id_token, str) else self._id_token()),
        ])
        assertion = answer.get("access_token")
        if answer.get("issued_token_type") != ID_JAG or not isinstance(assertion, str) or not assertion:
            raise TokenRefused("the identity provider %s gives no assertion for %s (%s)"
                               % (shown(provider.issuer), shown(discovered.server.issuer), ID_JAG))
        return assertion


class WorkloadIdentity(MachineGrant):
    """A program that its platform vouches for by a JWT, which is all that is shown [RFC 7523 §2.1].

    ``assertion``: the JWT, or a callable that gets the issuer it is for and returns one which is still good (platforms
    renew them, often in a file). ``client_id``: sent along if the authorization server wants it, without any other
    authentication of the client, unless there is a ``client_secret`` or a ``signer`` [RFC 7521 §4.1].

    An assertion that was refused is not shown again, and nothing else is tried in its place. One that is meant for
    another authorization server, by the URLs in its ``aud``, is not shown at all: that server could use it there.
    """

    @takes_machine_options
    def __init__(
        self, assertion: Union[str, Callable[[str], str]], client_id: Optional[str] = None,
        *, client_secret: Optional[str] = None, **options: "Unpack[MachineOptions]"
    ) -> None:
        super().__init__(
            client_id or "", client_secret, **with_defaults(WorkloadIdentity.__init__, MACHINE, options, self))
        self._assertion = assertion
        self._refused: Optional[Tuple[bytes, TokenRefused]] = None

    def obtain(self, discovered: "Discovered", scopes: Optional[List[str]], context: Authorization) -> Token:
        """Exchange the platform's assertion for a token; see `Grant.obtain`."""
        client = self.client(discovered, context)
        assertion = self._assertion if isinstance(self._assertion, str) else self._assertion(discovered.server.issuer)
        if not meant_for(assertion, discovered.server):
            raise TokenRefused("the assertion is not for %s, so it was not sent there"
                               % shown(discovered.server.issuer))
        fields = [*wanted(JWT_BEARER, discovered, scopes), ("assertion", assertion)]
        digest = sha256(repr(fields).encode("utf-8")).digest()
        if self._refused is not None and self._refused[0] == digest:
            before = self._refused[1]
            raise TokenRefused(str(before), before.error, before.description)
        try:
            return context.endpoint(discovered, client, self.signer).request(fields, scopes)
        except TokenRefused as error:
            if error.error in FINAL:
                self._refused = digest, error
            raise


def meant_for(assertion: str, server: "AuthorizationServer") -> bool:
    """True if an assertion may be for this authorization server.

    Only that server can tell, unless all of ``aud`` are URLs and none of them is on the origin of its identifier or its
    token endpoint [RFC 7523 §3] item 3.
    """
    try:
        audience = split_jwt(assertion).claims.get("aud")
    except ValueError:
        return True
    named = [text for text in (audience if isinstance(audience, list) else [audience]) if isinstance(text, str)]
    if not named or not all(text.startswith(("https://", "http://")) for text in named):
        return True
    ours = {origin(server.issuer), origin(server.token_endpoint)}
    for text in named:
        try:
            if origin(text) in ours:
                return True
        except DiscoveryFailed:
            pass  # not a URL that anyone may be asked at
    return False
