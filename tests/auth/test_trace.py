"""A trace of authorization: documents, forms and tokens are in it, and nothing that is secret of them."""
import io
import re
from typing import Any, Dict, List, Tuple

import pytest

from mcp_ref import connect
from mcp_ref.auth import ClientCredentials
from mcp_ref.wiretrace import Event, JsonLinesSink, Trace, read
from tests.support.authorized import BOUNDED, Authorized

MASK = r"\*\*\*[0-9a-f]{8}"


def flow(scene: Authorized, revision: str, **options: Any) -> Tuple[str, List[Event]]:
    """A whole flow of authorization, with a renewal and a step-up: the recording, and its events."""
    text = io.StringIO()
    with connect(scene.protected.url, auth=scene.oauth(**options), trace=Trace(JsonLinesSink(text)), limits=BOUNDED,
                 revisions=[revision]) as client:
        client.call_tool("echo", {"text": "hi"})
        scene.issuing.revoke()
        client.call_tool("echo", {"text": "hi"})
        scene.protected.needs = {"tools/call:write": ["write"]}
        client.call_tool("write", {"text": "hi"})
    return text.getvalue(), list(read(text.getvalue().splitlines()))


def secrets_of(scene: Authorized) -> List[str]:
    """Everything that was secret at the servers, and the challenges and states that the client made."""
    found = set(filter(None, scene.issuing.secrets))
    for asked in scene.issuing.seen("/authorize"):
        found.update([asked.query["state"], asked.query["code_challenge"]])
    for asked in scene.issuing.seen("/token"):
        found.update(asked.form[name] for name in ("code", "code_verifier", "refresh_token", "client_secret")
                     if name in asked.form)
    return sorted(found)


def told(events: List[Event], kind: str, path: str = "") -> List[Event]:
    """The events of a kind in the exchanges whose target begins so."""
    numbers = {event.exchange for event in events
               if event.kind == "request" and event.more["target"].partition("?")[0].startswith(path)}
    return [event for event in events if event.kind == kind and event.exchange in numbers]


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("options", [{}, {"client_id": "known", "client_secret": "secret-of-known"}])
def test_a_whole_flow_is_in_the_trace_without_its_secrets(revision: str, options: Dict[str, Any]) -> None:
    with Authorized(revision) as scene:
        scene.issuing.add_client("known", "secret-of-known")
        text, events = flow(scene, revision, **options)
        secrets = secrets_of(scene)
    assert len(secrets) > 8
    for secret in secrets:
        assert secret not in text, "…%s…" % text[max(0, text.find(secret) - 200):text.find(secret) + 200]
    assert "documents" in events[0].more["recorded"]
    assert told(events, "body", "/.well-known/"), "metadata documents"
    forms = [dict(event.more["form"]) for event in told(events, "body", "/") if "form" in event.more]
    assert [form["grant_type"] for form in forms] == ["authorization_code", "refresh_token", "authorization_code"]
    assert re.fullmatch(MASK, forms[0]["code"]) and re.fullmatch(MASK, forms[0]["code_verifier"])
    assert forms[0]["resource"].startswith("http://127.0.0.1")


def test_what_is_equal_has_one_mask_in_the_flow_and_another_in_the_next() -> None:
    seen = []
    for _ in range(2):
        with Authorized("2025-11-25") as scene:
            scene.issuing.add_client("known", "secret-of-known")
            _, events = flow(scene, "2025-11-25", client_id="known", client_secret="secret-of-known")
        answers = [event.more["json"] for event in events if event.kind == "body" and event.direction == "server"
                   and isinstance(event.more.get("json"), dict) and "access_token" in event.more["json"]]
        used = [dict(event.more.get("fields", ())).get("Authorization") for event in events if event.kind == "request"]
        bearers = [field[len("Bearer "):] for field in used if field and field.startswith("Bearer ")]
        assert set(bearers) == {answer["access_token"] for answer in answers} and len(set(bearers)) >= 2
        forms = [dict(event.more["form"]) for event in events if "form" in event.more]
        assert forms[1]["refresh_token"] == answers[0]["refresh_token"]
        visits = [event.more["target"] for event in events if event.kind == "request" and not event.more.get("fields")]
        codes = [re.findall("code=(%s)" % MASK, target) for target in visits]
        assert codes[1] == [forms[0]["code"]] and codes[3] == [forms[2]["code"]]
        states = [re.findall("state=(%s)" % MASK, target) for target in visits]
        assert states[0] == states[1] and states[2] == states[3] != states[0]
        assert "code_challenge_method=S256" in visits[0] and "response_type=code" in visits[0]
        seen.append({*bearers, forms[0]["code"], forms[0]["code_verifier"]})
    assert not seen[0] & seen[1]


def test_a_grant_without_a_person_is_traced_too() -> None:
    text = io.StringIO()
    with Authorized("2025-11-25") as scene:
        scene.issuing.add_client("machine", "secret-of-machine")
        auth = ClientCredentials("machine", "secret-of-machine", issuer=scene.issuing.issuer, now=scene.clock)
        with connect(scene.protected.url, auth=auth, trace=Trace(JsonLinesSink(text)), limits=BOUNDED) as client:
            client.call_tool("echo", {"text": "secret-of-machine"})
        secrets = secrets_of(scene)
    assert "client_credentials" in text.getvalue()
    assert not [secret for secret in [*secrets, "secret-of-machine"] if secret in text.getvalue()]
