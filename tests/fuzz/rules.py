"""Targets for what is checked of messages beside their types: `_meta` keys, forms, links, roots, URIs, names.

All of it looks at what a peer sent, so none of it may raise anything but its own error.
"""
import posixpath
from random import Random
from typing import Any, Callable, Dict, Tuple

from mcp_ref.codec import DecodeError, decode
from mcp_ref.errors import LocalProtocolError
from mcp_ref.messages import RequestedSchema, SamplingMessage
from mcp_ref.protocol import elicitation, metakeys, sampling, uris
from mcp_ref.protocol.elicitation import FormError, read_form
from mcp_ref.revisions import REVISIONS
from mcp_ref.server.registry import checks

from .engine import Broken, Target
from .inventing import mutated, name, text, value
from .vocabulary import made_message
from .wire import one_line

LINE = 2000

# -- Texts ---------------------------------------------------------------------------------------

PIECES = ("https://", "http:", "file:///", "//", "a.example", "xn--pple-43d.com", "user@", "[::1]", "127.1", "..",
          "%2e", "%2F", "C:", "\\", "?", "#", ":80", ":99999", "\u0430pple", "\u202e", "/", "localhost", "mcp",
          "com.mcp/", "io.", "modelcontextprotocol", "-", "_", ".", "a", "0", " ", "\x00", "\n", "\u2028", "%zz",
          "javascript:", "data:,")


def make_text(random: Random) -> Tuple[str, int]:
    """Something that may be a URI, a key, a name; and the rank of a revision."""
    parts = [random.choice(PIECES) if random.random() < 0.9 else text(random) for _ in range(random.randrange(8))]
    return "".join(parts), random.randrange(len(REVISIONS))


def _read_link(found: str) -> None:
    link = elicitation.read_link(found, 500)
    if not (link.host and link.host.isascii() and link.url == found):
        raise Broken("link: no host in ASCII: %r" % (link,))
    for warning in link.warnings:
        one_line(warning, LINE)


def _check_root(found: str) -> None:
    uris.check_root_uri(found)
    if not found.lower().startswith("file:"):
        raise Broken("root: no file URI")
    place = posixpath.normpath(uris.root_path(found).replace("\\", "/"))
    whole = place.strip("/") in ("", ".", "..") or place.endswith(":")  # all of a disk: nothing is outside
    if not whole and uris.contains(found, found.rstrip("/") + "/../../x"):
        raise Broken("root: contains what is outside")


READERS: Dict[str, Tuple[Callable[[str], Any], Tuple[type, ...]]] = {
    "link": (_read_link, (elicitation.LinkError,)),
    "root": (_check_root, (LocalProtocolError,)),
    "root path": (uris.root_path, (LocalProtocolError, ValueError)),
    "uri": (lambda found: uris.fault(found, 500), ()),
    "containers": (lambda found: list(uris.containers(found)), ()),
    "tool name": (checks.tool_name_fault, ()),
    "meta key": (metakeys.fault, ()),
}


def check_text(case: Tuple[str, int]) -> None:
    """Each reader takes it, or refuses it with its own error and a line of text."""
    found, rank = case
    for read, errors in READERS.values():
        try:
            said = read(found)
        except errors as error:
            one_line(str(error), LINE)
            continue
        if isinstance(said, str) and read is not uris.root_path:
            one_line(said, LINE)
    for line in metakeys.violations({found: 1, "progressToken": found}, REVISIONS[rank]):
        one_line(line, LINE)


# -- Forms ---------------------------------------------------------------------------------------

FORMS = [revision for revision in REVISIONS if revision.elicitation]


def make_form(random: Random) -> Tuple[Any, int, Dict[str, Any]]:
    """The schema of a form, most of them with a fault; the rank of a revision; an answer."""
    rank = random.randrange(len(FORMS))
    schema = made_message(random, RequestedSchema, FORMS[rank], 4)
    if random.random() < 0.7:
        schema = mutated(random, schema, random.randrange(1, 4))
    fields = schema.get("properties") if isinstance(schema, dict) else {}
    names = list(fields) if isinstance(fields, dict) else []
    return schema, rank, {each: value(random, 1) for each in names + [name(random)]}


def check_form(case: Tuple[Any, int, Dict[str, Any]]) -> None:
    """Only FormError; problems of an answer are lines that hold none of its values; defaults fit."""
    schema, rank, answer = case
    try:
        form = read_form(schema, FORMS[rank])
    except FormError as error:
        one_line(str(error), LINE)
        return
    for line in form.problems(answer):
        one_line(line, LINE)
    form.unasked(answer)
    defaults = form.defaults(FORMS[rank])
    # Those that begin so are of the form as a whole.
    wrong = [line for line in form.problems(defaults) if not line.startswith("the answer:")]
    if wrong:
        raise Broken("defaults: %r do not fit: %r" % (defaults, wrong))


# -- Sampling ------------------------------------------------------------------------------------


def make_conversation(random: Random) -> Tuple[Any, int]:
    """The messages of a conversation about tools, with faults."""
    rank = random.randrange(len(REVISIONS))
    messages = [mutated(random, made_message(random, SamplingMessage, REVISIONS[rank], 4), random.randrange(2))
                for _ in range(random.randrange(5))]
    return messages, rank


def check_conversation(case: Tuple[Any, int]) -> None:
    """What can be read gives faults, each one a line."""
    given, rank = case
    try:
        messages = [decode(SamplingMessage, each, REVISIONS[rank]) for each in given]
    except DecodeError:
        return
    for fault in [*sampling.message_faults(messages, REVISIONS[rank]), *sampling.balance_faults(messages)]:
        one_line(str(fault), LINE)
    sampling.tool_rounds(messages)


TARGETS = (
    Target("texts", make_text, check_text),
    Target("forms", make_form, check_form),
    Target("sampling", make_conversation, check_conversation),
)
