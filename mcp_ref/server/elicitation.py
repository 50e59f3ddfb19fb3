"""Questions to the user, through the client [2025-06-18.. client/elicitation §Protocol Messages].

    answer = ctx.elicit("Where shall it run?", {"region": Literal["eu", "us"], "copies": int})
    if not answer:
        return "Nothing was deployed."
    deploy(answer["region"], answer["copies"])

A form is written in one of these ways, and becomes the flat schema that all clients know
(`mcp_ref.protocol.elicitation`):

======================================================  ========================================================
form                                                    ``answer.value``
======================================================  ========================================================
``{"region": str, "note": Optional[str]}``: names and   a dict of Python values; fields without an answer are None
Python types, also Literal, Enum, List of these
``{"region": {"type": "string"}}``: names and schemas,  a dict of JSON values, with the defaults of fields without an
required unless they have a default                     answer
a dataclass or a TypedDict                              an instance
an object schema, or a `RequestedSchema`                a dict of JSON values, with the same defaults
======================================================  ========================================================

Errors, and what the caller of a tool gets unless the tool handles them:

=====================================================  =========================================================
`CapabilityMissing`: this client cannot be asked       ``isError`` with that text; nothing was sent
`FormError`, TypeError: this cannot be asked            the same
`Unrepresentable`: not in the session's revision       the same (2025-06-18 has no choice of several)
the user says no, and the tool reads the answer        ``isError``: ``The user declined: <question>``
`PeerProtocolError`: the answer does not fit the form  ``isError`` naming field and rule, not the value; in 2026-07-28
                                                       the client is asked again
`PeerError`, `RequestTimeout`, `RequestCancelled`      as for every request; people take time, so there is no
                                                       time limit but the ceiling unless ``timeout`` says so
=====================================================  =========================================================

Never ask for passwords, keys or tokens in a form [2025-06-18.. client/elicitation §User Interaction Model] MUST NOT:
use links for them (`mcp_ref.server.elicitation_url`). Do not trust an identity that the user enters
[2025-11-25.. client/elicitation §Identifying the User] MUST NOT.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Mapping, NamedTuple, Optional, Tuple, TypeVar

from ..codec import Model, encode
from ..errors import CapabilityMissing, PeerProtocolError, ToolError
from ..jsonrpc import shown
from ..jsontext import dumps
from ..messages.elicitation import ElicitRequestFormParams, ElicitResult, RequestedSchema
from ..methods import ELICIT
from ..peer.session import Session
from ..protocol.elicitation import CheckedForm, FormError, as_json, modes, read_form
from ..revisions import LATEST

if TYPE_CHECKING:
    from .context import Context


Values = Callable[[Dict[str, Any]], Any]
Form = TypeVar("Form")
"""The type of `Answer.value`."""


# -- What comes back ---------------------------------------------------------------------------


class NotAccepted(ToolError, LookupError):
    """The answer was read although the user declined or cancelled; the model gets this text from a tool."""


class Answer(Generic[Form]):
    """The answer of the user [2025-06-18.. client/elicitation §Response Actions].

    ``action`` is ``accept``, ``decline`` (the user said no) or ``cancel`` (the user closed the question). An answer is
    true if it is ``accepted``. ``content`` has the values that were entered, as JSON; {} if not accepted, and for
    links, where accepting means only that the user agreed to follow the link.
    """

    __slots__ = ("action", "content", "_value", "_question")

    def __init__(self, action: str, content: Dict[str, Any], value: Optional[Form], question: str) -> None:
        self.action = action
        self.content = content
        self._value = value
        self._question = question

    @property
    def accepted(self) -> bool:
        """True if the user agreed."""
        return self.action == "accept"

    @property
    def value(self) -> Form:
        """The Python value of the form: a dict, or an instance of the class. Raises `NotAccepted`."""
        if not self.accepted:
            verb = "declined" if self.action == "decline" else "cancelled"
            raise NotAccepted("The user %s: %s" % (verb, self._question))
        return self._value  # type: ignore[return-value]

    def __bool__(self) -> bool:
        return self.accepted

    def __getitem__(self, name: str) -> Any:
        """Return the value of one field. Raises `NotAccepted`, and KeyError for a field without an answer."""
        value = self.value
        return value[name] if isinstance(value, dict) else self.content[name]

    def __repr__(self) -> str:
        return "<Answer %s>" % self.action  # without the values, which do not belong in logs


# -- Forms -------------------------------------------------------------------------------------


def elicit(
    ctx: "Context", message: str, form: Any, timeout: Optional[float] = None, key: Optional[str] = None
) -> "Answer[Any]":
    """Ask the user to fill in a form, wait, and return the answer.

    ``message`` tells the user what is asked and why. ``form`` and the errors: see the module. ``timeout`` in seconds.
    ``key`` names the question, see `Context`. The answer is checked against the form
    [2025-11-25.. client/elicitation §Form Mode Security] SHOULD.
    """
    need(ctx.session, "form")
    check_message(message)
    prepared = prepare(form)
    # The mode is always sent, also where it could be left out
    # [2025-11-25.. client/elicitation §Elicitation Requests] MUST.
    params = ElicitRequestFormParams(message=message, requested_schema=prepared.form.message, mode="form")
    answer: "Answer[Any]" = ctx.ask(
        ELICIT, params, timeout, key, lambda result: _answer(ctx, message, prepared, result))
    return answer


def _answer(ctx: "Context", message: str, prepared: "PreparedForm", result: ElicitResult) -> "Answer[Any]":
    """Return the answer in a result, checked. Raises `PeerProtocolError` for values that do not fit the form."""
    if result.action != "accept":
        return Answer(result.action, {}, None, message)
    checked, content = prepared.form, dict(result.content or {})
    for name in checked.unasked(content):
        ctx.connection.counters.note("unasked answer", "dropped %s, which is no field of the form" % shown(name))
        del content[name]
    wrong = checked.problems(content)
    if not wrong:
        try:
            defaults = {name: list(value) if isinstance(value, list) else value
                        for name, value in checked.defaults().items()}
            value = prepared.read({**defaults, **content})
            return Answer(result.action, content, value, message)
        except ValueError as error:
            wrong = [str(error)]
    raise PeerProtocolError(
        "the answer does not fit the form: %s" % "; ".join(wrong),
        "%s client/elicitation §Response Actions" % ctx.session.rules,
    )


def need(session: Session, mode: str) -> None:
    """Raise `CapabilityMissing` for a mode that the client did not declare, before anything is sent.

    [2025-11-25.. client/elicitation §Capabilities] MUST NOT
    """
    declared = session.peer_capabilities.get("elicitation")
    plain = declared == {} and mode == "form" and session.rules.elicitation  # the declaration of most clients
    if not plain and mode not in modes(declared, session.rules):
        text = "this client cannot be asked: in revision %s it did not declare elicitation in %s mode"
        raise CapabilityMissing(text % (session.rules, mode), "elicitation.%s" % mode)


def check_message(message: Any) -> None:
    """Raise `FormError` for an empty message [2025-11-25.. client/elicitation §Elicitation Requests] MUST."""
    if not isinstance(message, str) or not message.strip():
        raise FormError("the message tells the user what is asked and why; it cannot be %.80r" % (message,))


def check_form(params: ElicitRequestFormParams) -> None:
    """Raise `FormError` for an empty message, and for a form outside of the subset of JSON Schema."""
    check_message(params.message)
    prepare(params.requested_schema)


_PREPARED: "Dict[Any, PreparedForm]" = {}
_MOST_PREPARED = 256


class PreparedForm(NamedTuple):
    """A checked form, and the function that makes Python values of an answer's JSON. Do not change it."""

    form: CheckedForm
    read: Values


def prepare(form: Any) -> PreparedForm:
    """Return the checked form of a form that an author wrote in one of the ways of the module.

    It is cached for the next question with the same form: checking one of three fields takes 90 us, a fifth of a call
    that asks. Raises `FormError` or TypeError.
    """
    key = _key(form)
    found = None if key is None else _PREPARED.get(key)
    if found is None:
        found = _prepare(form)
        if key is not None:
            if len(_PREPARED) >= _MOST_PREPARED:
                _PREPARED.clear()
            _PREPARED[key] = found
    return found


def _key(form: Any) -> Any:
    """Return a key that is equal for two forms only if they have the same fields in the same order; None if there is
    no such key."""
    try:
        key: Any = None
        if isinstance(form, dict):
            key = tuple([(name, what if isinstance(what, type) else _words(what)) for name, what in form.items()])
        elif isinstance(form, type):
            key = form
        hash(key)
    except (TypeError, ValueError):
        return None
    return key


def _words(what: Any) -> Any:
    """Return the JSON of a schema; or an annotation with its text, because ``Literal[1] == Literal[True]``."""
    if isinstance(what, (dict, list, str, Model)):
        return dumps(what)
    return what, repr(what)


def _prepare(form: Any) -> PreparedForm:
    read: Values = dict
    if isinstance(form, RequestedSchema):
        schema = as_json(form, LATEST)
    elif isinstance(form, type):
        schema, read = _of_class(form)
    elif not isinstance(form, Mapping):
        raise TypeError("a form is a dict, a dataclass, a TypedDict or a RequestedSchema, not %.80r" % (form,))
    elif form.get("type") == "object" and isinstance(form.get("properties"), Mapping):
        schema = dict(form)
    else:
        schema, read = _of_names(form)
    return PreparedForm(read_form(schema, LATEST, sending=True, path="form"), read)


def _of_class(cls: type) -> Tuple[Dict[str, Any], Values]:
    from .hints.members import HintScope
    from .hints.typeforms import form_of

    found = form_of(cls, HintScope("form", form_of, {}, {}))
    if "properties" not in found.schema:
        raise TypeError("a form is a dataclass or a TypedDict with fields, not %s" % cls.__name__)
    return _flat(found.schema), found.read or dict


def _of_names(form: Mapping[str, Any]) -> Tuple[Dict[str, Any], Values]:
    """Return the schema and reader of a form that is names with types, schemas or schema messages."""
    from .hints.members import HintedName, Members, HintScope
    from .hints.typeforms import form_of

    schemas = {
        name: encode(what, LATEST) if isinstance(what, Model) else dict(what)
        for name, what in form.items() if isinstance(what, (Model, Mapping))
    }
    typed = [HintedName(name, annotation) for name, annotation in form.items() if name not in schemas]
    members = Members(typed, HintScope("form", form_of, {}, {}), "field %r")
    properties = {**members.schema({})["properties"], **schemas}
    required = members.required + [name for name in schemas if "default" not in schemas[name]]
    return _flat({"properties": {name: properties[name] for name in form}, "required": required}), members.bind


def _flat(schema: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the schema of type hints in the subset for forms: without ``uniqueItems``, which the reader enforces."""
    properties = {
        name: {word: value for word, value in field.items() if word != "uniqueItems"}
        for name, field in schema["properties"].items()
    }
    flat: Dict[str, Any] = {"type": "object", "properties": properties}
    if schema.get("required"):
        flat["required"] = list(schema["required"])
    return flat
