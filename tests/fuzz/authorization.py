"""Targets for how a client learns whom to ask for tokens: challenges, URLs, documents, and all of them in turn.

A stranger writes all of it: an MCP server that has just refused us, and the authorization servers that it names.
"""
import json
import re
from ipaddress import ip_address
from random import Random
from socket import AI_NUMERICHOST, getaddrinfo
from typing import Any, Dict, List, Tuple

from mcp_ref.auth import discover as challenge, fetch
from mcp_ref.auth.client.registration import check_client_metadata
from mcp_ref.auth.discover import AuthorizationServer, ProtectedResource, discover
from mcp_ref.auth.fetch import HttpAnswer
from mcp_ref.errors import AuthError, DiscoveryFailed
from mcp_ref.http11.client.connect import server_url

from .engine import Broken, Target
from .inventing import as_bytes, mutated, mutated_bytes, text
from .wire import one_line

LINE = 2000
HIDDEN = "s3cr3t0fOurs"
"""Stands in queries and passwords of URLs; no error may show it."""


def told(error: Exception) -> None:
    """The text of an error is a line, and shows nothing that is hidden."""
    one_line(str(error), LINE)
    if HIDDEN in str(error):
        raise Broken("secret: %r" % str(error)) from None


# -- Challenges ----------------------------------------------------------------------------------

SIGNS = ("Bearer", "DPoP ", "Basic", "Negotiate YWJj==", " ", "\t", ",", ", ", "=", '"', "\\", '\\"', "realm=", "scope",
         'scope="a b"', "resource_metadata=https://a.example/x", 'error="insufficient_scope"', "a", "\x00", "\xe9",
         "; ", '""', "==", "*='", "a" * 30)
WORDS = ("Bearer", "DPoP", "Basic", "x", "X-2", "a!#$%&'*+-.^_`|~", "resource_metadata", "scope", "error")


def make_challenges(random: Random) -> Tuple[List[str], List[Tuple[str, List[Tuple[str, str]]]], int]:
    """Fields as somebody may send them; challenges in order; and how often the first field is repeated in one."""
    fields = ["".join(random.choice(SIGNS) if random.random() < 0.9 else text(random)
                      for _ in range(random.randrange(10))) for _ in range(random.randrange(1, 4))]
    good = [(random.choice(WORDS), [(random.choice(WORDS), text(random)) for _ in range(random.randrange(4))])
            for _ in range(random.randrange(1, 4))]
    return fields, good, random.choice((1, 1, 1, 1, 1, 1, 1, 1, 1, 2000))


def check_challenges(case: Tuple[List[str], List[Tuple[str, List[Tuple[str, str]]]], int]) -> None:
    """Nothing raises, however long it is; each scope is one; what is written in order is read as it was written."""
    fields, good, times = case
    found = challenge.parse([*fields[1:], fields[0] * times if fields else ""])
    for each in found:
        if each.scheme != each.scheme.lower() or any(key != key.lower() for key in each.params):
            raise Broken("case: %r" % (each,))
        if each.token is not None and each.params:
            raise Broken("both: a word and parameters: %r" % (each,))
        if any(not re.fullmatch(r"[!-~]+", scope) for scope in each.scopes or ()):
            raise Broken("scopes: %r" % (each.scopes,))
    written = []
    for scheme, params in good:
        try:
            written.append(challenge.format_challenge(scheme, params))
        except ValueError as error:
            one_line(str(error), LINE)
            if all(value.isascii() and value.isprintable() for _, value in params):
                raise Broken("refused: %s" % error) from None
            return
        one_line(written[-1], None)
    wanted = [(scheme.lower(), dict(reversed([(key.lower(), value) for key, value in params])))
              for scheme, params in good]
    for lines in (written, [", ".join(written)]):
        if [(each.scheme, each.params) for each in challenge.parse(lines)] != wanted:
            raise Broken("again: %r gives %r" % (lines, challenge.parse(lines)))


# -- URLs ----------------------------------------------------------------------------------------

ORIGINS = ("https://a.example", "https://a.example:443", "HTTPS://A.Example", "http://localhost", "http://localhost:80",
           "http://127.0.0.1:8", "http://[::1]:9", "https://[2001:db8::1]", "http://a.example", "https://127.0.0.1",
           "https://127.1", "https://2130706433", "https://0x7f.1", "https://0", "https://[::ffff:127.0.0.1]",
           "https://[0:0::1]", "https://[::]", "https://localhost.", "https://a.localhost", "https://8.8.8.8",
           "https://user:%s@a.example" % HIDDEN)
PIECES = ("/", "//", "mcp", "/mcp", "a", "..", "/../", "/./", "%2e%2e", "%2F", "?", "#", "@", ":", ":0", ":99999", "\\",
          "?k=" + HIDDEN, "user:x@", "localhost", "a.example", ".a.example", "a.example.", "127.1", "[", "]",
          "[::1]", "::", " ", "\t", "\n", "\x00", "\xe9", "\u0430", "%00", "%", ";", "&", "https://", "http:",
          "file://", "javascript:", "{path}", "%s", "/.well-known/oauth-protected-resource", "0", "_")
ALLOWED = re.compile(r"(?i:https)://(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9][\w.\-]*)(?::\d{1,5})?(?:[/?][^#\s]*)?\Z"
                     r"|(?i:http)://(?:(?i:localhost)|127\.\d+\.\d+\.\d+|\[::1\])(?::\d{1,5})?(?:[/?][^#\s]*)?\Z",
                     re.ASCII)
ORIGIN = re.compile(r"[A-Za-z]*(?:://[^/?#]*)?")


def url(random: Random) -> str:
    """Something like a URL."""
    parts = [random.choice(ORIGINS if random.random() < 0.9 else PIECES)]
    parts += [random.choice(PIECES) if random.random() < 0.95 else text(random) for _ in range(random.randrange(5))]
    if random.random() < 0.2:
        parts[0] = parts[0].replace(HIDDEN, "x")
        random.shuffle(parts)
    return "".join(parts)


def make_urls(random: Random) -> Tuple[str, str]:
    """Two URLs, often of one origin."""
    one = url(random)
    return one, url(random) if random.random() < 0.5 else one.partition("?")[0] + random.choice(PIECES)


def first(found: str) -> str:
    """Scheme and authority of a URL."""
    match = ORIGIN.match(found)
    return match.group() if match else ""


def same_origin(one: str, other: str) -> bool:
    """Whether two URLs that are accepted have scheme, host and port in common."""
    def plain(found: str) -> str:
        origin = first(found).lower()
        usual = {"https": ":443", "http": ":80"}[origin.partition(":")[0]]
        head, colon, port = origin.rpartition(":")
        return head + ":%d" % int(port) if colon and port.isdigit() else origin + usual

    return plain(one) == plain(other)


def accepted(found: str, here: bool = True) -> None:
    """What may be asked is https, or http on this machine, and goes to the host that stands there."""
    if not ALLOWED.match(found) or "@" in first(found) or "\\" in found:
        raise Broken("accepted: %r" % found)
    parts, where = fetch.split(found, "URL"), server_url(found)
    if (where.scheme, where.host, where.port) != (parts.scheme, parts.host, parts.port):
        raise Broken("place: %r is asked at %r" % (found, where))
    if not same_origin(found, parts.origin):
        raise Broken("origin: %r of %r" % (parts.origin, found))
    if not here and on_this_machine(parts.host):
        raise Broken("here: %r" % found)


def on_this_machine(host: str) -> bool:
    """Whether a name of this machine or, as the system reads them, one of its addresses."""
    name = host[:-1] if host.endswith(".") else host
    if name.rpartition(".")[2] == "localhost" and ".." not in name and not name.startswith("."):
        return True
    try:
        address = ip_address(getaddrinfo(host, 1, flags=AI_NUMERICHOST)[0][4][0])
    except (OSError, UnicodeError):
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def check_urls(case: Tuple[str, str]) -> None:
    """Only `DiscoveryFailed`; what is accepted is safe, and nothing made of it is on another origin."""
    one, other = case
    for here in (True, False):
        try:
            accepted(fetch.checked(one, "x", here), here)
        except DiscoveryFailed as error:
            told(error)
    if HIDDEN in fetch.shown(one):
        raise Broken("shown: %r" % fetch.shown(one))
    for make in (fetch.origin, fetch.canonical, fetch.resource_metadata_urls, fetch.server_metadata_urls):
        try:
            made: Any = make(one)
        except DiscoveryFailed as error:
            told(error)
            continue
        for each in [made] if isinstance(made, str) else made:
            if not same_origin(each, one) or "#" in each or make is not fetch.origin and fetch.split(each, "x") is None:
                raise Broken("made: %r of %r" % (each, one))
    try:
        if fetch.canonical(fetch.canonical(one)) != fetch.canonical(one) or not fetch.covers(fetch.canonical(one), one):
            raise Broken("canonical: %r of %r" % (fetch.canonical(one), one))
    except DiscoveryFailed as error:
        told(error)
    if fetch.covers(one, other) and not (
            same_origin(one, other) and fetch.split(other.partition("#")[0], "x").path.startswith(
                fetch.split(one, "x").path.rstrip("/"))):
        raise Broken("covers: %r and %r" % (one, other))


# -- Documents -----------------------------------------------------------------------------------

SERVER = "https://mcp.example/a/mcp"
ISSUER = "https://auth.example"
RESOURCE: Dict[str, Any] = {
    "resource": SERVER, "authorization_servers": [ISSUER, "https://other.example/t"], "scopes_supported": ["a", "b"],
    "bearer_methods_supported": ["header"], "dpop_bound_access_tokens_required": False, "resource_name": "x"}
METADATA: Dict[str, Any] = {
    "issuer": ISSUER, "authorization_endpoint": ISSUER + "/authorize", "token_endpoint": ISSUER + "/token",
    "registration_endpoint": ISSUER + "/register", "introspection_endpoint": ISSUER + "/i", "jwks_uri": ISSUER + "/j",
    "scopes_supported": ["a"], "code_challenge_methods_supported": ["S256"],
    "token_endpoint_auth_methods_supported": ["none"], "grant_types_supported": ["authorization_code"],
    "client_id_metadata_document_supported": True, "authorization_response_iss_parameter_supported": True}
CLIENT_URL = "https://app.example/client.json"
CLIENT: Dict[str, Any] = {
    "client_id": CLIENT_URL, "client_name": "App", "redirect_uris": ["http://localhost/callback", "https://a.example/"],
    "grant_types": ["authorization_code"], "response_types": ["code"], "token_endpoint_auth_method": "none",
    "client_uri": "https://app.example", "jwks_uri": "https://app.example/j", "jwks": {"keys": []}, "scope": "a b"}
ENDPOINTS = ("authorization_endpoint", "registration_endpoint", "introspection_endpoint", "jwks_uri")


def document(random: Random, good: Any) -> Any:
    """This document with some faults, many of them in its URLs."""
    found = good
    for _ in range(random.randrange(3)):
        key = random.choice(list(found))
        if isinstance(found[key], str):
            found = dict(found, **{key: url(random)})
        elif isinstance(found[key], list):
            found = dict(found, **{key: [url(random) if random.random() < 0.5 else each for each in found[key]]})
    found = mutated(random, found, random.choice((0, 0, 1, 2, 3)))
    if isinstance(found, dict) and random.random() < 0.1:
        found[random.choice(("client_secret", "token_endpoint_auth_method"))] = random.choice(
            ("client_secret_post", "private_key_jwt", HIDDEN))
    return found


def make_documents(random: Random) -> Tuple[Any, Any, Any, str, bool]:
    """Three documents, the URL of the last one, and whether the first two may speak of this machine."""
    return (document(random, RESOURCE), document(random, METADATA), document(random, CLIENT),
            CLIENT_URL if random.random() < 0.8 else url(random), random.random() < 0.5)


def check_documents(case: Tuple[Any, Any, Any, str, bool]) -> None:
    """Only their own errors; each URL that was accepted is safe, and each list is one of texts."""
    resource, metadata, client, client_url, here = case
    try:
        read = ProtectedResource.of(resource, here)
    except DiscoveryFailed as error:
        told(error)
    else:
        for issuer in read.authorization_servers:
            accepted(issuer, here)
        if not read.authorization_servers or read.resource != resource["resource"]:
            raise Broken("resource: %r" % (read,))
    try:
        server = AuthorizationServer.of(metadata, here)
    except DiscoveryFailed as error:
        told(error)
    else:
        check_server(server, here)
    try:
        check_client_metadata(client_url, client)
    except ValueError as error:
        told(error)
    else:
        for redirect in client["redirect_uris"]:
            accepted(redirect)
        accepted(client_url)
        if client["client_id"] != client_url or HIDDEN in client.get("client_secret", "") or not client["client_name"]:
            raise Broken("client: %r" % (client,))


def check_server(server: AuthorizationServer, here: bool) -> None:
    """All URLs of this server are safe, and its lists are lists of texts."""
    for each in (server.issuer, server.token_endpoint, *(getattr(server, name) for name in ENDPOINTS)):
        if each is not None:
            accepted(each, here)
    for key, found in vars(server).items():
        if key.endswith("_supported") and not (found is None or isinstance(found, bool) or all(
                isinstance(item, str) for item in found)):
            raise Broken("lists: %s is %r" % (key, found))


# -- From a challenge to an authorization server -------------------------------------------------

SERVERS = (SERVER, "http://localhost:8/mcp")


class Listed:
    """In place of a `Fetcher`: answers in turn, and looks at each URL that it is to ask."""

    reach = None

    def __init__(self, answers: List[HttpAnswer], here: bool) -> None:
        self.answers, self.here = list(answers), here

    def get(self, asked: str, headers: Any = ()) -> HttpAnswer:
        """The next answer; as the real one it asks nothing but what is checked."""
        accepted(fetch.checked(asked, "URL to be asked"), self.here)
        if not self.answers:
            raise AuthError("no answer from %s" % fetch.shown(asked))
        return self.answers.pop(0)._replace(url=asked)


def make_discovery(random: Random) -> Tuple[int, str, List[Tuple[int, str, bytes]]]:
    """Which server, the field of its refusal, and what is answered: status, content type, body."""
    which = random.randrange(2)
    field = "Bearer " + "".join(random.choice(SIGNS) for _ in range(random.randrange(4)))
    if random.random() < 0.5:
        field = 'Bearer resource_metadata="%s"' % (url(random) if random.random() < 0.6 else SERVERS[which] + "/m")
    answers = []
    for good in (RESOURCE, METADATA, METADATA, METADATA):
        good = dict(good, resource=random.choice((SERVERS[which], "https://mcp.example", SERVERS[which] + "/x")))
        body = as_bytes(document(random, good)) if random.random() < 0.7 else as_bytes(good)
        if random.random() < 0.1:
            body = mutated_bytes(random, body)
        if random.random() < 0.8:
            answers.append((random.choice((200, 200, 200, 404, 500, 302, 429)), random.choice(
                ("application/json", "application/json", "", "text/html", "\x00")), body))
    return which, field, answers


def check_discovery(case: Tuple[int, str, List[Tuple[int, str, bytes]]]) -> None:
    """Only errors of authorization; a server that is found is safe, and was named by a document for this resource."""
    which, field, answers = case
    url_of_server = SERVERS[which]
    here = url_of_server.startswith("http:")
    listed = [HttpAnswer(status, {"content-type": kind}, body, "") for status, kind, body in answers]
    fetcher: Any = Listed(listed, here)
    try:
        found = discover(fetcher, url_of_server, challenge.parse([field]))
    except AuthError as error:
        told(error)
        return
    check_server(found.server, here)
    if not fetch.covers(found.resource, url_of_server):
        raise Broken("resource: %r" % found.resource)
    issuers = [fetch.origin(url_of_server), fetch.origin(url_of_server) + "/"]
    if found.resource_document is not None:
        issuers = found.resource_document.authorization_servers
    if found.server.issuer not in issuers or found.legacy != (found.resource_document is None):
        raise Broken("issuer: %r" % found.server.issuer)
    if found.server.raw and json.dumps(found.server.raw["issuer"]) != json.dumps(found.server.issuer):
        raise Broken("issuer: not as published: %r" % found.server.issuer)


TARGETS = (
    Target("challenges", make_challenges, check_challenges),
    Target("urls", make_urls, check_urls),
    Target("documents", make_documents, check_documents),
    Target("discovery", make_discovery, check_discovery),
)
