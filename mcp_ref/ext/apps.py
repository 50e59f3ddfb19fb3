"""Apps: pages that a host shows with the results of tools, served as resources [2026-07-28 extensions/apps/apps].

    server.app("ui://weather/panel", html, csp={"connectDomains": ["https://api.example.com"]})

    @server.tool(ui="ui://weather/panel")
    def weather(place: str) -> Weather: ...

This is the server's side. The page talks to the host that shows it, by `postMessage`, and the server sees ordinary
`tools/call` and `resources/read`. A page that is made anew at each read is a resource of the author's,
``@server.resource("ui://...", mime_type="text/html;profile=mcp-app")``.

======================================================  ==============================================================
what is wrong                                           what happens
======================================================  ==============================================================
the page: no HTML document, too long, another scheme,   ValueError or TypeError, when it is registered
an origin in ``csp`` that is none
a tool whose page is no resource of the server, or one  ValueError, before serving starts
of another media type
a result for the model without any content              the call fails: an ``isError`` result, which says so
a result for the model without text                     counted and logged; a ``strict`` server fails the call
a client that does not show apps                        its list of tools has no pages, and no tools that are for
                                                        pages only [2026-07-28 extensions/apps/apps §Server Behavior]
                                                        SHOULD; a handler finds it by ``ctx.has_apps``
======================================================  ==============================================================

Reading: the extension is declared in every revision, for hosts read it in all of them. Before 2025-06-18 tools and
resources have no `_meta`, so that clients of these revisions are as those without apps.
"""

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Mapping, Optional, Sequence

from ..jsonrpc import Encoded
from ..jsontext import dumps
from ..limits import DEFAULT
from ..messages.content import TextContent, TextResourceContents
from ..messages.tools import CallToolResult
from ..methods import LIST_TOOLS
from ..options import closest
from ..peer.context import Context, Route
from ..peer.extension import Extension
from ..protocol.metakeys import MODEL, is_for_model, ui_of
from ..protocol.uris import fault
from ..revisions import R2025_06_18, Revision
from ..server.results import BadResult

if TYPE_CHECKING:
    from ..peer.role import Role
    from ..server.registry.caching import Cache
    from ..server.registry.registration import Registration
    from ..server.tools import RegisteredTool

APPS = "io.modelcontextprotocol/ui"
"""The identifier of the extension."""
MEDIA_TYPE = "text/html;profile=mcp-app"
SCHEME = "ui://"
DOMAINS = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
"""The members of ``csp``: what may be fetched, loaded, framed, and be the base of links."""
WILDCARDS = "resourceDomains"
"""The one member whose origins may stand for all names below one
[2026-07-28 extensions/apps/apps §UI Resource Format]."""
PERMISSIONS = ("camera", "microphone", "geolocation", "clipboardWrite")
APP = "app"
FLAT = "ui/resourceUri"
"""The deprecated key of a tool's `_meta`, which older hosts read."""

_HTML = re.compile(r"\ufeff?\s*(?:<!--(?:(?!-->).)*-->\s*)*<!doctype\s+html", re.IGNORECASE | re.DOTALL)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_ORIGIN = re.compile(r"(?:https?|wss?)://(?:(\*\.)%s\.%s(?:\.%s)*|%s(?:\.%s)*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?\Z"
                     % ((_LABEL,) * 5))

_PUBLIC = dumps({"cacheScope": "public"})[1:-1]


class Apps(Extension):
    """The extension of one server: what it declares, and the lists of tools by what the client shows."""

    identifier = APPS
    since = None

    def __init__(self, server: "Registration") -> None:
        self._server = server
        self._resolved: Dict[str, str] = {}
        """The tools whose page was there -> its URI."""

    def resolve(self) -> None:
        """Raise ValueError for a tool whose page is no resource of the server, or one of another media type
        [2026-07-28 extensions/apps/apps §Behavior:] MUST."""
        for tool in self._server.tools.listing.values() if self._server.has_feature("tools") else ():
            uri = ui_of(tool.described["meta"]).get("resourceUri")
            if uri is None or self._resolved.get(tool.name) == uri:
                continue
            kind = self._media_type(_checked_uri("resourceUri of tool %s" % tool.name, uri))
            if kind != MEDIA_TYPE:
                raise ValueError("tool %s: the page %s is %s; register it by server.app(%r, html)" % (
                    tool.name, uri, "no resource" if kind is None else "of the media type %s" % (kind or "of its text"),
                    uri))
            self._resolved[tool.name] = uri

    def _media_type(self, uri: str) -> Optional[str]:
        """Return the media type that a resource has in its list, "" for one without; None if there is no resource."""
        found = self._server.resources.find(uri, DEFAULT.max_uri_length, None)
        description = None if found is None else found[0].description
        return None if found is None else getattr(description, "mime_type", None) or ""

    def adapt(self, role: "Role", method: str, revision: Revision, route: Route) -> Route:
        """Return a route of `tools/list` that leaves out what only hosts with apps understand, for other clients
        [2026-07-28 extensions/apps/apps §Server Behavior] SHOULD."""
        if method != LIST_TOOLS:
            return route

        def call(context: Context, params: Dict[str, Any]) -> Encoded:
            page = route.call(context, params)
            return _shown(page) if has_apps(context) else _plain(page, frozenset(
                tool.name for tool in self._server.tools.listing.values() if not is_for_model(tool.described["meta"])))

        return route.calling(call)


def _shown(page: str) -> Encoded:
    """Return a page of the list of tools for clients with apps, which no cache may give to others."""
    return Encoded(page if _PUBLIC not in page else dumps(dict(json.loads(page), cacheScope="private")))


@lru_cache(maxsize=32)
def _plain(page: str, hidden: FrozenSet[str]) -> Encoded:
    """Return a page of the list of tools for clients without apps, which no cache may give to others."""
    result = json.loads(page)  # our own text
    if "cacheScope" in result:
        result["cacheScope"] = "private"
    result["tools"] = [_without_page(tool) for tool in result["tools"] if tool["name"] not in hidden]
    return Encoded(dumps(result))


def _without_page(tool: Dict[str, Any]) -> Dict[str, Any]:
    meta = {key: value for key, value in (tool.get("_meta") or {}).items() if key not in ("ui", FLAT)}
    rest = {key: value for key, value in tool.items() if key != "_meta"}
    return dict(rest, _meta=meta) if meta else rest


def has_apps(context: Context) -> bool:
    """Return True if the client shows pages: it has declared the extension, with the media type of apps
    [2026-07-28 extensions/apps/apps §Client (Host) Capabilities]."""
    types = context.extensions.get(APPS, {}).get("mimeTypes")
    return context.session.rules.has(R2025_06_18, None) and isinstance(types, list) and MEDIA_TYPE in types


def check_result(context: Context, tool: "RegisteredTool", result: CallToolResult, lenient: bool) -> None:
    """Check that a result which a page shows has text, for the model and for hosts without apps.

    One without any content fails [2026-07-28 extensions/apps/apps §Server Behavior] MUST, one without text is refused
    by a strict server, and counted and logged by any other [2026-07-28 extensions/apps/apps §Server Behavior] SHOULD.
    """
    meta = tool.described["meta"]
    if result.is_error or "resourceUri" not in ui_of(meta) or not is_for_model(meta):
        return
    if any(isinstance(block, TextContent) and block.text.strip() for block in result.content):
        return
    text = "tool %s has a page, and its result no text: return text, too, for the model and for hosts without apps"
    if not lenient or not result.content:
        raise BadResult(text % tool.name)
    context.connection.counters.note("result for a page alone", text % tool.name)


def _declare(server: "Registration") -> None:
    if not server.has_feature("apps"):
        made = Apps(server)
        server.declare("apps", made, made)


def tool_meta(
    server: "Registration", ui: Optional[str], visibility: Optional[Sequence[str]],
    meta: Optional[Dict[str, Any]],
) -> Dict[str, Any]:
    """Return the `_meta` of a tool with a page, and declare apps. Raises TypeError or ValueError for what may not be in
    it."""
    if meta is not None and ("ui" in meta or FLAT in meta):
        raise ValueError("the page of a tool is in its options ui and visibility, or in meta, not in both")
    made: Dict[str, Any] = {}
    if ui is not None:
        made["resourceUri"] = _checked_uri("ui", ui)
    if visibility is not None:
        made["visibility"] = _names("visibility", visibility, (MODEL, APP))
        if not made["visibility"]:
            raise ValueError('visibility is ["model"], ["app"] or both: a tool that neither may call is of no use')
    _declare(server)
    return {**(meta or {}), "ui": made, **({} if ui is None else {FLAT: ui})}


def add_page(
    server: "Registration", uri: str, html: str, name: Optional[str], title: Optional[str],
    description: Optional[str], csp: Optional[Mapping[str, Sequence[str]]], permissions: Sequence[str],
    domain: Optional[str], prefers_border: Optional[bool], cache: "Optional[Cache]",
    visible: Optional[Callable[..., Any]] = None,
) -> None:
    """Register a page as a resource; options as `Server.app` has them."""
    _checked_uri("uri", uri)
    if not isinstance(html, str):
        raise TypeError("%s: html is a str, the text of the page, got %.80r" % (uri, html))
    if not _HTML.match(html):
        raise ValueError("%s: html is a whole document, which begins with <!doctype html>; this begins with %.40r" % (
            uri, html))
    size = len(dumps(html).encode("utf-8"))
    most = server.limits.max_message_bytes
    if size > most:
        raise ValueError("%s: the page has %d bytes as JSON, which exceeds max_message_bytes (%d)" % (uri, size, most))
    ui: Dict[str, Any] = {}
    if csp is not None:
        ui["csp"] = _checked_csp(uri, csp)
    if permissions:
        ui["permissions"] = {each: {} for each in _names("permissions", permissions, PERMISSIONS)}
    for key, value, kind in (("domain", domain, str), ("prefersBorder", prefers_border, bool)):
        if value is not None:
            if not isinstance(value, kind):
                raise TypeError("%s: %s is a %s, got %.80r" % (uri, key, kind.__name__, value))
            ui[key] = value
    meta = {"ui": ui} if ui else None
    server.resources.add_fixed(
        TextResourceContents(uri, html, MEDIA_TYPE, meta), uri, name=name, title=title, description=description,
        mime_type=MEDIA_TYPE, size=len(html.encode("utf-8")), meta=meta, cache=cache,
        visible=visible)
    _declare(server)


def _checked_uri(option: str, uri: Any) -> str:
    """Return the URI of a page [2026-07-28 extensions/apps/apps §Content Requirements:] MUST."""
    if not isinstance(uri, str) or not uri.startswith(SCHEME) or uri == SCHEME or "{" in uri:
        raise ValueError("%s is the URI of a page, such as ui://weather/panel, got %.80r" % (option, uri))
    wrong = fault(uri, DEFAULT.max_uri_length)
    if wrong is not None:
        raise ValueError("%s: %.80r is no URI: %s" % (option, uri, wrong))
    return uri


def _checked_csp(uri: str, csp: Any) -> Dict[str, Any]:
    """Return the origins that a page needs. One that is anybody's, or that could add to a policy, is refused."""
    if not isinstance(csp, Mapping):
        raise TypeError('%s: csp is a dict such as {"connectDomains": ["https://api.example.com"]}, got %.80r' % (
            uri, csp))
    _names("csp", list(csp), DOMAINS)
    for member, origins in csp.items():
        if isinstance(origins, str) or not isinstance(origins, Sequence):
            raise TypeError("%s: csp.%s is a list of origins, got %.80r" % (uri, member, origins))
        for origin in origins:
            found = _ORIGIN.match(origin) if isinstance(origin, str) else None
            if found is None or found.group(1) and member != WILDCARDS:
                raise ValueError("%s: csp.%s has %.80r, which is no origin such as https://api.example.com%s" % (
                    uri, member, origin, " or https://*.example.com" if member == WILDCARDS else ""))
    return {member: list(origins) for member, origins in csp.items()}


def _names(option: str, given: Any, known: Sequence[str]) -> Any:
    """Return a list of names that are all known. Raises TypeError or ValueError."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError("%s is a list of %s, got %.80r" % (option, ", ".join(known), given))
    for name in given:
        if name not in known:
            close = closest(name, known) if isinstance(name, str) else ""
            raise ValueError("%s: %.80r is none of %s%s" % (
                option, name, ", ".join(known), "; did you mean %r?" % close if close else ""))
    return list(given)
