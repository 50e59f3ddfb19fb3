"""URI templates of level 4 [RFC 6570]: `expand` fills one in, `match` reads the values back out of a URI.

    expand("search://{topic}{?limit,tags*}", {"topic": "tea & cake", "limit": 5, "tags": ["hot", "sweet"]})
        == "search://tea%20%26%20cake?limit=5&tags=hot&tags=sweet"
    match("search://{topic}{?limit,tags*}", "search://tea?tags=hot") == {"topic": "tea", "tags": ["hot"]}

RFC 6570 defines expansion only; it leaves matching to others [RFC 6570 §1.4]. So the rules of `match` are a Reading:

- A URI matches when literals and variables can be laid over it so that nothing is left. Where that can be done in
  several ways, each variable, from left to right, is present rather than absent, and then as short as possible:
  `{a}-{b}` reads `1-2-3` as a=1, b=2-3.
- `{var}`, `{.var}`, `{/var}` and `{;var}` stand for text without a raw `/`, `?` or `#`; `{?var}` and `{&var}` for text
  without `&` or `#`; `{+var}` and `{#var}` for any text. Other reserved characters are taken, although expansion would
  have encoded them.
- `{var}` and `{+var}` need at least one character. The other kinds begin with a mark of their own: without the mark the
  variable is undefined and left out of the result, with the mark alone it is "".
- The parameters of `{?a,b}`, `{&c}` and `{;d}` may come in any order and may be missing; neighbouring expressions are
  read as one. A parameter that the template does not name, or that comes twice, is no match: nothing is ignored.
- The template decides the type. A variable is a string, commas included; a list that was expanded without `*` comes
  back as that string. Of several in one expression the last takes what is left: `{x,y}` reads `1,2,3` as x=1, y=2,3.
  With `*` it is a list of strings. In `{?a*}`, `{&a*}` and `{;a*}` the parameters that bear its name make the list;
  if none does, the parameters that no other variable claims make a dictionary.
- `{var:3}` stands for at most three characters; what expansion cut off is lost. A name that occurs twice must have one
  value. Values are percent-decoded as UTF-8; `+` stays a plus. Where any of this fails there is no match: it is
  checked for the layout chosen above, no other one is tried.
- A value may hold `/`, `..` or a null character (`%2F`, `%2E%2E`, `%00`): a program that opens files with
  it has to check it.

Matching takes time in proportion to the length of the URI, for every template.

Reading order: `syntax` (the parser, and expansion), `matching`.
"""

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from .syntax import Expression, expanded, parse

if TYPE_CHECKING:
    from .matching import PreparedTemplate

__all__ = ["MAX_EXPANDED_LENGTH", "Template", "expand", "match", "variables"]

MAX_EXPANDED_LENGTH = 1_000_000
"""Characters of an expansion. A short template of a peer can repeat a long value many thousand times."""


def expand(template: str, variables: Mapping[str, Any]) -> str:
    """Fill in a template [RFC 6570 §3].

    Values are strings, numbers, booleans, lists or dictionaries of those; None, an empty list and an absent name are
    undefined. Raises ValueError that says what is malformed and where, or which variable has no such expansion.
    """
    return Template(template).expand(variables)


def match(template: str, uri: str) -> Optional[Dict[str, Any]]:
    """Return the variables with which the template gives this URI, or None; {} is a match without variables.

    Raises ValueError when the template is malformed, and as `Template.prepare` does.
    """
    return Template(template).match(uri)


def variables(template: str) -> List[str]:
    """Return the names of a template in order, each once. Raises ValueError when it is malformed."""
    return Template(template).variables


class Template:
    """A template that is parsed once. Raises ValueError that says what is malformed and where."""

    __slots__ = ("template", "_parts", "_prepared")

    def __init__(self, template: str) -> None:
        self.template = template
        self._parts = parse(template)
        self._prepared: Optional["PreparedTemplate"] = None

    def __repr__(self) -> str:
        return "Template(%r)" % self.template

    @property
    def variables(self) -> List[str]:
        """The names in order, each once."""
        expressions = [part for part in self._parts if isinstance(part, Expression)]
        return list(dict.fromkeys(each.name for expression in expressions for each in expression.variables))

    def expand(self, variables: Mapping[str, Any]) -> str:
        """Return the URI with these values; see `expand`."""
        pieces: List[str] = []
        length = 0
        for part in self._parts:
            pieces.append(part if isinstance(part, str) else expanded(part, variables))
            length += len(pieces[-1])
            if length > MAX_EXPANDED_LENGTH:
                raise ValueError("URI template %r expands to more than MAX_EXPANDED_LENGTH = %d characters" % (
                    self.template[:80], MAX_EXPANDED_LENGTH))
        return "".join(pieces)

    def prepare(self) -> "Template":
        """Prepare the template for `match`, which otherwise happens at its first call.

        Raises ValueError for a template that cannot be matched: two variables with nothing to tell where one ends,
        as in `{a}{b}`, or more than `matching.MAX_MATCHED_VARIABLES`.
        """
        self._matcher()
        return self

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """Return the variables found in a URI, or None if it does not match. Raises ValueError as `prepare` does."""
        from .matching import match

        return match(self._matcher(), uri)

    def _matcher(self) -> "PreparedTemplate":
        if self._prepared is None:
            from .matching import prepare

            self._prepared = prepare(self._parts, self.template)
        return self._prepared
