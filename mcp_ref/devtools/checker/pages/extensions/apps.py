"""Rules of the extension apps, as far as messages between client and server show it [extensions/apps/apps].

A UI resource is one that a tool names in ``_meta.ui.resourceUri``, or one with the media type of apps. Other resources
may have the scheme ``ui``, too: it is older than the extension.
"""

import re
from typing import Any, List, Mapping, Optional, Union

from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...listed import lists, new_items
from ...observed import ERROR, META_CAPABILITIES, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, noted, observe, rule
from ...values import is_base64, items, masked, members, short
from ..server.tools import succeeded, tool_of

UNDECIDED.update({
    "apps.fetch-by-resources-read": "a client that reads no UI resource may have it in its cache, or show none",
    "apps.app-only-tool-hidden-from-model": "the tools that a host offers its model show in no message, and a call may "
                                            "come from an app",
})

EXTENSION = "io.modelcontextprotocol/ui"
_MEDIA_TYPE = "text/html;profile=mcp-app"
_CALL, _READ, _TOOLS, _RESOURCES = "tools/call", "resources/read", "tools/list", "resources/list"
_SCHEME = "ui://"
_BLANK = re.compile(r"[\s\"]+")
Faults = List[Union[str, Broken]]

_CAPABLE = 'client={"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}'
_TOOL = """
    C #1 tools/list
    S #1 {"tools": [{"name": "chart", "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": "%s"}}}]}
"""
_HEAD = "\n    on stdio 2025-11-25 %s" % _CAPABLE
_CHART = _HEAD + _TOOL % "ui://chart"


class Views:
    """The URIs of UI resources that tools have named in a session, each with the name of its tool."""

    def __init__(self) -> None:
        self.of: "Forgetful[str, str]" = Forgetful(Bounds().entries)


def _named(tool: Mapping[str, Any]) -> Any:
    """Return the URI of the UI resource of a tool; None if it has none."""
    meta = members(tool.get("_meta"))
    return members(meta.get("ui")).get("resourceUri", meta.get("ui/resourceUri"))


def _is_media_type(value: Any) -> bool:
    return isinstance(value, str) and (masked(value) or _BLANK.sub("", value).lower() == _MEDIA_TYPE)


def _is_view(message: Message, uri: Any) -> bool:
    """Return True if a tool has named a resource as its UI."""
    return isinstance(uri, str) and uri in message.session.state(Views).of


def _contents(message: Message) -> List[Mapping[str, Any]]:
    """Return the contents of a UI resource that was read; [] for any other resource."""
    uri = message.request.params.get("uri") if message.request is not None else None
    found = [each for each in items(message.result.get("contents")) if isinstance(each, dict)]
    return [each for each in found if each.get("uri", uri) == uri] if _is_view(message, uri) else []


@observe(on=RESULT, method=_TOOLS)
def note_views(message: Message) -> None:
    """Note the UI resources that tools name."""
    for _, tool in new_items(message):
        uri = _named(tool)
        if isinstance(uri, str) and not masked(uri):
            message.session.state(Views).of[uri] = str(tool.get("name"))
            noted(message.connection, "views")


# Resources


@rule("apps.uri-scheme", on=RESULT, method=(_TOOLS, _RESOURCES, _READ), party=SERVER, scene=_HEAD + """
  + """ + (_TOOL % "ui://chart").strip().replace("\n", "\n  + ") + """
  - """ + (_TOOL % "https://example.com/chart").strip().replace("\n", "\n  - ") + """
""")
def uri_scheme(message: Message) -> Verdict:
    """The URI of a UI resource has the scheme ui."""
    if message.method == _TOOLS:
        uris = [(_named(tool), "result.tools[%d]._meta.ui.resourceUri" % place) for place, tool in new_items(message)]
    elif message.method == _RESOURCES:
        uris = [(each.get("uri"), "result.resources[%d].uri" % place) for place, each in new_items(message)
                if _is_media_type(each.get("mimeType"))]
    else:
        uris = [(each.get("uri"), "result.contents") for each in items(message.result.get("contents"))
                if isinstance(each, dict) and _is_media_type(each.get("mimeType"))]
    known = [(uri, where) for uri, where in uris if isinstance(uri, str) and not masked(uri)]
    found: Faults = [Broken("the URI %s" % short(uri), where) for uri, where in known if not uri.startswith(_SCHEME)]
    return found or (KEPT if known else None)


@rule("apps.listed-mime-type", on=RESULT, method=_RESOURCES, party=SERVER, scene=_CHART + """
    C #2 resources/list
  + S #2 {"resources": [{"uri": "ui://chart", "name": "chart", "mimeType": "text/html;profile=mcp-app"}]}
  - S #2 {"resources": [{"uri": "ui://chart", "name": "chart", "mimeType": "text/html"}]}
""")
def listed_type(message: Message) -> Verdict:
    """A UI resource is listed with the media type of apps."""
    views = [(place, each) for place, each in new_items(message)
             if _is_view(message, each.get("uri")) and "mimeType" in each]
    found: Faults = [Broken("the media type %s of %s" % (short(each["mimeType"]), short(each.get("uri"))),
                            "result.resources[%d].mimeType" % place)
                     for place, each in views if not _is_media_type(each["mimeType"])]
    return found or (KEPT if views else None)


_READS = _CHART + """
    C #2 resources/read {"uri": "ui://chart"}
  + S #2 {"contents": [{"uri": "ui://chart", "mimeType": "text/html;profile=mcp-app", "text": "<!DOCTYPE html>"}]}
  - S #2 %s
"""


@rule("apps.content-mime-type", on=RESULT, method=_READ, party=SERVER, scene=_READS % (
    '{"contents": [{"uri": "ui://chart", "mimeType": "text/html", "text": "<!DOCTYPE html>"}]}'))
def content_type(message: Message) -> Verdict:
    """The content of a UI resource has the media type of apps."""
    contents = _contents(message)
    for each in contents:
        if not _is_media_type(each.get("mimeType")):
            return Broken("the media type is %s" % short(each.get("mimeType", "missing")), "result.contents")
    return KEPT if contents else None


@rule("apps.content-text-or-blob", on=RESULT, method=_READ, party=SERVER, scene=_READS % (
    '{"contents": [{"uri": "ui://chart", "mimeType": "text/html;profile=mcp-app"}]}'))
def content_there(message: Message) -> Verdict:
    """The content of a UI resource is text, or bytes as base64."""
    contents = _contents(message)
    for each in contents:
        text, blob = each.get("text"), each.get("blob")
        if isinstance(text, str) or (isinstance(blob, str) and (masked(blob) or is_base64(blob))):
            continue
        said = "neither text nor blob" if text is None and blob is None else "the blob is no base64" if (
            isinstance(blob, str)) else "text or blob is no string"
        return Broken(said, "result.contents")
    return KEPT if contents else None


@rule("apps.tool-resource-exists", on=(RESULT, ERROR), method=_READ, party=SERVER, scene=_CHART + """
    C #2 resources/read {"uri": "ui://chart"}
  + S #2 {"contents": [{"uri": "ui://chart", "mimeType": "text/html;profile=mcp-app", "text": "<!DOCTYPE html>"}]}
  - S #2 !-32002 "Resource not found" {"uri": "ui://chart"}
""")
def exists(message: Message) -> Verdict:
    """The UI resource that a tool names can be read."""
    uri = message.request.params.get("uri") if message.request is not None else None
    if not isinstance(uri, str) or not _is_view(message, uri) or message.revision is None:
        return None
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != message.revision.resource_not_found_code:
        return None
    name = message.session.state(Views).of.get(uri)
    tool = lists(message.session).definition(_TOOLS, name)
    if tool is None or _named(tool) != uri:
        return CannotTell("whether the tool still names the resource")
    return Broken("the resource %s of the tool %s is not there" % (short(uri), short(name)), "error")


# Who knows apps


def _settings(message: Message) -> Any:
    """Return what the client has declared of apps; None if it has not, CannotTell if that is not known."""
    capabilities = message.capabilities(CLIENT)
    if capabilities is None:
        return CannotTell("the capabilities of the client")
    return members(capabilities.get("extensions")).get(EXTENSION)


@rule("apps.client-declares-mime-types", on=REQUEST, when="extends", party=CLIENT, scene="""
  + on stdio 2025-11-25 %s
  - on stdio 2025-11-25 client={"extensions": {"io.modelcontextprotocol/ui": {}}}
    C #1 ping
    S #1 {}
""" % _CAPABLE)
def declares_types(message: Message) -> Verdict:
    """A client that declares apps lists the media types that it shows."""
    if message.method == "initialize":
        declared = members(members(message.params.get("capabilities")).get("extensions"))
    elif META_CAPABILITIES in message.meta:
        declared = members(members(message.meta[META_CAPABILITIES]).get("extensions"))
    else:
        return None
    if EXTENSION not in declared:
        return None
    types = members(declared[EXTENSION]).get("mimeTypes")
    if isinstance(types, list) and all(isinstance(each, str) for each in types):
        return KEPT
    return Broken("mimeTypes is %s" % ("missing" if types is None else "no array of strings"),
                  "capabilities.extensions.%s.mimeTypes" % EXTENSION)


@rule("apps.server-checks-client-capability", on=RESULT, method=_TOOLS, party=SERVER, scene="""
  + on stdio 2025-11-25 %s
  - on stdio 2025-11-25 client={}
""" % _CAPABLE + _TOOL % "ui://chart")
def checks_client(message: Message) -> Verdict:
    """A server offers tools with a UI only to a client that has declared apps."""
    named = [(place, tool) for place, tool in new_items(message) if isinstance(_named(tool), str)]
    settings = _settings(message) if named else None
    if not named or isinstance(settings, CannotTell):
        return settings
    if settings is not None:
        return KEPT
    if message.exchange is not None and message.session.id is None and message.session.stateless is False:
        return CannotTell("whether the server knows its client: the requests share no session")
    return Broken("the tool %s, and the client has not declared apps" % short(named[0][1].get("name")),
                  "result.tools[%d]._meta" % named[0][0])


def _for_model(message: Message) -> Optional[List[Any]]:
    """Return the content of the result of a tool with a UI that a model may call; None for any other result."""
    if not len(message.session.state(Views).of):
        return None
    tool = tool_of(message)
    if tool is None or not isinstance(_named(tool), str) or not succeeded(message):
        return None
    visibility = members(members(tool.get("_meta")).get("ui")).get("visibility")
    if isinstance(visibility, list) and "model" not in visibility:
        return None
    return items(message.result.get("content"))


@rule("apps.result-content-always", on=RESULT, method=_CALL, when="views", party=SERVER, scene=_CHART + """
    C #2 tools/call {"name": "chart"}
  + S #2 {"content": [{"type": "text", "text": "Sales rise."}], "structuredContent": {"sales": [1, 2]}}
  - S #2 {"content": [], "structuredContent": {"sales": [1, 2]}}
""")
def content_always(message: Message) -> Verdict:
    """The result of a tool with a UI has content for the model, too."""
    content = _for_model(message)
    return None if content is None else KEPT if content else Broken("no content", "result.content")


@rule("apps.text-only-fallback", on=RESULT, method=_CALL, when="views", party=SERVER,
      follows="apps.result-content-always", scene="""
    on stdio 2026-07-28 %s
""" % _CAPABLE + _TOOL % "ui://chart" + """
    C #2 tools/call {"name": "chart", "_meta": {"io.modelcontextprotocol/clientCapabilities": {}}}
  + S #2 {"content": [{"type": "text", "text": "Sales rise."}]}
  - S #2 {"content": [{"type": "resource_link", "uri": "ui://chart", "name": "chart"}]}
""")
def text_fallback(message: Message) -> Verdict:
    """A tool with a UI gives a text to a client that does not show it."""
    content = _for_model(message)
    if content is None:
        return None
    settings = _settings(message)
    if isinstance(settings, CannotTell) or settings is not None:
        return settings if isinstance(settings, CannotTell) else None
    return KEPT if any(members(each).get("type") == "text" for each in content) else Broken(
        "no text for a client without apps", "result.content")
