"""Servers that have what they do not declare: refused by the page's MUST, and asked where the user says so."""
import json
import logging
import sys

import pytest

from mcp_ref import connect
from mcp_ref.errors import CapabilityMissing
from mcp_ref.protocol.lifecycle import UNDECLARED
from tests.cli.running import here

SERVER = """
import json, sys
SHARED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
ANSWERS = {
    "server/discover": dict(SHARED, supportedVersions=["2026-07-28"], capabilities={}),
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
    "tools/list": dict(SHARED, tools=[{"name": "t", "inputSchema": {"type": "object"}}]),
    "tools/call": dict(SHARED, content=[]), "prompts/list": dict(SHARED, prompts=[]),
    "prompts/get": dict(SHARED, messages=[]), "resources/list": dict(SHARED, resources=[]),
    "resources/templates/list": dict(SHARED, resourceTemplates=[]), "resources/read": dict(SHARED, contents=[]),
    "completion/complete": dict(SHARED, completion={"values": ["x"]}),
}
for line in sys.stdin:
    message = json.loads(line)
    answer = {"result": ANSWERS.get(message["method"], {})}
    if sys.argv[1] == "legacy" and message["method"] == "server/discover":
        answer = {"error": {"code": -32601, "message": "no"}}
    if "id" in message:
        print(json.dumps(dict(answer, jsonrpc="2.0", id=message["id"])), flush=True)
"""
REQUESTS = {
    "tools/list": ("tools", lambda c: list(c.tools())),
    "tools/call": ("tools", lambda c: c.call_tool("t")),
    "prompts/list": ("prompts", lambda c: list(c.prompts())),
    "prompts/get": ("prompts", lambda c: c.get_prompt("p")),
    "resources/list": ("resources", lambda c: list(c.resources())),
    "resources/templates/list": ("resources", lambda c: list(c.resource_templates())),
    "resources/read": ("resources", lambda c: c.read_resource("x:y")),
    "resources/subscribe": ("resources.subscribe", lambda c: c.subscribe_resource("x:y")),
    "completion/complete": ("completions", lambda c: c.complete("p", "a", "v")),
    "logging/setLevel": ("logging", lambda c: c.set_log_level("info")),
}
ONLY_LEGACY = ("resources/subscribe", "logging/setLevel")
ROWS = [(era, method) for era in ("legacy", "modern") for method in REQUESTS
        if era == "legacy" or method not in ONLY_LEGACY]


def client_of(era, **options):
    return connect([sys.executable, "-S", "-c", SERVER, era], era=era, check_results=False, **options)


@pytest.mark.spec("lifecycle.negotiated-capabilities")
@pytest.mark.parametrize("era, method", ROWS)
def test_what_was_not_declared_is_not_asked_for_and_the_error_names_the_way(era, method):
    capability, call = REQUESTS[method]
    for options in ({}, {"strict": True}, {"strict": True, "tolerate": [UNDECLARED]}):
        with client_of(era, **options) as client:
            with pytest.raises(CapabilityMissing, match=r"needs the capability %s, which the peer did not declare; .*"
                                                        r"tolerate=\['undeclared-capabilities'\]" % capability):
                call(client)


@pytest.mark.sends_illegal("*", why="the user asks for what the server has not declared")
@pytest.mark.parametrize("era, method", ROWS)
def test_a_user_may_say_that_the_server_has_it(era, method, caplog):
    capability, call = REQUESTS[method]
    with client_of(era, tolerate=[UNDECLARED]) as client:
        call(client)
        call(client)
        assert client.connection.counters.forgiven() == {"undeclared capability": 1}
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1 and "%s was not declared; %s is sent" % (capability, method) in told[0]


def test_tasks_and_unknown_tolerances_are_refused():
    with client_of("legacy", tolerate=[UNDECLARED]) as client:
        with pytest.raises(CapabilityMissing, match="did not declare$|did not declare [^;]*$"):
            client.request("tasks/list", {})
    for wrong in (UNDECLARED, ["anything"]):
        with pytest.raises(ValueError, match="tolerate is a list of 'undeclared-capabilities', not "):
            connect("x", tolerate=wrong)


@pytest.mark.sends_illegal("*", why="the user asks for what the server has not declared")
def test_the_command_line_has_the_same_option(capsys):
    server = ["--", sys.executable, "-S", "-c", SERVER, "legacy"]
    code, out, err = here(capsys, "tools", *server)
    assert code == 0 and "declares no tools; --tolerate undeclared-capabilities asks" in err
    code, out, err = here(capsys, "tools", "--json", "--tolerate", UNDECLARED, *server)
    assert code == 0 and [tool["name"] for tool in json.loads(out)["tools"]] == ["t"] and "--tolerate" not in err
