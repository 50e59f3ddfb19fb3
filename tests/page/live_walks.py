"""What is tried in a browser of the live inspector: one function for each feature."""
import contextlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time
from typing import Callable, Iterator, List

from walks import CONTRAST, SCRIPT, Shown

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVERYTHING = "%s %s" % (shlex.quote(sys.executable), shlex.quote(str(ROOT / "examples" / "everything_server.py")))
TEXT = "return document.getElementById('desk').textContent"
LAST_CALL = "return document.querySelector('.call')?.textContent"

FORMS = '''
import json, sys
SCHEMA = {"type": "object", "properties": {
    "big": {"type": "integer"}, "maybe": {"type": ["string", "null"]}, "colour": {"enum": ["red", None, "null", 1]},
    "place": {"type": "object", "properties": {"x": {"type": "number"}, "tags": {
        "type": "array", "items": {"type": "string"}}}, "required": ["x"]},
    "either": {"oneOf": [{"type": "string", "title": "a word"}, {"$ref": "#/$defs/pair", "title": "a pair"}]},
    "free": {}}, "required": ["big"], "$defs": {"pair": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "forms", "version": "1"}},
              "tools/list": {"tools": [{"name": "echo", "inputSchema": SCHEMA}]},
              "tools/call": {"content": [{"type": "text", "text": line}]}}[asked["method"]]
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\\n")
    sys.stdout.flush()
'''

HOSTILE = '''
import json, sys
EVIL = "<script>window.taken = 1</script><img src=x onerror='window.taken = 1'>\\u202e"
deep = {"type": "string"}
for _ in range(60):
    deep = {"type": "object", "title": EVIL, "description": EVIL,
            "properties": {EVIL: deep, "__proto__": {"type": "null"}}}
tools = [{"name": "tool%d" % at, "title": EVIL, "description": EVIL, "inputSchema": {"type": "object"}}
         for at in range(10000)]
tools[0] = {"name": "large", "description": EVIL, "inputSchema": deep}
tools[1] = {"name": EVIL, "description": EVIL, "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#"}}}}
tools[2] = {"name": "many", "inputSchema": {"type": "object"}}
def send(value):
    sys.stdout.write(json.dumps(value) + "\\n")
for line in sys.stdin:
    asked = json.loads(line)
    method, id = asked.get("method"), asked.get("id")
    if id is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, EVIL: {EVIL: EVIL}},
                  "serverInfo": {"name": EVIL, "version": EVIL}, "instructions": EVIL}
    elif method == "tools/list":
        result = {"tools": tools}
    elif method == "tools/call" and asked["params"]["name"] == "many":
        import time
        began, sent = time.monotonic(), 0
        seconds, rate = asked["params"]["arguments"]["seconds"], 2000
        while time.monotonic() - began < seconds or sent < seconds * rate:
            while sent < min(time.monotonic() - began, seconds) * rate:
                send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": EVIL}})
                sent += 1
            sys.stdout.flush()
            time.sleep(0.01)
        result = {"content": [{"type": "text", "text": "sent %d" % sent}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": EVIL + "y" * 5000000}]}
    else:
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": EVIL, "data": EVIL}})
        sys.stdout.flush()
        continue
    send({"jsonrpc": "2.0", "id": id, "result": result})
    sys.stdout.flush()
'''


@contextlib.contextmanager
def inspecting(shown: Shown, *words: str) -> Iterator[str]:
    """Start the inspector, open its page, and end it; yields the URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_ref", "inspect", "--no-open", *words], env=dict(os.environ, PYTHONPATH=str(ROOT)),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        shown.browser.open("about:blank")
        shown.browser.complaints()  # a page before has missed its inspector at the end
        shown.browser.open(url)
        shown.browser.until("return document.getElementById('desk').textContent")
        yield url
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def program(shown: Shown, name: str, text: str) -> str:
    """Write a server, and return the command that starts it."""
    path = shown.folder / name
    path.write_text("import sys; sys.path.insert(0, %r)\n%s" % (str(ROOT), text), "utf-8")
    return "%s %s" % (shlex.quote(sys.executable), shlex.quote(str(path)))


def press(shown: Shown, text: str, inside: str = "#desk") -> None:
    """Press the button with this text as soon as it is there."""
    shown.browser.until(
        "const found = [...document.querySelectorAll(arguments[0] + ' button')].find((b) => b.offsetParent"
        " && b.textContent === arguments[1]); if (found) found.click(); return Boolean(found)", inside, text)


def write(shown: Shown, text: str) -> None:
    """Write JSON into the editor beside the form."""
    shown.browser.run("const area = document.querySelector('.use .editor > textarea'); area.value = arguments[0];"
                      "area.dispatchEvent(new Event('input'))", text)


def choose(shown: Shown, selector: str, place: int) -> None:
    """Choose an option by its place."""
    shown.browser.run("const select = document.querySelector(arguments[0]); select.selectedIndex = arguments[1];"
                      "select.dispatchEvent(new Event('input', {bubbles: true}))", selector, place)


def compare(shown: Shown, place: int) -> None:
    """Press one of the buttons that compare two servers."""
    shown.browser.run("[...document.querySelectorAll('.server-card button')].filter((each) =>"
                      "each.textContent.startsWith('Compare'))[arguments[0]].click()", place)


def called(shown: Shown, part: str) -> str:
    """Wait until the last call shows a text."""
    found = shown.browser.until("const text = document.querySelector('.call')?.textContent || '';"
                                "return text.includes(arguments[0]) && text", part)
    return str(found)


def connects(shown: Shown) -> None:
    """The page connects by its form, lists, calls, and shows the messages; the token leaves the address bar."""
    browser = shown.browser
    with inspecting(shown):
        assert browser.run("return location.hash") == ""
        browser.type("#desk input[name=server]", EVERYTHING + "{enter}")
        press(shown, "add", ".items")
        browser.type(".use [aria-label=a]", "20000000000000000000")
        browser.type(".use [aria-label=b]", "1")
        press(shown, "Call")
        called(shown, "20000000000000000001")
        browser.until("return [...document.querySelectorAll('.row .label')].some((each) =>"
                      "each.textContent.includes('tools/call'))")
        press(shown, "Prompts", ".panel")
        browser.until("return document.querySelector('.items button')")
        press(shown, "Resources", ".panel")
        press(shown, "config://app", ".items")
        press(shown, "Read")
        called(shown, "resources/read")
        browser.until("return document.querySelector('.call .done')")
        press(shown, "Close")
        browser.until(TEXT + ".includes('closed')")
        press(shown, "Reconnect")
        browser.until("return document.querySelector('.server-card .state.open')")
        assert browser.complaints() == []
        assert browser.run("return performance.getEntriesByType('resource').every((each) =>"
                           "each.name.startsWith(location.origin))")


def lives_on(shown: Shown) -> None:
    """A page that is loaded again shows the whole session; without its token, or without the inspector, it says so."""
    browser = shown.browser
    with inspecting(shown, EVERYTHING) as url:
        browser.until("return document.querySelector('.items button')")
        before = browser.run("return page.session.steps.length")
        browser.run("location.reload()")
        browser.until("return typeof page === 'object' && page.session.steps.length >= arguments[0]", before)
        browser.open("about:blank")
        browser.open(url.partition("#")[0])
        browser.until(TEXT + ".includes('the token is missing or wrong')")
        browser.open("about:blank")
        browser.open(url)
        browser.until("return document.querySelector('.items button')")
    browser.until(TEXT + ".includes('inspector')")


def forms(shown: Shown) -> None:
    """A form makes the JSON that it shows: null, nullable choices, nested, lists, unions, large numbers, free text."""
    browser = shown.browser
    with inspecting(shown, "--era", "legacy", program(shown, "forms.py", FORMS)):
        press(shown, "echo", ".items")
        browser.type(".use [aria-label=big]", "123456789012345678901234567890")
        for label, place in (("maybe: which kind", 1), ("maybe", 1), ("colour", 2), ("either: which kind", 1)):
            choose(shown, ".use select[aria-label='%s']" % label, place)
        browser.type(".use [aria-label=x]", "1.10")
        press(shown, "Add to tags")
        browser.type(".use [aria-label='tags 1']", "a \"b\"")
        browser.type(".use [aria-label=a]", "7")
        browser.type(".use [aria-label=free]", '{{"deep": [1.0, null]}}'.replace("{{", "{").replace("}}", "}"))
        text = browser.run("return document.querySelector('.use .editor > textarea').value")
        assert json.loads(text) == {
            "big": 123456789012345678901234567890, "maybe": None, "colour": None, "either": {"a": 7},
            "place": {"x": 1.1, "tags": ['a "b"']}, "free": {"deep": [1.0, None]}}, text
        assert "1.10" in text and "123456789012345678901234567890" in text and "1.0," in text
        press(shown, "Call")
        assert "123456789012345678901234567890" in called(shown, "whole result")
        write(shown, '{"big": 1e400, "unknown": 1.50, "colour": "null"}')
        assert browser.run("return document.querySelector('.use [aria-label=big]').value") == "1e400"
        assert browser.run("return document.querySelector('.use [aria-label=colour]').value") == "2"
        browser.type(".use [aria-label=free]", "5")
        text = browser.run("return document.querySelector('.use .editor > textarea').value")
        assert "1e400" in text and '"unknown": 1.50' in text, text
        write(shown, "{")
        press(shown, "Call")
        browser.until(TEXT + ".includes('The text is no JSON.')")


def answers(shown: Shown) -> None:
    """What a server asks is answered by hand: a form, a model's answer, roots; declined, too, in either era."""
    browser = shown.browser
    for era in ("2025-11-25", "2026-07-28"):
        with inspecting(shown, "--revision", era, EVERYTHING):
            press(shown, "ask_name", ".items")
            press(shown, "Call")
            browser.until("return document.querySelector('.question [aria-label=name]')")
            browser.type(".question [aria-label=name]", "Ada")
            press(shown, "Send", ".question")
            browser.until("return document.querySelector('.question .told')?.textContent.includes('colour')")
            browser.complaints()  # the browser has noted the answer that was refused
            choose(shown, ".question [aria-label=colour]", 1)
            shown.browser.picture(shown.pictures / ("question-%s.png" % era))
            press(shown, "Send", ".question")
            called(shown, "Ada")
            press(shown, "Call")
            press(shown, "Decline", ".question")
            browser.until("return !document.querySelector('.question') && document.querySelector('.call .done')")
            press(shown, "ask_model", ".items")
            write(shown, '{"question": "What is it?"}')
            press(shown, "Call")
            browser.until("return document.querySelector('.question textarea')")
            browser.type(".question textarea", "forty-two")
            press(shown, "Send", ".question")
            called(shown, "forty-two")
            press(shown, "More", ".panel")
            browser.type("[aria-label='Roots, one a line']", "/tmp")
            press(shown, "Set roots")
            press(shown, "Tools", ".panel")
            press(shown, "show_roots", ".items")
            press(shown, "Call")
            called(shown, "file:///tmp")
            assert browser.complaints() == []


def progresses(shown: Shown) -> None:
    """Progress is shown while a call runs, and a call is cancelled; the log level is set, any request sent."""
    browser = shown.browser
    with inspecting(shown, EVERYTHING):
        press(shown, "slow", ".items")
        write(shown, '{"seconds": 600}')
        press(shown, "Call")
        called(shown, "running")
        press(shown, "Cancel", ".call")
        called(shown, "cancelled")
        press(shown, "count", ".items")
        write(shown, '{"to": 3}')
        press(shown, "Call")
        called(shown, "done")
        press(shown, "More", ".panel")
        press(shown, "Set")
        press(shown, "Listen to lists")
        browser.until(TEXT + ".includes('Listening to')")
        browser.run("document.querySelector('[aria-label=Method]').value = 'acme/none'")
        press(shown, "Send")
        called(shown, "-32601")


def says_why(shown: Shown) -> None:
    """A connection that fails says why, and what to do."""
    with inspecting(shown, "no-such-program-here"):
        shown.browser.until(TEXT + ".includes('What to do: Give the absolute path')")
        shown.browser.picture(shown.pictures / "failed.png")


def side_by_side(shown: Shown) -> None:
    """All five revisions of a server are connected at once, and two of them are compared."""
    browser = shown.browser
    with inspecting(shown):
        browser.type("#desk input[name=server]", EVERYTHING)
        browser.run("document.querySelector('#desk select[name=era]').value = 'all'")
        press(shown, "Connect")
        browser.until("return document.querySelectorAll('.server-card .state.open').length === 5")
        compare(shown, 4)
        rows = browser.until("const t = document.querySelector('table.comparison'); return t && t.textContent")
        assert "Tools" in rows or "capabilities" in rows, rows
        shown.browser.picture(shown.pictures / "compared.png")
        assert browser.complaints() == []


def stands_hostile(shown: Shown) -> None:
    """Scripts in every text, 10,000 tools, deep schemas, 5 MB, 2,000 messages a second: nothing runs or freezes."""
    browser = shown.browser
    long = float(os.environ.get("MCP_REF_FLOOD_SECONDS", "3"))
    with inspecting(shown, "--era", "legacy", program(shown, "hostile.py", HOSTILE)):
        press(shown, "large", ".items")
        press(shown, "Call")
        called(shown, "done")
        press(shown, "More", ".panel")
        browser.until(TEXT + ".includes('Instructions')")
        press(shown, "Tools", ".panel")
        press(shown, "many", ".items")
        write(shown, json.dumps({"seconds": long}))
        press(shown, "Call")
        browser.run("window.worst = 0; let last = performance.now(); const tick = () => {"
                    "const now = performance.now();"
                    "window.worst = Math.max(window.worst, now - last); last = now; setTimeout(tick, 20); }; tick()")
        ends = time.monotonic() + 20 * long + 60
        while "sent" not in (browser.run(LAST_CALL) or ""):
            assert time.monotonic() < ends
            time.sleep(0.2)
        browser.until("return page.session.steps.length > arguments[0]", long * 1900)
        print("  %d steps, the longest freeze %.0f ms" % (
            browser.run("return page.session.steps.length"), browser.run("return window.worst")))
        assert browser.run("return window.worst") < 2000 * (4 if os.getloadavg()[0] > 1.5 else 1)
        assert browser.run("return window.taken") is None
        assert browser.run("return document.querySelectorAll('img, iframe, object, script:not(#record)').length") == 1
        assert browser.run("return ({}).type") is None
        assert browser.complaints() == []


def desk_contrast(shown: Shown) -> None:
    """The desk has the contrast of WCAG 2.2 AA in both themes, names of controls, and room from 360 pixels on."""
    browser = shown.browser
    with inspecting(shown, EVERYTHING, "no-such-program-here"):
        press(shown, "interview", ".items")
        press(shown, "ask_name", ".items")
        press(shown, "Call")
        browser.until("return document.querySelector('.question')")
        browser.until(TEXT + ".includes('What to do')")
        try:
            for width in (360, 1280, 2560):
                browser.size(width)
                for theme in ("light", "dark"):
                    browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
                    assert browser.run(CONTRAST) == [], (width, theme)
                    browser.picture(shown.pictures / ("live-%d-%s.png" % (width, theme)))
                    assert not browser.run("return document.documentElement.scrollWidth > window.innerWidth"), width
        finally:
            browser.size(1280)
        nameless = browser.run(
            "return [...document.querySelectorAll('button, input, select, textarea')].filter((each) =>"
            "each.offsetParent && !(each.textContent.trim() || each.getAttribute('aria-label') || each.labels?.length))"
            ".map((each) => each.outerHTML)")
        assert nameless == [], nameless
        press(shown, "Cancel", ".question")


def saves(shown: Shown) -> None:
    """The session is kept as one page, which shows it without the inspector."""
    browser = shown.browser
    with inspecting(shown, EVERYTHING):
        browser.until("return document.querySelector('.items button')")
        text = browser.until("return desk.wire.report()")
        assert "connect-src 'none'" in text and SCRIPT not in text
    browser.open("about:blank")
    browser.complaints()  # the page has missed its inspector at the end
    kept = shown.folder / "kept.html"
    kept.write_text(text, "utf-8")
    browser.open(kept.as_uri())
    browser.until("return document.querySelector('.row')")
    assert browser.complaints() == []


LIVE_WALKS: List[Callable[[Shown], None]] = [
    connects, lives_on, forms, answers, progresses, says_why, side_by_side, stands_hostile, desk_contrast, saves]
