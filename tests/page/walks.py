"""What is tried in a browser: one function for each feature of the page of a session."""
import json
import pathlib
import time
from typing import Any, Callable, Dict, List

from browser import Browser

from mcp_ref import Context, Server, connect
from mcp_ref.cli import main
from mcp_ref.wiretrace import to_file

SCRIPT = "<script>window.taken = 1</script><img src=x onerror='window.taken = 1'>\u202e"
CHOSEN = "return document.querySelector('.row[aria-selected=true] .label')?.textContent"
ROWS = "return [...document.querySelectorAll('.row:not(.heading) .label')].map((each) => each.textContent)"


class Shown:
    """A browser, and the folders of a walk."""

    def __init__(self, browser: Browser, folder: pathlib.Path, pictures: pathlib.Path) -> None:
        self.browser, self.folder, self.pictures = browser, folder, pictures

    def page_of(self, recording: pathlib.Path) -> None:
        """Make the page of a recording, and open it."""
        page = recording.with_suffix(".html")
        assert main(["ladder", str(recording), "--html", str(page)]) == 0
        self.browser.open(page.as_uri())
        self.browser.until("return document.querySelector('.row')")

    def session(self) -> None:
        """Open the page of a session of two revisions over HTTP, in which the server breaks a rule."""
        recording = self.folder / "a session.jsonl"
        if not recording.exists():
            record(recording)
        self.page_of(recording)


def record(path: pathlib.Path) -> None:
    """Record a session with tools, progress, a question, errors, and text that looks like markup."""
    server = Server("shown", "1")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def count(to: int, ctx: Context) -> str:
        for step in range(to):
            ctx.progress(step + 1, to)
        return SCRIPT

    @server.tool
    def region(ctx: Context) -> str:
        return str(ctx.elicit("Which region? " + SCRIPT, {"region": str}))

    trace = to_file(str(path))
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        for era in ("2025-11-25", "2026-07-28"):
            with connect(listener.address, trace=trace, era=era,
                         elicitation=lambda *asked: {"region": SCRIPT}) as client:
                client.tools()
                client.call_tool("add", {"a": 1, "b": 12345678901234567890})
                client.call_tool("count", {"to": 5}, progress=lambda *told: None)
                client.call_tool("region")
    trace.close()
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for event in lines:
        result = (event.get("message") or {}).get("result") if isinstance(event.get("message"), dict) else None
        if isinstance(result, dict) and "content" in result:
            result["content"] = "no array"
            break
    path.write_text("".join(json.dumps(event) + "\n" for event in lines), "utf-8")


def opens_quietly(shown: Shown) -> None:
    """Nothing is loaded, no policy is broken, no text of a peer becomes markup."""
    shown.session()
    browser = shown.browser
    assert browser.complaints() == []
    assert browser.run("return window.taken") is None
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return document.querySelectorAll('img, iframe, object').length") == 0
    assert "1 violation, 0 warnings" in browser.run("return document.getElementById('summary').textContent")


def policy_holds(shown: Shown) -> None:
    """A script that came into the page would not run, and nothing can be fetched."""
    shown.session()
    browser = shown.browser
    browser.run("const script = document.createElement('script'); script.textContent = 'window.taken = 1';"
                "document.body.append(script);"
                "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.taken = 1\">')")
    assert browser.run("return window.taken") is None
    assert browser.until("return fetch('https://127.0.0.1:9/').then(() => 'fetched', () => 'refused')") == "refused"
    assert any("Content Security Policy" in line for line in browser.complaints())


def filters(shown: Shown) -> None:
    """Each filter lets through what it names; a misspelt one says so and keeps what is there."""
    shown.session()
    browser = shown.browser
    whole = len(browser.run("return page.session.steps"))
    table: Dict[str, Callable[[List[str]], bool]] = {
        "method:tools/call": lambda rows: any("tools/call" in row for row in rows) and any(
            row.startswith("result") for row in rows),
        "kind:http": lambda rows: all("[" in row for row in rows),
        "rule:schema": lambda rows: len(rows) == 1,
        "about:region": lambda rows: rows and all("tools/call" in row for row in rows),
        "party:server method:elicitation": lambda rows: len(rows) == 1 and "elicitation/create" in rows[0],
        "duration>0ms -method:tools": lambda rows: rows and not any("tools" in row for row in rows),
        "12345678901234567890": lambda rows: len(rows) >= 2,
        "\"no such text\"": lambda rows: rows == [],
    }
    for text, right in table.items():
        browser.run("document.getElementById('search').value = ''")
        browser.type("#search", text)
        shown_text = browser.until("return document.getElementById('shown').textContent")
        browser.run("page.ladder.draw()")
        rows = browser.run(ROWS)
        assert right(rows), (text, rows)
        assert shown_text.endswith("of %d" % whole), shown_text
    browser.run("document.getElementById('search').value = ''")
    browser.type("#search", "metod:x")
    browser.until("return document.getElementById('shown').textContent.startsWith('There is no filter metod')")
    assert browser.run("return document.getElementById('search').getAttribute('aria-invalid')") == "true"


def keys(shown: Shown) -> None:
    """Every way through the session is there without a mouse."""
    shown.session()
    browser = shown.browser
    browser.type("#ladder", "j")
    assert "connected" in browser.until(CHOSEN)
    browser.type("#ladder", "j{down}")
    browser.until(CHOSEN + ".startsWith('result #1')")
    browser.type("#ladder", "p")
    browser.until(CHOSEN + ".startsWith('initialize')")
    browser.type("#ladder", "n")
    browser.until("return document.querySelector('#details .finding')?.textContent.includes('content')")
    browser.type("#ladder", "{end}")
    browser.until("return page.ladder.chosen === page.session.steps.length - 1")
    browser.type("#ladder", "{home}")
    browser.until("return page.ladder.chosen === 0")
    browser.type("#ladder", "{escape}")
    assert browser.run("return document.getElementById('details').hidden")
    browser.type("#ladder", "/")
    assert browser.run("return document.activeElement.id") == "search"
    browser.type("#search", "{escape}")
    assert browser.run("return document.activeElement.id") == "ladder"
    browser.type("#ladder", "?")
    browser.until("return document.getElementById('keys').open")
    browser.type("#keys", "{escape}")
    browser.until("return !document.getElementById('keys').open")


def details(shown: Shown) -> None:
    """A message is shown with what its members mean, its bytes, its HTTP heads, and as a program."""
    shown.session()
    browser = shown.browser
    browser.type("#search", "about:add revision:2025-11-25")
    browser.until("return page.ladder.shown.filter((place) => place >= 0).length === 1")
    browser.run("page.ladder.draw()")
    browser.click(".row:not(.heading)")
    lines = browser.until("return [...document.querySelectorAll('.json .line')].map((each) => each.textContent)")
    assert any('"b": 12345678901234567890' in line for line in lines), lines
    browser.run("[...document.querySelectorAll('.json button')].find((b) => b.textContent === '\"name\"').click()")
    assert "params.name string" in browser.run("return document.querySelector('.meaning').textContent")
    browser.click("[data-tab=http]")
    browser.until("return document.querySelector('#details table')?.textContent.includes('application/json')")
    browser.click("[data-tab=copy]")
    copies = browser.until("return [...document.querySelectorAll('#details pre')].map((each) => each.textContent)")
    assert [text.split("(")[0].split("{")[0].strip() for text in copies[1:3]] == [
        "client.request", "def test_tools_call"], copies
    assert copies[3].startswith("curl -sS -N 'http://127.0.0.1:"), copies[3]
    compile(copies[2], "copied", "exec")
    browser.click("[data-tab=raw]")
    browser.until("return document.querySelector('#details pre').textContent.startsWith('{')")


def folds(shown: Shown) -> None:
    """Streams, rounds and tasks close to their first and last step, and what was found stays."""
    shown.session()
    browser = shown.browser
    before = browser.run("return page.ladder.shown.length")
    browser.click("#fold")
    browser.until("return page.ladder.shown.length < arguments[0]", before)
    assert browser.run("return [...page.session.findings.keys()].every((place) => page.ladder.at.has(place))")
    browser.click("#fold")
    browser.until("return page.ladder.shown.length === arguments[0]", before)


def contrast(shown: Shown) -> None:
    """Text has the contrast of WCAG 2.2 AA, in both themes; each control has a name and is large enough."""
    shown.session()
    browser = shown.browser
    browser.click("#overview")
    browser.type("#ladder", "n")
    for theme in ("light", "dark"):
        browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
        poor = browser.run(CONTRAST)
        assert poor == [], (theme, poor)
    nameless = browser.run("return [...document.querySelectorAll('button, input, [role=option]')].filter((each) => "
                           "!(each.textContent.trim() || each.getAttribute('aria-label'))).length")
    assert nameless == 0
    small = browser.run("return [...document.querySelectorAll('header button, header input')].filter((each) => "
                        "each.offsetParent && each.getBoundingClientRect().height < 24).length")
    assert small == 0


CONTRAST = """
const light = (part) => { part /= 255; return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; };
const parts = (text) => text.match(/[\\d.]+/g).map(Number);
const luminance = (text) => { const [r, g, b] = parts(text).map(light); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const back = (each) => {
  for (let at = each; at; at = at.parentElement) {
    const found = getComputedStyle(at).backgroundColor;
    if ((parts(found)[3] ?? 1) > 0) return found;
  }
  return "rgb(255, 255, 255)";
};
return [...document.querySelectorAll("body *")].filter((each) => each.offsetParent && each.children.length === 0
  && each.textContent.trim()).flatMap((each) => {
  const [one, other] = [luminance(getComputedStyle(each).color), luminance(back(each))].sort((a, b) => b - a);
  const ratio = (one + 0.05) / (other + 0.05), name = each.tagName + "." + each.className;
  return ratio < 4.5 ? [name + " " + ratio.toFixed(2) + " " + each.textContent.slice(0, 20)] : [];
});
"""


def widths(shown: Shown) -> None:
    """Nothing runs out of the window from 360 to 2,560 pixels; the pictures are for people to look at."""
    shown.session()
    browser = shown.browser
    try:
        for width in (360, 1280, 2560):
            browser.size(width)
            for theme in ("light", "dark"):
                browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
                browser.run("page.details.show(-1)")
                browser.picture(shown.pictures / ("ladder-%d-%s.png" % (width, theme)))
                browser.run("page.nextFinding()")
                browser.until("return document.querySelector('#details .finding')")
                browser.picture(shown.pictures / ("details-%d-%s.png" % (width, theme)))
                out = browser.run("return document.documentElement.scrollWidth > window.innerWidth")
                assert not out, width
    finally:
        browser.size(1280)


def large(shown: Shown) -> None:
    """A session of 50,000 messages opens in under three seconds, and scrolls and filters without a long wait."""
    recording = shown.folder / "large.jsonl"
    with open(str(recording), "w", encoding="utf-8") as file:
        file.write(json.dumps({"trace": 1, "recorder": "test", "started": "2026-11-23T00:00:00Z",
                               "recorded": ["start", "both", "times"]}) + "\n")
        for number in range(25000):
            for event in _pair(number):
                file.write(json.dumps(event) + "\n")
    page = recording.with_suffix(".html")
    assert main(["ladder", str(recording), "--html", str(page)]) == 0
    started = time.monotonic()
    shown.browser.open(page.as_uri())
    shown.browser.until("return document.querySelector('.row')")
    taken = time.monotonic() - started
    print("  50,000 messages, %d KiB: open in %.2f s" % (page.stat().st_size // 1024, taken))
    assert taken < 3 * (4 if _busy() else 1), taken
    milliseconds = shown.browser.run(
        "const began = performance.now(); page.ladder.move(Infinity); page.ladder.draw();"
        "return performance.now() - began")
    assert milliseconds < 1000, milliseconds
    milliseconds = shown.browser.run(
        "const began = performance.now(); document.getElementById('search').value = 'about:tool7';"
        "page.filter(); page.ladder.draw(); return performance.now() - began")
    print("  a filter: %.0f ms" % milliseconds)
    assert milliseconds < 3000, milliseconds
    assert shown.browser.run(ROWS)


def _pair(number: int) -> List[Dict[str, Any]]:
    params = {"name": "tool%d" % (number % 10), "arguments": {"text": "x" * 50, "number": number}}
    result = {"content": [{"type": "text", "text": "an answer of some length, number %d" % number}]}
    return [{"time": number / 100.0, "from": "client",
             "message": {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}},
            {"time": number / 100.0 + 0.004, "from": "server",
             "message": {"jsonrpc": "2.0", "id": number, "result": result}}]


def _busy() -> bool:
    """Tell if others use the processors, so that a wall clock says little."""
    import os

    return os.getloadavg()[0] > 1.5


def hostile(shown: Shown) -> None:
    """Five megabytes in one message, deep values, names of objects of JavaScript, odd text: no freeze, nothing lost."""
    recording = shown.folder / "hostile.jsonl"
    deep = "[" * 60 + "]" * 60
    messages = [
        '{"jsonrpc": "2.0", "id": "__proto__", "method": "constructor", "params": {"__proto__": {"x": 1}}}',
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "%s", "arguments": %s}}' % (
            SCRIPT.replace('"', "'"), deep),
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "</script><!--", "arguments": {"t": "'
        + "y" * 5000000 + '"}}}',
        '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": %s}}' % (
            json.dumps({"k%d" % at: at for at in range(20000)})),
    ]
    recording.write_text("".join('{"time": %d, "from": "client", "message": %s}\n' % (at, text)
                                 for at, text in enumerate(messages)), "utf-8")
    shown.page_of(recording)
    browser = shown.browser
    for place in range(len(messages)):
        started = time.monotonic()
        browser.run("page.ladder.select(arguments[0]); page.ladder.draw()", place)
        for tab in ("members", "raw", "copy"):
            browser.run("document.querySelector('[data-tab=' + arguments[0] + ']')?.click()", tab)
        taken = time.monotonic() - started
        assert taken < 5 * (4 if _busy() else 1), (place, taken)
    assert browser.run("return window.taken") is None
    assert browser.run("return ({}).x") is None
    assert browser.complaints() == []
    assert browser.run("return page.session.steps[2][page.session.steps[2].length - 1].length") > 5000000


WALKS: List[Callable[[Shown], None]] = [
    opens_quietly, policy_holds, filters, keys, details, folds, contrast, widths, large, hostile]
