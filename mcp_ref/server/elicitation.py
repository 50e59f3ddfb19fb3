"""Questions to the user: forms that the client shows, and links that it opens [2025-06-18.. client/elicitation].

A form is shown by the client itself [2025-06-18.. client/elicitation §Protocol Messages]::

    answer = ctx.elicit("Where shall it run?", {"region": Literal["eu", "us"], "copies": int})
    if not answer:
        return "Nothing was deployed."
    deploy(answer["region"], answer["copies"])

It is written in one of these ways, and becomes the flat schema that all clients know
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
`FormError`, TypeError: this cannot be asked           the same
`Unrepresentable`: not in the session's revision       the same (2025-06-18 has no choice of several)
the user says no, and the tool reads the answer        ``isError``: ``The user declined: <question>``
`PeerProtocolError`: the answer does not fit the form  ``isError`` naming field and rule, not the value; in 2026-07-28
                                                       the client is asked again
`PeerError`, `RequestTimeout`, `RequestCancelled`      as for every request; people take time, so there is no
                                                       time limit but the ceiling unless ``timeout`` says so
=====================================================  =========================================================

Never ask for passwords, keys or tokens in a form [2025-06-18.. client/elicitation §User Interaction Model] MUST NOT:
use links for them. Do not trust an identity that the user enters
[2025-11-25.. client/elicitation §Identifying the User] MUST NOT.

A link is opened by the client [2025-11-25.. client/elicitation §URL Mode Elicitation Requests]. The values that a user
enters on the page behind it do not pass through the client: so a server asks for keys, payments, or the authorization
of third parties. There are two ways, and both end with `complete`, which notifies the client that the user is done
there:

    answer = ctx.elicit_url("Connect your account", "https://example.com/connect?id=7")     # ask, and go on
    raise UrlElicitationRequired([("Connect your account", "https://example.com/connect")])  # refuse until it is done

Duties of the page behind the link: it verifies that the person who opens it is the user who was asked
[2025-11-25.. client/elicitation §Phishing] MUST; the link alone logs nobody in, and it holds
nothing secret or personal [2025-11-25.. client/elicitation §Safe URL Handling] MUST NOT.

Revisions before 2025-11-25 have no links: there both ways fail as for a client that did not declare them. In 2026-07-28
links have no ids, and nothing notifies the client that the user is done; instead of the error, which that revision does
not have, the client is asked to show the links and to come back (`ask_instead`).
"""

import threading
from collections import OrderedDict
from functools import partial
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Generic, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union,
)

from ..codec import DecodeError, Model, decode, encode
from ..errors import (
    INTERNAL_ERROR, URL_ELICITATION_REQUIRED, CapabilityMissing, LocalProtocolError, PeerProtocolError, RpcError,
    ToolError,
)
from ..jsonrpc import shown
from ..jsontext import dumps
from ..limits import DEFAULT
from ..messages.elicitation import (
    ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult, ElicitationCompleteNotificationParams,
    RequestedSchema, URLElicitationRequiredErrorData,
)
from ..methods import ELICIT, ELICITATION_COMPLETE
from ..options import strict_options
from ..peer.dispatcher import Connection
from ..peer.session import Session
from ..protocol.elicitation import CheckedForm, FormError, LinkError, as_json, modes, read_form, read_link
from ..revisions import LATEST, LATEST_HANDSHAKE

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


Elicitation = Union[ElicitRequestURLParams, Tuple[str, str], Tuple[str, str, str]]
"""A pair of message and URL, a triple of message, URL and id, or the params message."""


# -- Asking ------------------------------------------------------------------------------------


def elicit_url(
    ctx: "Context", message: str, url: str, elicitation_id: Optional[str] = None, timeout: Optional[float] = None,
    key: Optional[str] = None,
) -> "Answer[None]":
    """Ask the user to follow a link, wait for their consent, and return it as an answer without values.

    ``url`` is an absolute https URL (http is logged, unless it is of this machine). ``elicitation_id`` is made here if
    it is not given, and known to `complete` until that is called, the user declines or the connection ends; 2026-07-28
    has no ids and does not use it. ``key`` names the question, see `Context`. Raises `LinkError`, and as
    `mcp_ref.server.elicitation.elicit`.
    """
    connection = ctx.connection
    need(ctx.session, "url")
    if not ctx.session.rules.elicitation_ids:
        check_link(message, url, connection)
        consent: ElicitResult = ctx.ask(ELICIT, ElicitRequestURLParams(message=message, url=url), timeout, key)
        return Answer(consent.action, {}, None, message)
    params = _request(message, url, elicitation_id, connection)
    asked = _pending_links(connection)
    asked.add(params.elicitation_id, _others(connection))
    accepted = False
    try:
        result: ElicitResult = ctx.ask(ELICIT, params, timeout, key)
        accepted = result.action == "accept"
    finally:
        if not accepted:
            asked.take(params.elicitation_id)
    return Answer(result.action, {}, None, message)


def _request(
    message: str, url: str, elicitation_id: Optional[str], connection: Optional[Connection] = None
) -> ElicitRequestURLParams:
    """Return the params of a question with a valid URL, a message and an id
    [2025-11-25.. client/elicitation §URL Mode Elicitation Requests] MUST."""
    check_link(message, url, connection)
    if elicitation_id is None:
        from secrets import token_urlsafe

        elicitation_id = token_urlsafe(18)
    if not isinstance(elicitation_id, str) or not elicitation_id:
        raise ValueError("an elicitation id is a text that is not empty, not %.80r" % (elicitation_id,))
    return ElicitRequestURLParams(message=message, url=url, elicitation_id=elicitation_id)


def check_link(message: str, url: str, connection: Optional[Connection]) -> None:
    """Raise `LinkError` or `FormError` for a link or message that may not be sent; count a link without https."""
    check_message(message)
    limits = DEFAULT if connection is None else connection.limits
    link = read_link(url, limits.max_uri_length)
    if not url.isascii():
        raise LinkError("a link to be sent is ASCII: percent-encode its path, and write its host in Punycode")
    if link.scheme != "https" and not link.loopback and connection is not None:
        # [2025-11-25.. client/elicitation §Safe URL Handling] SHOULD
        connection.counters.note("unencrypted link", "a user was sent to %s without https" % link.host)


class _PendingLinks:
    """The ids of links that one client was asked to show and that are not completed. Thread-safe.

    ``limit``: the number of ids that are remembered. The lock guards the ids.
    """

    def __init__(self, limit: int) -> None:
        self._lock = threading.Lock()
        self._ids: "OrderedDict[str, None]" = OrderedDict()
        self._limit = limit

    def add(self, id: Any, others: "Sequence[_PendingLinks]") -> None:
        """Remember an id, and forget the oldest one above ``limit``. Raises ValueError for an id of another client."""
        if any(id in other for other in others):
            raise ValueError("the elicitation id %.80r belongs to another client; let one be made" % (id,))
        with self._lock:
            self._ids[id] = None
            self._ids.move_to_end(id)
            if len(self._ids) > self._limit:
                self._ids.popitem(last=False)

    def take(self, id: Any) -> bool:
        """Forget an id. Returns True if it was known."""
        with self._lock:
            return self._ids.pop(id, self) is None

    def __contains__(self, id: Any) -> bool:
        with self._lock:
            return id in self._ids


def _pending_links(connection: Connection) -> _PendingLinks:
    """Return the ids of a connection, which are part of its state and end with it."""
    found: Optional[_PendingLinks] = connection.state.get("elicitations")
    limit = connection.limits.max_pending_elicitations
    return found or connection.state.setdefault("elicitations", _PendingLinks(limit))


def _others(connection: Connection) -> List[_PendingLinks]:
    others = [other for other in connection.role.connections if other is not connection]  # type: ignore[attr-defined]
    return [other.state["elicitations"] for other in others if "elicitations" in other.state]


def complete(server: Any, elicitation_id: str) -> None:
    """Notify the client that was asked with this id that the user is done behind the link; call it once.

    Only that client is notified, with the id of the question
    [2025-11-25 client/elicitation §Completion Notifications for URL Mode Elicitation] MUST. Raises ValueError for an
    unknown id, and for one that is completed.
    """
    for connection in server.connections:
        if "elicitations" in connection.state and connection.state["elicitations"].take(elicitation_id):
            params = ElicitationCompleteNotificationParams(elicitation_id)
            connection.notify(ELICITATION_COMPLETE, encode(params, connection.session.rules))
            return
    raise ValueError(
        "nobody waits for the elicitation %.80r: no client was asked under this id, or it is completed, was declined, "
        "or the client is gone" % (elicitation_id,)
    )


# -- The error ---------------------------------------------------------------------------------


class UrlElicitationRequired(RpcError):
    """The error of a handler that cannot go on before the user has followed one or more links; the client tries again.

        raise UrlElicitationRequired([("Connect your account", "https://example.com/connect")])

    [2025-11-25 client/elicitation §URL Elicitation Required Error]. ``elicitations``: pairs of message and URL, triples
    with an id of your own, or `ElicitRequestURLParams`; ``ids`` are their ids, for `complete`. Raises `LinkError`,
    `FormError` or ValueError.

    Reading: a client that cannot show links (it did not declare ``elicitation.url``, or its revision has no such
    error) gets an ordinary failure instead: in a tool an ``isError`` result, elsewhere -32603, with the messages and
    without the links, which only the user may see. In 2026-07-28 the client is asked to show the
    links, and the handler runs again when the user has agreed; it should check that the user is done before it raises.
    """

    @strict_options
    def __init__(
        self, elicitations: Sequence[Elicitation], message: str = "This request needs the user to follow a link"
    ) -> None:
        asked = [_as_params(one) for one in elicitations]
        if not asked:
            raise ValueError("there must be at least one elicitation, as (message, URL)")
        data = encode(URLElicitationRequiredErrorData(asked), LATEST_HANDSHAKE)
        super().__init__(URL_ELICITATION_REQUIRED, message, data)
        self.ids: List[str] = [str(one.elicitation_id) for one in asked]


def _as_params(one: Elicitation) -> ElicitRequestURLParams:
    if isinstance(one, ElicitRequestURLParams):
        return _request(one.message, one.url, one.elicitation_id)
    return _request(one[0], one[1], one[2] if len(one) > 2 else None)


def required(context: "Context", error: RpcError, in_tool: bool) -> Exception:
    """Return the error to send for an error -32042: the same one, with its ids remembered, or an ordinary failure.

    It holds for `UrlElicitationRequired` and for any `RpcError` with this code
    [2025-11-25 client/elicitation §URL Elicitation Required Error] MUST, MUST NOT.
    """
    connection, session = context.connection, context.session
    try:
        asked = _links_in(error, connection)
    except (DecodeError, ValueError) as problem:
        return _unreadable(problem)
    shows = "url" in modes(session.peer_capabilities.get("elicitation"), session.rules)
    if not shows or not session.rules.elicitation_ids:
        return _failure("The user would have to follow a link first, and this client cannot show one", asked, in_tool)
    try:
        for one in asked:
            _pending_links(connection).add(one.elicitation_id, _others(connection))
    except ValueError as problem:
        return problem
    return error


def ask_instead(context: "Context", error: RpcError, in_tool: bool) -> Exception:
    """Ask, by the result of a request, for the links of an error -32042 in a revision that does not have the error.

    Unwinds the handler (see `mcp_ref.server.mrtr`) until the user has answered. If the handler runs again after
    that and raises again, an ordinary failure is returned. Raises `CapabilityMissing`.
    """
    try:
        asked = _links_in(error, context.connection)
    except (DecodeError, ValueError) as problem:
        return _unreadable(problem)
    need(context.session, "url")
    answers = context.ask_all({
        "link-%d" % number: partial(elicit_url, context, one.message, one.url) for number, one in enumerate(asked, 1)
    })
    if all(answers.values()):
        return _failure("The user has agreed to follow a link, and is not done there yet", asked, in_tool)
    return _failure("The user would have to follow a link first, and did not want to", asked, in_tool)


def _links_in(error: RpcError, connection: Connection) -> List[ElicitRequestURLParams]:
    """Return the checked elicitations of an error -32042. Raises `DecodeError` or ValueError for an error without."""
    data = decode(URLElicitationRequiredErrorData, error.data, LATEST_HANDSHAKE, "data")
    if not data.elicitations:
        raise ValueError("data.elicitations: there is none")
    return [_request(one.message, one.url, one.elicitation_id, connection) for one in data.elicitations]


def _unreadable(problem: Exception) -> Exception:
    return LocalProtocolError("error %d: %s; raise UrlElicitationRequired" % (URL_ELICITATION_REQUIRED, problem))


def _failure(what: str, asked: Sequence[ElicitRequestURLParams], in_tool: bool) -> Exception:
    text = "%s: %s" % (what, "; ".join(one.message for one in asked))
    return ToolError(text) if in_tool else RpcError(INTERNAL_ERROR, text)
