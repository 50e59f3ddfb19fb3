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
from mcp_ref.cli.serve.loading import listener_options
from mcp_ref.errors import McpError
from tests.support.auth_server import AuthorizationServer
from tests.support.patience import WAIT

from .running import ROOT, here

MINE = """
from mcp_ref import Context, Server
mine = Server("mine")
@mine.tool
def who(ctx: Context) -> str:
    return str(ctx.principal)
"""
PEM = str(ROOT / "tests" / "data" / "tls" / "localhost.pem")
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
        _, err = self.process.communicate(timeout=WAIT)
        assert b"Traceback" not in err

    def get(self, path):
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=WAIT)
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


@pytest.mark.parametrize("options, why", [
    (["--tls-key", PEM], "--tls-key belongs to a certificate: give --tls-cert FILE, too"),
    (["--tls-cert", "/nowhere.pem"], "--tls-cert /nowhere.pem cannot be used: "),
    (["--tls-cert", __file__], "cannot be used"),
    (["--tls-cert", PEM, "--tls-key", __file__], "--tls-key %s cannot be used" % __file__),
    (["--trusted-proxy", "nobody"], "--trusted-proxy: "),
    (["--health", "healthz"], "--health takes a path, such as /health, not healthz"),
])
def test_options_that_cannot_be_are_refused_before_anything_is_served(options, why, file, capsys):
    code, out, err = here(capsys, "run", file, "--http", "127.0.0.1:0", *options)
    assert (code, out) == (2, "") and why in err


@pytest.mark.parametrize("workers", [(), ("--workers", "1")], ids=["alone", "workers"])
def test_tls_proxies_hosts_and_origins(file, workers, capsys):
    with Running(file, "--tls-cert", PEM, "--allowed-host", "localhost", "--allowed-origin", "https://app.example",
                 "--trusted-proxy", "10.0.0.0/8", *workers) as running:
        assert running.url.startswith("https://127.0.0.1:")
        url = running.url.replace("127.0.0.1", "localhost")
        words = ("call", url, "who", "--cafile", PEM)
        assert here(capsys, *words, "--header", "Origin=https://app.example") == (0, "None\n", "")
        code, _, err = here(capsys, *words, "--header", "Origin=https://evil.example")
        assert code == 1 and "403" in err
        code, _, err = here(capsys, "call", url, "who")
        assert code == 3 and "certificate" in err.lower()
        with pytest.raises(McpError), connect(running.url, cafile=PEM):
            pytest.fail("127.0.0.1 is not an allowed host any more")


def test_addresses_for_operators_go_to_the_listener():
    assert listener_options({"health": "/up", "metrics": "/counts"}) == {"health": "/up", "metrics": "/counts"}


def test_what_is_said_of_proxies_goes_to_the_listener():
    assert listener_options({"trusted_proxy": ["10.0.0.1", "unix"]}) == {"trusted_proxies": ["10.0.0.1", "unix"]}


@pytest.mark.parametrize("options, why", [
    (["--header", "X-A=1"], "--header is for servers at http"), (["--cafile", PEM], "--cafile is for servers at http"),
])
def test_options_of_http_are_for_servers_there(options, why, capsys):
    code, out, err = here(capsys, "ping", *options, "--", sys.executable, "-c", "pass")
    assert (code, out) == (2, "") and why in err


@pytest.mark.parametrize("options, why", [(["--header", "X-A"], "NAME=VALUE"), (["--cafile", "/nowhere"], "no file")])
def test_wrong_options_of_http_are_refused(options, why, capsys):
    code, out, err = here(capsys, "ping", "https://127.0.0.1:1/mcp", *options)
    assert (code, out) == (2, "") and why in err


def test_options_are_for_http(file, capsys):
    code, _, err = here(capsys, "run", file, "--token-env", "PATH")
    assert code == 2 and "--token-env is for --http" in err


def test_keys_may_be_named():
    given = {"resource": RESOURCE, "authorization_server": "https://a.example", "jwks": "https://keys.example/jwks",
             "scope": ["read", "write"], "audience": ["api://mine"]}
    auth = listener_options(given)["auth"]
    assert auth.document["scopes_supported"] == ["read", "write"] and listener_options({}) == {}
