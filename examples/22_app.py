"""An app: a page that a host shows with the result of a tool, and that calls a tool of its own.

The page is a resource, and a tool names it in its `_meta`; a host that shows pages says so by an extension [2026-07-28
extensions/apps/apps]. It runs the page in a sandbox, without the rights of the host.

The page needs no library: it talks to the host by messages, and its first is `ui/initialize`. A host without apps gets
the same tools, as text. The tool that the button calls is for the page alone, and the model does not see it.
"""
import pathlib
import re
import sys
from typing import Any, Dict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Client, Server, connect  # noqa: E402
from mcp_ref.client import Extension  # noqa: E402
from mcp_ref.server import Context  # noqa: E402

MEDIA_TYPE = "text/html;profile=mcp-app"
PANEL = """<!doctype html>
<meta charset="utf-8">
<title>Weather</title>
<style>body { font: 1rem system-ui; margin: 1rem }</style>
<p id="now">...</p>
<button id="again">Again</button>
<script>
const waiting = new Map(), host = window.parent;
let place = "", last = 0;
const send = message => host.postMessage({jsonrpc: "2.0", ...message}, "*");
const notify = (method, params = {}) => send({method, params});
const request = (method, params) => new Promise((done, failed) => {
  waiting.set(++last, {done, failed});
  send({id: last, method, params});
});
const show = result => {
  const data = result.structuredContent;
  document.getElementById("now").textContent = data ? `${data.degrees} degrees in ${data.place}` : "no answer";
};
const told = {
  "ui/notifications/tool-input": params => { place = params.arguments.place; },
  "ui/notifications/tool-result": show,
};
const asked = {"ui/resource-teardown": () => ({}), "ping": () => ({})};

window.addEventListener("message", event => {
  const message = event.data;
  if (event.source !== host || !message || message.jsonrpc !== "2.0") return;
  if (message.method === undefined) {
    const call = waiting.get(message.id);
    waiting.delete(message.id);
    if (call) message.error ? call.failed(new Error(message.error.message)) : call.done(message.result);
  } else if (message.id === undefined) {
    told[message.method]?.(message.params);
  } else {
    const answer = asked[message.method];
    send({id: message.id, ...(answer ? {result: answer()} : {error: {code: -32601, message: "Method not found"}})});
  }
});
document.getElementById("again").addEventListener("click", () =>
  request("tools/call", {name: "measure", arguments: {place}}).then(show, () => show({})));

request("ui/initialize", {
  protocolVersion: "2026-01-26", appInfo: {name: "weather-panel", version: "1.0"},
  appCapabilities: {availableDisplayModes: ["inline"]},
}).then(() => {
  notify("ui/notifications/initialized");
  new ResizeObserver(() => notify("ui/notifications/size-changed", {
    width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight,
  })).observe(document.body);
});
</script>
"""
server = Server("weather")
server.app("ui://weather/panel", PANEL, title="Weather", prefers_border=True)  # it needs no origins: no csp


@server.tool(ui="ui://weather/panel")
def weather(place: str, ctx: Context) -> Dict[str, Any]:
    """Tell the weather of a place."""
    ctx.log("info", "a page is shown" if ctx.has_apps else "no page is shown")
    return {"place": place, "degrees": 21}  # as text, too: the model and other hosts read that


@server.tool(ui="ui://weather/panel", visibility=["app"])
def measure(place: str) -> Dict[str, Any]:
    """Measure again; for the button of the page, not for the model."""
    return {"place": place, "degrees": 22}


class ShowsApps(Extension):
    """What a host declares that shows pages. It also runs them, in a sandbox, which this example leaves out."""

    identifier = "io.modelcontextprotocol/ui"
    since = None

    def settings(self, role: object) -> Dict[str, Any]:
        """Return the media types that it shows."""
        return {"mimeTypes": [MEDIA_TYPE]}


def look(client: Client) -> None:
    """Print what a host does with the tools."""
    for tool in client.tools():
        ui = (tool.meta or {}).get("ui", {})
        print("  %s, for %s, page: %s" % (
            tool.name, " and ".join(ui.get("visibility", ["model", "app"])), ui.get("resourceUri")))
        if ui:
            page = client.read_resource(ui["resourceUri"]).contents[0]
            if page.mime_type != MEDIA_TYPE or not (page.meta or {})["ui"]["prefersBorder"]:
                raise SystemExit("the page is not served as one")
    print("  the model reads:", client.call_tool("weather", {"place": "Turin"}).text)


def main() -> None:
    """Show the server to a host with apps and to one without, with a handshake and without one."""
    for revision in ("2025-11-25", "2026-07-28"):
        for kind, extensions, tools in (("with", [ShowsApps()], ["weather", "measure"]), ("without", [], ["weather"])):
            print("%s, a host %s apps" % (revision, kind))
            session = Session("%s-%s" % (revision, kind), quiet=revision != "2026-07-28" or kind != "with")
            with session, connect(server, extensions=extensions, revisions=[revision], trace=session) as client:
                look(client)
                if [tool.name for tool in client.tools()] != tools:
                    raise SystemExit("a host %s apps has other tools" % kind)
    called = re.findall(r'name: "(\w+)", arguments', PANEL)
    if called != ["measure"]:
        raise SystemExit("the page calls a tool that is not there")
    broken = Server("weather")
    broken.tool(weather, ui="ui://weather/planel")
    try:
        connect(broken)
        raise SystemExit("a server without the page of its tool was served")
    except ValueError as error:
        print("refused:", error)


if __name__ == "__main__":
    main()
