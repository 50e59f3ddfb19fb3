"""Why a schema cannot be used. An *instance* that breaks a schema is no exception but a list of violations.

::

    SchemaError (a ValueError)
      InvalidSchema         a keyword has a value that the dialect does not allow
      UnsupportedDialect    `$schema` names a dialect, or a required vocabulary, that this validator lacks
      UnresolvedReference   `$ref` or `$dynamicRef` leads nowhere; nothing is ever fetched
      UnsupportedPattern    a regular expression that the linear-time matcher refuses
      BoundsExceeded        the schema, or its use on this instance, costs more than a named limit allows
"""

from typing import Iterable, Sequence, Union

from .violations import printable


class SchemaError(ValueError):
    """The schema is at fault, not the instance."""


class InvalidSchema(SchemaError):
    """A keyword whose value cannot be used; `location` says where."""

    def __init__(self, location: Sequence[Union[str, int]], problem: str) -> None:
        super().__init__("invalid schema at %s: %s" % (pointer(location), problem))
        self.location = tuple(location)
        self.problem = problem


class UnsupportedDialect(SchemaError):
    """`$schema` (or a vocabulary that its metaschema requires) is unknown [JSON Schema 2020-12 core §8.1.1].

    [2025-11-25.. basic/index §Implementation Requirements] MUST: an error says that the dialect is not supported.
    """

    def __init__(self, dialect: str, supported: Iterable[str], reason: str = "") -> None:
        names = " and ".join(supported)
        super().__init__("unsupported schema dialect %s%s; supported: %s" % (_cut(dialect), reason, names))
        self.dialect = dialect


class UnresolvedReference(SchemaError):
    """The target of a reference is neither in the schema nor in `resources`."""

    def __init__(self, reference: str, location: Sequence[Union[str, int]], reason: str) -> None:
        super().__init__("unresolved reference %s at %s: %s" % (_cut(reference), pointer(location), reason))
        self.reference = reference
        self.location = tuple(location)


class UnsupportedPattern(SchemaError):
    """A `pattern`, or a name under `patternProperties`, that is not matched here."""

    def __init__(self, pattern: str, location: Sequence[Union[str, int]], reason: str) -> None:
        super().__init__("pattern %s at %s is refused: %s" % (_cut(pattern), pointer(location), reason))
        self.pattern = pattern
        self.location = tuple(location)


class BoundsExceeded(SchemaError):
    """A limit of `Bounds` was reached; `limit` is its name."""

    def __init__(self, limit: str, allowed: Union[int, float], what: str) -> None:
        super().__init__("%s: more than the limit %s=%s allows" % (what, limit, allowed))
        self.limit = limit
        self.allowed = allowed


def pointer(location: Sequence[Union[str, int]]) -> str:
    """A location as a URI fragment with a JSON Pointer, for example ``#/properties/a`` [RFC 6901 §6]."""
    return _cut("#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in location), 200)


def _cut(text: str, length: int = 120) -> str:
    """Text from a peer has any length; an error message has not."""
    return printable(text, length)
