"""The scripted authorization server does what a real one does, until a test says otherwise."""
import base64
import http.client
import json
import threading
from typing import Any, Dict, Tuple
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from mcp_ref import connect
from tests.support.auth_server import (
    CODE, CREDENTIALS, OAUTH_DOCUMENT, REFRESH, AuthorizationServer, Browser, ProtectedServer, browser, challenge_of,
    fetched)
from tests.support.patience import WAIT
from tests.support.scripted_web import ScriptedWeb, reply_html, reply_json

REDIRECT = "http://localhost:7/callback"
VERIFIER = "v" * 43


def post(url: str, body: Any, **headers: str) -> Tuple[int, Dict[str, Any]]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=WAIT)
    kind = "application/json" if isinstance(body, str) else "application/x-www-form-urlencoded"
    try:
        connection.request("POST", parts.path, body if isinstance(body, str) else urlencode(body),
                           {"Content-Type": kind, **headers})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def authorized(issuing: AuthorizationServer, **more: str) -> Dict[str, str]:
    query = {"client_id": "me", "redirect_uri": REDIRECT, "response_type": "code", "state": "s", "resource": "r",
             "code_challenge": challenge_of(VERIFIER), "code_challenge_method": "S256", "scope": "a b", **more}
    location = urlsplit(browser("%s/authorize?%s" % (issuing.issuer, urlencode(query))))
    return {name: values[0] for name, values in parse_qs(location.query).items()}


def exchanged(issuing: AuthorizationServer, code: str, **more: str) -> Tuple[int, Dict[str, Any]]:
    return post(issuing.issuer + "/token", {"grant_type": CODE, "code": code, "client_id": "me",
                                            "redirect_uri": REDIRECT, "code_verifier": VERIFIER, **more})


@pytest.mark.parametrize("path", ["", "/tenant1"])
def test_a_code_becomes_a_token_which_is_refreshed(path: str) -> None:
    with AuthorizationServer(path) as issuing:
        issuing.add_client("me")
        assert json.loads(fetched(issuing.origin + OAUTH_DOCUMENT + path)[2])["issuer"] == issuing.issuer
        answer = authorized(issuing)
        assert (answer["state"], answer["iss"]) == ("s", issuing.issuer)
        status, token = exchanged(issuing, answer["code"])
        assert (status, token["scope"], issuing.tokens[token["access_token"]]["aud"]) == (200, "a b", "r")
        assert exchanged(issuing, answer["code"])[1] == {"error": "invalid_grant", "error_description": "no such code"}
        form = {"grant_type": REFRESH, "refresh_token": token["refresh_token"], "client_id": "me"}
        status, again = post(issuing.issuer + "/token", form)
        assert status == 200 and again["refresh_token"] != token["refresh_token"]
        assert post(issuing.issuer + "/token", form)[0] == 400
        assert issuing.grants() == [CODE, CODE, REFRESH, REFRESH]
        assert {token["access_token"], again["refresh_token"], answer["code"]} <= issuing.secrets


@pytest.mark.parametrize("more", [{"code_verifier": "w" * 43}, {"redirect_uri": REDIRECT + "2"}, {"resource": "other"}])
def test_a_code_is_checked(more: Dict[str, str]) -> None:
    with AuthorizationServer() as issuing:
        issuing.add_client("me")
        assert exchanged(issuing, authorized(issuing)["code"], **more)[0] == 400


def test_only_a_registered_redirect() -> None:
    with AuthorizationServer() as issuing:
        issuing.add_client("me", redirect_uris=["https://example.com/back"])
        with pytest.raises(AssertionError):
            authorized(issuing)
        assert authorized(issuing, redirect_uri="https://example.com/back")["state"] == "s"


def test_registered_clients_use_their_method() -> None:
    with AuthorizationServer() as issuing:
        status, made = post(issuing.issuer + "/register", json.dumps({"redirect_uris": [REDIRECT]}))
        assert status == 201
        form = {"grant_type": CREDENTIALS, "client_id": made["client_id"], "client_secret": made["client_secret"]}
        assert post(issuing.issuer + "/token", form)[0] == 401
        basic = base64.b64encode(("%(client_id)s:%(client_secret)s" % made).encode()).decode()
        form = {"grant_type": CREDENTIALS, "scope": "a"}
        status, token = post(issuing.issuer + "/token", form, Authorization="Basic " + basic)
        assert (status, token["scope"]) == (200, "a")
        form = {"token": token["access_token"]}
        status, known = post(issuing.issuer + "/introspect", form, Authorization="Basic " + basic)
        assert (status, known["active"], known["client_id"]) == (200, True, made["client_id"])


def test_the_protected_server_lets_in_who_has_a_token() -> None:
    with AuthorizationServer() as issuing, ProtectedServer(issuing) as protected:
        protected.scopes, protected.needs = ["base"], {"tools/call:write": ["more"]}
        status, headers, _ = fetched(protected.url)
        document = protected.origin + "/.well-known/oauth-protected-resource/mcp"
        assert (status, headers["www-authenticate"]) == (
            401, 'Bearer resource_metadata="%s", scope="base"' % document)
        assert json.loads(fetched(document)[2])["authorization_servers"] == [issuing.issuer]
        token = issuing.issue({"scope": "base", "aud": protected.url})["access_token"]
        with connect(protected.url, token=token) as client:
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
            with pytest.raises(Exception):
                client.call_tool("write", {"text": "hi"})
        assert set(protected.bearers()) == {None, "Bearer " + token}
        assert protected.checked[-2][1] == 403 or protected.checked[-1][1] == 403


def test_answers_of_a_test_go_first_and_may_leave_it_to_the_usual() -> None:
    with AuthorizationServer("/t") as issuing:
        issuing.answers["/token"] = lambda asked: None
        issuing.add_client("me")
        assert exchanged(issuing, "nothing")[0] == 400
        issuing.answers["/token"] = lambda asked: issuing.usual(asked)._replace(status=418)
        assert exchanged(issuing, "nothing")[0] == 418


def test_a_gate_holds_an_answer() -> None:
    with ScriptedWeb() as web:
        gate = web.gate()

        def slow(asked: Any) -> Any:
            gate.passing()
            return reply_json({})

        web.answers["/slow"] = slow
        got = []
        thread = threading.Thread(target=lambda: got.append(fetched(web.origin + "/slow")))
        thread.start()
        gate.wait_arrived()
        assert got == []
        gate.open()
        thread.join(WAIT)
        assert got[0][0] == 200


def test_the_browser_follows_the_redirect() -> None:
    with AuthorizationServer() as issuing, ScriptedWeb() as web, Browser() as opened:
        issuing.add_client("me")
        web.answers["/callback"] = lambda asked: reply_html(200, "thanks")
        query = {"client_id": "me", "redirect_uri": web.origin + "/callback", "response_type": "code",
                 "code_challenge": challenge_of(VERIFIER), "code_challenge_method": "S256"}
        assert opened.open("%s/authorize?%s" % (issuing.issuer, urlencode(query)))
        assert web.wait_for("/callback").query["iss"] == issuing.issuer
        opened.close()
        assert opened.pages[0][2] == b"thanks"
