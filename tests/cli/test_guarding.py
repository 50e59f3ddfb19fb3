"""`run --http` with options that say who may ask."""
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from mcp_ref import connect
from mcp_ref.cli.guarding import listener_options
from mcp_ref.errors import McpError
from tests.support.auth_server import AuthorizationServer

from .running import ROOT, here

MINE = """
from mcp_ref import Context, Server
mine = Server("mine")
@mine.tool
def who(ctx: Context) -> str:
    return str(ctx.principal)
"""
RESOURCE = "http://127.0.0.1:8000/mcp"


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "mine.py"
    made.write_text(MINE)
    return str(made)


class Running:
    """`run FILE --http` in a process of its own."""

    def __init__(self, file, *options, **environment):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mcp_ref", "run", file, "--http", "127.0.0.1:0", *options], cwd=str(ROOT),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment})
        lines = iter(self.process.stderr.readline, b"")
        self.url = next(line for line in lines if b"ing on " in line).split()[2].rstrip(b";").decode()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=20)
        assert b"Traceback" not in err

    def get(self, path):
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=20)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def refused(url, **options):
    with pytest.raises(McpError) as raised, connect(url, **options):
        pytest.fail("it was let in")
    return str(raised.value)


@pytest.mark.parametrize("workers", [(), ("--workers", "1")], ids=["alone", "workers"])
def test_a_secret_of_the_environment(file, workers):
    with Running(file, "--token-env", "MINE_TOKEN", *workers, MINE_TOKEN="s3cret") as running:
        with connect(running.url, token="s3cret") as client:
            assert client.call_tool("who").content[0].text == "token"
        assert "401" in refused(running.url)


@pytest.mark.parametrize("workers", [(), ("--workers", "1")], ids=["alone", "workers"])
def test_tokens_of_oauth_by_introspection(file, workers):
    with AuthorizationServer() as issuing:
        issuing.add_client("mine", "s3cret")
        issuing.tokens["good"] = {"sub": "ada", "aud": RESOURCE, "scope": "read", "client_id": "app",
                                  "exp": int(time.time()) + 600, "active": True}
        options = ("--resource", RESOURCE, "--authorization-server", issuing.issuer, "--scope", "read",
                   "--introspect", issuing.issuer + "/introspect", "--client-id", "mine",
                   "--client-secret-env", "MINE_SECRET", *workers)
        with Running(file, *options, MINE_SECRET="s3cret") as running:
            status, document = running.get("/.well-known/oauth-protected-resource/mcp")
            assert status == 200 and json.loads(document)["authorization_servers"] == [issuing.issuer]
            with connect(running.url, token="good") as client:
                assert json.loads(client.call_tool("who").content[0].text) == [issuing.issuer, "ada", "app"]
            assert "401" in refused(running.url, token="bad")


@pytest.mark.parametrize("options, why", [
    (["--token-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE, which should hold a secret, is not set"),
    (["--resource", RESOURCE], "--authorization-server URL"), (["--scope", "a"], "--resource URL"),
    (["--token-env", "PATH", "--resource", RESOURCE], "--token-env is another way than --resource"),
    (["--resource", RESOURCE, "--authorization-server", "http://a.example"], "not https"),
    (["--resource", RESOURCE, "--authorization-server", "https://a", "--jwks", "x", "--introspect", "y"], "two ways"),
    (["--resource", RESOURCE, "--authorization-server", "https://a", "--client-id", "x"], "go together"),
    (["--resource", RESOURCE, "--authorization-server", "https://a", "--introspect", "https://b", "--client-id", "x"],
     "go together")])
def test_options_that_do_not_go_together(options, why, file, capsys):
    code, out, err = here(capsys, "run", file, "--http", "127.0.0.1:0", *options)
    assert (code, out) == (2, "") and why in err


def test_options_are_for_http(file, capsys):
    code, _, err = here(capsys, "run", file, "--token-env", "PATH")
    assert code == 2 and "--token-env is for --http" in err


def test_keys_may_be_named():
    given = {"resource": RESOURCE, "authorization_server": "https://a.example", "jwks": "https://keys.example/jwks",
             "scope": ["read", "write"], "audience": ["api://mine"]}
    auth = listener_options(given)["auth"]
    assert auth.document["scopes_supported"] == ["read", "write"] and listener_options({}) == {}
