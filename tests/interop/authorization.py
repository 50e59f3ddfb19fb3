"""Authorization between programs of different makers; `make interop` runs them.

=======================  ==========================  ==========================  ============================
pairing                  client                      protected server            authorization server
=======================  ==========================  ==========================  ============================
auth-their-server        ours, in both eras          official Python SDK 2.x     the same
auth-their-issuer        ours, in both eras          ours, which checks JWTs     official Python SDK 2.x
auth-introspection       ours                        ours, which asks            official Python SDK 2.x
auth-their-client        official Python SDK 2.x     ours                        official Python SDK 2.x
=======================  ==========================  ==========================  ============================

The person who allows access is a function here that follows one redirect. `WALKS` has each by name, as a function of
the peers' commands (`tests/tools/peers.py`).
"""
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import threading
import time
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import urlsplit

from http_walks import serving
from mcp_ref import Context, Server, connect
from mcp_ref.auth import Introspection, JwtVerifier, OAuth, ResourceServer
from mcp_ref.errors import AuthError
from official_walk import expect
from steps import SECONDS, Steps

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = str(HERE / "official_authorization.py")
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}

Commands = Dict[str, List[str]]


def browse(url: str) -> str:
    """The person in front of the browser: where the authorization page sends them."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=SECONDS)
    try:
        connection.request("GET", "%s?%s" % (parts.path, parts.query))
        location = connection.getresponse().getheader("location")
    finally:
        connection.close()
    if location is None:
        raise AuthError("nobody was sent anywhere")
    return location


def fetched(url: str) -> Any:
    """A JSON document."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=SECONDS)
    try:
        connection.request("GET", parts.path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def their_server(commands: Commands) -> None:
    """Be let in by a server of theirs, many threads at once, and go on when tokens have come to their end."""
    steps = Steps("official-protected")
    for era, revision in ERAS.items():
        command = [*commands["official_v2"], SCRIPT, "server", "{port}"]
        lifetime = 3600 if era == "auto" else 2
        with serving(command, "/mcp", LIFETIME=str(lifetime)) as address:
            url = address.replace("127.0.0.1", "localhost")
            with connect(url, auth=OAuth(authorize=browse, client_name="ours"), era=era) as client:
                expect(client.revision.name == revision, "revision", str(client.revision))
                answers: List[str] = []

                def call(number: int) -> None:
                    answers.append(client.call_tool("echo", {"text": str(number)}).text)

                threads = [threading.Thread(target=call, args=(number,)) for number in range(16)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(SECONDS)
                expect(sorted(answers, key=int) == [str(number) for number in range(16)], "sixteen at once", answers)
                end = time.monotonic() + 2.5 if era == "legacy" else 0.0
                while True:
                    granted = client.call_tool("granted").structured_content["result"]
                    if time.monotonic() > end:
                        break
            expect(granted[:1] == ["authorization_code"] and granted.count("authorization_code") == 1,
                   "one authorization for all", granted)
            expect(("refresh_token" in granted) == (era == "legacy"), "tokens that end are renewed", granted)
            steps.done(era, granted=granted[:3])


def protected(issuer: str, verify: Any, resource: str) -> Server:
    """A server of ours whose tools need scopes."""
    server = Server("ours-protected", version="1")
    server.auth = ResourceServer(resource, [issuer], verify, scopes=["read"], needs={"tools/call:change": ["write"]})

    @server.tool
    def whoami(ctx: Context) -> str:
        """Who calls."""
        return "%s with %s" % (ctx.principal.subject, " ".join(sorted(ctx.principal.scopes)))

    @server.tool
    def change() -> str:
        """Change something."""
        return "changed"

    return server


@contextlib.contextmanager
def ours(commands: Commands, verifier: Callable[[str], Any]) -> Iterator[Any]:
    """The URL of a server of ours, and of the authorization server in front of it, which is theirs."""
    from mcp_ref.server.serving.http_listener import HttpListener
    from http_walks import free_port

    command = [*commands["official_v2"], SCRIPT, "issuer", "{port}"]
    with serving(command, "/", LIFETIME="3600") as address:
        issuer = address.replace("127.0.0.1", "localhost")
        port = free_port()
        resource = "http://localhost:%d/mcp" % port
        server = protected(issuer, verifier(issuer), resource)
        with HttpListener(server, "http://127.0.0.1:%d/mcp" % port):
            yield resource, issuer


def through(commands: Commands, verifier: Callable[[str], Any]) -> None:
    """Be let in by a server of ours with tokens of theirs, and be asked for more on the way."""
    steps = Steps("ours-protected")
    with ours(commands, verifier) as (url, issuer):
        for era, revision in ERAS.items():
            with connect(url, auth=OAuth(authorize=browse, client_name="ours"), era=era) as client:
                expect(client.revision.name == revision, "revision", str(client.revision))
                expect(client.call_tool("whoami").text == "ada with read", "who we are", "")
                expect(client.call_tool("change").text == "changed", "more scopes", "")
                expect(client.call_tool("whoami").text == "ada with read write", "both scopes", "")
            steps.done(era)
        steps.done("granted", by=fetched(issuer + "granted"))


def their_issuer(commands: Commands) -> None:
    """Tokens are JWTs, which our server checks with the keys of the authorization server."""
    through(commands, lambda issuer: JwtVerifier(issuer, keys=issuer + "jwks"))


def introspection(commands: Commands) -> None:
    """Tokens are words that our server asks the authorization server about."""
    through(commands, lambda issuer: Introspection(
        issuer + "introspect", "resource", "what-the-resource-shows"))


def their_client(commands: Commands) -> None:
    """Let their client in."""
    steps = Steps("ours-protected")
    with ours(commands, lambda issuer: JwtVerifier(issuer, keys=issuer + "jwks")) as (url, _issuer):
        done = subprocess.run([*commands["official_v2"], SCRIPT, "client", url], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, env=dict(os.environ), timeout=SECONDS * 4)
        expect(done.returncode == 0, "the client ended", done.returncode)
        said = json.loads(done.stdout)
    for era, revision in ERAS.items():
        got = said[era]
        expect(got["revision"] == revision and sorted(got["tools"]) == ["change", "whoami"], "revision and tools", got)
        expect(got["said"][1] == "changed", "more scopes", got)
        steps.done(era, said=got["said"])


WALKS: Dict[str, Callable[[Commands], None]] = {
    "auth-their-server": their_server,
    "auth-their-issuer": their_issuer,
    "auth-introspection": introspection,
    "auth-their-client": their_client,
}
