"""Rules of prompts [.. server/prompts], resources [.. server/resources] and log messages [.. server/utilities/logging].

Those of images, audio and resources inside results are here, too [.. server/prompts §PromptMessage],
[.. server/resources §Security Considerations]; those of lists are in `lists`, those of the codes of errors in
`errorcodes`.
"""

import posixpath
import re
from itertools import islice
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple, Union
from urllib.parse import unquote

from .....methods import LISTEN, LOG_MESSAGE, SET_LOG_LEVEL
from .....uritemplate import Template
from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...listed import PagedList, lists, new_items
from ...observed import ERROR, META_SUBSCRIPTION, NOTIFICATION, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import has_scheme, is_base64, is_media_type, items, masked, members, short, shown, typed
from ..basic.lifecycle import UNDECLARED, Served
from ..basic.utilities import FLOOD, flooded
from ..basic.versioning import Era, speaks_modern

_GET = "prompts/get"
Faults = List[Union[str, Broken]]


def _blocks(message: Message, kind: str) -> Iterator[Tuple[str, Any]]:
    """Yield the contents of a kind in the messages of a prompt, with their places."""
    for place, each in enumerate(items(message.result.get("messages"))):
        content = members(members(each).get("content"))
        if content.get("type") == kind:
            yield "result.messages[%d].content" % place, content


def _media(message: Message, kind: str) -> Verdict:
    def wrong(content: Mapping[str, Any]) -> Tuple[str, str]:
        data, type = content.get("data"), content.get("mimeType")
        if not isinstance(data, str) or not (masked(data) or is_base64(data)):
            return "the data is %s" % ("no base64" if isinstance(data, str) else "no string"), ".data"
        if not isinstance(type, str) or not is_media_type(type):
            return "the media type is %s" % short(type), ".mimeType"
        return "", ""

    return _each(message, kind, wrong)


def _each(message: Message, kind: str, wrong: Callable[[Mapping[str, Any]], Tuple[str, str]]) -> Verdict:
    """Judge the contents of a kind: ``wrong`` returns what is wrong with one, "" if nothing is, and where in it."""
    found: Faults = []
    seen = False
    for where, content in _blocks(message, kind):
        seen = True
        said, member = wrong(content)
        if said:
            found.append(Broken(said, where + member))
    return found or (KEPT if seen else None)


_PROMPT = """
    on stdio 2025-06-18
    C #1 prompts/get {"name": "p"}
  + S #1 {"messages": [{"role": "user", "content": %s}]}
  - S #1 {"messages": [{"role": "user", "content": %s}]}
"""


@rule("prompts.image-base64", on=RESULT, method=_GET, scene=_PROMPT % (
    '{"type": "image", "data": "aGk=", "mimeType": "image/png"}',
    '{"type": "image", "data": "http://x/y.png", "mimeType": "image/png"}'))
def image(message: Message) -> Verdict:
    """An image in a prompt is base64, and has a media type."""
    return _media(message, "image")


@rule("prompts.audio-base64", on=RESULT, method=_GET, scene=_PROMPT % (
    '{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}',
    '{"type": "audio", "data": "aGk=", "mimeType": "wav"}'))
def audio(message: Message) -> Verdict:
    """Audio in a prompt is base64, and has a media type."""
    return _media(message, "audio")


_GOOD = '{"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "a"}}'


@rule("prompts.embedded-uri", on=RESULT, method=_GET, scene=_PROMPT % (
    _GOOD, _GOOD.replace("file:///a", "a b")))
def embedded_uri(message: Message) -> Verdict:
    """A resource that is embedded in a prompt has a URI with a scheme."""
    def wrong(content: Mapping[str, Any]) -> Tuple[str, str]:
        uri = members(content.get("resource")).get("uri")
        good = isinstance(uri, str) and (masked(uri) or has_scheme(uri))
        return "" if good else "the URI is %s" % short(uri), ".resource.uri"

    return _each(message, "resource", wrong)


@rule("prompts.embedded-mime", on=RESULT, method=_GET,
      disagree="server/prompts §Embedded Resources / schema.json ResourceContents.mimeType, which is optional",
      scene=_PROMPT % (_GOOD, _GOOD.replace('"mimeType": "text/plain", ', "")))
def embedded_type(message: Message) -> Verdict:
    """A resource that is embedded in a prompt has a media type."""
    def wrong(content: Mapping[str, Any]) -> Tuple[str, str]:
        type = members(content.get("resource")).get("mimeType")
        good = isinstance(type, str) and is_media_type(type)
        return "" if good else "the media type is %s" % short(type), ".resource.mimeType"

    return _each(message, "resource", wrong)


@rule("prompts.embedded-content", on=RESULT, method=_GET, scene=_PROMPT % (
    _GOOD, _GOOD.replace('"text": "a"', '"blob": "a"')))
def embedded_content(message: Message) -> Verdict:
    """A resource that is embedded in a prompt has a text, or base64."""
    def wrong(content: Mapping[str, Any]) -> Tuple[str, str]:
        resource = members(content.get("resource"))
        text, blob = resource.get("text"), resource.get("blob")
        if isinstance(text, str) or (isinstance(blob, str) and (masked(blob) or is_base64(blob))):
            return "", ""
        return "the blob is no base64" if isinstance(blob, str) else "neither text nor blob", ".resource"

    return _each(message, "resource", wrong)


@rule("resources.binary-encoded", on=RESULT, method=("resources/read", "tools/call"),
      follows="apps.content-text-or-blob", scene="""
    on stdio 2025-06-18
    C #1 resources/read {"uri": "file:///a"}
  + S #1 {"contents": [{"uri": "file:///a", "blob": "aGk="}]}
  - S #1 {"contents": [{"uri": "file:///a", "blob": "aGk-_w"}]}
""")
def binary(message: Message) -> Verdict:
    """The blob of a resource is base64."""
    found: Faults = []
    seen = False
    inside: List[Tuple[str, int, Any]] = [
        ("result.contents[%d].blob", place, each) for place, each in enumerate(items(message.result.get("contents")))]
    inside += [("result.content[%d].resource.blob", place, each["resource"])
               for place, each in enumerate(items(message.result.get("content")))
               if isinstance(each, dict) and "resource" in each]
    for where, place, resource in inside:
        blob = members(resource).get("blob")
        if isinstance(blob, str):
            seen = True
            if not masked(blob) and not is_base64(blob):
                found.append(Broken("the blob is no base64: %s" % short(blob, 20), where % place))
    return found or (KEPT if seen else None)


_CAUSE = "the cause of an error is inside the server; its text would only be guessed at"

UNDECIDED.update({
    "logging.configuration-error": _CAUSE,
    "logging.internal-error": _CAUSE,
})

META_LEVEL = "io.modelcontextprotocol/logLevel"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_INVALID_PARAMS = -32602


class Logs:
    """The requests of a session that have set a level and wait for their response, and the rate of log messages."""

    def __init__(self) -> None:
        self.open: "Forgetful[int, Message]" = Forgetful(Bounds().entries)
        self.rates: "Forgetful[Any, Tuple[float, int]]" = Forgetful(1)


@rule("logging.capability", on=NOTIFICATION, method=LOG_MESSAGE, follows=UNDECLARED, scene="""
  + on stdio 2025-06-18 server={"logging": {}}
  - on stdio 2025-06-18 server={"tools": {}}
    S notifications/message {"level": "info", "data": "ready"}
""")
def capability(message: Message) -> Verdict:
    """A server that sends log messages has declared that it does."""
    if message.sender != SERVER:
        return None
    declared = message.has_capability(SERVER, "logging")
    if declared is None:
        return CannotTell("the capabilities of the server")
    stateless = message.revision is not None and message.revision.stateless
    if not declared and stateless and message.time > message.connection.state(Era).fresh_until:
        return CannotTell("the capabilities of the server now: they may have changed since it has told them")
    return KEPT if declared else Broken("a log message, and logging was not declared", "capabilities.logging")


def _refusal(message: Message, level: Any) -> Verdict:
    """Return the verdict about the response to a request that names a level."""
    if level in LEVELS or message.sender != SERVER:
        return None
    if message.kind == RESULT:
        return "a result for the level %s" % shown(level)
    code = message.error.get("code")
    return KEPT if code == _INVALID_PARAMS else None


@rule("logging.invalid-level", on=(RESULT, ERROR), method=SET_LOG_LEVEL, provoked="schema.params", scene="""
    on stdio 2025-06-18
    C #1 logging/setLevel {"level": "verbose"}
  + S #1 !-32602 "Unknown level"
  - S #1 {}
""")
def invalid_level(message: Message) -> Verdict:
    """A level that does not exist is refused with -32602."""
    level = message.request.params.get("level") if message.request is not None else LEVELS[0]
    verdict = _refusal(message, level)
    if message.session.initialized is None or not isinstance(level, str):
        return None
    if verdict is None and message.kind == ERROR and level not in LEVELS and message.error.get("code") != -32601:
        return Broken("the code %s for the level %s" % (shown(message.error.get("code")), shown(level)), "error.code")
    return verdict


@rule("logging.invalid-level-meta", on=(RESULT, ERROR), provoked="schema.params", scene="""
    on stdio 2026-07-28 server={"logging": {}, "tools": {}}
    C #1 tools/list {}
    S #1 {"tools": []}
    C #2 tools/list {"_meta": {"io.modelcontextprotocol/logLevel": "loud"}}
  + S #2 !-32602 "Unknown level"
  - S #2 {"tools": []}
""")
def invalid_level_meta(message: Message) -> Verdict:
    """A request with a log level that does not exist is refused with -32602."""
    request = message.request
    if request is None or META_LEVEL not in request.meta:
        return None
    verdict = _refusal(message, request.meta[META_LEVEL])
    if isinstance(verdict, str) and not speaks_modern(message.connection):
        return CannotTell("whether the server is of a revision without handshake")
    return verdict


@rule("logging.request-stream-only", on=NOTIFICATION, method=LOG_MESSAGE, scene="""
    on stdio 2026-07-28
    C #1 subscriptions/listen {"notifications": {"toolsListChanged": true}}
    S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, \
"notifications": {"toolsListChanged": true}}
    C #2 tools/call {"name": "a", "arguments": {}, "_meta": {"io.modelcontextprotocol/logLevel": "info"}}
  + S notifications/message {"level": "info", "data": "ready"}
  - S notifications/message {"level": "info", "data": "ready", "_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
    S #2 {"content": []}
""")
def request_stream_only(message: Message) -> Verdict:
    """A log message comes with the response to the request that asked for it, not in a subscription."""
    if message.sender != SERVER:
        return None
    if META_SUBSCRIPTION in message.meta:
        return Broken("a log message with a subscription id", "params._meta")
    asked = message.exchange.request if message.exchange is not None else None
    if asked is not None and asked.method == LISTEN:
        return "a log message on the stream of the subscription #%s" % asked.id
    return KEPT


@rule("logging.opt-in", on=NOTIFICATION, method=LOG_MESSAGE, follows="logging.request-stream-only", scene="""
    on http 2026-07-28
  + C [1] #1 tools/call {"name": "a", "arguments": {}, "_meta": {"io.modelcontextprotocol/logLevel": "info"}}
  - C [1] #1 tools/call {"name": "a", "arguments": {}}
    S [1] stream
    S [1] notifications/message {"level": "info", "data": "ready"}
    S [1] #1 {"content": []}
""")
def opt_in(message: Message) -> Verdict:
    """A server sends log messages only for a request that has asked for them by a level."""
    if message.sender != SERVER:
        return None
    if message.exchange is not None:
        asked = message.exchange.request
        if asked is None:
            return CannotTell("the request of the stream")
        return KEPT if META_LEVEL in asked.meta else "a log message for #%s, which has named no level" % asked.id
    logs = message.session.state(Logs)
    if len(logs.open):
        return KEPT
    return "a log message, and no request is open that has named a level" if (
        message.session.from_start and not logs.open.forgot) else CannotTell("the requests before")


@rule("logging.rate-limit", "logging.rate-limit-both", on=NOTIFICATION, method=LOG_MESSAGE, needs="times",
      reading="more than %d log messages in a second are a flood" % FLOOD, scene="""
    on stdio 2025-06-18
    S notifications/message {"level": "info", "data": "ready"}
  - repeat 1001 S notifications/message {"level": "info", "data": "<n>"}
""")
def rate_limit(message: Message) -> Verdict:
    """The log of a server is not a flood of messages."""
    return flooded(message, message.session.state(Logs).rates, "") if message.sender == SERVER else None


@rule("logging.validate-fields", on=NOTIFICATION, method=LOG_MESSAGE, party=SERVER, scene="""
    on stdio 2025-06-18
  + S notifications/message {"level": "info", "data": "ready"}
  - S notifications/message {"level": "trace", "data": "ready"}
""")
def validate_fields(message: Message) -> Verdict:
    """A log message has one of the eight levels, data, and perhaps the name of a logger."""
    params: Dict[str, Any] = dict(message.params)
    if message.sender != SERVER:
        return None
    if params.get("level") not in LEVELS:
        return Broken("the level %s" % shown(params.get("level")), "params.level")
    if "data" not in params:
        return Broken("no data", "params.data")
    if "logger" in params and not isinstance(params["logger"], str):
        return Broken("logger is %s" % typed(params["logger"]), "params.logger")
    return KEPT


@observe(on=REQUEST, when="meta")
def remember_level(message: Message) -> None:
    """Note a request that has named a level."""
    if message.sender == CLIENT and META_LEVEL in message.meta:
        message.session.state(Logs).open[message.index] = message


@observe(on=(RESULT, ERROR))
def forget_level(message: Message) -> None:
    """Note that a request has its response."""
    if message.sender == SERVER and message.request is not None and META_LEVEL in message.request.meta:
        message.session.state(Logs).open.pop(message.request.index)


UNDECIDED.update({
    "prompts.client-pagination": "a client that stops after a page may have what it wanted",
})


@rule("prompts.respect-capabilities", on=(ERROR, NOTIFICATION), follows=("lifecycle.*", UNDECLARED), scene="""
  + on stdio 2026-07-28 server={"prompts": {"listChanged": true}}
  - on stdio 2026-07-28 server={"prompts": {}}
    C #1 server/discover
    S #1 {}
    C #2 subscriptions/listen {"notifications": {"promptsListChanged": true}}
    S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}, \
        "notifications": {"promptsListChanged": true}}
    S notifications/prompts/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}}
""", method=("prompts/list", "prompts/get", "notifications/prompts/list_changed"))
def respects(message: Message) -> Verdict:
    """Prompts are asked for, and changes of their list announced, only if the server has declared that."""
    listing = message.kind == NOTIFICATION
    if message.sender != SERVER:
        return None
    any_prompts = message.has_capability(SERVER, "prompts")
    capability = "prompts.listChanged" if listing and any_prompts else "prompts"
    known = message.has_capability(SERVER, capability)
    if known is None:
        return CannotTell("the capabilities of the server")
    if known:
        return KEPT
    if not listing and "prompts" in message.session.state(Served).features:
        return None
    # A request is judged with its refusal: a server that serves it has forgotten to declare it, which is another rule.
    return Broken("%s was not declared" % capability, "capabilities." + capability,
                  *(() if listing else (CLIENT, message.request)))


UNDECIDED.update({
    "resources.not-found-legacy-accepted": "how a client takes the code of an error leaves no message",
})

_READ, _LIST, _TEMPLATES = "resources/read", "resources/list", "resources/templates/list"
_UP = re.compile(r"(?:^|[/\\])(?:\.|%2e){2}(?:[/\\]|%2f|$)", re.IGNORECASE)


def _uri(message: Message) -> str:
    uri = message.request.params.get("uri") if message.request is not None else None
    return uri if isinstance(uri, str) and not masked(uri) else ""


def _matches(template: str, uri: str) -> bool:
    """Return whether a URI may come from a template; True where that cannot be told."""
    try:
        return Template(template).match(uri) is not None
    except ValueError:
        return True


@rule("resources.not-found-not-empty", on=(RESULT, ERROR), method=_READ, party=SERVER,
      reading="a resource that neither the whole list nor a template has does not exist", scene="""
    on stdio 2026-07-28
    C #1 resources/list
    S #1 {"resources": [{"uri": "file:///a", "name": "a"}]}
    C #2 resources/templates/list
    S #2 {"resourceTemplates": []}
    C #3 resources/read {"uri": "file:///none"}
  + S #3 !-32602 "Resource not found"
  - S #3 {"contents": []}
""")
def not_empty(message: Message) -> Verdict:
    """A resource that does not exist is answered by an error, not by nothing."""
    uri, known = _uri(message), lists(message.session)
    if not uri or (message.kind == RESULT and message.result.get("contents") != []):
        return None
    listing, templates = known.complete_since_change(_LIST), known.complete_since_change(_TEMPLATES)
    if listing is None or templates is None:
        return CannotTell("the whole lists of resources and templates") if message.kind == RESULT else None
    if uri in listing.names or any(_matches(each, uri) for each in islice(templates.names, _MOST)):
        return None
    return KEPT if message.kind == ERROR else Broken("no contents for %s, which is not listed" % short(uri),
                                                     "result.contents")


_MOST = 256
"""Templates that are tried."""


@rule("resources.validate-uris", on=(RESULT, ERROR), method=(_READ, "resources/subscribe"), party=SERVER, scene="""
    on stdio 2025-06-18
    C #1 resources/read {"uri": "not a uri"}
  + S #1 !-32602 "Invalid URI"
  - S #1 {"contents": [{"uri": "not a uri", "text": "a"}]}
""")
def validates(message: Message) -> Verdict:
    """A server does not read, and does not watch, what is no URI."""
    uri = _uri(message)
    if not uri or has_scheme(uri) or lists(message.session).items[_LIST].get(uri) is not None:
        return None
    if message.kind == ERROR:
        return KEPT
    if message.method == _READ and not message.result.get("contents"):
        return None
    return Broken("%s has no scheme" % short(uri), "params.uri")


@rule("resources.custom-scheme-rfc3986", on=RESULT, method=_LIST, party=SERVER, scene="""
    on stdio 2025-06-18
    C #1 resources/list
  + S #1 {"resources": [{"uri": "my-app://a", "name": "a"}]}
  - S #1 {"resources": [{"uri": "my_app://a", "name": "a"}]}
""")
def schemes(message: Message) -> Verdict:
    """The URI of a listed resource has a scheme that RFC 3986 allows."""
    found: List[Union[str, Broken]] = []
    for place, each in new_items(message):
        uri = each.get("uri")
        if isinstance(uri, str) and not masked(uri) and not has_scheme(uri):
            found.append(Broken("%s has no scheme" % short(uri), "result.resources[%d].uri" % place))
    return found or (KEPT if new_items(message) else None)


def _root(listing: PagedList) -> str:
    """Return the folder that all listed files have in common; "" if there are none."""
    paths: List[str] = [posixpath.dirname(unquote(each[7:])) for each in islice(listing.names, _FILES)
                        if each.startswith("file:///")]
    return posixpath.commonpath(paths) if paths and all(each.startswith("/") for each in paths) else ""


_FILES = 1024
"""Listed resources that are looked at for their common folder."""


@rule("resources.path-traversal", on=(RESULT, ERROR), method=_READ, party=SERVER,
      reading="what the server serves lies in the folder that its listed files have in common, if it has no templates",
      scene="""
    on stdio 2026-07-28
    C #1 resources/list
    S #1 {"resources": [{"uri": "file:///srv/data/a", "name": "a"}, {"uri": "file:///srv/data/b", "name": "b"}]}
    C #2 resources/templates/list
    S #2 {"resourceTemplates": []}
    C #3 resources/read {"uri": "file:///srv/data/../../etc/passwd"}
  + S #3 !-32602 "Resource not found"
  - S #3 {"contents": [{"uri": "file:///srv/data/../../etc/passwd", "text": "root:x:0:0"}]}
""")
def stays_inside(message: Message) -> Verdict:
    """A server does not follow a path out of the folder that it serves."""
    uri, known = _uri(message), lists(message.session)
    if not uri.lower().startswith("file://") or _UP.search(uri) is None or uri in known.items[_LIST]:
        return None
    if message.kind == ERROR:
        return KEPT
    if not message.result.get("contents"):
        return None
    listing, templates = known.complete_since_change(_LIST), known.complete_since_change(_TEMPLATES)
    if listing is None or templates is None or templates.names or not _root(listing):
        return CannotTell("which folder the server serves")
    path = posixpath.normpath(unquote(uri[7:]))
    if path.startswith(_root(listing).rstrip("/") + "/"):
        return None
    return Broken("%s is read" % short(uri), "params.uri")
