"""A client of ours, a protected server and its authorization server: the whole way of authorization, over sockets.

    with Authorized("2025-11-25") as scene:
        scene.protected.scopes = ["read"]
        with scene.connect() as client:
            client.call_tool("echo", {"text": "hi"})
        assert scene.asked()["scope"] == "read"

For 2025-03-26 the two servers share one origin and nothing is published about the protected one, as that revision has
it; for the others they are two. Nothing of it needs a person: the "browser" allows everything at once.
"""
import contextlib
from typing import Any, Callable, Dict, Iterator, List, Optional
from urllib.parse import parse_qsl, urlencode, urlsplit

from mcp_ref import connect
from mcp_ref.auth import OAuth
from mcp_ref.client import Client
from mcp_ref.errors import AuthError, McpError
from mcp_ref.limits import Limits

from .auth_server import AuthorizationServer, ProtectedServer, browser
from .patience import WAIT

PATIENCE = WAIT
BOUNDED = Limits(request_timeout=PATIENCE, initialize_timeout=PATIENCE, auth_timeout=PATIENCE)
NOW = 1_700_000_000.0


class WallClock:
    """The time in seconds since 1970, as the test has it: ``OAuth(now=clock)``."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time go by."""
        self.now += seconds


class Authorized:
    """See the module. ``revision``: what the client speaks; ``issuing``, ``protected``: the servers."""

    def __init__(self, revision: str = "2026-07-28", path: str = "", places: Any = ("oauth",),
                 **protected: Any) -> None:
        self.revision = revision
        self.clock = WallClock()
        legacy = revision == "2025-03-26"
        self.issuing = AuthorizationServer("" if legacy else path, places)
        if legacy:
            protected = dict(protected, web=self.issuing.web, document_at=None)
        self.protected = ProtectedServer(self.issuing, **protected)
        self._open: List[Any] = [self.issuing, self.protected]

    def more(self, **options: Any) -> AuthorizationServer:
        """Another authorization server."""
        made = AuthorizationServer(**options)
        self._open.append(made)
        return made

    def oauth(self, **options: Any) -> OAuth:
        """What our client is given where the test says nothing else."""
        return OAuth(**{"authorize": browser, "now": self.clock, **options})

    def connect(self, auth: Optional[Any] = None, url: Optional[str] = None, limits: Limits = BOUNDED,
                **options: Any) -> Client:
        """Our client, connected; ``options`` are those of `OAuth`, if there is no ``auth``."""
        return connect(url or self.protected.url, auth=auth or self.oauth(**options), limits=limits,
                       revisions=[self.revision])

    def refused(self, auth: Optional[Any] = None, **options: Any) -> McpError:
        """The error that connecting ends with."""
        try:
            client = self.connect(auth, **options)
        except AuthError as error:
            return error
        client.close()
        raise AssertionError("our client is let in")

    def asked(self, number: int = -1) -> Dict[str, str]:
        """The parameters of an authorization request, of the last one by default."""
        return self.issuing.seen("/authorize")[number].query

    def posted(self, number: int = -1) -> Dict[str, str]:
        """The parameters of a token request; likewise."""
        return self.issuing.seen("/token")[number].form

    def authorizations(self) -> int:
        """How often a person was asked."""
        return len(self.issuing.seen("/authorize"))

    def __enter__(self) -> "Authorized":
        return self

    def __exit__(self, *exception: Any) -> None:
        with contextlib.ExitStack() as closing:
            for each in self._open:
                closing.callback(each.close)


def altered(**changes: Any) -> Callable[[str], str]:
    """A browser on whose way back somebody changes parameters of the redirect; None: leaves one out."""
    def visit(url: str) -> str:
        location = urlsplit(browser(url))
        fields = dict(parse_qsl(location.query))
        fields.update(changes)
        kept = [(name, value) for name, value in fields.items() if value is not None]
        return location._replace(query=urlencode(kept)).geturl()

    return visit


@contextlib.contextmanager
def used(scene: Authorized, auth: Optional[Any] = None, **options: Any) -> Iterator[Client]:
    """A client that has used its token twice."""
    with scene.connect(auth, **options) as client:
        assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert [tool.name for tool in client.tools()] == ["echo", "write"]
        yield client
