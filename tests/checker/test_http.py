"""Rules of HTTP beyond their scenes: legal traffic that looks odd, what cannot be told, hostile values."""
import random

import pytest

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.rules import RULES, load
from mcp_ref.devtools.checker.scenes import trace, traces
from mcp_ref.jsontext import JsonError
from mcp_ref.wiretrace import TraceError, from_object, to_object

load()
INITIALIZE = ('initialize {"protocolVersion": "%s", "capabilities": {}, "clientInfo": {"name": "client", "version": '
              '"1"}}')
RESULT = '{"protocolVersion": "%s", "capabilities": {"tools": {}}, "serverInfo": {"name": "server", "version": "1"}}'
NAMED = ('Bearer resource_metadata=\\"http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp\\", '
         'scope=\\"a\\"')


def checked(scene):
    checker = Checker()
    checker.check(trace(scene, "+"))
    return checker


def roots(checker):
    return sorted({each.rule.id for each in checker.findings if each.cause is None})


SILENT = {
    "wildcards in Accept": """
        on http 2025-06-18
        C [3 Accept=*/*] #1 tools/list {}
        S [3] #1 {"tools": []}
        C [4] GET /mcp {"Accept": "text/*;q=0.5"}
        S [4] 405
        S [4] end
    """,
    "field names in other cases": """
        on http 2025-06-18
        C [3] POST /mcp {"ACCEPT": "text/event-stream, application/json;q=0.9", "content-type": "application/json"}
        C [3] #1 tools/list {}
        S [3] 200 {"CONTENT-TYPE": "application/json; charset=utf-8"}
        S [3] #1 {"tools": []}
    """,
    "a batch of requests where there are batches": """
        on http 2025-03-26
        C> [3] [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]
        S [3] stream
        S [3 open] #1 {"tools": []}
        S [3] #2 {}
        S [3] end
    """,
    "no stream, no session ids, no DELETE": """
        on http 2025-06-18 nosession
        C [3] GET /mcp {"Accept": "text/event-stream"}
        S [3] 405
        S [3] end
        C #1 tools/list {}
        S #1 {"tools": []}
        * client close {}
    """,
    "a server that does not let sessions be deleted": """
        on http 2025-06-18
        C [3] DELETE /mcp {}
        S [3] 405
        S [3] end
        C #1 tools/list {}
        S #1 {"tools": []}
        * client close {}
    """,
    "calls at once, answered in another order, one of them in JSON": """
        on http 2025-06-18
        C [3] #1 tools/call {"name": "slow", "_meta": {"progressToken": 1}}
        C [4] #2 tools/list {}
        S [3] stream
        S [4] #2 {"tools": []}
        S [3] notifications/progress {"progressToken": 1, "progress": 1}
        S [3] notifications/tools/list_changed
        S [3] #1 {"content": []}
    """,
    "a request that crosses a 404": """
        on http 2025-06-18
        C [3] #1 tools/list {}
        C [4] #2 tools/list {}
        S [3] 404
        S [3] end
        C [5] #3 tools/list {}
        S [4] 404
        S [4] end
        S [5] 404
        S [5] end
    """,
    "a session after another one": """
        on http 2025-06-18
        C [3] DELETE /mcp {}
        S [3] 204
        S [3] end
        C [4] #1 %s
        S [4] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***00000002"}
        S [4] #1 %s
        C [5 Mcp-Session-Id=***00000002] notifications/initialized
        C [6 Mcp-Session-Id=***00000002] #2 tools/list {}
        S [6] #2 {"tools": []}
    """ % (INITIALIZE % "2025-06-18", RESULT % "2025-06-18"),
    "a stream that is cut off and resumed, its last event again": """
        on http 2025-06-18
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        S [3 id=1] notifications/message {"level": "info", "data": "a"}
        S [3 id=2] notifications/message {"level": "info", "data": "b"}
        C [3] end cut
        C [4] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "1"}
        S [4] stream
        S [4 id=2] notifications/message {"level": "info", "data": "b"}
        S [4 id=3] #1 {"content": []}
        S [4] end
    """,
    "a stream that is polled": """
        on http 2025-11-25
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        S [3] event {"id": "1", "retry": 500, "data": ""}
        S [3] end
        @ 0.5
        C [4] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "1"}
        S [4] stream
        S [4] event {"retry": 500}
        S [4] end
        @ 0.6
        C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "1"}
        S [5] stream
        S [5 id=2] #1 {"content": []}
        S [5] end
    """,
    "a call that is cancelled and never answered": """
        on http 2025-06-18
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        C notifications/cancelled {"requestId": 1}
        S [3] end
        @ 60
        C #2 tools/list {}
        S #2 {"tools": []}
    """,
    "a server of both eras that lists the revisions without handshake only": """
        on http 2026-07-28
        C #1 server/discover {}
        S #1 {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        C [3] #2 %s
        S [3] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***00000002"}
        S [3] #2 %s
        C [4 Mcp-Session-Id=***00000002 MCP-Protocol-Version=2025-06-18] notifications/initialized
        C [5] GET /mcp {"Accept": "text/event-stream", "Mcp-Session-Id": "***00000002", \
"MCP-Protocol-Version": "2025-06-18"}
        S [5] 405
        S [5] end
        C [6] DELETE /mcp {"Mcp-Session-Id": "***00000002", "MCP-Protocol-Version": "2025-06-18"}
        S [6] 200
        S [6] end
    """ % (INITIALIZE % "2025-06-18", RESULT % "2025-06-18"),
    "two clients, one after the other, of a server that wants a token": """
        on http 2025-11-25 nosession
        C [3 Authorization="Bearer ***0000000a"] #1 tools/list {}
        S [3] #1 {"tools": []}
        C [4] #2 %s
        S [4] 401 {"WWW-Authenticate": "%s"}
        S [4] end
    """ % (INITIALIZE % "2025-11-25", NAMED),
    "a session that is ended while a stream is open": """
        on http 2025-06-18
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        C [4] DELETE /mcp {}
        S [3] end
        S [4] 200
        S [4] end
    """,
    "a client that leaves and is not seen again": """
        on http 2025-06-18
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        C [3] end cut
    """,
    "a server that goes away": """
        on http 2025-06-18
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        S [3] end cut
        C [4] #2 tools/list {}
        S [4] 502
        S [4] end
    """,
    "a request without handshake to a server that knows none": """
        on http 2026-07-28
        C [1] #1 server/discover {}
        S [1] 405
        S [1] end
        C [2] #2 tools/list {}
        S [2] 200 {"Content-Type": "application/json"}
        S [2] #2 !-32601 "Method not found"
        C [3] #3 %s
        S [3] #3 %s
    """ % (INITIALIZE % "2025-06-18", RESULT % "2025-06-18"),
    "a fallback to a revision that was offered": """
        on http 2026-07-28
        C [1] #1 server/discover {}
        S [1] 400 {"Content-Type": "application/json"}
        S [1] #1 !-32022 "unsupported" {"supported": ["2025-11-25"], "requested": "2026-07-28"}
        C [3] #2 %s
        S [3] #2 %s
    """ % (INITIALIZE % "2025-11-25", RESULT % "2025-11-25"),
    "both eras on one connection": """
        on http 2025-06-18
        C [3] POST /mcp {"Mcp-Session-Id": null, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list", \
"Accept": "application/json, text/event-stream"}
        C> [3] {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {\
"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, \
"io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"}}}}
        S> [3] {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": \
"private"}}
        C #2 tools/list {}
        S #2 {"tools": []}
    """,
    "subscriptions on a stream that stays open": """
        on http 2026-07-28
        C [3] #1 subscriptions/listen {"notifications": {"toolsListChanged": true}}
        S [3] stream
        S [3] notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, \
"notifications": {"toolsListChanged": true}}
        S [3] notifications/tools/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
        @ 600
        C [3] end cut
    """,
    "names that are encoded though they need not be": """
        on http 2026-07-28
        C [3 Mcp-Name==?base64?cnVu?=] #1 tools/call {"name": "run"}
        S [3] #1 {"content": []}
    """,
    "a name that is masked": """
        on http 2026-07-28
        C [3 Mcp-Name=***0a0a0a0a] #1 resources/read {"uri": "x://***"}
        S [3] #1 {"contents": []}
    """,
    "a tool whose annotation is nested, of an argument that is not given": """
        on http 2026-07-28
        C #1 tools/list {}
        S #1 {"tools": [{"name": "run", "inputSchema": {"type": "object", "properties": {"a": {"type": "object", \
"properties": {"b": {"type": ["string", "null"], "x-mcp-header": "B"}}}}}}]}
        C [3] #2 tools/call {"name": "run", "arguments": {"b": "x"}}
        S [3] #2 {"content": []}
        C [4 mcp-param-b=y] #3 tools/call {"name": "run", "arguments": {"a": {"b": "y"}}}
        S [4] #3 {"content": []}
    """,
    "a browser that looks at the address, and one that asks before it posts": """
        on http 2025-06-18
        C [3] GET /mcp {"Accept": "text/html", "Mcp-Session-Id": null, "MCP-Protocol-Version": null}
        S [3] 404
        S [3] end
        C [4] OPTIONS /mcp {"Origin": "http://app.example", "Mcp-Session-Id": null, "MCP-Protocol-Version": null}
        S [4] 204
        S [4] end
    """,
    "an origin that the server allows": """
        on http 2025-11-25
        C [3 Origin=https://app.example] #1 tools/list {}
        S [3] 200 {"Content-Type": "application/json", "Access-Control-Allow-Origin": "https://app.example"}
        S [3] #1 {"tools": []}
        C [4 Origin=null] #2 tools/list {}
        S [4] #2 {"tools": []}
        C [5 Origin=vscode-webview://abc] #3 tools/list {}
        S [5] #3 {"tools": []}
    """,
    "another transport's revision over HTTP+SSE": """
        on sse 2025-06-18
        C #1 tools/list {}
        S #1 {"tools": []}
    """,
    **{"two sessions at once over HTTP+SSE, with endpoints %s" % name: """
        on sse 2024-11-05
        C [20] GET /sse {"Accept": "text/event-stream"}
        S [20] 200 {"Content-Type": "text/event-stream"}
        S [20] event {"event": "endpoint", "data": "%s/messages?sessionId=***22222222"}
        C #7 tools/call {"name": "t", "arguments": {}}
        C [21] POST /messages?sessionId=***22222222 {"Content-Type": "application/json"}
        C [21] #1 initialize {"protocolVersion": "2024-11-05", "capabilities": {}, \
"clientInfo": {"name": "b", "version": "1"}}
        S [21] 202 {}
        S [21] end
        S [20 open] #1 {"protocolVersion": "2024-11-05", "capabilities": {}, \
"serverInfo": {"name": "s", "version": "1"}}
        C [22] POST /messages?sessionId=***22222222 {"Content-Type": "application/json"}
        C [22] notifications/initialized
        S [22] 202 {}
        S [22] end
        C [23] POST /messages?sessionId=***22222222 {"Content-Type": "application/json"}
        C [23] #7 ping
        S [23] 202 {}
        S [23] end
        S [20 open] #7 {}
        S #7 {"content": []}
    """ % origin for name, origin in (("below its URL", ""), ("on an origin", "http://127.0.0.1:8000"))},
    "the oldest revision over Streamable HTTP": """
        on http 2024-11-05
        C #1 tools/list {}
        S #1 {"tools": []}
        C [3 Accept=application/json] #2 tools/list {}
        S [3] #2 {"tools": []}
    """,
    "a whole authorization": """
        on http 2025-11-25 nosession
        C [3] #1 tools/list {}
        S [3] 401 {"WWW-Authenticate": "%s"}
        S [3] end
        C [4] GET /.well-known/oauth-protected-resource/mcp {}
        S [4] document {"resource": "http://127.0.0.1:8000/mcp", "authorization_servers": ["https://as.example/"]}
        C [5] GET https://as.example/.well-known/oauth-authorization-server {}
        S [5] document {"issuer": "https://as.example/", "authorization_endpoint": "https://as.example/a", \
"token_endpoint": "https://as.example/t", "registration_endpoint": "https://as.example/r", \
"code_challenge_methods_supported": ["plain", "S256"]}
        C [6] POST https://as.example/r {"Content-Type": "application/json"}
        C [6] body {"json": {"client_name": "c", "redirect_uris": ["http://localhost:1234/cb"]}}
        S [6] document {"client_id": "c-1"}
        C [7] GET https://as.example/a?response_type=code&client_id=c-1&redirect_uri=http%%3A%%2F%%2Flocalhost%%3A9999\
%%2Fcb&state=s&code_challenge=x&code_challenge_method=S256&resource=http%%3A%%2F%%2F127.0.0.1%%3A8000%%2Fmcp\
&scope=a+offline_access {}
        S [7] 302 {"Location": "http://localhost:9999/cb?code=***00000001&state=s&iss=https%%3A%%2F%%2Fas.example%%2F"}
        S [7] end
        C [8] POST https://as.example/t {"Content-Type": "application/x-www-form-urlencoded"}
        C [8] body {"form": [["grant_type", "authorization_code"], ["code", "***00000001"], ["client_id", "c-1"], \
["code_verifier", "***00000002"], ["resource", "http://127.0.0.1:8000/mcp"]]}
        S [8] document {"access_token": "***0000000a", "token_type": "Bearer", "expires_in": 3600}
        C [9 Authorization="Bearer ***0000000a"] #2 tools/list {}
        S [9] #2 {"tools": []}
        @ 3700
        C [10 Authorization="Bearer ***0000000a"] #3 tools/list {}
        S [10] 401 {"WWW-Authenticate": "%s, error=\\"invalid_token\\""}
        S [10] end
        C [11] POST https://as.example/t {"Content-Type": "application/x-www-form-urlencoded"}
        C [11] body {"form": [["grant_type", "refresh_token"], ["refresh_token", "***00000003"], ["client_id", "c-1"], \
["resource", "http://127.0.0.1:8000/mcp"]]}
        S [11] document {"access_token": "***0000000b", "token_type": "Bearer"}
        C [12 Authorization="Bearer ***0000000b"] #4 tools/list {}
        S [12] #4 {"tools": []}
    """ % (NAMED, NAMED),
    "a key that is no token": """
        on http 2025-11-25 nosession
        C [3] #1 tools/list {}
        S [3] 401 {"WWW-Authenticate": "Basic realm=\\"x\\""}
        S [3] end
        C [4 X-Api-Key=***11111111] #2 tools/list {}
        S [4] #2 {"tools": []}
    """,
}


@pytest.mark.parametrize("name", SILENT)
def test_legal_traffic_is_silent(name):
    checker = checked(SILENT[name])
    assert [(each.rule.id, each.evidence) for each in checker.findings] == []
    assert checker.messages


FOUND = {
    "no id and no version where the revision has no version header": ("http.session-id-echo", """
        on http 2025-03-26
        C [3 Mcp-Session-Id=] #1 tools/list {}
        S [3] #1 {"tools": []}
    """),
    "a GET without the id": ("http.session-id-echo", """
        on http 2025-06-18
        C [3] GET /mcp {"Accept": "text/event-stream", "Mcp-Session-Id": null}
        S [3] 405
        S [3] end
    """),
    "a stream that stays open": ("http.stream-close-after-response", """
        on http 2025-06-18
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        S [3 open] #1 {"content": []}
        @ 30
        S [3] end
    """),
    "a marker in capitals in Mcp-Name": ("http.header-name-encoding", """
        on http 2026-07-28
        C [3 Mcp-Name==?BASE64?w7xiZXI=?=] #1 tools/call {"name": "\u00fcber"}
    """),
    "two objects on lines of their own": ("http.post-each-message", """
        on http 2025-06-18
        C [3] POST /mcp {"Accept": "application/json, text/event-stream"}
        * client message {"exchange": 3, "note": "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 1, \\"method\\": \\"ping\\"}\\n\
{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 2, \\"method\\": \\"ping\\"}"}
        S [3] 400
        S [3] end
    """),
    "a 202 with a body": ("http.notification-202", """
        on http 2025-06-18
        C [3] notifications/roots/list_changed
        S [3] 202 {"Content-Type": "text/plain"}
        S [3] body {"text": "Accepted"}
        S [3] end
    """),
    "an id of an event that is given twice on one stream": ("http.resume-event-id-unique", """
        on http 2025-06-18
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        S [3 id=1] notifications/message {"level": "info", "data": "a"}
        S [3 id=1] #1 {"content": []}
    """),
    "a redirect by a scheme of its own": ("auth.redirect-https-or-localhost", """
        on http 2025-06-18 nosession
        C #1 tools/list {}
        S #1 {"tools": []}
        C [3] GET https://as.example/.well-known/oauth-authorization-server {}
        S [3] document {"issuer": "https://as.example", "registration_endpoint": "https://as.example/r"}
        C [4] POST https://as.example/r {"Content-Type": "application/json"}
        C [4] body {"json": {"client_name": "c", "redirect_uris": ["editor://callback"]}}
        S [4] document {"client_id": "c-1"}
    """),
}


@pytest.mark.parametrize("name", FOUND)
def test_fault_is_found_beyond_the_scene(name):
    id, scene = FOUND[name]
    assert roots(checked(scene)) == [id]


UNSURE = {
    "the recording began in the middle": ("http.resume-get", """
        on http 2025-11-25 late
        C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-1"}
        S [5] stream
        S [5] end
    """),
    "who closed the stream": ("http.stream-no-early-close", """
        on http 2025-06-18 without=end
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        S [3] end
        C #2 tools/list {}
        S #2 {"tools": []}
    """),
    "the era of the server": ("http.method-not-found-404", """
        on http 2026-07-28
        C [3] #1 vendor/what {}
        S [3] 200 {"Content-Type": "application/json"}
        S [3] #1 !-32601 "Method not found"
    """),
    "a proxy between": ("http.x-accel-buffering", """
        on http 2026-07-28
        C [3] #1 tools/list {}
        S [3] 200 {"Content-Type": "text/event-stream", "Via": "1.1 edge"}
        S [3] #1 {"tools": []}
    """),
    "a path that a proxy has changed": ("sse.client-posts", """
        on sse 2024-11-05
        C [3] POST /outer/messages?sessionId=***5e551011 {"Content-Type": "application/json"}
        C [3] notifications/roots/list_changed
    """),
    "an origin on a server elsewhere": ("http.origin-validate", """
        on http 2025-06-18
        C [3] POST https://mcp.example/mcp {"Origin": "https://app.example", "Accept": "*/*", "Mcp-Session-Id": \
"***5e551011", "MCP-Protocol-Version": "2025-06-18"}
        C [3] #1 tools/list {}
        S [3] #1 {"tools": []}
    """),
    "what a client holds of a challenge for another scheme": ("auth.www-authenticate-401", """
        on http 2025-06-18 nosession
        C [3] #1 tools/list {}
        S [3] 401 {"WWW-Authenticate": "Basic realm=\\"x\\""}
        S [3] end
    """),
}


@pytest.mark.parametrize("name", UNSURE)
def test_what_was_not_seen_is_not_guessed(name):
    id, scene = UNSURE[name]
    checker = checked(scene)
    assert checker.findings == []
    assert checker.tallies()[id].unsure


ODD = (None, True, -1, 1.5, "", "\u0000\ud800", [], [[]], [None], {}, {"": {}}, 10 ** 30)
OURS = sorted(id for id in RULES if id.startswith(("http.", "sse.", "auth.")))


def twisted(value, chance):
    """Return a JSON value in which one part, at a place that chance chooses, is another."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        name = chance.choice(sorted(value))
        if chance.random() < 0.2:
            return {other: member for other, member in value.items() if other != name}
        return {**value, name: twisted(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], twisted(value[place], chance), *value[place + 1:]]
    return chance.choice(ODD)


@pytest.mark.parametrize("id", OURS)
def test_hostile_values_never_raise(id):
    chance = random.Random(id)
    fed = 0
    for events in traces(RULES[id].scene):
        checker = Checker()
        for event in events:
            for _ in range(4):
                try:
                    checker.feed(from_object(twisted(to_object(event), chance)))
                    fed += 1
                except (TraceError, JsonError):
                    pass  # a reader refuses it
            checker.feed(event)
        checker.finish()
    assert fed and checker.messages


@pytest.mark.parametrize("lacking", ["http", "sse", "end", "documents", "start", "http,sse,end,documents,start"])
def test_rules_say_nothing_without_what_they_need(lacking):
    names = set(lacking.split(","))
    for id in OURS:
        header, *events = trace(RULES[id].scene, "-")
        seen = [each for each in header.more["recorded"] if each not in names]
        checker = Checker()
        checker.check([header._replace(more={**header.more, "recorded": seen}), *events])
        assert not [each.rule.id for each in checker.findings if each.rule.needs & names]
