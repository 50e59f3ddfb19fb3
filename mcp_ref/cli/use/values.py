"""Arguments of a call as they are typed: ``name=value`` words, one JSON object, ``@file``, ``-``.

===========================  ==================================================================
typed                        means
===========================  ==================================================================
``title=1 count=1``          ``{"title": "1", "count": 1}``, if the tool's schema says that ``title`` is a string and
                             ``count`` an integer; a value that its type cannot have is refused
``a=1 text=hello``           ``{"a": 1, "text": "hello"}``, if the schema does not say: JSON if it can be, else text
``text='"1"'``               then ``{"text": "1"}``: JSON again, so that text may look like a number
``text=@notes.txt``          the text of a file (UTF-8); ``=@-`` and ``=-`` are standard input
``data:=@rows.json``         the JSON in a file; ``:=`` refuses what is not JSON
``text==@home``              ``==`` takes the rest as text, whatever it looks like
``'{"a": 1}'``               the arguments, as one JSON object
``@arguments.json``, ``-``   the same, from a file or standard input
===========================  ==================================================================
"""

import sys
from typing import Any, Collection, Dict, List, NamedTuple

from ..output import UsageError

FORM = "write arguments as name=value words, one JSON object, @file or -"


_EXAMPLES = {"boolean": "true", "array": "[1, 2]", "object": '{"a": 1}'}


class Typed(NamedTuple):
    """The text that was typed after ``name=``. Its value depends on the type that the tool wants."""

    text: str


def arguments_of(words: List[str], schema: Any = None) -> Dict[str, Any]:
    """Return the arguments in these words, for a tool with this input schema. Raises `UsageError`."""
    return settled(read_words(words), schema)


def settled(found: Dict[str, Any], schema: Any) -> Dict[str, Any]:
    """Return the arguments with a value in place of each `Typed`. Raises `UsageError`, which names the argument."""
    return {name: _fitting(name, value.text, schema) if isinstance(value, Typed) else value
            for name, value in found.items()}


def read_words(words: List[str]) -> Dict[str, Any]:
    """Return the arguments in these words: those that are clear without a schema as values, the others as `Typed`.

    Raises `UsageError`.
    """
    if len(words) == 1:
        word = words[0]
        if word == "-" or word.startswith("@"):
            return _object(_content("-" if word == "-" else word[1:]), word)
        if word.lstrip().startswith("{"):
            return _object(word, "the argument")
    found: Dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.rstrip(":"):
            raise UsageError("%r is no argument: %s" % (word, FORM))
        if name.rstrip(":") in found:
            raise UsageError("the argument %s is there twice" % name.rstrip(":"))
        found[name.rstrip(":")] = _value(name, value)
    return found


def texts_of(words: List[str]) -> Dict[str, str]:
    """Return the arguments of a prompt, where every value is a text; a JSON value stays as it was typed."""
    from json import dumps

    if len(words) == 1 and "=" not in words[0].partition("{")[0]:
        return {name: value if isinstance(value, str) else dumps(value, ensure_ascii=False)
                for name, value in arguments_of(words).items()}
    return arguments_of([_as_text(word) for word in words])


def pairs_of(words: List[str], option: str) -> Dict[str, str]:
    """Return the ``NAME=VALUE`` words of an option as a dict of texts. Raises `UsageError`."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError("%s %s: write NAME=VALUE" % (option, word))
        found[name] = value
    return found


def _as_text(word: str) -> str:
    """Return a word in the form ``name==value``, which is text, unless it names a file or standard input."""
    name, equals, value = word.partition("=")
    typed = equals and not name.endswith(":") and value != "-" and value[:1] not in ("@", "=")
    return "%s==%s" % (name, value) if typed else word


def _value(name: str, value: str) -> Any:
    strict = name.endswith(":")
    if value.startswith("=") and not strict:
        return value[1:]
    if value == "-" or value.startswith("@"):
        text = _content("-" if value == "-" else value[1:])
        return _parsed(text, value) if strict else text
    return _parsed(value, name) if strict else Typed(value)


def _fitting(name: str, text: str, schema: Any) -> Any:
    """Return the value of a type that the schema allows. Text stays text where only text (or null) is allowed."""
    from .schemas import TYPES, parameters, types_of

    types = types_of(parameters(schema).get(name), schema)
    if types is not None and types <= {"string", "null"} and "string" in types:
        return text
    try:
        value = _parsed(text, name)
    except UsageError:
        if types is None or "string" in types:
            return text
        raise _unfit(name, text, types) from None
    if types is None or any(type(value) in TYPES[each] for each in types):
        return value
    if type(value) is float and "integer" in types and value.is_integer():
        return value  # 2.0 is an integer, too
    if "string" in types:
        return text
    raise _unfit(name, text, types)


def _unfit(name: str, text: str, types: Collection[str]) -> UsageError:
    from .schemas import TYPES, cut

    wanted = " or ".join(each for each in TYPES if each in types)
    example = _EXAMPLES.get(wanted)
    return UsageError("%s: the tool takes %s here%s, not %s; %s:=JSON is sent as it is" % (
        cut(name), wanted, " (such as %s)" % example if example else "", cut(text), cut(name)))


def _parsed(text: str, what: str) -> Any:
    from ...jsontext import JsonError, loads

    try:
        return loads(text.encode("utf-8", "surrogatepass"))
    except JsonError as error:
        raise UsageError("%s: %s" % (what, error)) from None


def _object(text: str, what: str) -> Dict[str, Any]:
    value = _parsed(text, what)
    if not isinstance(value, dict):
        raise UsageError("%s: the arguments are one JSON object; %s" % (what, FORM))
    return value


def _content(path: str) -> str:
    """Return the text of a file, or of standard input for ``-``."""
    try:
        if path == "-":
            return (sys.stdin.buffer.read() if sys.stdin is not None else b"").decode("utf-8")
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("%s cannot be read: %s" % (path, error)) from None
