"""The context of a server's handlers: what the client can be asked and told while a request runs.

Every question to the client goes through `Context.ask`. What the questions mean is told by the modules that the
thin methods load when they are first called: `elicitation`, `links`, `sampling`, `roots`.
"""

from typing import TYPE_CHECKING, Any, List, Optional

from ..errors import LocalProtocolError, PeerProtocolError
from ..methods import result_class
from ..peer.context import Context as RequestContext

if TYPE_CHECKING:
    from ..codec import Model
    from ..messages.roots import Root
    from ..messages.sampling import CreateMessageResult
    from .elicitation import Answer

_UNSET: Any = object()


class Context(RequestContext):
    """What a tool, resource or prompt gets when it declares a parameter of this type.

    ``progress``, ``cancelled`` and ``check`` are described at `mcp_ref.peer.context.Context`.
    """

    __slots__ = ()

    def ask(self, method: str, params: "Model", timeout: Optional[float] = _UNSET) -> Any:
        """Send a request of a server to the client, and wait for its result.

        ``params`` is written for the session's revision, the result is read by the method's row in `mcp_ref.methods`.
        ``timeout``: idle seconds (default: ``request_timeout``; None: only the ceiling). Raises `CapabilityMissing`,
        `LocalProtocolError` (the revision lacks the method) or `Unrepresentable` before anything is sent;
        `PeerProtocolError` for a result that does not fit; and what `Connection.request` raises.
        """
        from ..codec import DecodeError, decode, encode

        session = self.session
        session.check_sending(method, "request")
        row = session.lookup(method)
        if row is None:
            raise LocalProtocolError("revision %s has no request %s" % (session.rules, method))
        options = {} if timeout is _UNSET else {"timeout": timeout}
        result = self.call(method, encode(params, session.rules), **options)
        try:
            return decode(result_class(row), result, session.rules, "result")
        except DecodeError as error:
            raise PeerProtocolError("the answer to %s: %s" % (method, error)) from None

    def elicit(self, message: str, form: Any, timeout: Optional[float] = None) -> "Answer":
        """Ask the user to fill in a form; see `mcp_ref.server.elicitation.elicit`.

        >>> answer = ctx.elicit("Which region?", {"region": str})   # doctest: +SKIP
        >>> if answer:                                              # doctest: +SKIP
        ...     deploy(answer["region"])
        """
        from .elicitation import elicit

        self.session.check_askable("elicitation")
        return elicit(self, message, form, timeout)

    def elicit_url(
        self, message: str, url: str, elicitation_id: Optional[str] = None, timeout: Optional[float] = None
    ) -> "Answer":
        """Ask the user to follow a link; see `mcp_ref.server.links.elicit_url`."""
        from .links import elicit_url

        self.session.check_askable("elicitation")
        return elicit_url(self, message, url, elicitation_id, timeout)

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Tell the client that was asked that the user is done; see `mcp_ref.server.links.complete`."""
        from .links import complete

        complete(self.connection.role, elicitation_id)

    def sample(self, messages: Any, max_tokens: int, **options: Any) -> "CreateMessageResult":
        """Ask the client's model to write something; see `mcp_ref.server.sampling.sample`."""
        from .sampling import sample

        self.session.check_askable("sampling")
        return sample(self, messages, max_tokens, **options)

    def sample_with_tools(self, messages: Any, max_tokens: int, **options: Any) -> "CreateMessageResult":
        """The same, with tools that the model may use; see `mcp_ref.server.sampling.sample_with_tools`."""
        from .sampling import sample_with_tools

        self.session.check_askable("sampling")
        return sample_with_tools(self, messages, max_tokens, **options)

    def list_roots(self) -> "List[Root]":
        """Ask the client for its roots; see `mcp_ref.server.roots.list_roots`."""
        from .roots import list_roots

        self.session.check_askable("roots")
        return list_roots(self)

    def log(self, level: str, data: Any, logger: Optional[str] = None) -> None:
        """Send a log message to the client, if its level is loud enough for it; see `mcp_ref.server.logs.send`.

        ``level``: "debug", "info", "notice", "warning", "error", "critical", "alert" or "emergency". ``data``: any JSON
        value. Raises ValueError for others and `RequestCancelled` if the request was cancelled
        [..2025-11-25 server/utilities/logging §Log Message Notifications].
        """
        from .logs import send

        self.check()
        send(self.connection, level, data, logger, self)

    def poll_later(self) -> bool:
        """Let go of the connection that waits for the answer; the client comes back for it after a while.

        For what takes long, over HTTP: nothing is lost, and no connection is held all the time
        [2025-11-25 basic/transports §Sending Messages to the Server] MAY. False: nothing of the kind is possible here,
        and nothing was done.
        """
        return self.connection.transport.poll_later(self.request_id)
