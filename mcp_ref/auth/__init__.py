"""Authorization over HTTP: one secret, or OAuth 2.1 for servers and for clients. This page is the manual.

===================================================  ================================================================
what you want                                        what you write
===================================================  ================================================================
one secret that lets programs in                     ``token="..."`` on both sides
a server that takes tokens of your issuer            ``Server(auth=ResourceServer(...))``
  with JWTs that the issuer signs (RS256, ES256)     ``verify=JwtVerifier(issuer)``
  with JWTs under a shared secret (HS256)            ``JwtVerifier(issuer, keys=b"...", algorithms=["HS256"])``
  with tokens that only the issuer understands       ``Introspection(endpoint, client_id, client_secret)``
  with anything else                                 a function ``verify(token)``
other scopes for other tools                         ``needs={"tools/call:delete": ["files:write"]}``
a client for a person with a browser                 ``connect(url, auth=OAuth())``
a client that was registered before                  ``OAuth("id", "secret", issuer=...)``
a client that has a metadata document of its own     ``OAuth(client_metadata_url="https://...")``
a service without a person                           ``ClientCredentials("id", "secret", issuer=...)``
a service that signs instead of showing a secret     ``ClientCredentials("id", signer=..., issuer=...)``
a person who is signed in at the company             ``EnterpriseManaged(..., issuer=...)``
a program that its platform vouches for              ``WorkloadIdentity(assertion, issuer=...)``
tokens that are of no use to a thief                 ``dpop=`` on both sides
tokens that outlive the program                      ``store=FileStore("tokens.json")``
===================================================  ================================================================

Over stdio there is none of this: credentials come from the environment, ``connect([...], env={"API_KEY": "..."})``
[2025-03-26..2025-11-25 basic/authorization §Protocol Requirements]
[2026-07-28 basic/authorization/index §Protocol Requirements] SHOULD NOT. The revision 2024-11-05 has no authorization.


One secret
----------

One line on each side. The secret comes from the environment; ``secrets.token_urlsafe(32)`` makes a good one::

    from mcp_ref import Server, connect

    server = Server("vault")

    @server.tool
    def combination() -> str:
        return "12-34-56"

    with server.listen("http://127.0.0.1:0/mcp", token="a-long-secret-from-your-environment") as listener:
        with connect(listener.address, token="a-long-secret-from-your-environment") as client:
            assert client.call_tool("combination").text == "12-34-56"

From the command line, ``--token-env NAME`` names the variable that has the secret, of a server and of a client.
``examples/17_protected_server.py`` runs on its own.


A server that takes tokens
--------------------------

The server takes tokens that an authorization server of yours has issued *for it*, and tells all others where to get
one. These lines work the same with ``run_http``, ``listen``, ``handle`` and ``wsgi``::

    from mcp_ref import Context, Server
    from mcp_ref.auth import JwtVerifier, ResourceServer

    auth = ResourceServer(
        "https://mcp.example.com/mcp",                     # this server, as clients know it
        ["https://auth.example.com"],                      # the issuers whose tokens it takes
        JwtVerifier("https://auth.example.com"),           # its keys come from its metadata, new ones too
        scopes=["files:read"],                             # needed by every request
        needs={"tools/call:delete": ["files:write"]},      # needed by this tool besides
    )
    server = Server("files", auth=auth)

    @server.tool
    def delete(name: str, ctx: Context) -> str:
        return "%s is gone, says %s" % (name, ctx.principal.subject)

    assert auth.document["authorization_servers"] == ["https://auth.example.com"]

A handler reads who calls in ``ctx.principal``: ``subject``, ``client_id``, ``issuer``, ``scopes``, ``expires_at``,
``claims``. It never sees the token, so it cannot pass it on. To call another service, get a token for that service.

The command line does the same: ``python3 -m mcp_ref run server.py --http 127.0.0.1:8000 --resource URL
--authorization-server URL``; ``--tls-cert FILE --tls-key FILE`` serves https; ``--allowed-host``, ``--allowed-origin``
and ``--trusted-proxy`` are there, too. ``help(Server.run_http)`` has all options.

What is checked, whatever the verifier: the token was made for this server (``aud``) by an issuer of the list, and has
not expired. Sessions and ``requestState`` belong to the principal (issuer, subject, client): they outlive a token and
are of no use to anyone else. A token without a subject is a principal of its own. A token that is bound (``cnf``) to a
certificate, or to anything but a key of DPoP, is refused. If keys or the introspection cannot be had, clients get 503
and not a wrong 401.


Verifiers
---------

A verifier is a function from the text of a token to an `AccessToken`, or to None if the token is not good. It may raise
`mcp_ref.errors.Unauthorized`, whose text the client is told, or another `mcp_ref.errors.AuthError` if the token cannot
be checked now::

    from mcp_ref.auth import AccessToken, Introspection, JwtVerifier, ResourceServer

    published = JwtVerifier("https://auth.example.com", keys="https://auth.example.com/jwks")
    shared = JwtVerifier("https://auth.example.com", keys=b"a secret of at least 32 bytes ..", algorithms=["HS256"])
    opaque = Introspection("https://auth.example.com/introspect", "this-server", "its secret", remember=30.0)

    def verify(token):
        if token == "let-me-in":
            return AccessToken(subject="ada", scopes=["read"], audience=["https://mcp.example.com/mcp"])
        return None

    auth = ResourceServer("https://mcp.example.com/mcp", ["https://auth.example.com"], verify)

A `JwtVerifier` takes only the algorithms it was told; ``none``, keys inside the token and ``crit`` are refused. It
fetches the keys again when a token names a new one, every 30 seconds at most, and each hour. Good tokens are remembered
by their digest until they expire: an hour at most, of an `Introspection` ``remember`` seconds.


Scopes for each tool
--------------------

``needs`` maps a method, or a method and a name, to the scopes that it needs besides ``scopes``. A URI holds in every
spelling, a URI template for all URIs that fit it. A function decides what a table cannot. ``implies`` says which scopes
a broad one includes::

    from mcp_ref.auth import JwtVerifier, ResourceServer

    verify = JwtVerifier("https://auth.example.com")
    by_table = ResourceServer(
        "https://mcp.example.com/mcp", "https://auth.example.com", verify, scopes="files:read",
        needs={"tools/call:delete": "files:write", "resources/read:repo://{owner}/{name}": "repo"},
        implies=lambda scopes: {"files:read"} if "files:write" in scopes else (),
    )

    def needs(method, params):
        dangerous = method == "tools/call" and params.get("arguments", {}).get("force")
        return ["files:admin"] if dangerous else []

    by_function = ResourceServer("https://mcp.example.com/mcp", "https://auth.example.com", verify, needs=needs)

A token with too few scopes gets 403 and the scopes that the request needs, so that the client can step up. Other
options: ``audience`` (other names that tokens may have for this server), ``dpop``, ``publish_server_metadata=False``
(nothing for clients of 2025-03-26, which look for the authorization server at this origin); see
``help(ResourceServer)`` and ``help("mcp_ref.auth.server.access")``.


A client with a browser
-----------------------

The client needs only the URL of the server. It is refused, discovers the authorization server, registers, opens the
browser and receives a token. Later it renews the token::

    # not run: opens a browser
    from mcp_ref import connect
    from mcp_ref.auth import FileStore, OAuth

    auth = OAuth(client_name="My program", store=FileStore("tokens.json"))
    with connect("https://mcp.example.com/mcp", auth=auth) as client:
        print(client.call_tool("delete", {"name": "old.txt"}).text)

The time that a person takes does not count for timeouts; it is bounded by ``authorization_patience``. ``help(OAuth)``
has the options. The most used ones::

    from mcp_ref.auth import OAuth, client_metadata

    def show(url):
        return "the URL that the browser came back to"

    registered = OAuth("my-id", "my-secret", issuer="https://auth.example.com", method="client_secret_post")
    described = OAuth(client_metadata_url="https://example.com/client.json")
    embedded = OAuth(authorize=show)                # a program with a browser of its own
    internal = OAuth(private_networks=True)         # a public server, an authorization server inside the company

    document = client_metadata("https://example.com/client.json", "My program", ["http://localhost/callback"])
    assert document["client_id"] == "https://example.com/client.json"      # to be published at this very URL

A public server can lead the client to public addresses only: authorization servers whose names resolve to this machine
or to private networks are not asked, unless ``issuer=`` names them or ``private_networks=True`` allows it. A server
that is itself in a private network may lead to others there.

Two faults of authorization servers that are widespread, and that the rules want refused, can be accepted by name:
``OAuth(tolerate=["issuer-slash"])`` takes metadata whose issuer has a final slash more or less than the one asked, and
``"unannounced-pkce"`` metadata that does not say that it takes PKCE, which is used all the same.

The command line keeps tokens in the user's settings (``~/.config/mcp_ref/tokens.json``, mode 0600;
``--token-file FILE``, or ``-`` for nowhere). No secret is ever an argument::

    # not run: needs a protected server
    $ python3 -m mcp_ref tools https://mcp.example.com/mcp --oauth
    $ python3 -m mcp_ref tools https://mcp.example.com/mcp --oauth --no-browser
    $ python3 -m mcp_ref tools https://mcp.example.com/mcp --client-credentials --client-id ID \\
          --client-secret-env SECRET --issuer https://auth.example.com
    $ python3 -m mcp_ref tools https://mcp.example.com/mcp --token-env TOKEN

``examples/18_oauth.py`` runs on its own, with a small authorization server for trying things out
(``examples/authorization_server.py``). To get tokens in another way, write a subclass of
`mcp_ref.streamable.client.auth_provider.Authorizing`.


Without a person
----------------

Services, workloads and users who are signed in through their company need no browser. Pass one of these in place of
`OAuth`, always with ``issuer``: the credentials are sent to that authorization server only. Without ``issuer`` they are
refused, because the MCP server could have them sent to any address, and no person would notice::

    from mcp_ref.auth import ClientCredentials, EnterpriseManaged, WorkloadIdentity

    service = ClientCredentials("my-service", "its secret", issuer="https://auth.example.com")

    employee = EnterpriseManaged(
        "my-app", "its secret", issuer="https://auth.example.com",
        idp_issuer="https://idp.example.com", idp_client_id="my-app-at-the-idp", id_token=lambda: "eyJ...")

    def assertion(issuer):  # called whenever a token is needed; platforms renew such files
        with open("/var/run/secrets/tokens/mcp") as file:
            return file.read().strip()

    workload = WorkloadIdentity(assertion, issuer="https://auth.example.com")


Signatures in place of secrets
------------------------------

With ``signer=`` the client proves who it is by a signed assertion (``private_key_jwt``). The authorization server knows
the public key from the registration or from the metadata document of the client. With ``dpop=`` each request proves
that its sender has the key of the token, so a stolen token is useless. The package signs with shared secrets only
(`HmacSigner`); a private key is used through a `Signer` of yours, see ``help("mcp_ref.auth.jose")``::

    from mcp_ref.auth import ClientCredentials, JwtVerifier, OAuth, ResourceServer, Signer

    class Key(Signer):
        alg, key_id = "ES256", "key-1"
        public_jwk = {"kty": "EC", "crv": "P-256", "x": "...", "y": "..."}

        def sign(self, data):
            raise NotImplementedError("ask the hardware or a library for r and s, 32 bytes each")

    service = ClientCredentials("my-service", signer=Key(), issuer="https://auth.example.com")     # private_key_jwt
    person = OAuth(dpop=Key())                                                                     # DPoP
    server = ResourceServer("https://mcp.example.com/mcp", "https://auth.example.com",
                            JwtVerifier("https://auth.example.com"), dpop="required")
    assert server.document["dpop_bound_access_tokens_required"] is True

On the server ``dpop=True`` takes tokens that are bound to a key with a proof of it; ``"required"`` takes no others. The
key of ``dpop=`` may be a new one each time that the program starts; a refresh token in a store then ends with it, for
it is bound too.


Step-up
-------

A tool may need more scopes than the token has. The server answers 403 with the scopes; the client authorizes again for
these and all that it had before, and sends the request again. It does that ``max_authorizations`` times for a request;
scopes that were asked for and not granted are not asked for again. The request then fails::

    # not run: needs a protected server
    from mcp_ref import connect
    from mcp_ref.auth import OAuth
    from mcp_ref.errors import InsufficientScope

    with connect("https://mcp.example.com/mcp", auth=OAuth(scopes=["files:read"])) as client:
        try:
            client.call_tool("delete", {"name": "old.txt"})
        except InsufficientScope as error:
            print("not granted: %s" % " ".join(error.scopes))


Stores
------

A `MemoryStore` (the default) forgets tokens and registrations with the program; a `FileStore` keeps them in a file that
only its owner can read. For a keychain write three methods; records are JSON objects, and secret::

    from mcp_ref.auth import OAuth, TokenStore

    class Keychain(TokenStore):
        def __init__(self):
            self.records = {}

        def get(self, kind, key):
            return self.records.get((kind, key))

        def set(self, kind, key, record):
            self.records[kind, key] = record

        def delete(self, kind, key):
            self.records.pop((kind, key), None)

    auth = OAuth(store=Keychain())


Revisions
---------

========================  ==================================================================================
revision                  authorization
========================  ==================================================================================
2024-11-05                none
2025-03-26                the origin of the MCP server is the authorization server; a `ResourceServer`
                          publishes the endpoints of the real one there, and a client looks there last
2025-06-18 and later      the server names its authorization servers
========================  ==================================================================================


The modules, in the order to read them
--------------------------------------

==============  ================================================================================
module          subject
==============  ================================================================================
`fetch`         the URLs and addresses that may be asked, and one HTTP request to an authorization server
`discover`      from a refusal to the authorization server: the field WWW-Authenticate, read and
                written, the documents of both servers, and the search for them
`jose`          a JSON Web Token as text, and the `Signer` that signs one; the manual of signers
`jws`           signatures checked: HS256, RS256, ES256; the keys of an authorization server, fetched
                when they are needed
`client/`       how a client gets a token, keeps it and renews it
`server/`       how a server admits only requests with a good token
==============  ================================================================================

Two more are loaded when they are used: `mcp_ref.ext.auth.machine` has the grants without a person,
`mcp_ref.ext.auth.dpop` the proofs of possession.
"""

from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from ..ext.auth.machine import ClientCredentials, EnterpriseManaged, WorkloadIdentity
    from .client.oauth import OAuth
    from .client.registration import client_metadata
    from .client.store import FileStore, MemoryStore, TokenStore
    from .jose import HmacSigner, Signer, b64url
    from .server.access import AccessToken, Principal
    from .server.resource_server import ResourceServer
    from .server.verifiers import Introspection, JwtVerifier

_HOMES = {
    "AccessToken": ".server.access",
    "ClientCredentials": "..ext.auth.machine",
    "EnterpriseManaged": "..ext.auth.machine",
    "FileStore": ".client.store",
    "HmacSigner": ".jose",
    "Introspection": ".server.verifiers",
    "JwtVerifier": ".server.verifiers",
    "MemoryStore": ".client.store",
    "OAuth": ".client.oauth",
    "Principal": ".server.access",
    "ResourceServer": ".server.resource_server",
    "Signer": ".jose",
    "TokenStore": ".client.store",
    "WorkloadIdentity": "..ext.auth.machine",
    "b64url": ".jose",
    "client_metadata": ".client.registration",
}
"""Public name -> module; resolved on first use, as in `mcp_ref`."""

__all__ = [
    "AccessToken", "ClientCredentials", "EnterpriseManaged", "FileStore", "HmacSigner", "Introspection", "JwtVerifier",
    "MemoryStore", "OAuth", "Principal", "ResourceServer", "Signer", "TokenStore", "WorkloadIdentity",
    "b64url", "client_metadata",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted([*globals(), *_HOMES])
