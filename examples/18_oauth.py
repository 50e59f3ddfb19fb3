"""A server behind OAuth, and a client that is sent away, asks its user and comes back with a token.

Follow the ladder. The first request is refused, and the challenge says where the metadata of the server is [2025-11-25
basic/authorization §Protected Resource Metadata Discovery Requirements]. It names the authorization server, whose
metadata has all further addresses [2025-11-25 basic/authorization §Authorization Server Metadata Discovery]. The client
registers, sends its user to the authorization server with a challenge of PKCE, gets a code back, and trades it for a
token, which is for this one server [2025-11-25 basic/authorization §Resource Parameter Implementation].

A second tool needs more than the token allows. The server says by 403 which scopes are missing, and the client asks its
user once more [2025-11-25 basic/authorization §Step-Up Authorization Flow]. All of it runs on loopback.
"""
import pathlib
import secrets
import socket
import sys
import urllib.error
import urllib.request
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from authorization_server import AuthorizationServer  # noqa: E402
from course import Session  # noqa: E402

from mcp_ref import Context, Server, connect  # noqa: E402
from mcp_ref.auth import JwtVerifier, OAuth, ResourceServer  # noqa: E402


def protected(issuer: str, secret: str, url: str) -> Server:
    """The server: whose tokens it takes, how it knows them, and what they have to allow."""
    verify = JwtVerifier(issuer, keys=secret.encode(), algorithms=["HS256"])  # or the keys that a real issuer publishes
    auth = ResourceServer(url, [issuer], verify, scopes=["read"], needs={"tools/call:write": ["write"]})
    server = Server("notes", version="1.0", auth=auth)
    notes = ["buy milk"]

    @server.tool
    def read(ctx: Context) -> str:
        """All notes."""
        return "%s for %s" % ("; ".join(notes), ctx.principal.subject)

    @server.tool
    def write(note: str) -> str:
        """Add a note."""
        notes.append(note)
        return "written"

    return server


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """The browser of this example shows where it is sent instead of going there."""

    def redirect_request(self, *what: Any) -> None:
        """None: it stays."""


def browse(url: str) -> str:
    """A user who says yes. Without ``authorize=``, `OAuth` opens the real browser and listens for it to come back."""
    print("the user sees   %s" % url.partition("?")[0])
    try:
        urllib.request.build_opener(NoRedirects).open(url)
    except urllib.error.HTTPError as error:
        with error:
            return str(error.headers["Location"])
    raise SystemExit("nobody was sent back")


def main() -> None:
    """An authorization server, a server that takes its tokens, and a client that knows nothing but a URL."""
    secret = secrets.token_urlsafe(32)
    place = socket.create_server(("127.0.0.1", 0))  # clients know the server by its URL, so that is known first
    url = "http://127.0.0.1:%d/mcp" % place.getsockname()[1]
    with AuthorizationServer(secret) as issuing:
        with protected(issuing.issuer, secret, url).listen(url, fds=[place.detach()]):
            auth = OAuth(client_name="Example", authorize=browse)
            with Session() as session, connect(url, auth=auth, trace=session) as client:
                before = client.call_tool("read").text
                print("read            %s" % before)
                print("write           %s" % client.call_tool("write", {"note": "call mum"}).text)  # asks once more
                after = client.call_tool("read").text
                print("read            %s" % after)
    if (before, after) != ("buy milk for ada", "buy milk; call mum for ada"):
        raise SystemExit("wrong notes: %s, %s" % (before, after))


if __name__ == "__main__":
    main()
