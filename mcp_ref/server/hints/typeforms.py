"""JSON schemas and readers of Python annotations.

`form_of` turns an annotation into a `TypeForm`: the JSON Schema that describes its values, and the reader
that makes them from JSON that fits the schema. That happens once, when a function is registered.

=======================================  =================================================================
annotation                               schema
=======================================  =================================================================
str, int, float, bool                    ``type``
Any, object, none at all                 ``{}``
Optional[X] of a parameter or field      that of X, not required (an element: ``null`` among its types)
Union[X, Y]                              a list of types, or ``anyOf`` where that does not say it all
Literal, Enum                            ``enum``
List[X], Sequence[X], Iterable[X]        ``array`` with ``items``; sets have ``uniqueItems`` too
Tuple[X, Y], Tuple[X, ...]               ``array`` of that length; of any length
Dict[str, X], Mapping[str, X]            ``object`` with ``additionalProperties``
dataclass, TypedDict, NamedTuple         ``object``, written out in place
Flag                                     ``array`` of the names of the members that are set
bytes                                    base64 string
datetime, date, time, timedelta, UUID,   string, with ``format`` where there is one; a timedelta is an ISO 8601
Path, IPv4Address, IPv6Address           duration of weeks, days, hours, minutes and seconds
Decimal                                  string or number; a string in output
a class with ``model_json_schema``,      the result of the first; the others read and write (pydantic's models have
``model_validate`` and ``model_dump``    these methods)
NewType, TypeVar, Annotated[X, ...]      that of X; a string in Annotated is the description, a dict more keywords
=======================================  =================================================================

Schemas of classes are written out in place, because many clients refuse a ``$ref`` and an ``anyOf`` with null. Only a
class or alias that contains itself has a definition in ``$defs``, and a ``$ref`` inside itself. A generic class
may have arguments: ``Page[Item]``. Input is closed
(``additionalProperties: false``), so that a misspelt name is an error for the model; output is open, its
optional members may be null, and all of them are required since they are always sent.

Reading: ``X | Y`` and ``list[X]`` work where the interpreter has them, in strings too.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import collections.abc
import enum
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ...jsonrpc import json_type
from ...model import Model
from .members import (
    MISSING, PLAIN, BindError, Definitions, HintedName, HintScope, HoldsMessage, Members, Reader, Schema, TypeForm,
    annotations_of, described, read_at,
)
from .values import describes_itself, enum_word, flag_names, qualified_name, types_of

_NoneType = type(None)


# From an annotation to a form

def form_of(annotation: Any, scope: HintScope) -> TypeForm:
    """Return the form of an annotation. Raises SignatureError if it has no JSON form, `Unresolved` for unknown names.
    """
    try:
        plain = PLAIN.get(annotation)
    except TypeError:  # not hashable
        plain = None
    if plain is not None:
        return plain
    if isinstance(annotation, str) or hasattr(annotation, "__forward_arg__"):
        return form_of(scope.evaluate(annotation), scope)
    if hasattr(annotation, "__metadata__"):
        return _annotated(annotation, scope)
    origin, args = origin_of(annotation), getattr(annotation, "__args__", ())
    if isinstance(origin, type) and origin in _GENERIC:
        return _GENERIC[origin](origin, args, scope)
    special = _SPECIAL.get(special_name(annotation))
    if special is not None:
        return special(annotation, args, scope)
    if hasattr(annotation, "__supertype__"):
        return form_of(annotation.__supertype__, scope)
    if isinstance(origin, type):
        scope = scope.binding(_variables_of(origin, args, scope))
        for test, make in _CLASSES:
            if test(origin):
                return make(origin, scope)
    raise scope.error("%s has no JSON form; use another annotation, or give an explicit schema" % _shown(annotation))


def _variables_of(cls: Any, args: Sequence[Any], scope: HintScope) -> Dict[Any, TypeForm]:
    """Return the forms of the type variables of a class and of its bases: ``Page[int]``, ``class Pages(Page[int])``."""
    variables = getattr(cls, "__parameters__", None) or ()
    found = {variable: scope.element(arg) for variable, arg in zip(variables, args or map(_unbound, variables))}
    for base in cls.__dict__.get("__orig_bases__", ()):
        origin = origin_of(base)
        if isinstance(origin, type) and getattr(origin, "__parameters__", None):
            found = {**_variables_of(origin, base.__args__, scope.with_names_of(cls).binding(found)), **found}
    return found


def origin_of(annotation: Any) -> Any:
    """Return ``list`` for ``List[int]``; the annotation itself if it has no arguments."""
    return getattr(annotation, "__origin__", annotation)


def special_name(annotation: Any) -> str:
    """Return the name of a special form of `typing`, `typing_extensions` or the interpreter."""
    return getattr(origin_of(annotation), "_name", None) or type(annotation).__name__


def _shown(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else repr(annotation)[:200]


# Special forms: (annotation, its arguments, scope) -> form

def _annotated(annotation: Any, scope: HintScope) -> TypeForm:
    """Return the form of an ``Annotated``: a string, or an object's ``description`` or ``documentation``, is the
    description; a dict adds keywords of JSON Schema."""
    form = form_of(annotation.__origin__, scope)
    for extra in annotation.__metadata__:
        if isinstance(extra, dict):
            form = form._replace(schema={**form.schema, **extra})
            continue
        text = getattr(extra, "description", None) or getattr(extra, "documentation", extra)
        if isinstance(text, str):
            form = form._replace(description=text)
    return form


def _union(annotation: Any, args: Sequence[Any], scope: HintScope) -> TypeForm:
    optional = _NoneType in args or None in args
    forms = [form_of(arg, scope) for arg in args if arg is not _NoneType and arg is not None]
    optional = optional or any(form.optional for form in forms)
    if len(forms) == 1:
        return forms[0]._replace(optional=optional)
    schemas = [described(form) for form in forms]
    read = None if all(form.read is None for form in forms) else _first_fitting(forms, scope.definitions)
    return TypeForm(_either(schemas), read, None, optional)


def _either(schemas: List[Schema]) -> Schema:
    """Return one schema that allows the values of all of these."""
    if {} in schemas:
        return {}
    different = [schema for at, schema in enumerate(schemas) if schema not in schemas[:at]]
    if {"type": "number"} in different and {"type": "integer"} in different:
        different.remove({"type": "integer"})
    if len(different) == 1:
        return different[0]
    if all(list(schema) == ["type"] and isinstance(schema["type"], str) for schema in different):
        return {"type": [schema["type"] for schema in different]}
    return {"anyOf": different}


def _first_fitting(forms: Sequence[TypeForm], definitions: Definitions) -> Reader:
    """Return a reader that uses the first choice which the value fits; it validates only if the type leaves several."""
    choices = [(form, types_of(form.schema) if form.schema and "$ref" not in form.schema else None) for form in forms]
    checks: Dict[int, Any] = {}

    def fits(form: TypeForm, value: Any) -> bool:
        check = checks.get(id(form))
        if check is None:
            from ...jsonschema import compile

            check = checks[id(form)] = compile(definitions.closed(form.schema)).is_valid
        return bool(check(value))

    def read(value: Any) -> Any:
        kind = json_type(value)
        kinds = {kind, "integer"} if kind == "number" and value.is_integer() else {kind}
        kinds = kinds | {"number"} if kind == "integer" else kinds
        fitting = [form for form, types in choices if types is None or types & kinds]
        if len(fitting) > 1:
            fitting = [form for form in fitting if fits(form, value)]
        failure: Exception = BindError("fits none of the choices")
        for form in fitting:
            try:
                return value if form.read is None or type(value) is form.exact else form.read(value)
            except Exception as error:
                failure = error
        raise failure

    return read


def _literal(annotation: Any, args: Sequence[Any], scope: HintScope) -> TypeForm:
    words: Dict[Any, Any] = {}
    for value in _flat(args):
        word = enum_word(value) if isinstance(value, enum.Enum) else value
        if type(word) not in (str, int, bool, _NoneType):
            raise scope.error("Literal value %r has no JSON form" % (value,))
        words[type(word), word] = value  # the type distinguishes True from 1
    optional = words.pop((_NoneType, None), MISSING) is None
    read = None
    if any(isinstance(value, enum.Enum) for value in words.values()):
        read = lambda word: words[type(word), word]  # noqa: E731
    return TypeForm(_one_of([word for _, word in words]), read, None, optional)


def _flat(args: Sequence[Any]) -> List[Any]:
    """Return the values of a Literal, and of Literals inside it, which Python 3.8 does not flatten."""
    return [value for arg in args for value in (_flat(arg.__args__) if hasattr(arg, "__origin__") else [arg])]


def _one_of(words: List[Any]) -> Schema:
    types = list(dict.fromkeys(map(json_type, words)))
    return {"type": types[0] if len(types) == 1 else types, "enum": words}


def _wrapped(annotation: Any, args: Sequence[Any], scope: HintScope) -> TypeForm:
    return form_of(args[0], scope)


def _unbound(variable: Any) -> Any:
    """Return the annotation that a type variable without an argument stands for."""
    if variable.__constraints__:
        return Union[variable.__constraints__]
    return Any if variable.__bound__ is None else variable.__bound__


def _variable(annotation: Any, args: Sequence[Any], scope: HintScope) -> TypeForm:
    if annotation in scope.variables:
        return scope.variables[annotation]
    return form_of(_unbound(annotation), scope)


def _alias(annotation: Any, args: Sequence[Any], scope: HintScope) -> TypeForm:
    if annotation in scope.inside:
        return scope.definitions.refer(annotation, annotation.__name__)
    return scope.definitions.define(annotation, form_of(annotation.__value__, scope.into(annotation, annotation)))


# Generic classes: (class, its arguments, scope) -> form

def _array(origin: type, args: Sequence[Any], scope: HintScope) -> TypeForm:
    item = scope.element(args[0]) if args else TypeForm({})
    schema: Schema = {"type": "array", "items": item.schema}
    make = _ARRAYS[origin]
    if issubclass(make, (set, frozenset)) and not scope.output:
        schema["uniqueItems"] = True
    return TypeForm(schema, _items_reader(item, make))


def _items_reader(item: TypeForm, make: Any) -> Optional[Reader]:
    """Return a reader of arrays; None if there is nothing to convert. Items that need no reading are checked in C."""
    read, exact = item.read, {item.exact}
    if read is None:
        return None if make is list else make

    def read_items(values: List[Any]) -> Any:
        if exact.issuperset(map(type, values)):
            return values if make is list else make(values)
        return make([read_at(at, read, value) for at, value in enumerate(values)])

    return read_items


def _tuple(origin: type, args: Sequence[Any], scope: HintScope) -> TypeForm:
    if args == ((),):  # Tuple[()] in Python 3.8 to 3.10
        args = ()
    if not args or args[-1] is Ellipsis:
        item = scope.element(args[0]) if args else TypeForm({})
        return TypeForm({"type": "array", "items": item.schema}, _items_reader(item, tuple))
    items = [scope.element(arg) for arg in args]
    schema: Schema = {"type": "array"}
    if all(item.schema == items[0].schema for item in items):
        schema["items"] = items[0].schema  # more clients know this than prefixItems
    else:
        schema["prefixItems"] = [item.schema for item in items]
    schema.update(minItems=len(items), maxItems=len(items))
    readers = [item.read or (lambda value: value) for item in items]
    return TypeForm(schema, lambda values: tuple(read_at(at, readers[at], value) for at, value in enumerate(values)))


def _mapping(origin: type, args: Sequence[Any], scope: HintScope) -> TypeForm:
    if not args:
        return TypeForm({"type": "object"})
    key, value = form_of(args[0], scope), scope.element(args[1])
    schema: Schema = {"type": "object"}
    if not scope.output:
        if types_of(key.schema) != {"string"} and key.schema:
            raise scope.error("the keys of a JSON object are strings, not %s" % _shown(args[0]))
        if "enum" in key.schema:
            schema["propertyNames"] = {"enum": key.schema["enum"]}
    if value.schema:
        schema["additionalProperties"] = value.schema
    read, read_key = value.read, key.read
    if read is None and read_key is None:
        return TypeForm(schema)
    of, to = read or (lambda item: item), read_key or (lambda name: name)
    return TypeForm(schema, lambda members: {
        read_at(name, to, name): read_at(name, of, member) for name, member in members.items()
    })


# Classes: (class, scope) -> form

def _enumeration(cls: Any, scope: HintScope) -> TypeForm:
    members = {enum_word(member): member for member in cls}
    if not members:
        raise scope.error("%s has no members" % cls.__name__)
    return TypeForm(_one_of(list(members)), members.__getitem__)


def _flags(cls: Any, scope: HintScope) -> TypeForm:
    from functools import reduce
    from operator import or_

    names = flag_names(cls)
    if not names:
        raise scope.error("%s has no members" % cls.__name__)
    schema: Schema = {"type": "array", "items": {"type": "string", "enum": list(names)}}
    if not scope.output:
        schema["uniqueItems"] = True
    return TypeForm(schema, lambda words: reduce(or_, [names[word] for word in words], cls(0)))


def _dataclass(cls: Any, scope: HintScope) -> TypeForm:
    import dataclasses

    members, texts = [], {}
    for field in dataclasses.fields(cls):
        if not field.init and not scope.output:
            continue
        factory: Any = field.default_factory
        default = MISSING if field.default is dataclasses.MISSING else field.default
        if factory in (list, dict, set, tuple, frozenset):
            default = factory()
        needed = scope.output or field.default is dataclasses.MISSING and factory is dataclasses.MISSING
        members.append(HintedName(field.name, field.type, default, needed, _owner(cls, field.name)))
        if "description" in field.metadata:
            texts[field.name] = str(field.metadata["description"])
    return _object(cls, members, scope, cls, texts)


def _owner(cls: Any, name: str) -> Any:
    """Return the class whose body has the annotation of a member."""
    return next((base for base in cls.__mro__ if name in annotations_of(base)), cls)


def _named_tuple(cls: Any, scope: HintScope) -> TypeForm:
    annotations = next(annotations_of(base) for base in cls.__mro__ if "_fields" in base.__dict__)
    defaults = cls._field_defaults
    members = [
        HintedName(
            name, annotations.get(name, MISSING), defaults.get(name, MISSING), scope.output or name not in defaults)
        for name in cls._fields
    ]
    return _object(cls, members, scope, cls, {})


def _typed_dict(cls: Any, scope: HintScope) -> TypeForm:
    """Return the form of a TypedDict. In Python 3.8, which does not separate the keys of bases, the ``total`` of the
    class holds for all keys."""
    annotations = annotations_of(cls)
    required = getattr(cls, "__required_keys__", annotations if cls.__total__ else ())
    inside = scope.with_names_of(cls)
    members = []
    for name, annotation in annotations.items():
        if isinstance(annotation, str) or hasattr(annotation, "__forward_arg__"):
            annotation = inside.at("member %s" % name).evaluate(annotation)
        said = special_name(annotation)
        needed = said == "Required" or said != "NotRequired" and name in required
        members.append(HintedName(name, annotation, MISSING, needed))
    return _object(cls, members, scope, dict, {})


def _object(
    cls: Any, members: List[HintedName], scope: HintScope, build: Callable[..., Any], texts: Mapping[str, str]
) -> TypeForm:
    """Return the form of an object with these members, described by the docstring of the class unless Python made it.
    """
    from .docstrings import parse

    key = scope.key(cls)
    if key in scope.inside:
        return scope.definitions.refer(key, cls.__name__)
    own = cls.__dict__.get("__doc__") or ""
    documented = parse("" if own.startswith(cls.__name__ + "(") else own)
    inner = Members(members, scope.into(cls, key), "member %s")
    schema = inner.schema({**documented.parameters, **texts})
    if documented.description:
        schema["description"] = documented.description
    read = inner.bind if build is dict else lambda values: build(**inner.bind(values))
    return scope.definitions.define(key, TypeForm(schema, read))


def _derived(cls: Any, scope: HintScope) -> TypeForm:
    """Return the form of a subclass of str, int, ..., whose values are made by calling it."""
    base = next(base for base in (str, int, float, list, dict) if issubclass(cls, base))
    return TypeForm(PLAIN[base].schema, cls)


def _scalar(cls: Any, scope: HintScope) -> TypeForm:
    more, read = _SCALARS[qualified_name(cls)]
    return TypeForm({"type": "string", **more}, cls if read is None else lambda text: read(cls, text))


def _decimal(cls: Any, scope: HintScope) -> TypeForm:
    if scope.output:
        return TypeForm({"type": "string"})

    def read(value: Any) -> Any:
        from decimal import InvalidOperation

        try:
            made = cls(repr(value) if type(value) is float else value)  # with the decimal digits that were sent
        except InvalidOperation:
            raise BindError("%r is no decimal number" % (value,)) from None
        if not made.is_finite():
            raise BindError("a finite number is needed, not %s" % made)
        return made

    return TypeForm({"type": ["string", "number"]}, read)


def _modelled(cls: Any, scope: HintScope) -> TypeForm:
    """Return the form of a class with the methods of pydantic's models; no module is imported for it."""
    try:
        schema = cls.model_json_schema(mode="serialization" if scope.output else "validation")
    except TypeError:  # it knows no modes
        schema = cls.model_json_schema()
    return TypeForm(scope.definitions.adopt(schema), cls.model_validate)


def _message(cls: Any, scope: HintScope) -> TypeForm:
    raise HoldsMessage("%s: %s is a part of protocol messages, it has no schema" % (scope.place, cls.__name__))


# Readers

def _bytes(cls: Any, text: str) -> bytes:
    from base64 import b64decode

    return b64decode(text, validate=True)


def _from_iso(cls: Any, text: str) -> Any:
    """Return a date or time. Before Python 3.11 ``Z`` and fractions without 3 or 6 digits have to be rewritten."""
    if text[-1:] in ("Z", "z"):
        text = text[:-1] + "+00:00"
    head, point, tail = text.partition(".")
    if point:
        rest = tail.lstrip("0123456789")
        text = "%s.%s%s" % (head, (tail[:len(tail) - len(rest)] + "000000")[:6], rest)
    return cls.fromisoformat(text)


_DURATION = r"([-+]?)P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?"


def _duration(cls: Any, text: str) -> Any:
    """Return a timedelta of an ISO 8601 duration. Months and years, which have no fixed length, are refused."""
    import re

    found = re.fullmatch(_DURATION, text)
    if found is None or not any(found.groups()[1:]):
        raise BindError("%r is no duration of weeks, days, hours, minutes and seconds, such as P1DT12H or PT90S" % text)
    sign, *parts = found.groups("0")
    weeks, days, hours, minutes, seconds = [float(part.replace(",", ".")) for part in parts]
    made = cls(days, seconds, 0, 0, minutes, hours, weeks)
    return -made if sign == "-" else made


# The tables

_ARRAYS: Dict[type, Any] = {
    list: list, collections.abc.Sequence: list, collections.abc.MutableSequence: list,
    collections.abc.Iterable: list, collections.abc.Collection: list,
    collections.deque: collections.deque,
    set: set, frozenset: frozenset, collections.abc.Set: frozenset, collections.abc.MutableSet: set,
}
"""Generic class -> the class whose values are made of an array."""

_GENERIC: Dict[type, Callable[[type, Sequence[Any], HintScope], TypeForm]] = {
    **{cls: _array for cls in _ARRAYS},
    **{cls: _mapping for cls in (dict, collections.abc.Mapping, collections.abc.MutableMapping)},
    tuple: _tuple,
}

_SPECIAL: Dict[str, Callable[[Any, Sequence[Any], HintScope], TypeForm]] = {
    "Union": _union, "Optional": _union, "UnionType": _union,
    "Literal": _literal,
    "Required": _wrapped, "NotRequired": _wrapped, "ReadOnly": _wrapped, "Final": _wrapped,
    "TypeVar": _variable, "TypeAliasType": _alias,
}

_SCALARS: Dict[str, Tuple[Schema, Optional[Callable[[Any, str], Any]]]] = {
    "datetime.datetime": ({"format": "date-time"}, _from_iso),
    "datetime.date": ({"format": "date"}, _from_iso),
    "datetime.time": ({"format": "time"}, _from_iso),
    "datetime.timedelta": ({"format": "duration"}, _duration),
    "uuid.UUID": ({"format": "uuid"}, None),
    "ipaddress.IPv4Address": ({"format": "ipv4"}, None),
    "ipaddress.IPv6Address": ({"format": "ipv6"}, None),
    "builtins.bytes": ({"contentEncoding": "base64"}, _bytes),
    "pathlib.Path": ({}, None),
    "pathlib.PurePath": ({}, None),
}
"""Class, by name, -> keywords of its schema, and the reader if it is not the class; the modules need not be loaded."""

_CLASSES: Tuple[Tuple[Callable[[Any], bool], Callable[[Any, HintScope], TypeForm]], ...] = (
    (lambda cls: issubclass(cls, Model), _message),
    (lambda cls: issubclass(cls, enum.Flag), _flags),
    (lambda cls: issubclass(cls, enum.Enum), _enumeration),
    (describes_itself, _modelled),
    (lambda cls: hasattr(cls, "__dataclass_fields__"), _dataclass),
    (lambda cls: hasattr(cls, "__total__"), _typed_dict),
    (lambda cls: issubclass(cls, tuple) and hasattr(cls, "_fields"), _named_tuple),
    (lambda cls: qualified_name(cls) in _SCALARS, _scalar),
    (lambda cls: qualified_name(cls) == "decimal.Decimal", _decimal),
    (lambda cls: issubclass(cls, (str, int, float, list, dict)), _derived),
)
"""Test of a class -> function that makes its form; the first test that succeeds counts."""
