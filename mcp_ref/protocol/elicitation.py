"""The rules of elicitation, for both sides: forms that a user fills in, and links that a user is to visit.

A link is an absolute http or https URL, and it is checked before the user is asked. Everything that could lead a
browser elsewhere than a person thinks is refused: other schemes, user information before the host (RFC 9110 §4.2.4
says to treat it as an error), control and invisible characters, backslashes, a percent-encoded host. Other oddities,
which a person can judge, are warnings, for example letters that look like others [2025-11-25.. client/elicitation
§Safe URL Handling] SHOULD. Nothing is resolved or fetched.

>>> read_link("https://example.com/connect?id=7", 1000).host
'example.com'
>>> read_link("https://xn--pple-43d.com/", 1000).warnings[1].endswith("mixes CYRILLIC and LATIN")
True

A form is a flat object of primitive fields [2025-06-18.. client/elicitation §Protocol Messages]:

==================================  ================================  =============================
field                               schema                            since
==================================  ================================  =============================
text                                ``string``, four formats          2025-06-18
number                              ``number``, ``integer``           2025-06-18
yes or no                           ``boolean``                       2025-06-18
one of several                      ``enum``, also ``enumNames``      2025-06-18
one of several, with titles         ``oneOf`` of const and title      2025-11-25
some of several                     ``array`` of enum or ``anyOf``    2025-11-25
a ``default``                       of a boolean; of every field      2025-06-18; 2025-11-25
==================================  ================================  =============================

The classes of these schemas are in `mcp_ref.messages.elicitation`; `read_form` checks a form against them, before it is
sent and when it has arrived. A sender has to keep to the subset exactly. A received form is refused only if a keyword
changes the kind of a field; a keyword that narrows or describes is kept, and narrows.

Reading: a form is closed. A member that was not asked for is refused, although JSON Schema would let it pass.

Texts about an answer name the field and the rule, never what the user entered.
"""

import re
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ..codec import DecodeError, Model, decode, encode, members
from ..errors import LocalProtocolError
from ..jsonrpc import shown
from ..jsonschema import SchemaError, Violation, compile
from ..jsonschema.errors import show_path
from ..messages.elicitation import (
    LegacyTitledEnumSchema, RequestedSchema, StringSchema, TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
)
from ..revisions import Revision
from ..urls import BadUrl, is_loopback, read_url
from .lifecycle import has
from .uris import fault

LONG = 2000
"""Characters above which a person does not read a link to its end."""

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_\-]*[a-z0-9_])?")
_EAST_ASIAN = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "LATIN"))
"""Scripts that names in these languages usually mix."""
_FAULTS = {
    "syntax": "the link is no URL: %(why)s", "port": "the link is no URL: %(why)s",
    "scheme": "a link begins with https: or http:, not with %(scheme).40s:",
    "user": "the link has user information before its host, which only serves to deceive or to leak",
    "host": "the link has no host",
}
"""The error texts for the faults of a `BadUrl`."""


class LinkError(LocalProtocolError, ValueError):
    """A URL that no user should be sent to; the text says why."""


class Link(NamedTuple):
    """The parts of a link. ``host`` is the one that a browser asks for, in ASCII and small letters, without
    brackets."""

    url: str
    scheme: str
    host: str
    port: int
    unicode_host: str
    """The host with its letters decoded, as a browser may show it."""
    punycode: bool
    """True if the host has letters outside ASCII, in Punycode or raw."""
    warnings: Tuple[str, ...]

    @property
    def loopback(self) -> bool:
        """Return True if the link may lead to this machine."""
        return is_loopback(self.host) or self.host.endswith(".localhost")


def read_link(url: str, max_length: int) -> Link:
    """Check a URL of at most ``max_length`` characters and return its parts. Raises `LinkError`."""
    if not isinstance(url, str):
        raise LinkError("a link is a text, not %s" % type(url).__name__)
    if not url.isprintable():
        raise LinkError("the link holds control or invisible characters")
    wrong = fault("".join(sign if sign < "\x80" else "a" for sign in url), max_length)
    if wrong is not None:
        raise LinkError("the link is no URL: %s" % wrong)
    try:
        parts = read_url(url)
    except BadUrl as bad:
        raise LinkError(_FAULTS[bad.fault] % {"why": bad, "scheme": url.partition(":")[0].lower()}) from None
    ascii_host, unicode_host = _both_forms(parts.host)
    punycode = unicode_host != ascii_host or "xn--" in ascii_host
    link = Link(url, parts.scheme, ascii_host, parts.port, unicode_host, punycode, ())
    return link._replace(warnings=tuple(_warnings(link)))


def _both_forms(host: str) -> Tuple[str, str]:
    """Return the host as a browser asks for it, and as it looks. Raises `LinkError` for a text that is no host."""
    if ":" in host:
        return host, host
    if len(host) > 253:
        raise LinkError("the host of the link is longer than the 253 characters a name can have")
    try:
        ascii_host = host if host.isascii() else host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise LinkError("the host of the link is no name") from None
    labels = ascii_host.split(".")
    named = labels[:-1] if labels[-1] == "" else labels  # a dot at the end is the root of all names
    if not all(len(label) <= 63 and _LABEL.fullmatch(label) for label in named):
        raise LinkError("the host of the link is no name")
    return ascii_host, ".".join(map(_shown, labels))


def _shown(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        text = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        raise LinkError("the host of the link is no name: %s is not Punycode" % label) from None
    if not text.isprintable():
        raise LinkError("the host of the link holds control or invisible characters")
    return text


def _warnings(link: Link) -> Iterator[str]:
    if link.scheme == "http" and not link.loopback:
        yield "the connection is not encrypted (http)"
    if link.punycode:
        yield "the host is written in Punycode: %s shows as %s" % (link.host, ascii(link.unicode_host))
    for label in link.unicode_host.split("."):
        scripts = _scripts(label)
        if len(scripts) > 1 and not scripts <= _EAST_ASIAN:
            yield "%s mixes %s" % (ascii(label), " and ".join(sorted(scripts)))
    if not link.loopback and (":" in link.host or link.host.rstrip(".").rpartition(".")[2][:1].isdigit()):
        yield "the host is an address instead of a name"
    if len(link.url) > LONG:
        yield "the link is very long (%d characters)" % len(link.url)


def _scripts(label: str) -> FrozenSet[str]:
    """Return the scripts of the letters of a label, by the first word of their names."""
    if label.isascii():
        return frozenset()
    from unicodedata import name

    words: List[str] = [name(sign, "UNKNOWN").partition(" ")[0] for sign in label if sign.isalpha()]
    return frozenset(words)


MODES = ("form", "url")
PAGE = "2025-11-25.. client/elicitation §Requested Schema"
KINDS = "a field is a text, a number, yes or no, or a choice of texts; nothing nests"
MAX_PROBLEMS = 5

_PAGE_PATTERN = "pattern"
"""A keyword in the example of a text on the page of 2025-11-25, and not in its schema.json."""

_CHANGES_KIND = frozenset((
    "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "properties",
    "patternProperties", "propertyNames", "dependentSchemas", "dependencies", "items", "prefixItems", "additionalItems",
    "contains", "unevaluatedItems", "unevaluatedProperties",
))
"""Keywords with schemas inside: with one of them a field is no longer of the kinds above."""


class FormError(LocalProtocolError, ValueError):
    """A form that does not keep to the subset; the text names the place and says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message, PAGE)


def modes(capability: Any, revision: Revision) -> Tuple[str, ...]:
    """Return the modes that a declared ``elicitation`` capability, as on the wire, stands for; () if none is declared.

    An object that names no mode means forms only [2025-11-25.. client/elicitation §Capabilities], also where it has a
    null for one, which stands for nothing.
    Reading: one that names ``url`` alone means no forms in any revision, because a client that offered the newer
    revision and got the older one meant that.
    """
    if not revision.elicitation or not isinstance(capability, Mapping):
        return ()
    named = tuple(mode for mode in MODES if has(capability, mode)) or ("form",)
    return tuple(mode for mode in named if mode == "form" or revision.elicitation_modes)


class CheckedForm:
    """A form that keeps to the subset: as JSON, as a message, and as rules for an answer; made by `read_form`."""

    __slots__ = ("schema", "message", "_validator")

    def __init__(self, schema: Dict[str, Any], message: RequestedSchema, path: str) -> None:
        self.schema = schema
        self.message = message
        try:
            self._validator = compile(schema, assert_formats=True)
        except SchemaError as error:
            raise FormError("%s: %s" % (path, error)) from None

    def problems(self, content: Dict[str, Any]) -> List[str]:
        """Return what does not fit in an answer: field and rule, without the value; [] if everything fits.

        [2025-06-18 client/elicitation §Security Considerations] SHOULD,
        [2025-11-25.. client/elicitation §Form Mode Security] SHOULD: both sides look.
        """
        try:
            found = self._validator.validate(content)
        except SchemaError as error:
            return [str(error)]
        return ["%s: %s" % (show_path(one.path, "").lstrip(".") or "the answer", _rule(self.schema, one))
                for one in found[:MAX_PROBLEMS]]

    def unasked(self, content: Dict[str, Any]) -> List[str]:
        """Return the names in an answer that are no fields of the form."""
        return [name for name in content if name not in self.message.properties]

    def defaults(self, revision: Optional[Revision] = None) -> Dict[str, Any]:
        """Return name -> default, if the revision has one for such a field (None: every revision) and it fits the
        field."""
        return {
            name: field.default for name, field in self.message.properties.items()
            if field.default is not None and (revision is None or _has_default(type(field), revision))
            and _fits(field.default, self.schema["properties"][name])
        }


def read_form(schema: Any, revision: Revision, sending: bool = False, path: str = "requestedSchema") -> CheckedForm:
    """Check a form by the rules of a revision; ``schema`` is JSON, ``path`` what errors call it. Raises `FormError`.

    ``sending`` refuses more: keywords that the subset does not have, and fields that no user could answer.
    """
    try:
        message: RequestedSchema = decode(RequestedSchema, schema, revision, path)
    except DecodeError as error:
        unknown = error.got == "none of them"
        raise FormError("%s: %s" % (error.path, KINDS) if unknown else "%s; %s" % (error, KINDS)) from None
    if sending:
        schema = {name: schema[name] for name in schema if name != "additionalProperties" or schema[name] is not False}
        message.extra = {name: schema[name] for name in message.extra if name in schema}
    for place, part in _parts(message, path):
        _check_words(place, part, sending)
    for name in message.required or ():
        if name not in message.properties:
            raise FormError("%s.required: there is no field %s" % (path, shown(name)))
    for name, field in message.properties.items():
        place = "%s.properties.%s" % (path, shown(name))
        _check_kind(place, field, revision)
        if sending:
            _check_sense(place, field, schema["properties"][name])
    return CheckedForm(schema, message, path)


def _parts(part: Model, path: str) -> Iterator[Tuple[str, Model]]:
    """Yield the form and everything in it that is a schema or an option, with its place."""
    yield path, part
    for member in members(type(part)):
        value, place = getattr(part, member.attr), "%s.%s" % (path, member.wire)
        if isinstance(value, Model):
            yield from _parts(value, place)
        elif isinstance(value, dict) and isinstance(part, RequestedSchema):
            for name, field in value.items():
                yield from _parts(field, "%s.%s" % (place, shown(name)))
        elif isinstance(value, list):
            for at, option in enumerate(value):
                if isinstance(option, Model):
                    yield from _parts(option, "%s[%d]" % (place, at))


def _check_words(place: str, part: Model, sending: bool) -> None:
    """Raise `FormError` for keywords that the subset does not have."""
    for word, value in part.extra.items():
        if word == _PAGE_PATTERN and isinstance(part, StringSchema):
            continue
        if sending:
            raise FormError("%s: forms do not have the keyword %s; leave it out. In a form %s" % (
                place, shown(word), KINDS))
        if word in _CHANGES_KIND or word == "additionalProperties" and not isinstance(value, bool):
            raise FormError("%s.%s: %s" % (place, word, KINDS))


def _check_kind(place: str, field: Any, revision: Revision) -> None:
    """Raise `FormError` for a field that the revision lacks; an enum without titles looks the same in all of them."""
    cls = type(field)
    if cls is UntitledSingleSelectEnumSchema:
        cls = LegacyTitledEnumSchema
    if not revision.has(cls.since, cls.until):
        raise FormError("%s: revision %s has no %s" % (place, revision, cls.__name__))
    names = getattr(field, "enum_names", None)
    if names is not None and len(names) != len(field.enum):
        raise FormError("%s.enumNames: %d names for %d values" % (place, len(names), len(field.enum)))


def _check_sense(place: str, field: Any, schema: Dict[str, Any]) -> None:
    """Raise `FormError` for a field that a user could not answer, or would find odd."""
    options = _OPTIONS.get(type(field))
    choices = None if options is None else options(field)
    if choices is not None and (not choices or len(set(choices)) < len(choices)):
        raise FormError("%s: a choice needs at least one value, and each only once" % place)
    for least, most in (("min_length", "max_length"), ("minimum", "maximum"), ("min_items", "max_items")):
        low, high = getattr(field, least, None), getattr(field, most, None)
        if least != "minimum" and any(bound is not None and bound < 0 for bound in (low, high)):
            raise FormError("%s: a length is not negative" % place)
        if low is not None and high is not None and low > high:
            raise FormError("%s: its lower bound %s is above its upper bound %s" % (place, low, high))
    if choices is not None and (getattr(field, "min_items", None) or 0) > len(choices):
        raise FormError("%s.minItems: there are only %d values to choose from" % (place, len(choices)))
    if field.default is not None and not _fits(field.default, schema):
        raise FormError("%s.default: it does not fit the field" % place)


_OPTIONS: Dict[Any, Callable[[Any], List[str]]] = {
    UntitledSingleSelectEnumSchema: lambda field: field.enum,
    LegacyTitledEnumSchema: lambda field: field.enum,
    TitledSingleSelectEnumSchema: lambda field: [option.const for option in field.one_of],
    UntitledMultiSelectEnumSchema: lambda field: field.items.enum,
    TitledMultiSelectEnumSchema: lambda field: [option.const for option in field.items.any_of],
}
"""Kind of choice -> its values."""


def _has_default(cls: Any, revision: Revision) -> bool:
    """Return True if the revision has a default for such fields [2025-06-18 client/elicitation §Supported Schema Types]
    [2025-11-25.. client/elicitation §Requested Schema]."""
    return revision.has(cls.since, cls.until) and any(
        member.attr == "default" and member.exists(revision) for member in members(cls)
    )


def _fits(default: Any, schema: Dict[str, Any]) -> bool:
    try:
        return compile(schema, assert_formats=True).is_valid(default)
    except SchemaError:
        return False


def _rule(schema: Any, violation: Violation) -> str:
    """Return the keyword that an answer breaks, with its value: ``does not fit minimum 18``."""
    if violation.keyword == "required":
        return violation.message
    for step in violation.schema_path:
        schema = schema[step]
    values = schema if isinstance(schema, list) else [schema]
    texts = [str(value.get("const") if isinstance(value, dict) else value) for value in values]
    return "does not fit %s %s" % (violation.keyword, shown(", ".join(texts)))


def as_json(message: RequestedSchema, revision: Revision) -> Dict[str, Any]:
    """Return the JSON of a form that was made as a message. Raises `FormError` if something is missing in it."""
    try:
        return encode(message, revision)
    except ValueError as error:
        raise FormError(str(error)) from None
