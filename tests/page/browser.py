"""A browser that a program drives: WebDriver [W3C WebDriver §Endpoints], with Debian's Chromium and its driver."""
import base64
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import subprocess
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from environments import SetupError, apt_get

from tests.support.patience import WAIT

KEYS = {"down": "\ue015", "up": "\ue013", "enter": "\ue007", "escape": "\ue00c", "end": "\ue010", "home": "\ue011"}
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def find(install: bool) -> Tuple[str, str]:
    """Return the paths of Chromium and of its driver. Raises `SetupError`."""
    if install and not (shutil.which("chromium") and shutil.which("chromedriver")):
        hint = "chromium cannot be installed"
        apt_get("update", hint=hint)
        apt_get("install", "-y", "--no-install-recommends", "chromium", "chromium-driver", hint=hint)
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if not found[0] or not found[1]:
        raise SetupError("there is no chromium with chromedriver here: apt-get install chromium chromium-driver")
    return found[0], found[1]


class Browser:
    """A window of Chromium without a screen."""

    def __init__(self, port: int, chromium: str, profile: str) -> None:
        self._port = port
        self._session = ""
        options = {"binary": chromium, "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + profile]}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self._session = "/session/" + made["sessionId"]

    def _ask(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError("%s %s: %s: %s" % (method, path, value["error"], value["message"].splitlines()[0]))
        return value

    def open(self, address: str) -> None:
        """Load a page, and wait until it is there."""
        self._ask("POST", self._session + "/url", {"url": address})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a function's body in the page; return what it returns."""
        return self._ask("POST", self._session + "/execute/sync", {"script": script, "args": list(arguments)})

    def _element(self, selector: str) -> str:
        found = self._ask("POST", self._session + "/element", {"using": "css selector", "value": selector})
        return str(found[_ELEMENT])

    def click(self, selector: str) -> None:
        """Click as a mouse does: what is hidden or covered cannot be clicked."""
        self._ask("POST", "%s/element/%s/click" % (self._session, self._element(selector)), {})

    def type(self, selector: str, text: str) -> None:
        """Type into an element; names of KEYS in braces are keys."""
        keys = re.sub(r"\{(\w+)\}", lambda found: KEYS[found.group(1)], text)
        self._ask("POST", "%s/element/%s/value" % (self._session, self._element(selector)), {"text": keys})

    def size(self, width: int, height: int = 900) -> None:
        """Make the window this large; the page is a little smaller."""
        self._ask("POST", self._session + "/window/rect", {"width": width, "height": height})

    def picture(self, path: pathlib.Path) -> None:
        """Write what the window shows to a PNG."""
        path.write_bytes(base64.b64decode(self._ask("GET", self._session + "/screenshot")))

    def complaints(self) -> List[str]:
        """Return what the page has written on its console since the last look: errors, and what the policy forbade."""
        entries = self._ask("POST", self._session + "/se/log", {"type": "browser"})
        return [str(entry["message"]) for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def until(self, script: str, *arguments: Any) -> Any:
        """Run a script until it returns what is true, and return that. Raises TimeoutError."""
        ends = time.monotonic() + WAIT
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.monotonic() > ends:
                raise TimeoutError("in %g s the page did not come to: %s" % (WAIT, script))
            time.sleep(0.02)

    def close(self) -> None:
        """End the browser."""
        self._ask("DELETE", self._session)


@contextlib.contextmanager
def browser(install: bool, folder: pathlib.Path) -> Iterator[Browser]:
    """Start a browser, and end it. Raises `SetupError` where there is none."""
    chromium, driver = find(install)
    process = subprocess.Popen([driver, "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, universal_newlines=True)
    try:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                break
        else:
            raise SetupError("chromedriver did not start: %s" % said)
        window = Browser(int(found.group(1)), chromium, str(folder / "profile"))
        try:
            yield window
        finally:
            window.close()
    finally:
        process.terminate()
        process.wait(WAIT)
        process.stdout.close()
