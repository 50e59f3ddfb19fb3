"""The context of a server's handlers: the requests and messages to the client while a request is handled.

Every question to the client goes through `Context.ask`. The modules `elicitation`, `sampling` and `roots` implement
the questions; the methods here load them when they are first called. In a revision where a server cannot send requests,
`mcp_ref.server.mrtr` asks.
"""

from typing import (
    TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NoReturn, Optional, Sequence, Type, TypeVar, Union, overload,
)

from ..errors import LocalProtocolError, PeerProtocolError
from ..methods import result_class
from ..options import REQUEST_TIMEOUT, refuse, strict_options, with_defaults
from ..peer.context import HANDLED, Context as RequestContext
from .families import SAMPLE, TOOL_SAMPLE, takes_sample_options, takes_tool_sample_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..codec import Model
    from ..messages.elicitation import RequestedSchema
    from ..messages.roots import Root
    from ..messages.sampling import CreateMessageResult
    from .elicitation import Answer
    from .families import SampleOptions, ToolSampleOptions
    from .mrtr import Rounds
    from .registry.visibility import Requester
    from .sampling import Said, Toolbox

Form = TypeVar("Form")
Scalar = TypeVar("Scalar", bool, int, float, str)
"""The types whose values are the same after a conversion to JSON and back."""


class Context(RequestContext):
    """The object that a tool, resource or prompt gets for a parameter of this type.

    ``progress``, ``cancelled`` and ``check`` are described at `mcp_ref.peer.context.Context`.

    The methods that ask (`elicit`, `elicit_url`, `sample`, `sample_with_tools`, `list_roots`) are written the same way
    for every revision. In a handshake session they wait for the answer. In a revision without requests from server to
    client the handler ends at a question **and runs again from its first line** when the client comes back with the
    answer: the code before a question runs once in each round, and so do its ``finally`` and ``with``. Put code that
    must run once into `once`, or after the last question. Read `mcp_ref.server.mrtr` before you write such a
    handler.

    ``key`` names a question there: it is the question's key in the message to the client, and identifies it in the
    next round. Questions without a key are numbered in their order; a key that is used twice gets a number. A client
    that knows the key may answer before it is asked.
    """

    __slots__ = ("_rounds",)

    _rounds: "Rounds"

    @property
    def has_apps(self) -> bool:
        """True if the client shows the pages of tools; see `mcp_ref.ext.apps`."""
        from ..ext.apps import has_apps

        return has_apps(self)

    @property
    def lifespan(self) -> Any:
        """The value that the server's ``lifespan`` has yielded; see `mcp_ref.server.serving.lifespan`."""
        return self.connection.role.lifespan  # type: ignore[attr-defined]

    @property
    def requester(self) -> "Requester":
        """The sender of the request, as far as the transport knows: header fields, query, session.

        See `mcp_ref.server.registry.visibility`.
        """
        from .registry.visibility import requester_of

        return requester_of(self)

    @strict_options
    def ask(
        self, method: str, params: "Model", timeout: Optional[float] = REQUEST_TIMEOUT, key: Optional[str] = None,
        read: "Optional[Callable[[Any], Any]]" = None,
    ) -> Any:
        """Send a request to the client and wait for its result; in 2026-07-28 ask by the result of this request.

        ``params`` is written for the session's revision, the result is read by the method's row in `mcp_ref.methods`,
        and then by ``read``, which raises `PeerProtocolError` for a result that it refuses (in a handshake session
        this method raises that; in 2026-07-28 the client is asked again). ``timeout``: idle seconds in a session
        (default: ``request_timeout``; None: only the ceiling of the limits). ``key``: see the class. Raises
        `CapabilityMissing`, `LocalProtocolError` (this may not be asked here) or `Unrepresentable` before anything is
        sent; `PeerProtocolError` for a result that does not fit; and as `Connection.request`.
        """
        session = self.session
        if key is not None and (not isinstance(key, str) or not key):
            raise ValueError("the key of a question is a text that is not empty, not %.80r" % (key,))
        if not session.rules.peer_requests:
            from .mrtr import ask

            return ask(self, method, params, key, read)
        from ..codec import DecodeError, decode, encode

        session.check_sending(method, "request")
        row = session.lookup(method)
        if row is None:
            raise LocalProtocolError("revision %s has no request %s" % (session.rules, method))
        answer = self.call(method, encode(params, session.rules), timeout)
        try:
            result = decode(result_class(row), answer, session.rules, "result", self.connection.forgive)
        except DecodeError as error:
            raise PeerProtocolError("the answer to %s: %s" % (method, error)) from None
        return result if read is None else read(result)

    def ask_all(self, questions: Mapping[str, Callable[[], Any]]) -> Dict[str, Any]:
        """Ask several questions in one round; return key -> answer. ``questions``: key -> a function that asks.

        Each answer is of the type of its question, which a type checker cannot know: annotate it,
        ``roots: List[Root] = answers["roots"]``.

        >>> answers = ctx.ask_all({                                             # doctest: +SKIP
        ...     "name": lambda: ctx.elicit("Your name?", {"name": str}),
        ...     "roots": ctx.list_roots,
        ... })

        In 2026-07-28 all questions are asked at once, and each function runs again in each
        round; in a handshake session they are called one after the other. The keys name the questions.
        """
        for key, function in questions.items():
            if not isinstance(key, str) or not key or not callable(function):
                text = "ask_all takes keys and functions, such as {'roots': ctx.list_roots}; not %.80r: %.80r"
                raise TypeError(text % (key, function))
        if self.session.rules.peer_requests:
            return {key: function() for key, function in questions.items()}
        from .mrtr import rounds_of

        return rounds_of(self).ask_all(self, questions)

    @overload
    def once(self, key: str, function: Callable[[], Scalar]) -> Scalar: ...

    @overload
    def once(self, key: str, function: Callable[[], Any]) -> Any: ...

    def once(self, key: str, function: Callable[[], Any]) -> Any:
        """Call ``function()`` once in all rounds of this request, and return its value as JSON.

        Use it for effects that must not happen again when the handler runs again, and for values that must not change:
        times, random numbers, new ids. The value travels through the client, **which can read it** and cannot change
        it. So it is computed again if a client begins anew, and if it comes back twice with the same state.
        In a handshake session the function is called once in this call. Raises `JsonError` for a value that JSON cannot
        hold, and as the function.
        """
        if not isinstance(key, str) or not key:
            raise ValueError("the key of a value is a text that is not empty, not %.80r" % (key,))
        from .mrtr import rounds_of

        return rounds_of(self).once(key, function)

    @property
    def input_responses(self) -> Dict[str, Any]:
        """The answers that came with this request, as result messages by key.

        They are for handlers that return an `InputRequiredResult` themselves [2026-07-28 basic/patterns/mrtr
        §InputRequiredResult]. Empty in a first round, and in handshake sessions. Values that are no result message are
        left out. The client may send an answer that nobody asked for, or one of another kind: check its class and
        members.
        """
        from .mrtr import responses_of

        return responses_of(self)

    @property
    def request_state(self) -> Optional[str]:
        """The ``request_state`` of the `InputRequiredResult` that this handler returned in the last round, or None.

        The text is unchanged, because it was signed; the client could read it.
        """
        from .mrtr import rounds_of

        before = rounds_of(self).before
        return None if before is None else before.note

    @overload
    def elicit(
        self, message: str, form: Type[Form], timeout: Optional[float] = None, key: Optional[str] = None
    ) -> "Answer[Form]": ...

    @overload
    def elicit(
        self, message: str, form: "Union[Mapping[str, Any], RequestedSchema]", timeout: Optional[float] = None,
        key: Optional[str] = None,
    ) -> "Answer[Dict[str, Any]]": ...

    @strict_options
    def elicit(
        self, message: str, form: Any, timeout: Optional[float] = None, key: Optional[str] = None
    ) -> "Answer[Any]":
        """Ask the user to fill in a form, and return the answer; see `mcp_ref.server.elicitation.elicit`.

        >>> answer = ctx.elicit("Which region?", {"region": str})   # doctest: +SKIP
        >>> if answer:                                              # doctest: +SKIP
        ...     deploy(answer["region"])
        """
        from .elicitation import elicit

        self.session.check_askable("elicitation")
        return elicit(self, message, form, timeout, key)

    @strict_options
    def elicit_url(
        self, message: str, url: str, elicitation_id: Optional[str] = None, timeout: Optional[float] = None,
        key: Optional[str] = None,
    ) -> "Answer[None]":
        """Ask the user to follow a link, and return the answer; see `mcp_ref.server.elicitation.elicit_url`."""
        from .elicitation import elicit_url

        self.session.check_askable("elicitation")
        return elicit_url(self, message, url, elicitation_id, timeout, key)

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Notify the client that was asked that the user is done; see `mcp_ref.server.elicitation.complete`."""
        from .elicitation import complete

        complete(self.connection.role, elicitation_id)

    @takes_sample_options
    def sample(
        self, messages: "Union[Said, Sequence[Said]]", max_tokens: int, **options: "Unpack[SampleOptions]"
    ) -> "CreateMessageResult":
        """Ask the client's model to write something; see `mcp_ref.server.sampling.sample`.

        ``timeout``: seconds (default: only the ceiling of the limits, as a user may have to read it first).
        """
        given = with_defaults(Context.sample, SAMPLE, options)
        from .sampling import sample

        self.session.check_askable("sampling")
        return sample(self, messages, max_tokens, **given)

    @takes_tool_sample_options
    def sample_with_tools(
        self, messages: "Union[Said, Sequence[Said]]", max_tokens: int, *, tools: "Toolbox",
        **options: "Unpack[ToolSampleOptions]"
    ) -> "CreateMessageResult":
        """Ask the client's model, which may use tools; see `mcp_ref.server.sampling.sample_with_tools`."""
        given = with_defaults(Context.sample_with_tools, TOOL_SAMPLE, options)
        from .sampling import sample_with_tools

        self.session.check_askable("sampling")
        return sample_with_tools(self, messages, max_tokens, tools=tools, **given)

    @strict_options
    def list_roots(self, key: Optional[str] = None) -> "List[Root]":
        """Return the roots of the client; see `mcp_ref.server.roots.list_roots`."""
        from .roots import list_roots

        self.session.check_askable("roots")
        return list_roots(self, key)

    def log(self, level: str, data: Any, logger: Optional[str] = None, **unknown: NoReturn) -> None:
        """Send a log message to the client, if the client wants this level; see `mcp_ref.server.logs.send`.

        ``level``: "debug", "info", "notice", "warning", "error", "critical", "alert" or "emergency". ``data``: any JSON
        value. Raises ValueError for others and `RequestCancelled` if the request was cancelled
        [..2025-11-25 server/utilities/logging §Log Message Notifications].
        """
        if unknown:
            refuse(Context.log, unknown)
        from .logs import send

        self.check()
        send(self.connection, level, data, logger, self)

    def poll_later(self) -> bool:
        """End the HTTP connection that waits for the answer; the client reconnects for it after a while.

        Use it in handlers that run long over HTTP: no message is lost, and no connection is held all the time
        [2025-11-25 basic/transports §Sending Messages to the Server] MAY. Returns False if this transport or client
        cannot do it; then nothing was done.
        """
        replies = self.connection.replies
        return replies is not None and replies.poll_later(self.request_id)


def current() -> Context:
    """Return the context of the request that this thread handles: for code that handlers call without it.

    In a thread that a handler has started, run the code by `contextvars.copy_context`. Raises `LocalProtocolError`
    outside of requests.
    """
    found = HANDLED.get()
    if not isinstance(found, Context):
        raise LocalProtocolError("no request is handled here: current() is for what a handler calls, on its thread")
    return found
