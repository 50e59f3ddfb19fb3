"""Clients of the tests that are careless with tokens and with tasks."""
import http.client
import json
import re
from contextlib import closing
from typing import Any, Dict, Optional, Tuple
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.examiner.small_client import Ended, Message, SmallClient
from tests.support.patience import WAIT

RESOURCE, SERVER = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"


def fetched(method: str, url: str, body: Any = None) -> Tuple[int, Any, Any]:
    """Return the status, the header fields, and the JSON value of what is at a URL; a dict is posted as a form."""
    parts = urlsplit(url)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=WAIT)) as connection:
        connection.request(method, parts.path + ("?" + parts.query if parts.query else ""), body)
        answer = connection.getresponse()
        said = answer.read()
    return answer.status, answer.headers, json.loads(said) if said.startswith(b"{") else {}


class Careless(SmallClient):
    """Gets a token wherever it is sent: it looks at one place, proves nothing, checks nothing."""

    def begin(self) -> None:
        if self.env["MCP_CONFORMANCE_SCENARIO"].startswith("auth/"):
            list(self.post({"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": self.meta()}}))
            if self.wire.status == 401:
                self.headers["Authorization"] = "Bearer " + self.token(self.wire.headers.get("WWW-Authenticate"))
        super().begin()

    def token(self, challenge: Optional[str]) -> str:
        """Return a token."""
        found = re.search(r'resource_metadata="([^"]+)"', challenge or "")
        origin = self.wire.url._replace(path="", query="").geturl()
        resource = fetched("GET", found[1] if found else origin + RESOURCE)[2]
        servers = resource.get("authorization_servers")
        places = self.places(servers[0] if servers else origin)
        asked = {"response_type": "code", "client_id": "careless", "redirect_uri": "http://localhost:1/back",
                 "code_challenge": "a", "code_challenge_method": "plain", "state": "one"}
        status, headers, _ = fetched("GET", "%s?%s" % (places["authorization_endpoint"], urlencode(asked)))
        if status != 302:
            raise Ended("not authorized")
        code = parse_qs(urlsplit(headers["Location"]).query)["code"][0]
        given = fetched("POST", places["token_endpoint"], urlencode({
            "grant_type": "authorization_code", "code": code, "code_verifier": "a"}))[2]
        return str(given["access_token"])

    def places(self, issuer: str) -> Dict[str, Any]:
        """Return the metadata of an authorization server, whoever it is."""
        found: Dict[str, Any] = fetched("GET", issuer + SERVER)[2]
        if "authorization_endpoint" not in found:
            raise Ended("no metadata")
        return found


class Blind(Careless):
    """Asks for no metadata."""

    def places(self, issuer: str) -> Dict[str, Any]:
        return {"authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token"}


class Augments(SmallClient):
    """Calls every tool as a task, waits to be told how it is, and makes a task of what it is asked."""

    def call(self, tool: Message) -> None:
        self.request("tools/call", {"name": tool["name"], "arguments": {}, "task": {"ttl": 1000}})

    def end(self) -> None:
        if self.env["MCP_EXAMINER_SCENE"] == "task-tools":
            self.wire.sock.recv(1)  # nothing comes, until the examiner ends it
        super().end()

    def sampling_createMessage(self, params: Message) -> Any:
        if "task" in params:
            return {"task": {"taskId": "t", "status": "working", "createdAt": "2025-11-25T10:00:00Z",
                             "lastUpdatedAt": "2025-11-25T10:00:00Z", "ttl": 1000}}
        return super().sampling_createMessage(params)
