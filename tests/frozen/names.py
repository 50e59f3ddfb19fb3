"""The names that programs use: public names with their parameters, messages, exceptions, limits, loggers.

Of a parameter stands the name, how it is passed, and its default; no annotation, which each Python writes in another
way. A default that is no plain value is shown as ``...``.
"""
import ast
import dataclasses
import importlib
import inspect
from typing import Any, Dict, Iterator, List, Tuple, Type

from mcp_ref import Limits, errors, messages
from tests.meta.facts import PACKAGE, python_files, text_of
from tests.meta.test_from_outside import PUBLIC
from tests.meta.test_public_names import INSIDE, MADE

MODULES = sorted(set(PUBLIC) - {"mcp_ref.cli.main", "mcp_ref.__main__"})
"""Without the command line, whose options stand in another file."""
PLAIN = (bool, int, float, str, bytes, type(None))


def is_ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).split(".")[0] == "mcp_ref"


def shown(value: Any) -> str:
    """A default. Containers are shown with what is in them."""
    if isinstance(value, PLAIN):
        return repr(value)
    if type(value) in (tuple, list):
        inside = ", ".join(map(shown, value))
        return "(%s)" % inside if isinstance(value, tuple) else "[%s]" % inside
    return "..."


def parameters(function: Any) -> str:
    """The parameters of a function, "self" and "cls" left out, or "" where Python knows none."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return ""
    said: List[str] = []
    for number, each in enumerate(found):
        if number == 0 and each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and "*" not in said and not any(text.startswith("*") for text in said):
            said.append("*")
        if said and number and found[number - 1].kind is each.POSITIONAL_ONLY and each.kind is not each.POSITIONAL_ONLY:
            said.append("/")
        sign = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else "=" + shown(each.default)
        said.append(sign + each.name + default)
    return "(%s)" % ", ".join(said)


def fields(kind: Type[Any]) -> str:
    """The fields of a dataclass or a named tuple, with their defaults; "" for another class."""
    if dataclasses.is_dataclass(kind):
        return "(%s)" % ", ".join(
            each.name + ("=" + shown(each.default) if each.default is not dataclasses.MISSING else
                         "=..." if each.default_factory is not dataclasses.MISSING else "")
            for each in dataclasses.fields(kind) if each.init)
    names = getattr(kind, "_fields", None)
    if names is None:
        return ""
    defaults: Dict[str, Any] = getattr(kind, "_field_defaults", {})
    return "(%s)" % ", ".join(name + ("=" + shown(defaults[name]) if name in defaults else "") for name in names)


def made(kind: Type[Any]) -> str:
    """The parameters of a constructor, where the package defines it."""
    found = fields(kind)
    if found:
        return found
    for base in kind.__mro__:
        if "__init__" in vars(base) or "__new__" in vars(base):
            return parameters(vars(base).get("__init__") or vars(base)["__new__"]) if is_ours(base) else ""
    return ""


def members(kind: Type[Any]) -> Iterator[str]:
    """The public methods and properties of a class that are the package's, one a line."""
    names = {name for base in kind.__mro__ if is_ours(base) for name in vars(base)}
    own = kind.__name__.lower()
    if own in MADE:  # some names are for other parts of the package
        names = names.intersection(dir(MADE[own]())) - INSIDE[own]
    for name in sorted(names):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(kind, name)
        if isinstance(value, property) or inspect.isdatadescriptor(value):
            yield "." + name
        elif callable(getattr(value, "__func__", value)):
            yield ".%s%s%s" % (name, parameters(getattr(value, "__func__", value)), {
                staticmethod: "  static", classmethod: "  of the class"}.get(type(value), ""))


def public() -> str:
    """Every public name."""
    said: List[str] = []
    seen: Dict[int, str] = {}
    for module in MODULES:
        said += ["", module]
        for name, value in names_of(module):
            if isinstance(value, type) and seen.setdefault(id(value), module) != module:
                said.append("  class %s, as in %s" % (name, seen[id(value)]))
            else:
                said += ["  " + line for line in described(name, value)]
    return "\n".join(said[1:]) + "\n"


def names_of(module: str) -> List[Tuple[str, Any]]:
    """The public names of a module with their values."""
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None) or [
        name for name, value in vars(loaded).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module]
    return [(name, getattr(loaded, name)) for name in sorted(names)]


def described(name: str, value: Any) -> List[str]:
    if isinstance(value, type):
        return ["class %s%s" % (name, made(value))] + ["  " + line for line in members(value)]
    if callable(value) and is_ours(value):
        return [name + parameters(value)]
    return ["%s = %s" % (name, shown(value))]


def vocabulary() -> str:
    """Every message with its members and their defaults."""
    said: List[str] = []
    for page, names in sorted(messages.PAGES.items()):
        said += ["", page]
        for name in sorted(names):
            value = getattr(messages, name)
            said.append("  %s%s" % (name, fields(value) if isinstance(value, type) else ""))
    return "\n".join(said[1:]) + "\n"


def exceptions() -> str:
    """Every public exception with its bases, its parameters and what it has; then the codes of errors."""
    values = [value for module in MODULES for _, value in names_of(module)] + list(vars(errors).values())
    known = {value for value in values if isinstance(value, type) and issubclass(value, BaseException)}
    said = ["%s(%s)%s" % (each.__name__, ", ".join(base.__name__ for base in each.__bases__), made(each) and
                          "  made of " + made(each)) for each in sorted(known, key=lambda kind: kind.__name__)]
    codes = ["%d %s %s..%s" % (row.code, row.name, row.since or "", row.until or "")
             for row in sorted(errors.CODES.values())]
    return "\n".join([*said, "", *codes]) + "\n"


def limits() -> str:
    """Every limit with its default."""
    return "".join("%s = %r\n" % (each.name, getattr(Limits(), each.name)) for each in dataclasses.fields(Limits))


def loggers() -> str:
    """The names under which the package logs, by the calls of `get_logger` in it."""
    found = {"mcp_ref"}
    for path in python_files("mcp_ref"):
        if "get_logger(" in text_of(path):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
            for node in ast.walk(ast.parse(text_of(path))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "get_logger":
                    found.add(eval(compile(ast.Expression(node.args[0]), str(path), "eval"), vars(module)))
    return "".join(name + "\n" for name in sorted(found))
