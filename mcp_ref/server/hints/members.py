"""The types behind schemas of type hints: `TypeForm`, `Members` and `HintScope`.

A `TypeForm` is the JSON Schema of an annotation's values, with the reader that makes them from JSON that
fits. `Members` is a set of named forms: the parameters of a function, the fields of a
dataclass, or the keys of a TypedDict. A `HintScope` is the place of an annotation, with the names that it can use.
`typeforms` makes a form of each kind of annotation.

Optional means two things. A member that may be None can be left out: its schema is that of the other
choices, and it is not required. An item of an array cannot be left out: `element` adds null to its
types. Output leaves out nothing either: there all members are required, and null is a type.
"""

import builtins
import itertools
import sys
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from ...errors import ToolError
from .values import to_json

Schema = Dict[str, Any]
Reader = Callable[[Any], Any]

MISSING: Any = object()
"""The mark for no annotation or no default."""

DEEPEST = 20
"""The most classes inside each other."""


class SignatureError(TypeError):
    """The function cannot be registered; the text names the parameter and says what to do."""


class HoldsMessage(SignatureError):
    """The annotation names a message of the protocol, which has no schema, but may be returned."""


class Unresolved(SignatureError):
    """The annotation is a string with a name that is not defined yet."""


class BindError(ToolError, ValueError):
    """The argument fits the schema, but its Python value cannot be made: ``due: month must be in 1..12``.

    ``path`` are the keys and indices that lead to it, ``text`` is the rest.
    """

    def __init__(self, text: str, path: Tuple[Any, ...] = ()) -> None:
        self._place = "".join("[%d]" % key if isinstance(key, int) else ".%s" % key for key in path)
        super().__init__("%s: %s" % (self._place.lstrip("."), text) if path else text)
        self.text = text
        self.path = path

    def about(self, whole: str) -> str:
        """Return the text with a path that begins with ``whole``: ``arguments.due: month must be in 1..12``."""
        return "%s%s: %s" % (whole, self._place, self.text)


class TypeForm(NamedTuple):
    """The JSON form of an annotation. ``read`` None: the JSON value is the Python value.

    Values of the class ``exact`` need no reading. ``optional``: None was one of the choices, and ``schema`` is that
    of the others. ``description`` is the text in the annotation itself.
    """

    schema: Schema
    read: Optional[Reader] = None
    exact: Optional[type] = None
    optional: bool = False
    description: str = ""


class Definitions:
    """The classes that contain themselves, for the ``$defs`` of one schema.

    A class is written out in place. Only where it stands inside itself a ``$ref`` leads to its definition here. ``key``
    is the class, with the forms of its arguments if it is generic.
    """

    __slots__ = ("schemas", "_names", "_readers")

    def __init__(self) -> None:
        self.schemas: Dict[str, Schema] = {}
        self._names: Dict[Any, str] = {}
        self._readers: Dict[Any, Optional[Reader]] = {}

    def refer(self, key: Any, name: str) -> TypeForm:
        """Return the form of a class inside itself, whose definition is still being made."""
        readers = self._readers

        def read(value: Any) -> Any:
            reader = readers[key]
            return value if reader is None else reader(value)

        return TypeForm({"$ref": "#/$defs/" + self._names.setdefault(key, self._free(name))}, read)

    def define(self, key: Any, form: TypeForm) -> TypeForm:
        """Store the form of a class if something inside refers to it, and return the form."""
        if key in self._names:
            self.schemas[self._names[key]] = form.schema
            self._readers[key] = form.read
        return form

    def adopt(self, schema: Schema) -> Schema:
        """Move the ``$defs`` of a schema here, and return the schema with references to their new names."""
        names: Dict[str, str] = {}
        for name, each in schema.get("$defs", {}).items():
            names[name] = name if self.schemas.get(name) == each else self._free(name)
            self.schemas[names[name]] = each  # the name is taken
        moved: Schema = _moved(schema, {"#/$defs/" + name: "#/$defs/" + other for name, other in names.items()})
        for name, each in moved.pop("$defs", {}).items():
            self.schemas[names[name]] = each
        while list(moved) == ["$ref"] and moved["$ref"][len("#/$defs/"):] in self.schemas:
            moved = dict(self.schemas[moved["$ref"][len("#/$defs/"):]])  # in place of a reference, to show its type
        return moved

    def closed(self, schema: Schema) -> Schema:
        """Return the schema with the definitions that it may refer to."""
        return dict(schema, **{"$defs": self.schemas}) if self.schemas else schema

    def _free(self, name: str) -> str:
        """Return the name, with a number if another class has it."""
        taken = {*self.schemas, *self._names.values()}
        numbered = (name if number == 1 else "%s%d" % (name, number) for number in itertools.count(1))
        return next(each for each in numbered if each not in taken)


def _moved(value: Any, names: Mapping[str, str]) -> Any:
    """Return a copy of a schema with its references renamed."""
    if isinstance(value, dict):
        return {key: names.get(each, each) if key == "$ref" and isinstance(each, str) else _moved(each, names)
                for key, each in value.items()}
    return [_moved(each, names) for each in value] if isinstance(value, list) else value


class HintScope:
    """The place of an annotation: its name in errors, the names it can use, the classes around it.

    ``find`` makes forms (it is `typeforms.form_of`). ``output``: True for values that are sent. ``inside``: the
    classes around it (see `Definitions` for their keys). ``variables``: type variable -> the form it stands for.
    """

    __slots__ = ("place", "find", "names", "local", "output", "inside", "variables", "definitions")

    def __init__(
        self, place: str, find: Callable[[Any, "HintScope"], TypeForm], names: Mapping[str, Any],
        local: Mapping[str, Any], output: bool = False, inside: Tuple[Any, ...] = (),
        variables: Optional[Mapping[Any, TypeForm]] = None, definitions: Optional[Definitions] = None,
    ) -> None:
        self.place = place
        self.find = find
        self.names = names
        self.local = local
        self.output = output
        self.inside = inside
        self.variables: Mapping[Any, TypeForm] = {} if variables is None else variables
        self.definitions = Definitions() if definitions is None else definitions

    def _changed(self, **changes: Any) -> "HintScope":
        return HintScope(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})

    def at(self, text: str) -> "HintScope":
        """Return a copy for a place inside this one."""
        return self._changed(place="%s: %s" % (self.place, text))

    def with_names_of(self, owner: Any) -> "HintScope":
        """Return a copy with the names of the module of a class, and of the class itself."""
        return self._changed(names=_names_of(owner.__module__), local={**self.local, owner.__name__: owner})

    def binding(self, variables: Mapping[Any, TypeForm]) -> "HintScope":
        """Return a copy in which these type variables stand for these forms."""
        return self._changed(variables={**self.variables, **variables}) if variables else self

    def key(self, owner: Any) -> Any:
        """Return a key for a class here: the class, with the forms of its type variables if it is generic."""
        forms = [self.variables.get(variable) for variable in getattr(owner, "__parameters__", ())]
        return (owner, *[None if form is None else repr(form.schema) for form in forms]) if any(forms) else owner

    def into(self, owner: Any, key: Any) -> "HintScope":
        """Return a copy for the inside of a class or alias. Raises SignatureError for more than DEEPEST classes, as in
        a class that contains itself with ever other type arguments."""
        if len(self.inside) >= DEEPEST:
            raise self.error("%s is %d classes deep, each inside the one before" % (owner.__name__, DEEPEST))
        return self.with_names_of(owner)._changed(inside=(*self.inside, key))

    def form(self, annotation: Any) -> TypeForm:
        """Return the form of an annotation at this place. Raises SignatureError."""
        return self.find(annotation, self)

    def element(self, annotation: Any) -> TypeForm:
        """Return the form of an item or value, which cannot be left out: if it is optional, its types include null."""
        form = self.form(annotation)
        if not form.optional:
            return TypeForm(described(form), form.read, form.exact)
        read = form.read
        return TypeForm(nullable(described(form)), read and (lambda value: None if value is None else read(value)))

    def error(self, text: str) -> SignatureError:
        """Return an error that names this place."""
        return SignatureError("%s: %s" % (self.place, text))

    def evaluate(self, postponed: Any) -> Any:
        """Return the object that a string or ForwardRef stands for. Raises `Unresolved`, SignatureError."""
        text = getattr(postponed, "__forward_arg__", postponed)
        module = getattr(postponed, "__forward_module__", None)
        names = _names_of(getattr(module, "__name__", module)) if module else self.names
        found = self.local.get(text, names.get(text, vars(builtins).get(text, MISSING)))
        if found is not MISSING:
            return found
        try:
            return eval(text, dict(names), dict(self.local))
        except (NameError, AttributeError) as error:
            raise Unresolved(
                "%s: annotation %r cannot be resolved (%s); it must mean something at the top of its module, also at "
                "run time" % (self.place, text, error)
            ) from None
        except Exception as error:
            advice = "; before Python 3.10 write Optional[X] for X | None, before 3.9 List[X] for list[X]"
            raise self.error(
                "annotation %r is wrong (%s)%s" % (text, error, advice if sys.version_info < (3, 10) else "")
            ) from None


def _names_of(module: str) -> Mapping[str, Any]:
    return vars(sys.modules[module]) if module in sys.modules else {}


def annotations_of(thing: Any) -> Dict[str, Any]:
    """Return the annotations in the body of a class or function itself; names that are not defined yet are ForwardRefs.

    From Python 3.14 on annotations are evaluated on demand [PEP 649], and no longer stored in a class's dict.
    """
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(thing, format=annotationlib.Format.FORWARDREF)
    if isinstance(thing, type):
        own: Dict[str, Any] = thing.__dict__.get("__annotations__", {})
        return own
    return thing.__annotations__ or {}


class HintedName(NamedTuple):
    """A parameter, field or key. ``needed``: Python requires a value. ``owner``: the class whose body has it."""

    name: str
    annotation: Any
    default: Any = MISSING
    needed: bool = True
    owner: Optional[type] = None


class Members:
    """A set of named forms. ``required`` are the names that a client must send."""

    __slots__ = ("forms", "output", "required", "_readers", "_fill")

    def __init__(self, members: Iterable[HintedName], scope: HintScope, label: str) -> None:
        self.forms: List[Tuple[HintedName, TypeForm]] = []
        self.output = scope.output
        self.required: List[str] = []
        self._readers: List[Tuple[str, Optional[type], Reader]] = []
        self._fill: List[str] = []
        for member in members:
            try:
                form = PLAIN.get(member.annotation)
            except TypeError:  # not hashable
                form = None
            if form is None:
                where = scope.at(label % member.name)
                form = (where.with_names_of(member.owner) if member.owner else where).form(member.annotation)
            self._add(member, form)

    def _add(self, member: HintedName, form: TypeForm) -> None:
        self.forms.append((member, form))
        if form.read is not None:
            self._readers.append((member.name, form.exact, form.read))
        if member.needed and (self.output or not form.optional):
            self.required.append(member.name)
        elif member.needed:
            self._fill.append(member.name)

    def schema(self, descriptions: Mapping[str, str]) -> Schema:
        """Return the schema of an object with these members. ``descriptions``: of members whose annotation has none."""
        properties = {member.name: self._property(member, form, descriptions) for member, form in self.forms}
        schema: Schema = {"type": "object", "properties": properties}
        if self.required:
            schema["required"] = list(self.required)
        if not self.output:
            schema["additionalProperties"] = False
        return schema

    def _property(self, member: HintedName, form: TypeForm, descriptions: Mapping[str, str]) -> Schema:
        schema = nullable(form.schema) if self.output and form.optional else dict(form.schema)
        description = form.description or descriptions.get(member.name)
        if description:
            schema["description"] = description
        if not self.output and member.default is not MISSING and member.default is not None:
            default = _json_or_missing(member.default)
            if default is not MISSING:
                schema["default"] = default
        return schema

    def bind(self, values: Dict[str, Any]) -> Dict[str, Any]:
        """Return the Python values of JSON values that fit the schema; the same dict if all are equal. Raises
        `BindError`."""
        made = values
        for name, exact, read in self._readers:
            if name in values and type(values[name]) is not exact:
                if made is values:
                    made = dict(values)
                made[name] = read_at(name, read, values[name])
        for name in self._fill:
            if name not in values:
                made = dict(values) if made is values else made
                made[name] = None
        return made


def _json_or_missing(value: Any) -> Any:
    """Return a default as JSON; MISSING if JSON cannot hold it."""
    from ...jsontext import dumps

    try:
        word = to_json(value)
        dumps(word)
    except (ValueError, TypeError):
        return MISSING
    return word


def read_at(key: Any, read: Reader, value: Any) -> Any:
    """Read one member or element, and return its value. An exception of a constructor becomes a `BindError` with the
    path."""
    try:
        return read(value)
    except BindError as error:
        raise BindError(error.text, (key,) + error.path) from None
    except Exception as error:
        raise BindError(str(error) or type(error).__name__, (key,)) from error


def described(form: TypeForm) -> Schema:
    """Return the schema of a form with its description, for a place without a member to carry it."""
    return dict(form.schema, description=form.description) if form.description else form.schema


def nullable(schema: Schema) -> Schema:
    """Return the schema with null allowed, by a list of types: many clients refuse ``anyOf`` with null."""
    schema = dict(schema)
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}  # a reference has no types to add one to
    if "anyOf" in schema:
        schema["anyOf"] = [nullable(schema["anyOf"][0])] + schema["anyOf"][1:]
    elif "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = types if "null" in types else types + ["null"]
        if "enum" in schema:
            schema["enum"] = schema["enum"] + [None]
    return schema


def _integer(value: Any) -> Any:
    """Return an int for a whole number: JSON has one kind of number, and 3.0 is an integer."""
    return int(value) if type(value) is float and value.is_integer() else value


def _number(value: Any) -> Any:
    return float(value) if type(value) is int else value


PLAIN: Dict[Any, TypeForm] = {
    str: TypeForm({"type": "string"}),
    int: TypeForm({"type": "integer"}, _integer, int),
    float: TypeForm({"type": "number"}, _number, float),
    bool: TypeForm({"type": "boolean"}),
    None: TypeForm({"type": "null"}),
    type(None): TypeForm({"type": "null"}),
    Any: TypeForm({}),
    object: TypeForm({}),
    MISSING: TypeForm({}),
    list: TypeForm({"type": "array", "items": {}}),
    dict: TypeForm({"type": "object"}),
}
"""Annotation -> form, for the annotations that most parameters have."""
