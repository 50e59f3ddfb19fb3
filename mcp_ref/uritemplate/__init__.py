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

`syntax` has the parser, and expansion; matching stands here. There a template becomes a list of nodes: literal bytes,
and slots, which hold one variable or all parameters of neighbouring named expressions. `_Match` finds the text of each
slot, `_ValueReader` makes values out of the texts.
"""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from .syntax import HEX, Expression, Operator, Part, Variable, encode, expanded, parse

__all__ = ["MAX_EXPANDED_LENGTH", "MAX_MATCHED_VARIABLES", "Template", "expand", "match", "variables"]

MAX_EXPANDED_LENGTH = 1_000_000
"""Characters of an expansion. A short template of a peer can repeat a long value many thousand times."""
MAX_MATCHED_VARIABLES = 256
"""Slots of a template that is matched: for each, up to two bits per character of the URI are kept."""


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


class Slot(NamedTuple):
    """A piece of a URI; it is optional when it begins with a mark."""

    lead: bytes                         # the marks one of which begins it; none: the piece must be there
    stops: bytes                        # what it does not contain
    operator: Operator
    variables: Tuple[Variable, ...]


Node = Union[bytes, Slot]
Nodes = List[Node]


class PreparedTemplate(NamedTuple):
    """A template in the form that matching uses: the literal text at both ends, and the nodes between."""

    start: bytes
    nodes: Nodes
    end: bytes


class Template:
    """A template that is parsed once. Raises ValueError that says what is malformed and where."""

    __slots__ = ("template", "_parts", "_prepared")

    def __init__(self, template: str) -> None:
        self.template = template
        self._parts = parse(template)
        self._prepared: Optional[PreparedTemplate] = None

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
        as in `{a}{b}`, or more than `MAX_MATCHED_VARIABLES`.
        """
        self._matcher()
        return self

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """Return the variables found in a URI, or None if it does not match. Raises ValueError as `prepare` does."""
        return _matched(self._matcher(), uri)

    def _matcher(self) -> PreparedTemplate:
        if self._prepared is None:
            self._prepared = _prepare(self._parts, self.template)
        return self._prepared


# Matching


def _matched(prepared: PreparedTemplate, uri: str) -> Optional[Dict[str, Any]]:
    """Return the values of the variables, or None if the URI does not match."""
    try:
        data = uri if uri.isascii() else "".join(char if char < "\x80" else encode(char, True) for char in uri)
    except ValueError:
        return None                     # a lone surrogate
    start, nodes, end = prepared
    raw = data.encode("ascii")
    if not raw.startswith(start) or not raw.endswith(end) or len(raw) < len(start) + len(end):
        return None                     # the usual case among many templates
    texts = _Match(nodes, raw[len(start):len(raw) - len(end)]).texts()
    return None if texts is None else _ValueReader().read(texts)


def _prepare(parts: List[Part], template: str) -> PreparedTemplate:
    """Raise ValueError for a template that cannot be matched."""
    nodes: Nodes = []
    for part in parts:
        if isinstance(part, str):
            nodes.append(part.encode("ascii"))
        elif part.operator.named:
            _add_named(nodes, part)
        else:
            before = nodes[-1] if nodes else b""
            if not part.operator.first and isinstance(before, Slot):
                raise ValueError("URI template %r cannot be matched: nothing tells where %r ends and %r begins" % (
                    template[:80], before.variables[-1].name, part.variables[0].name))
            nodes.extend(_slots(part))
    if sum(isinstance(node, Slot) for node in nodes) > MAX_MATCHED_VARIABLES:
        raise ValueError("URI template %r cannot be matched: more than MAX_MATCHED_VARIABLES = %d" % (
            template[:80], MAX_MATCHED_VARIABLES))
    first = nodes[0] if nodes else None
    start = first if isinstance(first, bytes) else b""
    last = nodes[-1] if len(nodes) > 1 else None
    end = last if isinstance(last, bytes) else b""
    return PreparedTemplate(start, nodes[1 if start else 0:len(nodes) - 1 if end else None], end)


def _slots(part: Expression) -> List[Slot]:
    """Return one slot per variable. An exploded path may hold slashes, they separate its members."""
    operator = part.operator
    slots: List[Slot] = []
    for variable in part.variables:
        lead = operator.separator if slots else operator.first
        stops = operator.stops.replace("/", "") if variable.explode and operator.first == "/" else operator.stops
        slots.append(Slot(lead.encode(), stops.encode(), operator, (variable,)))
    return slots


def _add_named(nodes: Nodes, part: Expression) -> None:
    """Return one slot for all parameters; those of `{&b}` after `{?a}`, or `{;b}` after `{;a}`, join the slot
    before."""
    operator, variables = part.operator, tuple(part.variables)
    lead = operator.first.encode()
    before = nodes[-1] if nodes else b""
    if isinstance(before, Slot) and before.operator.named and before.operator.separator == operator.first:
        leads = before.lead if lead in before.lead else before.lead + lead
        nodes[-1] = before._replace(lead=leads, variables=before.variables + variables)
    else:
        nodes.append(Slot(lead, operator.stops.encode(), operator, variables))


class _Match:
    """The search for the text of every slot, in two passes, without ever going back.

    The first pass walks the template from its end and notes for each node at which places of the URI the rest of the
    template fits. A set of places is one integer: bit n stands for the place n characters before the end, so that one
    step back over a character is a shift. The second pass walks from the start and takes, at each slot, the first
    place that the notes allow, and no choice can turn out wrong.
    """

    def __init__(self, nodes: Nodes, data: bytes) -> None:
        self.nodes = nodes
        self.data = data
        self.masks: Dict[Tuple[bytes, bool], int] = {}

    def texts(self) -> Optional[List[Tuple[Slot, bytes]]]:
        """Return the slots that are present, each with its text behind the mark; None if the URI does not match."""
        notes = self.first_pass()
        return None if notes is None else self.second_pass(notes)

    def first_pass(self) -> Optional[List[Tuple[int, int]]]:
        """Return per node the places where the nodes after it fit, and those that may be inside its slot."""
        fits = 1
        notes: List[Tuple[int, int]] = []
        for node in reversed(self.nodes):
            inside, after = 0, fits
            if isinstance(node, bytes):
                fits = self.back_over(node, fits)
            else:
                allowed = self.places(node.stops, but=True)
                begins = self.places(node.lead) if node.lead else allowed
                if node.operator.named and not any(variable.explode for variable in node.variables):
                    known = self.names(node, fits) << 1
                    begins &= known
                    allowed &= known | self.places(node.operator.separator.encode(), but=True)
                inside = _run_back(fits, allowed)
                fits = inside << 1 & begins | (fits if node.lead else 0)
            if not fits:
                return None
            notes.append((after, inside))
        return notes[::-1] if fits >> len(self.data) & 1 else None

    def second_pass(self, notes: List[Tuple[int, int]]) -> List[Tuple[Slot, bytes]]:
        found: List[Tuple[Slot, bytes]] = []
        size = left = len(self.data)
        for node, (after, inside) in zip(self.nodes, notes):
            if isinstance(node, bytes):
                left -= len(node)
            elif not node.lead or self.is_present(node, left, inside):
                end = (after & (1 << left) - 1).bit_length() - 1
                mark = 1 if node.lead else 0
                found.append((node, self.data[size - left + mark:size - end]))
                left = end
        return found

    def is_present(self, slot: Slot, left: int, inside: int) -> bool:
        """Return True if the mark of a slot stands here, and leads to a place from which the rest fits."""
        return left > 0 and self.data[len(self.data) - left] in slot.lead and inside >> (left - 1) & 1 == 1

    def back_over(self, literal: bytes, places: int) -> int:
        """Return the places from which this literal leads to one of ``places``."""
        for at in range(len(literal) - 1, -1, -1):
            places = places << 1 & self.places(literal[at:at + 1])
        return places

    def names(self, slot: Slot, ends: int) -> int:
        """Return the places where the name of a parameter begins, followed by its value, another parameter or the
        end."""
        behind = ends | self.places(b"=") | self.places(slot.operator.separator.encode())
        known = 0
        for variable in slot.variables:
            known |= self.back_over(variable.name.encode(), behind)
        return known

    def places(self, chars: bytes, but: bool = False) -> int:
        """Return the places right before one of these characters, or right before any but these."""
        if (chars, but) not in self.masks:
            table = bytearray(b"1" * 256 if but else b"0" * 256)
            for byte in chars:
                table[byte] = ord("0" if but else "1")
            self.masks[chars, but] = int(self.data.translate(table) + b"0", 2)
        return self.masks[chars, but]


def _run_back(places: int, allowed: int) -> int:
    """Return all places from which a run of allowed characters, or none, leads to one of `places`.

    Adding the first step of each run to the mask of what is allowed carries through to the end of that run.
    """
    steps = places << 1 & allowed
    return places | ((((allowed + steps) ^ allowed) | steps) & allowed)


class _ValueReader:
    """The collection of the values of variables. The methods return False if there is no match after all."""

    def __init__(self) -> None:
        self.found: Dict[str, Any] = {}
        self.prefixes: List[Tuple[int, str, str]] = []

    def read(self, texts: List[Tuple[Slot, bytes]]) -> Optional[Dict[str, Any]]:
        """Return all values, or None if a text is no value or two of them disagree."""
        for slot, raw in texts:
            read = self.parameters if slot.operator.named else self.plain
            if not read(slot, raw.decode("ascii")):
                return None
        for length, name, value in sorted(self.prefixes, reverse=True):     # one that is too long fails here too
            whole = self.found.setdefault(name, value)
            if not isinstance(whole, str) or whole[:length] != value:
                return None
        return self.found

    def plain(self, slot: Slot, text: str) -> bool:
        variable, = slot.variables
        if not variable.explode:
            return self.string(variable, text)
        return self.put(variable.name, [_decode(each) for each in text.split(slot.operator.separator)])

    def string(self, variable: Variable, text: str) -> bool:
        value = _decode(text)
        if not variable.prefix:
            return self.put(variable.name, value)
        if value is None:
            return False
        self.prefixes.append((variable.prefix, variable.name, value))
        return True

    def parameters(self, slot: Slot, text: str) -> bool:
        named = {variable.name: variable for variable in slot.variables}
        lists: Dict[str, List[Optional[str]]] = {}
        others: Dict[Optional[str], Optional[str]] = {}
        seen = set()
        for pair in text.split(slot.operator.separator):
            name, _, value = pair.partition("=")
            variable = named.get(name)
            if variable is None:
                key = _decode(name)
                if key is None or key in others:
                    return False
                others[key] = _decode(value)
            elif variable.explode:
                lists.setdefault(name, []).append(_decode(value))
            elif name in seen or not self.string(variable, value):
                return False
            seen.add(name)
        free = [each.name for each in slot.variables if each.explode and each.name not in lists]
        if others and (len(free) != 1 or not self.put(free[0], others)):
            return False
        return all(self.put(name, values) for name, values in lists.items())

    def put(self, name: str, value: Any) -> bool:
        """Add a value; return False for one that did not decode, or that differs from an earlier one."""
        if value is None or isinstance(value, list) and None in value:
            return False
        if isinstance(value, dict) and None in value.values():
            return False
        return bool(self.found.setdefault(name, value) == value)


def _decode(text: str) -> Optional[str]:
    """Undo percent-encoding; return None for a text that is no UTF-8 or has a percent sign astray."""
    if "%" not in text:
        return text
    head, *rest = text.split("%")
    if not all(len(each) >= 2 and HEX.issuperset(each[:2]) for each in rest):
        return None
    data = head.encode("ascii") + b"".join(bytes((int(each[:2], 16),)) + each[2:].encode("ascii") for each in rest)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
