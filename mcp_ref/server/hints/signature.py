"""The signature of a Python function as a tool, a prompt or a resource template needs it.

>>> def forecast(city: str, days: int = 3) -> str:
...     '''What the weather will be.
...
...     Args:
...         city: where
...     '''
>>> signature = Signature(forecast)
>>> signature.description
'What the weather will be.'
>>> signature.input_schema["properties"]["city"]
{'type': 'string', 'description': 'where'}
>>> signature.required, signature.bind({"city": "Rome"})
(['city'], {'city': 'Rome'})

The parameters become an object schema [.. server/tools §Tool] by the table in `typeforms`. One parameter may
be the handler's context: the one annotated with the Context class, or called ``ctx`` and not annotated.
Clients never see it.

Parameters are examined when the signature is made, so that a mistake raises at registration. Only an
annotation in a string with an unknown name is left until it is needed: it may be defined further
down. A docstring that describes parameters is parsed then, too, and so is the return annotation of a tool. Schemas are
made at their first use.
Registering costs about 10 µs for three plain parameters, since `inspect` is used only for callables
that are no plain functions.

Results [2025-06-18.. server/tools §Structured Content] are text, and structured content too if that
has more information than text:

=================================================  ===============================================
return annotation                                  structured content
=================================================  ===============================================
dataclass, TypedDict, NamedTuple, Dict             the object
number, bool, list, tuple, set, Optional of these  ``{"result": value}``
str, None, Any, content blocks, lists of anything  none, unless asked for by ``structured=True``
(``list``, ``List[Any]``), everything else
=================================================  ===============================================
"""

import sys
from types import FunctionType, MethodType
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...jsontext import dumps
from .members import (
    MISSING, BindError, Definitions, HintedName, HintScope, HoldsMessage, Members, Schema, SignatureError, TypeForm,
    Unresolved, annotations_of, nullable,
)
from .typeforms import form_of, origin_of, special_name
from .values import BYTES, NO_TYPE, coerce, to_json, types_of

__all__ = ["BindError", "Signature", "SignatureError", "Unresolved", "to_json"]

_WRAPPED = frozenset(("number", "integer", "boolean", "array", "object", "null"))
"""JSON types of results that have structured content; strings alone have none."""

_VARIABLE = 0x04 | 0x08  # flags of a code object: takes *args, takes **kwargs
_ASYNCHRONOUS = 0x80 | 0x200  # is a coroutine function, an asynchronous generator function
_DESCRIBING = ("arg", "param", "attributes", "keyword", ":key", "@key")
"""Words in lower case, of which every docstring that describes parameters has one."""


class Signature:
    """The description of a function for clients, and the way to call it with JSON arguments.

    ``structured``: True if results have structured content; None: see the module. ``explicit``: the arguments have a
    schema already, so the annotations of the parameters do not matter and ``*args``, ``**kwargs`` are allowed.
    ``context_types``: classes of the handler's context, by default that of this package.

    ``parameters`` are the names that clients may send, ``context_parameter`` is the parameter for the context, if there
    is one. ``call`` takes the result of `bind` by name, also for parameters that the function takes by position only.

    Raises SignatureError, a TypeError, for parameters that have no JSON form.
    """

    __slots__ = (
        "function", "call", "name", "parameters", "context_parameter",
        "_parts", "_inputs", "_members", "_definitions", "_structured", "_docs", "_schema", "_result",
    )

    def __init__(
        self, function: Callable[..., Any], structured: Optional[bool] = None, explicit: bool = False,
        context_types: Optional[Sequence[type]] = None,
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self._parts = parts = function_parts(function, self.name, explicit)
        if context_types is None:
            from ...peer.context import Context

            context_types = (Context,)
        self.context_parameter = _context_among(parts, context_types)
        self._inputs = [member for member in parts.members if member.name != self.context_parameter]
        self.parameters = [member.name for member in self._inputs]
        self.call = taking_names(function, parts) if parts.by_position else function
        self._structured = structured
        self._members: Optional[Members] = None
        self._definitions = Definitions()
        self._docs: Any = None
        self._schema: Optional[Schema] = None
        self._result: Optional[Tuple[Optional[Schema], bool]] = None
        if not explicit:
            self._check_docstring()
            try:
                self._compile()
            except Unresolved:
                pass  # the name may be defined later; the first use raises if it is not

    def _compile(self) -> Members:
        scope = self._scope(self.name)
        self._members, self._definitions = Members(self._inputs, scope, "parameter %r"), scope.definitions
        return self._members

    def _check_docstring(self) -> None:
        """Raise SignatureError if the docstring describes a parameter that does not exist: a model would be misled."""
        if not self._describes_parameters():
            return  # as nearly always; parsing it can wait
        names = [member.name for member in self._parts.members]
        for name in self._documented().parameters:
            if name not in names:
                raise SignatureError("%s: the docstring describes a parameter %r; the parameters are %s" % (
                    self.name, name, ", ".join(names) or "none"))

    def _describes_parameters(self) -> bool:
        """True if the docstring may describe parameters, by the words that all such docstrings contain."""
        text = (self._parts.doc or "").lower()
        return any(word in text for word in _DESCRIBING)

    def check_returned(self) -> None:
        """Raise SignatureError if values of the return annotation cannot be sent.

        An annotation that cannot be resolved yet is left until it is needed.
        """
        annotation = self._parts.returns
        if annotation in (MISSING, None, str) or special_name(annotation) in ("NoReturn", "Never"):
            return
        if annotation in BYTES:
            raise SignatureError("%s: return value: %s" % (self.name, NO_TYPE))
        try:
            self._result = self._find_result()
        except Unresolved:
            pass

    def resolve(self) -> Members:
        """Return the parameters with their forms, made now if that was left until later. Raises `Unresolved`."""
        return self._members or self._compile()

    def _scope(self, place: str, output: bool = False) -> HintScope:
        return HintScope(place, form_of, self._parts.names, self._parts.local, output)

    # The description for clients

    @property
    def description(self) -> Optional[str]:
        """The description of the function in its docstring; None if it has none."""
        return self._documented().description or None

    @property
    def required(self) -> List[str]:
        """The names of the parameters that clients must send. Raises `Unresolved`."""
        return self.resolve().required

    @property
    def input_schema(self) -> Schema:
        """The schema of the arguments, the same object each time. Raises `Unresolved`."""
        if self._schema is None:
            members = self.resolve()
            texts = self._documented().parameters if self._describes_parameters() else {}
            self._schema = self._definitions.closed(members.schema(texts))
        return self._schema

    def choices(self, name: str) -> Optional[List[str]]:
        """Return the values of a parameter whose annotation lists them (Literal, Enum, bool), as text; else None."""
        try:
            forms = self.resolve().forms
        except Unresolved:
            return None
        for member, form in forms:
            if member.name == name:
                words = form.schema.get("enum", [False, True] if form.schema.get("type") == "boolean" else None)
                return words and [word if isinstance(word, str) else dumps(word) for word in words]
        return None

    @property
    def output_schema(self) -> Optional[Schema]:
        """The schema of the structured content; None if results have none."""
        return self.returned()[0]

    def returned(self) -> Tuple[Optional[Schema], bool]:
        """Return the schema of the structured content, None if results have none, and True if it holds the returned
        value under ``result``."""
        if self._result is None:
            try:
                self._result = self._find_result()
            except Unresolved as error:
                if self._structured:
                    raise
                from ...diagnostics.packagelog import get_logger

                get_logger(__name__).warning("no structured content: %s", error)
                self._result = None, False
        return self._result

    def _documented(self) -> Any:
        if self._docs is None:
            from .docstrings import parse

            self._docs = parse(self._parts.doc)
        return self._docs

    def _find_result(self) -> Tuple[Optional[Schema], bool]:
        """Return the output schema, and True if results are wrapped. Raises SignatureError for types without JSON form.
        """
        annotation, wanted = self._parts.returns, self._structured
        if not wanted and annotation in (MISSING, None, str):
            return None, False
        scope = self._scope("%s: return value" % self.name, output=True)
        try:
            form = form_of(annotation, scope)
        except HoldsMessage:
            if wanted:
                raise
            return None, False  # such as content blocks, which are sent as they are
        schema, wrapped = (None, False) if wanted is False else _result_of(form, bool(wanted))
        return schema if schema is None else scope.definitions.closed(schema), wrapped

    # The arguments

    def bind(self, arguments: Dict[str, Any]) -> Dict[str, Any]:
        """Return keyword arguments for the function from arguments that fit the schema; the same dict if all are equal.

        Raises `BindError`, a ValueError whose text is meant for the client, if a value cannot be made: 31 February.
        """
        return (self._members or self._compile()).bind(arguments)

    def coerce(self, arguments: Dict[str, Any]) -> Tuple[Dict[str, Any], List[str]]:
        """Return arguments that do not fit, repaired as far as possible, and a line for each repair."""
        return coerce(arguments, self.input_schema)


def _result_of(form: TypeForm, wanted: bool) -> Tuple[Optional[Schema], bool]:
    """Return the output schema for results of this form, and True if they are wrapped.

    The root is an object, which all revisions accept.
    """
    if form.schema.get("type") == "object" and not form.optional:
        return form.schema, False
    if not wanted and not (form.schema and types_of(form.schema) <= _WRAPPED):
        return None, False
    if not wanted and (types_of(form.schema) == {"null"} or form.schema.get("items") == {}):
        return None, False
    result = nullable(form.schema) if form.optional else form.schema
    return {"type": "object", "properties": {"result": result}, "required": ["result"]}, True


# A callable taken apart

class FunctionParts(NamedTuple):
    """The parts of a callable. ``by_position``: names of parameters that cannot be passed by name.

    ``names`` and ``local``: the global and local names that its annotations can use.
    """

    members: List[HintedName]
    by_position: List[str]
    returns: Any
    names: Mapping[str, Any]
    local: Mapping[str, Any]
    doc: Optional[str]


def function_parts(function: Callable[..., Any], name: str, explicit: bool) -> FunctionParts:
    """Return the parts of any callable. Raises SignatureError if its arguments cannot all be passed by name.

    The code object of a plain function has everything, in about a microsecond. Wrapped and partial functions, instances
    with ``__call__``, classes and builtins go to `inspect`, which is slow to load.
    """
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
        members.append(HintedName(parameter, annotations.get(parameter, MISSING), default, default is MISSING))
    by_position = list(names[bound:code.co_posonlyargcount])
    return FunctionParts(
        members, by_position, annotations.get("return", MISSING), plain.__globals__, _local_names(plain), plain.__doc__
    )


def _check_flags(flags: int, name: str, explicit: bool) -> None:
    if flags & _ASYNCHRONOUS:
        text = "%s is asynchronous; handlers are plain functions, each call in a thread of its own. For what is" \
               " asynchronous: def %s(...): return asyncio.run(the_coroutine(...))"
        raise SignatureError(text % (name, name.rpartition(".")[2]))
    if flags & _VARIABLE and not explicit:
        star = "*args" if flags & 0x04 else "**kwargs"
        raise SignatureError("%s takes %s, which has no schema; name its parameters, or give a schema" % (name, star))


def _local_names(function: Any) -> Mapping[str, Any]:
    """Return the type parameters of a function and the variables of enclosing functions, by name."""
    found = {variable.__name__: variable for variable in getattr(function, "__type_params__", ())}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            pass  # not assigned yet
    return found


def _inspected(function: Callable[..., Any], name: str, explicit: bool) -> FunctionParts:
    """Return the parts of a callable that is no plain function, by `inspect`."""
    import inspect
    from functools import partial

    try:
        signature = _signature_of(function)
    except (TypeError, ValueError) as error:
        raise SignatureError("%s: its parameters are unknown (%s); wrap it in a function" % (name, error)) from None
    home = _home(function)
    _check_flags(home.__code__.co_flags & _ASYNCHRONOUS if home is not None else 0, name, explicit)
    # What `functools.partial` has bound by name could be given another value: clients neither see nor set it.
    bound = function.keywords if isinstance(function, partial) else {}
    empty, parameters = inspect.Parameter.empty, [
        parameter for name, parameter in signature.parameters.items() if name not in bound]
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL or parameter.kind is parameter.VAR_KEYWORD:
            _check_flags(0x04 if parameter.kind is parameter.VAR_POSITIONAL else 0x08, name, explicit)
    members = [
        HintedName(
            parameter.name, MISSING if parameter.annotation is empty else parameter.annotation,
            MISSING if parameter.default is empty else parameter.default, parameter.default is empty,
        )
        for parameter in parameters if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    by_position = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_ONLY]
    returns = MISSING if signature.return_annotation is empty else signature.return_annotation
    names, local = (home.__globals__, _local_names(home)) if home is not None else ({}, {})
    return FunctionParts(members, by_position, returns, names, local, _doc(function, home))


def _signature_of(function: Callable[..., Any]) -> Any:
    """Return the `inspect.Signature`, with undefined names in annotations as `annotations_of` leaves them."""
    import inspect

    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def _home(function: Any) -> Any:
    """Return the plain function inside a callable; None if there is none."""
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
    """Return the docstring of a callable or of its function; not the one of `functools.partial`."""
    if isinstance(function, FunctionType):
        return function.__doc__
    own = vars(function).get("__doc__") if hasattr(function, "__dict__") else None
    return own or getattr(home, "__doc__", None) or (None if hasattr(function, "func") else function.__doc__)


def taking_names(function: Callable[..., Any], parts: FunctionParts) -> Callable[..., Any]:
    """Return a function that takes all arguments by name and calls this one."""
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


# Validation

class LazyValidator:
    """A schema's validator that is compiled for the first value; ``schema`` is a function that returns the schema.

    ``validate`` returns the violations of the schema, [] for a valid value. It raises `SchemaError` for an invalid
    schema and `BoundsExceeded` for a value whose validation takes too long.

    The validator library costs more to load than the rest of a server, and many tools are never called in a session.
    Tools, prompts and resource templates each have one of these. Threads may share it: at worst two of them compile
    the same schema.
    """

    __slots__ = ("_schema", "validate")

    def __init__(self, schema: Callable[[], Any]) -> None:
        self._schema = schema
        self.validate: Callable[[Any], List[Any]] = self._compile

    def _compile(self, value: Any) -> List[Any]:
        """Validate the first value; from then on ``validate`` is the compiled schema's."""
        from ...jsonschema import compile

        self.validate = compile(self._schema()).validate
        return self.validate(value)


# The context

def _context_among(parts: FunctionParts, types: Sequence[type]) -> Optional[str]:
    """Return the name of the parameter that takes the context, if any. Raises SignatureError if there are two."""
    found = [
        member.name for member in parts.members
        if (member.name == "ctx" if member.annotation is MISSING else _is_context(member.annotation, parts, types))
    ]
    if len(found) > 1:
        raise SignatureError("both %s and %s take the context" % (found[0], found[1]))
    return found[0] if found else None


def _is_context(annotation: Any, parts: FunctionParts, types: Sequence[type]) -> bool:
    """Return True for one of the classes or a subclass, also as a string, in Optional or with type arguments."""
    if type(annotation) is type:
        return issubclass(annotation, tuple(types))
    if isinstance(annotation, str) or hasattr(annotation, "__forward_arg__"):
        text = getattr(annotation, "__forward_arg__", annotation)
        if not any(cls.__name__ in text for cls in types):
            return False
        try:
            found = HintScope("", form_of, parts.names, parts.local).evaluate(annotation)
        except SignatureError:  # it is imported for type checkers only: compare names
            return text.rpartition(".")[2] in [cls.__name__ for cls in types]
        return _is_context(found, parts, types)
    if special_name(annotation) in ("Union", "UnionType", "Optional") or hasattr(annotation, "__metadata__"):
        inner = (annotation.__origin__,) if hasattr(annotation, "__metadata__") else annotation.__args__
        return any(_is_context(arg, parts, types) for arg in inner)
    origin = origin_of(annotation)
    return isinstance(origin, type) and issubclass(origin, tuple(types))
