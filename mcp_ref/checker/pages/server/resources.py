"""Rules of resources [.. server/resources], beside those of their list (`lists`) and of the codes of errors
(`errorcodes`).
"""

import posixpath
import re
from itertools import islice
from typing import List, Union
from urllib.parse import unquote

from ....uritemplate import Template
from ....wiretrace import SERVER
from ...listed import Listing, lists, new_items
from ...observed import ERROR, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import has_scheme, masked, short

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


def _root(listing: Listing) -> str:
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
