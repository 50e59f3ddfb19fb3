"""Every regular expression of the package takes time in proportion to the text, whatever a peer puts there.

The patterns are found in the syntax tree, so a new one needs no row. Each is run on hostile strings made from itself,
in the way it is used (``match`` starts at one place, ``search`` and ``sub`` at every one): runs of the characters that
it tells apart, alone and in pairs, after what leads to a repetition, and with an end that makes it fail. A pattern that
takes long for a few thousand characters is run again on four times as many.
"""
import ast
import contextlib
import importlib
import itertools
import re
import sys
import time
import types
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Pattern, Set, Tuple

import pytest

from mcp_ref import yaml
from mcp_ref.auth import discover
from mcp_ref.diagnostics.masking import Masker
from mcp_ref.diagnostics.redaction import redact_text
from mcp_ref.host import configuration
from tests.meta.facts import expect_nothing, nodes_of, python_files, shown, text_of

sre_parse: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
SEARCHES = {"search", "sub", "subn", "split", "findall", "finditer"}
WAYS = SEARCHES | {"match", "fullmatch"}
USED = re.compile(r"\.\s*(?:%s)\b" % "|".join(sorted(WAYS | {"compile"})))
"""What is in a file that has a pattern or uses one: the trees of the others are not needed."""
SIZES = (24, 40, 128, 512, 4096)
"""Small ones first: a pattern that takes exponential time must fail, not hang."""
SHORT = 128
LONG = 0.002
"""Seconds of processor time: for 4,096 characters linear patterns need a tenth of it, quadratic ones several times."""
GROWTH = 8
"""How many times as long four times the text may take: linear is 4, quadratic 16."""
MANY = 8
"""The kinds of characters up to which all pairs of them are tried."""
OTHERS = "\0\n\t aZ0-\"'\\_.:/<>=;,%\x7f\x85\xb2\u0660\u2028\U0001f600"
"""Characters that patterns tell apart besides those that they name."""


class Use(NamedTuple):
    where: str
    pattern: "Pattern[Any]"
    ways: Set[str]


# -- Find them ---------------------------------------------------------------------------------------------------------

def found_in_package() -> Tuple[List[Use], List[str]]:
    """Return the patterns, and the places where the tree does not show which they are."""
    found: List[Use] = []
    unseen: List[str] = []
    paths = [path for path in python_files("mcp_ref") if path.name != "__main__.py" and USED.search(text_of(path))]
    called = {path: calls(path) for path in paths}
    everywhere = {name: set().union(*(each.get(name, set()) for each in called.values()))
                  for each in called.values() for name in each}
    for path in paths:
        module = importlib.import_module(re.sub(r"/__init__\Z", "", shown(path)[:-3]).replace("/", "."))
        above = {below: node for node in nodes_of(path) for below in ast.iter_child_nodes(node)}
        # a pattern of which no method is called is passed to a function: as that uses what it is given
        passed = set().union(*(ways for name, ways in called[path].items() if not hasattr(module, name)))
        for node in nodes_of(path):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
                    and getattr(module, getattr(node.func.value, "id", ""), None) is re
                    and node.func.attr in WAYS | {"compile"}):
                continue
            where, ways = "%s:%d" % (shown(path), node.lineno), {node.func.attr}
            if node.func.attr == "compile":
                parent = above[node]
                names = [getattr(target, "id", "") for target in getattr(parent, "targets", ())]
                ways = {parent.attr} if isinstance(parent, ast.Attribute) else set().union(*(
                    (called[path] if name[:1] == "_" else everywhere).get(name, set()) for name in names)) or passed
            function: Any = node
            while not isinstance(function, (ast.FunctionDef, ast.Module)):
                function = above[function]
            # the only other argument with an attribute of `re` in it is the flags, or they are a parameter
            others = [*node.args[1:], *(word.value for word in node.keywords),
                      *(function.args.defaults if isinstance(function, ast.FunctionDef) else ())]
            flags = [value_of(each, module) for each in others
                     if any(getattr(module, getattr(part, "id", ""), None) is re for part in ast.walk(each))]
            text = value_of(node.args[0], module)
            texts = [text] if text is not None else [  # what the module passes to its own function
                value for call in nodes_of(path) if isinstance(call, ast.Call)
                and getattr(call.func, "id", "") == getattr(function, "name", None)
                for value in (value_of(argument, module) for argument in call.args) if isinstance(value, str)]
            found += [Use(where, re.compile(text, *filter(None, flags)), ways) for text in texts]
            unseen += [] if texts else [where]
    return found, unseen


def calls(path: Any) -> Dict[str, Set[str]]:
    """Return the methods of patterns that a module calls, by the name of what they are called on."""
    found: Dict[str, Set[str]] = {}
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute) and node.attr in WAYS:
            for name in names_in(node.value):
                found.setdefault(name, set()).add(node.attr)
    for node in nodes_of(path):  # one of two patterns, under another name
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp):
            for name in names_in(node.value):
                found.setdefault(name, set()).update(*(found.get(each, ()) for each in names_in(node.targets[0])))
    return found


def names_in(node: ast.AST) -> Set[str]:
    if isinstance(node, ast.IfExp):
        return names_in(node.body) | names_in(node.orelse)
    return {getattr(node, "id", getattr(node, "attr", ""))}


def value_of(node: ast.AST, module: types.ModuleType) -> Any:
    """Return the value of an expression of a module's own names; None if it has others."""
    try:
        return eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(vars(module)))  # type: ignore[arg-type]
    except NameError:
        return None


# -- Make hostile strings of them --------------------------------------------------------------------------------------

CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


def accepts(node: Tuple[Any, Any], character: str, flags: int) -> bool:
    """Return whether a node of a parsed pattern that stands for one character accepts this one."""
    kind, value = str(node[0]), node[1]
    if kind == "IN":
        given = [each for each in value if str(each[0]) != "NEGATE"]
        return any(accepts(each, character, flags) for each in given) is (len(given) == len(value))
    if kind == "CATEGORY":
        _, *negated, name = str(value).split("_")
        return bool(re.match(CATEGORIES[name], character, flags & re.ASCII)) is not bool(negated)
    if kind == "ANY":
        return character != "\n" or bool(flags & re.DOTALL)
    same = {character.lower(), character.upper()} if flags & re.IGNORECASE else {character}
    if kind == "RANGE":
        return any(value[0] <= ord(each) <= value[1] for each in same if len(each) == 1)
    return (chr(value) in same) is (kind == "LITERAL")


class Hostile:
    """The strings that are made of one pattern."""

    def __init__(self, pattern: "Pattern[Any]") -> None:
        self.flags = pattern.flags
        self.classes: List[Tuple[Any, Any]] = []
        self.words: List[str] = []
        tree = list(sre_parse.parse(pattern.pattern, pattern.flags & ~re.UNICODE))
        self.collect(tree)
        named = "".join(chr(code) for node in self.classes if str(node[0]) == "IN" for kind, value in node[1]
                        if str(kind) in ("LITERAL", "RANGE")
                        for code in (value if isinstance(value, tuple) else (value,)))
        kinds: Dict[Tuple[bool, ...], str] = {}
        for each in OTHERS + named + "".join(word[:1] for word in self.words):
            if isinstance(pattern.pattern, str) or ord(each) < 256:
                kinds.setdefault(tuple(accepts(node, each, self.flags) for node in self.classes), each)
        self.kinds = list(kinds.values())
        self.contexts: List[Tuple[str, str]] = []
        self.sample(tree, "")

    def collect(self, tree: List[Tuple[Any, Any]]) -> None:
        """Collect the classes of characters of a pattern, and its words."""
        word = ""
        for node in tree:
            kind, value = str(node[0]), node[1]
            if kind == "LITERAL":
                word += chr(value)
                continue
            self.note(word)
            word = ""
            if kind in ("IN", "ANY", "NOT_LITERAL"):
                self.classes.append(node)
            for below in inside(node):
                self.collect(below)
        self.note(word)

    def note(self, word: str) -> None:
        if len(word) == 1:
            self.classes.append((sre_parse.LITERAL, ord(word)))
        elif word:
            self.words.append(word)

    def sample(self, tree: List[Tuple[Any, Any]], before: str) -> str:
        """Return a short string that a pattern matches, and note each repetition with what leads to it."""
        text = ""
        for node in tree:
            kind, value = str(node[0]), node[1]
            if kind in ("LITERAL", "IN", "ANY", "NOT_LITERAL"):
                text += chr(value) if kind == "LITERAL" else next(
                    (each for each in self.kinds if accepts(node, each, self.flags)), "")
            elif kind in REPEATS:
                body = list(value[2])
                unit = self.sample(body, before + text)
                if value[1] > 16:
                    single = len(body) == 1 and str(body[0][0]) in ("IN", "ANY", "NOT_LITERAL")
                    self.contexts += [(before + text, each) for each in self.kinds + self.words
                                      if single and accepts(body[0], each[0], self.flags)] or [(before + text, unit)]
                text += unit * (value[0] or (len(text) < 16))
            elif not kind.startswith("ASSERT"):
                samples = [self.sample(below, before + text) for below in inside(node)]
                text += samples[0] if samples else ""
            else:
                self.contexts += [(before + text, self.sample(below, before + text)) for below in inside(node)]
        return text

    def strings(self) -> Iterator[Callable[[int], str]]:
        """Yield functions that return a string of about so many characters."""
        units = self.kinds + self.words
        pairs = [pair for pair in (itertools.product(units, units) if len(units) <= MANY else zip(units, units[1:]))
                 if pair[0] != pair[1]]
        repeated = [("", unit, "", end) for unit in units for end in ["", "\0", *self.kinds]]
        repeated += [("", one + other, "", end) for one, other in pairs for end in ("", "\0")]
        repeated += [("", one, other, "") for one, other in pairs]
        repeated += [(before, unit, "", end) for before, unit in dict.fromkeys(self.contexts) if unit
                     for end in ("", "\0", "\n", before[:1])]
        for before, unit, then, end in repeated:
            yield lambda size: (before + unit * (size // len(unit) // (2 if then else 1))
                                + then * (size // 2 // (len(then) or 1)) + end)


def inside(node: Tuple[Any, Any]) -> List[List[Tuple[Any, Any]]]:
    """Return the sequences of which a node of a parsed pattern is made."""
    kind, value = str(node[0]), node[1]
    if kind == "BRANCH":
        return [list(each) for each in value[1]]
    if kind in REPEATS | {"SUBPATTERN", "ASSERT", "ASSERT_NOT"}:
        return [list(value[-1])]
    return [list(value)] if kind == "ATOMIC_GROUP" else []


# -- Run them ----------------------------------------------------------------------------------------------------------

def taken(use: Use, text: str) -> float:
    """Return the seconds of processor time that a pattern takes for a string."""
    given: Any = text if isinstance(use.pattern.pattern, str) else text.encode("latin-1")
    start = time.thread_time()
    if not use.ways or use.ways & SEARCHES:
        for _ in use.pattern.finditer(given):
            pass
    elif "fullmatch" in use.ways:
        use.pattern.fullmatch(given)
    else:
        use.pattern.match(given)
    return time.thread_time() - start


def least(use: Use, text: str) -> float:
    return min(taken(use, text) for _ in range(3))


def slow(use: Use) -> Optional[str]:
    """Return how a pattern takes more than linear time."""
    for made in Hostile(use.pattern).strings():
        for size in SIZES:
            if taken(use, made(size)) <= LONG:
                continue
            once = least(use, made(size))  # the machine may have been busy
            if once > LONG and size == SIZES[-1]:
                failed = once > LONG * 50 or least(use, made(4 * size)) > once * GROWTH
            else:
                failed = once > LONG * (5 if size > SHORT else 1)
            if failed:
                return "%s: %.0f ms for %d characters like %r: %s" % (
                    use.where, once * 1000, size, made(24), use.pattern.pattern)
    return None


@pytest.mark.time_limit(90)  # much less, but for patterns that fail
def test_patterns_take_linear_time() -> None:
    """A peer's string of 64 KB must not hold up the interpreter for seconds."""
    found, unseen = found_in_package()
    assert len(found) > 250 and {use.where.rpartition(":")[0] for use in found} >= {
        "mcp_ref/diagnostics/redaction.py", "mcp_ref/cli/doctor/programs.py", "mcp_ref/jsonschema/formats.py"}
    assert unseen == []
    expect_nothing([found for found in map(slow, found) if found])


# -- What reads the strings of peers -----------------------------------------------------------------------------------

READERS: Dict[str, Callable[[str], Any]] = {
    "front matter": lambda text: yaml.read_front_matter("---\na: b" + text + "\n---\n"),
    "front matter, in a list": lambda text: yaml.read_front_matter("---\na: [" + text + "\n---\n"),
    "configuration": lambda text: yaml.read_yaml("a: b" + text),
    "configuration, a block": lambda text: yaml.read_yaml("a: |\n  " + text),
    "configuration in JSON": lambda text: configuration.parse("a.jsonc", b'{"a": ' + text.encode("utf-8")),
    "challenge": lambda text: discover.parse([text]),
    "body that is no JSON": lambda text: Masker().raw('[{"token": "abcdefgh"}, ' + text),
    "header field": lambda text: Masker().field("WWW-Authenticate", text),
    "line of stderr": lambda text: [masker.stderr(line) for masker in [Masker()] for line in (
        "-----BEGIN PRIVATE KEY-----", text)],
    "log message": lambda text: redact_text(text, guess=True),
    "URL": lambda text: Masker().url("https://example.com/" + text),
}
"""Functions with patterns in loops, which the test above cannot see."""
UNITS = [*" \t\n#:=\"'\\[{,<a0-.;&?%/*|", '\\"', '"\\', ", ", ": ", " #", " =", "a=", 'a="b",', "a: b\n", "- a\n",
         "\n ", "a b=", "]}", '"a":', "-1", "://a:", "eyJa.", "token="]


def test_readers_take_linear_time() -> None:
    """A pattern may be linear by itself, and be started at each place of a string."""
    def taken_by(read: Callable[[str], Any], text: str) -> float:
        start = time.thread_time()
        with contextlib.suppress(ValueError):  # most of these strings are refused
            read(text)
        return time.thread_time() - start

    found = []
    for name, unit in itertools.product(READERS, UNITS):
        read, text = READERS[name], unit * (SIZES[-1] // len(unit))
        if taken_by(read, text + "!") > LONG * 5:
            once, more = (min(taken_by(read, each) for _ in range(3)) for each in (text + "!", text * 4 + "!"))
            if once > LONG * 5 and more > once * GROWTH:
                found.append("%s: %.0f ms for %d times %r" % (name, once * 1000, SIZES[-1] // len(unit), unit))
    expect_nothing(found)
