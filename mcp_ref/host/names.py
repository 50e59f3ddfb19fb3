"""Names of servers, tools and prompts, as one host sees them: none can stand in for another.

A host gives each server a name of its own and never uses `serverInfo.name`, which is not unique and says what the
server likes [2026-07-28 server/tools §Tool Names] SHOULD NOT. A tool or prompt is then called by a *qualified* name,
``<server>__<name>``, which has to please two parties:

- **Models** take letters, digits, ``_`` and ``-``, some of them also ``.``, and 64 or 128 characters. `NameRule` says
  which; the default is what all of them take.
- **The user**, whose approval of one tool must never count for another. So two tools never share a qualified name:

  * A server's name has no ``__`` and does not end in ``_``. So the first ``__`` of a qualified name is the separator,
    whatever a hostile tool's name contains, and two servers share no qualified name.
  * A name that breaks the rule or is too long is *shortened*: its first good characters, ``-`` and 16 digits of its
    SHA-256. A name that already has this form is shortened too, so none can pose as the short form of another.

Both depend on the two names alone, so a qualified name means the same tomorrow.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Iterable

from ..options import spelt
from ..records import Record

SEPARATOR = "__"
MAX_SERVER_NAME = 32
"""Characters of a server's name; the rest of a qualified name is the tool's."""
_DIGITS = 16
_SHORTENED = re.compile(r".*-[0-9a-f]{%d}" % _DIGITS, re.DOTALL)
_SERVER = re.compile(r"[A-Za-z0-9](?:_?[A-Za-z0-9-])*")
_SHORTEST_RULE = MAX_SERVER_NAME + len(SEPARATOR) + 1 + _DIGITS


@spelt
@dataclass(eq=False, repr=False)
class NameRule(Record):
    """What a model accepts as the name of a tool: ``max_length`` letters, digits, ``_`` and ``-``; ``.`` with ``dots``.

    Raises ValueError for a length below 51, which could not keep names apart.
    """

    max_length: int = 64
    dots: bool = False

    def __post_init__(self) -> None:
        if self.max_length < _SHORTEST_RULE:
            raise ValueError("max_length %d: qualified names need at least %d" % (self.max_length, _SHORTEST_RULE))

    def clean(self, text: str) -> str:
        """The text with ``_`` in place of each character that is not accepted."""
        return re.sub(r"[^A-Za-z0-9_.-]" if self.dots else r"[^A-Za-z0-9_-]", "_", text)


DEFAULT_RULE = NameRule()


def check_server_name(name: str, taken: Iterable[str] = ()) -> str:
    """The name, if it may be a server's name beside those ``taken``. Raises ValueError that says what is wrong with it.

    Names that differ in upper and lower case alone count as the same: people and models mix them up.
    """
    if not isinstance(name, str) or len(name) > MAX_SERVER_NAME or not _SERVER.fullmatch(name):
        raise ValueError(
            "%.80r cannot name a server: give it a name of up to %d letters, digits, '-' and single '_', "
            "with a letter or digit first and no '_' at the end" % (name, MAX_SERVER_NAME)
        )
    for other in taken:
        if other.lower() == name.lower():
            raise ValueError("there is a server called %r already: give %r another name" % (other, name))
    return name


def qualify(server: str, name: str, rule: NameRule = DEFAULT_RULE) -> str:
    """The qualified name of a server's tool or prompt; ``server`` has passed `check_server_name`, ``name`` is anything.

    >>> qualify("files", "read")
    'files__read'
    >>> qualify("files", "read/all")
    'files__read_all-4a2b2cdfdfac1c5a'
    """
    prefix = server + SEPARATOR
    cleaned = rule.clean(name)
    if name and cleaned == name and len(prefix) + len(name) <= rule.max_length and not _SHORTENED.fullmatch(name):
        return prefix + name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    room = rule.max_length - len(prefix) - 1 - _DIGITS
    return "%s%s-%s" % (prefix, cleaned[:room], digest)


def server_of(qualified: str) -> str:
    """The server's part of a qualified name; all of it, if there is no separator."""
    return qualified.partition(SEPARATOR)[0]
