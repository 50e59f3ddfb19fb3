"""Callables taken apart: parameters, defaults, annotations, and the names that annotations can use.

Most handlers are plain functions, whose code object says it all in about a microsecond. Anything else
(wrapped and partial functions, instances with ``__call__``, classes, builtins) goes to `inspect`, which
is thorough and slow, and loaded only then.
"""

import sys
from types import FunctionType, MethodType
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional

from .members import MISSING, Member, SignatureError

_VARIABLE = 0x04 | 0x08  # flags of a code object: takes *args, takes **kwargs
_ASYNCHRONOUS = 0x80 | 0x200  # is a coroutine function, an asynchronous generator function


class Parts(NamedTuple):
    """A callable taken apart. ``by_position``: names of parameters that cannot be given by name."""

    members: List[Member]
    by_position: List[str]
    returns: Any
    names: Mapping[str, Any]
    local: Mapping[str, Any]
    doc: Optional[str]


def take_apart(function: Callable[..., Any], name: str, explicit: bool) -> Parts:
    """The parameters of any callable. Raises SignatureError for those that no object of named arguments can fill."""
    plain: Any = function.__func__ if type(function) is MethodType else function
    if type(plain) is not FunctionType or "__wrapped__" in plain.__dict__ or "__signature__" in plain.__dict__:
        return _inspected(function, name, explicit)
    code = plain.__code__
    _check_flags(code.co_flags, name, explicit)
    count = code.co_argcount
    names = code.co_varnames[:count + code.co_kwonlyargcount]
    annotations, defaults = annotations_of(plain), plain.__kwdefaults__ or {}
    if plain.__defaults__:
        defaults = {**dict(zip(names[count - len(plain.__defaults__):count], plain.__defaults__)), **defaults}
    bound = 1 if plain is not function else 0
    if names[bound:bound + 1] == ("self",):
        text = "%s is a method without its object: make the object, and register that one's method, object.%s"
        raise SignatureError(text % (plain.__qualname__, name))
    members = []
    for parameter in names[bound:]:
        default = defaults.get(parameter, MISSING)
        members.append(Member(parameter, annotations.get(parameter, MISSING), default, default is MISSING))
    by_position = list(names[bound:code.co_posonlyargcount])
    return Parts(
        members, by_position, annotations.get("return", MISSING), plain.__globals__, _local_names(plain), plain.__doc__
    )


def annotations_of(thing: Any) -> Dict[str, Any]:
    """The annotations in the body of a class or function itself; names that mean nothing yet are a ForwardRef.

    From Python 3.14 on annotations are evaluated when somebody asks [PEP 649], and no longer kept in a class's dict.
    """
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(thing, format=annotationlib.Format.FORWARDREF)
    if isinstance(thing, type):
        own: Dict[str, Any] = thing.__dict__.get("__annotations__", {})
        return own
    return thing.__annotations__ or {}


def _check_flags(flags: int, name: str, explicit: bool) -> None:
    if flags & _ASYNCHRONOUS:
        raise SignatureError("%s is asynchronous; handlers are plain functions, each runs in a thread" % name)
    if flags & _VARIABLE and not explicit:
        star = "*args" if flags & 0x04 else "**kwargs"
        raise SignatureError("%s takes %s, which has no schema; name its parameters, or give a schema" % (name, star))


def _local_names(function: Any) -> Mapping[str, Any]:
    """Names of its type parameters, and of what the function uses from the functions around it."""
    found = {variable.__name__: variable for variable in getattr(function, "__type_params__", ())}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            pass  # not assigned yet
    return found


def _inspected(function: Callable[..., Any], name: str, explicit: bool) -> Parts:
    """The same by `inspect`: for wrapped functions, partial ones, instances with __call__, classes, builtins."""
    import inspect

    try:
        signature = _signature_of(function)
    except (TypeError, ValueError) as error:
        raise SignatureError("%s: its parameters are unknown (%s); wrap it in a function" % (name, error)) from None
    home = _home(function)
    _check_flags(home.__code__.co_flags & _ASYNCHRONOUS if home is not None else 0, name, explicit)
    empty, parameters = inspect.Parameter.empty, list(signature.parameters.values())
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL or parameter.kind is parameter.VAR_KEYWORD:
            _check_flags(0x04 if parameter.kind is parameter.VAR_POSITIONAL else 0x08, name, explicit)
    members = [
        Member(
            parameter.name, MISSING if parameter.annotation is empty else parameter.annotation,
            MISSING if parameter.default is empty else parameter.default, parameter.default is empty,
        )
        for parameter in parameters if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    by_position = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_ONLY]
    returns = MISSING if signature.return_annotation is empty else signature.return_annotation
    names, local = (home.__globals__, _local_names(home)) if home is not None else ({}, {})
    return Parts(members, by_position, returns, names, local, _doc(function, home))


def _signature_of(function: Callable[..., Any]) -> Any:
    """An `inspect.Signature` in which names that mean nothing yet are as `annotations_of` leaves them."""
    import inspect

    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def _home(function: Any) -> Any:
    """The plain function inside a callable, where there is one."""
    import inspect
    from functools import partial

    while True:
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, FunctionType):
            return inspect.unwrap(function)
        elif hasattr(function, "__func__"):
            function = function.__func__
        elif isinstance(function, type):
            function = vars(function).get("__init__")
        else:
            below = getattr(function, "__wrapped__", None) or getattr(type(function), "__call__", None)
            if not (isinstance(below, FunctionType) or hasattr(below, "__func__") or hasattr(below, "__wrapped__")):
                return None
            function = below


def _doc(function: Any, home: Any) -> Optional[str]:
    """A docstring of its own; that of `functools.partial` says nothing of the function."""
    if isinstance(function, FunctionType):
        return function.__doc__
    own = vars(function).get("__doc__") if hasattr(function, "__dict__") else None
    return own or getattr(home, "__doc__", None) or (None if hasattr(function, "func") else function.__doc__)


def by_name(function: Callable[..., Any], parts: Parts) -> Callable[..., Any]:
    """The same function, taking everything by name."""
    defaults = {member.name: member.default for member in parts.members}

    def values(keywords: Dict[str, Any]) -> Iterator[Any]:
        for name in parts.by_position:
            value = keywords.pop(name, defaults[name])
            if value is MISSING:
                raise TypeError("%s needs an argument %s" % (getattr(function, "__name__", "the function"), name))
            yield value

    def call(**keywords: Any) -> Any:
        return function(*list(values(keywords)), **keywords)

    return call
