"""An authorization server to try things out with. NOT FOR ANYTHING ELSE: it asks nobody who they are.

    python3 examples/authorization_server.py 9000 "a secret of thirty-two bytes or more"

What it does is what OAuth 2.1 is: a program registers itself [RFC 7591], sends its user here, gets a code by way of the
user's browser [RFC 6749 §4.1] and exchanges it for an access token, with a proof that it is the program that began
[RFC 7636]. The token is a JWT [RFC 9068] for the one resource that it was asked for [RFC 8707]. A real one shows a page
at /authorize, with a login and a question; this one says yes at once.
"""

import json
import pathlib
import secrets
import sys
import threading
import time
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Dict
from urllib.parse import parse_qsl, urlencode, urlsplit

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from mcp_ref.auth import HmacSigner  # noqa: E402
from mcp_ref.auth.jose import b64url, make_jwt  # noqa: E402


class AuthorizationServer:
    """Serves on loopback while it is a context; ``secret`` signs its tokens, and whoever checks them knows it too."""

    def __init__(self, secret: str, port: int = 0) -> None:
        self._signer = HmacSigner(secret)
        self._clients: Dict[str, Any] = {}
        self._codes: Dict[str, Dict[str, str]] = {}
        self._web = _Web(("127.0.0.1", port), type("Handler", (_Handler,), {"issuing": self}))
        self.issuer = "http://127.0.0.1:%d" % self._web.server_address[1]
        self._thread = threading.Thread(target=self._web.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> "AuthorizationServer":
        self._thread.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._web.shutdown()
        self._web.server_close()
        self._thread.join()

    def metadata(self) -> Dict[str, Any]:
        """What clients have to know [RFC 8414 §2]."""
        return {"issuer": self.issuer, "authorization_endpoint": self.issuer + "/authorize",
                "token_endpoint": self.issuer + "/token", "registration_endpoint": self.issuer + "/register",
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": True}

    def register(self, wanted: Dict[str, Any]) -> Dict[str, Any]:
        """A client says who it is, and where its users come back to."""
        known = dict(wanted, client_id=secrets.token_urlsafe(8), token_endpoint_auth_method="none")
        self._clients[known["client_id"]] = known
        return known

    def authorize(self, asked: Dict[str, str]) -> str:
        """Somebody's browser is here for a client: where it goes now."""
        if asked["redirect_uri"] not in self._clients[asked["client_id"]]["redirect_uris"]:
            raise KeyError("redirect_uri")  # never there: it may be anybody's
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        return "%s?%s" % (asked["redirect_uri"], urlencode(
            {"code": code, "state": asked.get("state", ""), "iss": self.issuer}))

    def token(self, form: Dict[str, str]) -> Dict[str, Any]:
        """A code for a token, once, by the client that began."""
        asked = self._codes.pop(form["code"])
        proof = b64url(sha256(form["code_verifier"].encode("ascii")).digest())
        if proof != asked["code_challenge"] or any(form[name] != asked[name] for name in ("client_id", "redirect_uri")):
            raise KeyError("code")
        claims = {"iss": self.issuer, "sub": "ada", "aud": asked["resource"], "client_id": form["client_id"],
                  "scope": asked.get("scope", ""), "exp": int(time.time()) + 600}
        return {"access_token": make_jwt(self._signer, claims, [("typ", "at+jwt")]), "token_type": "Bearer",
                "expires_in": 600}


class _Web(ThreadingHTTPServer):
    """Threads that do not keep the process alive, and no look-up of a name, which may take long."""

    daemon_threads = True

    def server_bind(self) -> None:
        """Bind, and no more."""
        TCPServer.server_bind(self)


class _Handler(BaseHTTPRequestHandler):
    """HTTP around it; whatever is missing or wrong is an error for the client."""

    issuing: AuthorizationServer

    def do_GET(self) -> None:
        """Metadata, and the browser."""
        parts = urlsplit(self.path)
        if parts.path == "/.well-known/oauth-authorization-server":
            return self._say(200, self.issuing.metadata())
        try:
            location = self.issuing.authorize(dict(parse_qsl(parts.query)))
        except KeyError as error:
            return self._say(400, {"error": "invalid_request", "error_description": str(error)})
        return self._say(302, {}, location)

    def do_POST(self) -> None:
        """What clients ask for."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8")
        try:
            if self.path == "/register":
                return self._say(201, self.issuing.register(json.loads(body)))
            return self._say(200, self.issuing.token(dict(parse_qsl(body))))
        except KeyError:
            return self._say(400, {"error": "invalid_grant"})

    def _say(self, status: int, value: Dict[str, Any], location: str = "") -> None:
        body = json.dumps(value).encode("utf-8")
        self.send_response(status)
        for name, text in (("Content-Type", "application/json"), ("Content-Length", str(len(body))),
                           ("Cache-Control", "no-store"), *([("Location", location)] if location else [])):
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *what: Any) -> None:
        """Nothing: a request line has codes in it."""


if __name__ == "__main__":
    with AuthorizationServer(sys.argv[2], int(sys.argv[1])) as serving:
        print("issuer: %s" % serving.issuer)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
