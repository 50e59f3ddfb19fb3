"""What our client makes of each odd server of `tests.interop.odd_servers`: what it lists, calls and says.

Where nothing else stands in WANTED it lists both tools and both calls return what is right.
"""
import re
import threading
from typing import Dict, List, Tuple

import pytest

from tests.interop.odd_clients import ours, target_of, told
from tests.interop.odd_servers import ROWS
from tests.support.patience import WAIT, patience

WHOLE = {"connect": "ok", "list": "2", "echo": "ok", "add": "ok", "close": "ok"}
WANTED: List[Tuple[str, str, str]] = [  # steps ("end": the connection failed), number of tools or words, rows
    ("end", "result.capabilities: expected object, got null", "capabilities.null"),
    ("end", "result.capabilities: expected object, got nothing", "capabilities.missing"),
    ("list echo add", "did not declare", "capabilities.empty capabilities-php.list"),
    ("end", "result.capabilities.tools: expected object, got boolean", "capabilities-bool.tools"),
    ("end", "result.serverInfo: expected object, got nothing", "server-info.missing"),
    ("end", "result.serverInfo.version: expected string, got nothing", "server-info.version"),
    ("end", "result.serverInfo: expected object, got string", "server-info.text"),
    ("list", "result.tools[0].inputSchema: expected object, got nothing", "schema-missing.all"),
    ("list", "result.tools[0].inputSchema: expected object, got null", "schema-missing.null"),
    ("list", 'result.tools[0].inputSchema.type: expected "object", got nothing', "schema-missing.empty"),
    ("list", "3",
     "schema-properties.list schema-properties.true schema-properties.null schema-required.null "
     "schema-required.flag schema-draft.4 schema-ref.unresolved schema-ref.cycle schema-pattern.invalid "
     "tool-names.twice tool-names.blanks tool-names.empty deep.schema"),
    ("add", 'structuredContent: missing required property "sum"', "schema-output.mismatch"),
    ("echo", "structuredContent: missing, though the tool has an output schema", "schema-output.unmet"),
    ("list", "299", "odd-tool.nameless"),
    ("list", "result.tools: expected array, got object", "tools.map"),
    ("list", "result.tools: expected array, got null", "tools.null"),
    ("list", "Invalid response: result: expected object, got array", "tools.bare"),
    ("list", "result.tools[0].annotations.title: expected string, got integer", "annotations.text"),
    ("list", "3000", "size.tools"),
    ("echo", "Parse error: nesting exceeds max_depth (128)", "deep.result"),
    ("echo add", "result.content: expected array, got nothing", "content.missing"),
    ("echo add", "result.content: expected array, got null", "content.null"),
    ("echo add", "result.content: expected array, got string", "content-shape.text"),
    ("echo add", "result.content: expected array, got object", "content-shape.block"),
    ("echo add", "result.content[0]: expected object, got string", "content-shape.texts"),
    ("echo add", "result.content[0].type: expected one of text, image", "block-type.missing"),
    ("add", "result.content[0].text: expected string, got integer", "block-text.number"),
    ("add", "result.structuredContent: expected object, got array", "structured.list"),
    ("add", "result.structuredContent: expected object, got string", "structured.text"),
    ("echo", "result.content: expected array, got nothing", "result.task result.empty"),
    ("echo", "Invalid response: result: expected object, got string", "result.text"),
    ("end", 'Invalid response: jsonrpc must be "2.0"', "jsonrpc.missing jsonrpc.number jsonrpc.one"),
    ("echo add", "Invalid response: id: expected string or integer, got null", "id.missing"),
    ("echo", "the peer could not read a message of ours: disk is full", "error-id.null error-id.missing"),
    ("echo", "Invalid response: error: expected object, got string", "error-shape.text"),
    ("echo", "Invalid response: error.code: expected integer, got string", "error-shape.code"),
    ("echo", "Invalid response: error.message: expected string, got null", "error-shape.message"),
    ("echo", "Invalid response: both result and error, and neither was used; the error says 'disk is full'",
     "error-both.both"),
    ("echo", "Invalid request: neither method, result nor error", "error-both.neither"),
    ("echo add", "last line on stdout, which is no message: 'DEBUG {", "banner.same-line"),
    ("end", "last line on stdout, which is no message: '>>> {", "json-noise.prompt"),
    ("end", "Parse error: not JSON", "bytes.nul framing.pretty"),
    ("end", "last line on stdout, which is no message: '\\x1b[0m{", "bytes.ansi"),
    ("end", "Parse error: not JSON: Extra data: line 1 column 96 (char 95)", "framing.joined"),
    ("end", "Invalid request: this revision has no batches", "batch.answers"),
    ("echo", "Parse error: not valid UTF-8 at byte 79", "charset.latin-1"),
    ("list", "Parse error: not valid UTF-8 at byte 89", "charset.description"),
    ("echo", "Parse error: not valid UTF-8 at byte 85", "charset.cut"),
    ("list", "Parse error: a string holds a lone surrogate, which is not Unicode", "surrogate.escaped"),
    ("list", "Parse error: not valid UTF-8 at byte 87", "surrogate.raw"),
    ("add", "Parse error: integer of 5000 digits exceeds max_number_digits (4300)", "numbers.huge"),
    ("echo", "Parse error: not JSON", "json-syntax.comma json-syntax.quotes"),
    ("echo", 'Parse error: duplicate key "result"', "json-syntax.twice"),
    ("end", "the server speaks revision '2099-01-01'", "version.future"),
    ("end", "the server speaks revision '2024-10-07'", "version.old"),
    ("end", "the server speaks revision '1.0'", "version.short"),
    ("end", "result.protocolVersion: expected string, got integer", "version-type.number"),
    ("end", "result.protocolVersion: expected string, got nothing", "version-type.missing"),
    ("end", "result.protocolVersion: expected string, got null", "version-type.null"),
    ("end", "Unsupported protocol version (-32602)", "version-error.data"),
    ("echo add", "result.resultType: 'partial' is unknown", "modern-odd.result-type"),
    ("list", 'result.cacheScope: expected one of public, private, got "shared"', "modern-odd.ttl"),
    ("end", "Method not found (-32601)", "modern-odd.capabilities modern-versions.text"),
    ("end", "the server speaks revisions 2099-01-01", "modern-versions.future"),
    ("end", "ModuleNotFoundError: No module named 'fastodd'", "dies-start.module"),
    ("end", "server exited with code 3", "dies-start.silent"),
    ("end", "last line on stdout, which is no message: 'usage: odd [--stdio] FOLDER'", "dies-start.usage"),
    ("echo add", "server exited with code 139; last stderr lines: Segmentation fault: heap", "dies-call.traceback"),
    ("add", "server exited with code 0; last stderr lines: idle, bye", "dies-call.after"),
    ("echo add", "server was killed by SIGKILL", "dies-call.signal"),
    ("end", "ODD_API_KEY is not set (-32000)", "dies-initialize.error"),
    ("end", "server exited with code 1; last stderr lines: ODD_API_KEY is not set", "dies-initialize.stderr"),
    ("end", "the server answered neither server/discover nor initialize in time", "hangs.initialize"),
    ("echo", "got no answer in time", "hangs.call"),
    ("end", "Uvicorn running on http://127.0.0.1:8000", "hangs.explained"),
    ("echo add", "server closed its output", "closed.stdout"),
    ("list", "tools/list does not end: there are more pages than max_pages", "cursor.endless"),
    ("list", "tools/list does not end: the cursor 'same' came before", "cursor.repeated"),
    ("list", "result.nextCursor: expected string, got integer", "cursor-type.number"),
    ("list", "result.nextCursor: expected string, got boolean", "cursor-type.false"),
    ("end", "answered initialize with 200", "type.text type.missing type.html type-case.suffix body.page"),
    ("list", "Parse error: not valid UTF-8 at byte 85", "type-case.latin-1"),
    ("end", "holds no response to it", "type-wrong.sse-as-json sse-batch.answers sse-batch.json"),
    ("end", "it begins with a byte order mark (BOM)", "body-json.bom"),
    ("end", "ended before the answer", "type-wrong.json-as-sse sse-end.no-blank sse-end.no-newline sse-events.named"),
    ("echo", "the answer was cut off: the connection ended too early", "chunked.cut length.long"),
    ("echo", "holds no response to it", "length.short body.empty body-json.gateway id-http.wrong"),
    ("echo", "no answer came: Remote end closed connection without response", "connection.reset"),
    ("list", "no answer came: Remote end closed connection without response", "connection.late"),
    ("echo", "answered tools/call with 202", "answer-elsewhere.get body.accepted"),
    ("end", "the session id is not visible ASCII", "session-id.odd"),
    ("echo", "ended before the answer, and it had no event id to resume it by", "sse-cut.empty"),
    ("echo", "ended before the answer, and began with no event", "sse-cut.half"),
    ("end", "301 redirects to /mcp/: name that URL instead", "redirect.301"),
    ("end", "redirects to itself", "redirect-odd.itself"),
    ("end", "302 redirects to /login: name that URL instead", "redirect-odd.login"),
    ("end", "it has no Location", "redirect-odd.nowhere"),
    ("echo", "answered 500 Internal Server Error", "error-page.500"),
    ("echo", "answered 502 Bad Gateway", "error-page.502"),
    ("end", "answered 503 Service Unavailable", "error-page.503 busy.503"),
    ("echo", "answered 429 Too Many Requests: slow down", "busy.429"),
    ("end", 'answered 401 Unauthorized: {"error": "missing API key"}; it wants authorization', "auth.401"),
    ("end", "answered 403 Forbidden", "auth.403"),
    ("end", "answered 401 Unauthorized: login; it wants authorization", "auth.basic"),
    ("add", "Parse error: a string holds a lone surrogate, which is not Unicode", "body-json.surrogate"),
    ("echo", 'answered 500 Internal Server Error: {"jsonrpc"', "code.answer"),
    ("echo", "tools/call failed: text is too long (-32602)", "code.error"),
    ("end", "answered 405 Method Not Allowed: Method Not Allowed", "old-sse-odd.host"),
    ("end", "cannot connect to 127.0.0.1:9: Connection refused", "nothing.refused"),
    ("echo", "", "session-lost-200.error id-http.null"),
]
SILENT = ("in time", "Parse error: not JSON", "Parse error: nesting", "Parse error: duplicate", "disk is full",
          "last line on stdout", "no batches", "got null", "Uvicorn")
"""Words of errors that may come at the end of a timeout."""
RACE = "connection.closed"
"""The row in which the next request may be on its way when the connection ends: then its answer is lost."""
MECHANISMS = sorted({name.partition(".")[0] for name in ROWS})


def wanted() -> Dict[str, Dict[str, str]]:
    """Return what each step of each row comes to."""
    found = {name: dict(WHOLE) for name in ROWS}
    for steps, words, names in WANTED:
        for name in names.split():
            for step in steps.split():
                found[name][step] = words
    return {name: {"end": steps["end"]} if "end" in steps else steps for name, steps in found.items()}


def walk(name: str, found: Dict[str, Dict[str, str]], waits: bool) -> None:
    """Put into FOUND what our client made of a row; WAITS: it has to wait until its time is over."""
    steps = found[name] = {}
    try:
        with target_of(ROWS[name]) as target:
            ours(target, steps.__setitem__, patience(1.0) if waits else WAIT, patience(0.5))
    except Exception as error:
        steps["end"] = told(error)


def fits(name: str, steps: Dict[str, str], want: Dict[str, str]) -> List[str]:
    """Return what is not as it is wanted."""
    if "end" in want:
        steps = {"end": steps.get("end", "it did not fail")}
    return ["%s, %s: %s, and not %s" % (name, step, steps.get(step), words) for step, words in want.items()
            if not (steps.get(step) == words if words in ("ok", "2", "3", "299", "3000") else (
                steps.get(step, "ok") != "ok" and words in steps[step]))]


@pytest.mark.sends_illegal("*", why="the odd servers are children of the test")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_odd_server_is_used_as_far_as_can_be_and_the_rest_is_explained(mechanism):
    names = [name for name in ROWS if name.partition(".")[0] == mechanism and name != RACE]
    found: Dict[str, Dict[str, str]] = {}
    want = wanted()
    waits = {name: any(words in text for text in want[name].values() for words in SILENT) for name in names}
    threads = [threading.Thread(target=walk, args=(name, found, waits[name])) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [text for name in names for text in fits(name, found[name], want[name])]


def test_there_are_a_hundred_rows_and_at_most_three_of_a_kind():
    assert len(ROWS) > 100
    assert all(sum(name.startswith(mechanism + ".") for name in ROWS) <= 3 for mechanism in MECHANISMS)
    assert {name for _, _, names in WANTED for name in names.split()} <= set(ROWS)
    for row in ROWS.values():
        assert re.match(r"\[20[0-9-]+ [a-z/-]+ §.+\]$|report: ", row.where), row
