"""From a Python function to what a tool, a prompt or a resource template needs.

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

The parameters become an object schema [.. server/tools §Tool]; `typeforms` says how. One parameter may
be the handler's context: the one annotated with the Context class, or called ``ctx`` and not annotated.
Clients never see it.

Parameters are looked at when the signature is made, so that a mistake shows at registration. Only an
annotation in a string that names something unknown is left until it is needed: it may be defined further
down. A docstring that describes parameters is read then, too, and the return annotation of a tool. Schemas wait for
their first use.
Registering costs about 10 µs for three plain parameters, since `inspect` is asked only about callables
that are no plain functions.

Results [2025-06-18.. server/tools §Structured Content] are text, and structured content too where that
says more than text:

=================================================  ===============================================
return annotation                                  structured content
=================================================  ===============================================
dataclass, TypedDict, NamedTuple, Dict             the object
number, bool, list, tuple, set, Optional of these  ``{"result": value}``
str, None, Any, content blocks, lists of anything  none, unless asked for by ``structured=True``
(``list``, ``List[Any]``), everything else
=================================================  ===============================================
"""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ...jsontext import dumps
from .coercion import coerce, types_of
from .functions import Parts, by_name, take_apart
from .members import (
    MISSING, BindError, Definitions, Form, HoldsMessage, Members, Schema, Scope, SignatureError, Unresolved, nullable,
)
from .typeforms import form_of, origin_of, special_name
from .values import BYTES, NO_TYPE, to_json

__all__ = ["BindError", "Signature", "SignatureError", "Unresolved", "to_json"]

_WRAPPED = frozenset(("number", "integer", "boolean", "array", "object", "null"))
"""JSON types that are worth being structured content."""

_DESCRIBING = ("Arg", "arg", "Param", "param", "PARAM", "ARG", "Attributes", "Keyword", "keyword", ":key", "@key")
"""One of these stands in every docstring that describes parameters."""


class Signature:
    """What clients are told of a function, and how it is called with what they send.

    ``structured``: whether results have structured content; None: see the module. ``explicit``: the arguments have a
    schema already, so the annotations of the parameters do not matter and ``*args``, ``**kwargs`` are allowed.
    ``context_types``: classes of the handler's context, by default that of this package.

    ``parameters`` are the names that clients may give, ``context_parameter`` is the one they may not, if there is one.
    ``call`` takes what `bind` made, by name, and also passes what the function takes by position only.

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
        self._parts = parts = take_apart(function, self.name, explicit)
        self.context_parameter = _context_among(parts, _default_types() if context_types is None else context_types)
        self._inputs = [member for member in parts.members if member.name != self.context_parameter]
        self.parameters = [member.name for member in self._inputs]
        self.call = by_name(function, parts) if parts.by_position else function
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
                pass  # perhaps defined later; told on first use

    def _compile(self) -> Members:
        scope = self._scope(self.name)
        self._members, self._definitions = Members(self._inputs, scope, "parameter %r"), scope.definitions
        return self._members

    def _check_docstring(self) -> None:
        """Raise SignatureError if the docstring describes a parameter that does not exist: a model would be misled."""
        if not any(word in (self._parts.doc or "") for word in _DESCRIBING):
            return  # as nearly always; taking it apart can wait
        names = [member.name for member in self._parts.members]
        for name in self._documented().parameters:
            if name not in names:
                raise SignatureError("%s: the docstring describes a parameter %r; the parameters are %s" % (
                    self.name, name, ", ".join(names) or "none"))

    def check_returned(self) -> None:
        """Raise SignatureError if the return annotation is of values that cannot be sent.

        One that cannot be resolved yet is left until it is needed.
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
        """The parameters, looked at now if that was left until later. Raises `Unresolved`."""
        return self._members or self._compile()

    def _scope(self, place: str, output: bool = False) -> Scope:
        return Scope(place, form_of, self._parts.names, self._parts.local, output)

    # What clients are told

    @property
    def description(self) -> Optional[str]:
        """What the docstring says of the function as a whole."""
        return self._documented().description or None

    @property
    def required(self) -> List[str]:
        """Names of the parameters that clients must give. Raises `Unresolved`."""
        return self.resolve().required

    @property
    def input_schema(self) -> Schema:
        """The schema of the arguments, the same object each time. Raises `Unresolved`."""
        if self._schema is None:
            members = self.resolve()
            self._schema = self._definitions.closed(members.schema(self._documented().parameters))
        return self._schema

    def choices(self, name: str) -> Optional[List[str]]:
        """The values of a parameter whose annotation lists them (Literal, Enum, bool), as text; None: it does not."""
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
        """The schema of the structured content; None where results have none."""
        found = self._result  # asked for at each call
        return self._returned()[0] if found is None else found[0]

    def _returned(self) -> Tuple[Optional[Schema], bool]:
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
        """The output schema, and whether results are wrapped. Raises SignatureError for what JSON cannot hold."""
        annotation, wanted = self._parts.returns, self._structured
        if not wanted and annotation in (MISSING, None, str):
            return None, False
        scope = self._scope("%s: return value" % self.name, output=True)
        try:
            form = form_of(annotation, scope)
        except HoldsMessage:
            if wanted:
                raise
            return None, False  # content blocks, say, which are sent as they are
        schema, wrapped = (None, False) if wanted is False else _result_of(form, bool(wanted))
        return schema if schema is None else scope.definitions.closed(schema), wrapped

    # What clients send

    def bind(self, arguments: Dict[str, Any]) -> Dict[str, Any]:
        """Keyword arguments for the function, from arguments that fit the input schema; the same dict if all are alike.

        Raises `BindError`, a ValueError whose text is meant for the client, where a value cannot be made: 31 February.
        """
        return self.resolve().bind(arguments)

    def coerce(self, arguments: Dict[str, Any]) -> Tuple[Dict[str, Any], List[str]]:
        """Arguments that do not fit, mended where that is possible, and what was mended; see `coercion`."""
        return coerce(arguments, self.input_schema)

    # What they get

    def to_structured(self, value: Any) -> Any:
        """The structured content of a returned value; only where there is an output schema. Raises ValueError."""
        return {"result": to_json(value)} if self._returned()[1] else to_json(value)


def _result_of(form: Form, wanted: bool) -> Tuple[Optional[Schema], bool]:
    """The output schema for results of this form; an object schema at the root is what all revisions take."""
    if form.schema.get("type") == "object" and not form.optional:
        return form.schema, False
    if not wanted and not (form.schema and types_of(form.schema) <= _WRAPPED):
        return None, False
    if not wanted and (types_of(form.schema) == {"null"} or form.schema.get("items") == {}):
        return None, False
    result = nullable(form.schema) if form.optional else form.schema
    return {"type": "object", "properties": {"result": result}, "required": ["result"]}, True


# The context

def _default_types() -> Sequence[type]:
    from ...peer.context import Context

    return (Context,)


def _context_among(parts: Parts, types: Sequence[type]) -> Optional[str]:
    """The parameter that takes the context. Raises SignatureError if there are two."""
    found = [
        member.name for member in parts.members
        if (member.name == "ctx" if member.annotation is MISSING else _is_context(member.annotation, parts, types))
    ]
    if len(found) > 1:
        raise SignatureError("both %s and %s take the context" % (found[0], found[1]))
    return found[0] if found else None


def _is_context(annotation: Any, parts: Parts, types: Sequence[type]) -> bool:
    """Whether an annotation is one of the classes or a subclass, also as a string, in Optional or with arguments."""
    if type(annotation) is type:
        return issubclass(annotation, tuple(types))
    if isinstance(annotation, str) or hasattr(annotation, "__forward_arg__"):
        text = getattr(annotation, "__forward_arg__", annotation)
        if not any(cls.__name__ in text for cls in types):
            return False
        try:
            found = Scope("", form_of, parts.names, parts.local).evaluate(annotation)
        except SignatureError:  # imported for the type checker only: the name has to do
            return text.rpartition(".")[2] in [cls.__name__ for cls in types]
        return _is_context(found, parts, types)
    if special_name(annotation) in ("Union", "UnionType", "Optional") or hasattr(annotation, "__metadata__"):
        inner = (annotation.__origin__,) if hasattr(annotation, "__metadata__") else annotation.__args__
        return any(_is_context(arg, parts, types) for arg in inner)
    origin = origin_of(annotation)
    return isinstance(origin, type) and issubclass(origin, tuple(types))
