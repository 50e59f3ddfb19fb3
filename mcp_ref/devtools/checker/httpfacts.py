"""Readers of header fields of HTTP, for rules: media types, challenges, encoded values, masked secrets.

They also read the annotations by which a tool asks for header fields
[2026-07-28 basic/transports/streamable-http §Schema Extension]. The checker shares no reader with the parts that it
judges.
"""

import re
from base64 import b64decode
from binascii import Error
from functools import lru_cache
from typing import Any, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import parse_qsl, urlsplit

from ...jsontext import JsonError, dumps
from ...urls import is_loopback, is_token
from ...wiretrace import Event
from .observed import ObservedExchange

_SENTINEL = re.compile(r"=\?base64\?(.*)\?=\Z", re.DOTALL)
_VISIBLE = re.compile(r"[\t -~]*\Z")
_ANY_SENTINEL = re.compile(r"=\?base64\?.*\?=\Z", re.DOTALL | re.IGNORECASE)
_MASK = re.compile(r"\*\*\*[0-9a-f]{8}")
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETER = re.compile(r'\s*(%s)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]+)\s*(?:,|$)' % _TOKEN)
_SCHEME = re.compile(r"\s*(%s)(?=\s|,|$)" % _TOKEN)
_PAST = re.compile(r"[^\s,]*[\s,]*")
MOST = 16384
"""Characters of a header field that are read."""


def is_streamable(exchange: Optional[ObservedExchange]) -> bool:
    """Return True for an exchange of Streamable HTTP: the older HTTP+SSE has rules of its own."""
    return exchange is not None and exchange.connection.transport == "streamable-http"


def accepts(value: str, wanted: str) -> bool:
    """Return True if an `Accept` field lists a media type, itself or by a wildcard, and does not refuse it."""
    return _accepts(value[:MOST], wanted)


@lru_cache(maxsize=256)
def _accepts(value: str, wanted: str) -> bool:
    kind = wanted.partition("/")[0]
    for each in value.lower().split(","):
        name, *parameters = [part.strip() for part in each.split(";")]
        if name in (wanted, kind + "/*", "*/*"):
            weight = next((part[2:].strip() for part in parameters if part.startswith("q=")), "1")
            if weight.strip("0.") != "" or weight == "":
                return True
    return False


def is_repeated(exchange: ObservedExchange, name: str) -> bool:
    """Return True if a request has several header fields of a name: what they say together is nobody's word."""
    return sum(each.lower() == name.lower() for each, _ in exchange.fields) > 1


def is_plain(text: str) -> bool:
    """Return True if a text can stand in a header field as it is [2026-07-28 basic/transports/streamable-http §Value
    Encoding]."""
    return text == text.strip(" \t") and _VISIBLE.match(text) is not None and _SENTINEL.match(text) is None


def is_sentinel(value: str) -> bool:
    """Return True if a field's value has the form of an encoded one, in whatever case."""
    return _ANY_SENTINEL.match(value) is not None


def decoded(value: str) -> Optional[str]:
    """Return the text of a field's value, which may be encoded; None if it is encoded wrongly."""
    found = _SENTINEL.match(value)
    if found is None:
        return value
    try:
        return b64decode(found.group(1).encode("ascii"), validate=True).decode("utf-8")
    except (Error, ValueError):
        return None


class AuthChallenge(NamedTuple):
    """One challenge of `WWW-Authenticate`."""

    scheme: str
    """In lower case."""
    parameters: Dict[str, str]


def challenges(value: Optional[str]) -> List[AuthChallenge]:
    """Return the challenges of a field; what cannot be read is left out."""
    found: List[AuthChallenge] = []
    if not value:
        return found
    text, place = value[:MOST], 0
    while place < len(text):
        parameter = _PARAMETER.match(text, place)
        if parameter is not None and found:
            name, said = parameter.group(1).lower(), parameter.group(2)
            if said.startswith('"'):
                said = re.sub(r"\\(.)", r"\1", said[1:-1])
            found[-1].parameters.setdefault(name, said)
            place = parameter.end()
            continue
        scheme = _SCHEME.match(text, place)
        if scheme is not None and parameter is None:
            found.append(AuthChallenge(scheme.group(1).lower(), {}))
            place = scheme.end()
        else:
            place = max(_PAST.match(text, place).end(), place + 1)  # type: ignore[union-attr]
    return found


def bearer(exchange: ObservedExchange) -> Optional[AuthChallenge]:
    """Return the challenge of a response for a bearer token, None if there is none."""
    value = exchange.answer_header("www-authenticate")
    return next((each for each in challenges(value) if each.scheme == "bearer"), None) if value else None


def mask_of(value: object) -> Optional[str]:
    """Return the mask of a secret in a text: the last one; None if there is none."""
    found = _MASK.findall(value[:MOST]) if isinstance(value, str) and "***" in value else []
    return found[-1] if found else None


def text_of(body: Optional[Event]) -> str:
    """Return the text of a body that is neither JSON nor a form; "" if there is none."""
    text = body.more.get("text", body.text) if body is not None else ""
    return text if isinstance(text, str) else ""


def key_of(value: Any) -> str:
    """Return a text that is the same for the same JSON value."""
    try:
        return dumps(value)
    except JsonError:
        return ascii(value)


def split(url: object) -> Optional[Tuple[str, str, str]]:
    """Return scheme, authority and path of a URL, the first two in lower case; None if it has no scheme or no host."""
    if not isinstance(url, str):
        return None
    return _split(url) if len(url) <= MOST else _split.__wrapped__(url)


@lru_cache(maxsize=256)
def _split(url: str) -> Optional[Tuple[str, str, str]]:
    try:
        parts = urlsplit(url)
        if not parts.scheme or not parts.hostname:
            return None
        return parts.scheme.lower(), authority(parts.scheme.lower(), parts.netloc), parts.path
    except ValueError:
        return None


def authority(scheme: str, netloc: str) -> str:
    """Return an authority in lower case, without user and without the port that the scheme has anyway."""
    host = netloc.rpartition("@")[2].lower()
    usual = {"http": ":80", "https": ":443"}.get(scheme, "")
    return host[:-len(usual)] if usual and host.endswith(usual) else host


def is_local(url: str) -> Optional[bool]:
    """Return whether a URL is on the loopback interface; None if it is no URL."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return None
    return None if not host else is_loopback(host)


def query_of(text: str) -> Dict[str, str]:
    """Return the parameters of a query, the last value of each."""
    try:
        return dict(parse_qsl(text[:MOST], keep_blank_values=True, max_num_fields=256))
    except ValueError:
        return {}


PREFIX = "Mcp-Param-"
_KEYWORD = "x-mcp-header"
_TYPES = ("string", "integer", "boolean")
_SCHEMAS = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
            "unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema")
"""Keywords whose value is a schema."""
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
"""Keywords whose value is an array of schemas."""
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
"""Keywords whose value is an object of schemas."""
_MOST = 4096
"""Schemas inside of one that are looked at."""


class HeaderParameters(NamedTuple):
    """The parameters of a tool that have header fields."""

    headers: List[Tuple[Tuple[str, ...], str]]
    """The path of properties to each parameter, and the name of its field."""
    fault: str
    """The first thing that is not allowed: its kind (``name``, ``unique``, ``type``, ``chain``), a colon and words; ""
    if all is."""


def annotations_of(schema: Any) -> HeaderParameters:
    """Return the annotations of an input schema."""
    headers: List[Tuple[Tuple[str, ...], str]] = []
    faults: List[str] = []
    rest: List[Tuple[Any, Tuple[str, ...], bool]] = [(schema, (), True)]
    looked = 0
    while rest and looked < _MOST:
        there, path, plain = rest.pop()
        looked += 1
        if not isinstance(there, dict):
            continue
        if _KEYWORD in there:
            name, fault = there[_KEYWORD], _fault(there, plain and bool(path))
            if fault:
                faults.append(fault)
            elif any(PREFIX.lower() + name.lower() == other.lower() for _, other in headers[:256]):
                faults.append("unique: %s twice" % name[:40])
            else:
                headers.append((path, PREFIX + name))
        rest.extend(_inside(there, path, plain))
    return HeaderParameters(headers[:256], faults[0] if faults else "")


def _fault(schema: Dict[str, Any], reachable: bool) -> str:
    name = schema[_KEYWORD]
    if not isinstance(name, str) or not name or not is_token(name):
        return "name: %s is no name of a header field" % ascii(name)[:40]
    if not reachable:
        return "chain: %s is not reached by properties alone" % name[:40]
    types = schema.get("type", "string")
    if any(each not in _TYPES + ("null",) for each in (types if isinstance(types, list) else [types])):
        return "type: %s is of type %s" % (name[:40], ascii(types)[:40])
    return ""


def _inside(schema: Dict[str, Any], path: Tuple[str, ...], plain: bool) -> List[Tuple[Any, Tuple[str, ...], bool]]:
    found: List[Tuple[Any, Tuple[str, ...], bool]] = []
    for keyword in _NAMED:
        members = schema.get(keyword)
        if isinstance(members, dict):
            found += [(member, path + (name,), plain and keyword == "properties")
                      for name, member in list(members.items())[:_MOST]]
    for keyword in _SCHEMAS:
        if isinstance(schema.get(keyword), dict):
            found.append((schema[keyword], path, False))
    for keyword in _MANY:
        if isinstance(schema.get(keyword), list):
            found += [(member, path, False) for member in schema[keyword][:_MOST]]
    return found
