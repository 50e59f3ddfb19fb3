"""The handling of exceptions of an author's code: a record in the log for the author, and a text for the client.

===================================  ===============================  ==============================================
raised                               the client gets                  the log has
===================================  ===============================  ==============================================
`ToolError`                          its text                         nothing: it was meant for the client
`RpcError`                           that error                       nothing
a result that may not be sent        the mistake and its place        the exception with its traceback
`CapabilityMissing`                  the capability that it lacks     the exception with its traceback
anything else                        type and text, or a fixed text   the exception with its traceback
===================================  ===============================  ==============================================

The fixed text, ``Internal error in tool 'add' (request 7); the server's log has the details``, is for clients that may
be on other machines: the text of an exception can hold paths, queries and credentials. That is HTTP of every kind
(`Server.run_http`, `Server.wsgi`, `Server.handle`) and TCP, also on loopback, where a proxy may be in front. Clients
on stdio, on a Unix socket and in the same process get type and text. ``Server(mask_errors=True)`` and ``False``
decide it for all clients.

Some error codes may not be sent to every client [2026-07-28 basic/index §Error Codes] MUST NOT; `revised` replaces
them:

=================  =============================================================================================
code               where it may not be sent
=================  =============================================================================================
-32042             becomes an ordinary failure; see `mcp_ref.server.elicitation_url.UrlElicitationRequired`
-32002             becomes the revision's own code for a resource that is not there
-32099 to -32020   reserved for the protocol: what the revision does not define becomes an internal error
=================  =============================================================================================
"""

from typing import TYPE_CHECKING, Any, Dict

from ..diagnostics import one_line
from ..diagnostics.usercode import shown_error, text_of
from ..errors import (
    CODES, INTERNAL_ERROR, RESERVED, RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED, CapabilityMissing,
    LocalProtocolError, RpcError, ToolError, TooManyQuestions,
)
from ..jsonrpc import shown
from ..jsontext import JsonError
from ..methods import CALL_TOOL, COMPLETE, GET_PROMPT, READ_RESOURCE, ROOTS_CHANGED, SET_LOG_LEVEL
from ..peer.context import HANDLED, named, report
from ..revisions import Revision
from .results import BadResult

if TYPE_CHECKING:
    from ..peer.context import Context as RequestContext
    from .context import Context as ToolContext
    from .server import Server

HANDLERS = {CALL_TOOL: "tools", READ_RESOURCE: "resources", GET_PROMPT: "prompts"}
"""Method -> the feature whose functions answer the request."""
HOOKS = {SET_LOG_LEVEL: "on_log_level", ROOTS_CHANGED: "on_roots_changed"}
"""Method -> the option of `Server` that is called for the message."""


def handler_of(server: "Server", method: str, params: Dict[str, Any], revision: Revision) -> str:
    """Return the name of the author's function that answers this message; see `Role.handler_of`.

    A name that a client sent is shown only if it is registered.
    """
    name = "handler of %s" % shown(method)
    try:
        found = HOOKS.get(method) or _registered(server, method, params)
        row = None if found or server.extensions is None else server.extensions.lookup(method, revision)
        return found or (name if row is None else "%s of extension %s" % (name, row.extension))
    except Exception:  # the params may be malformed, and the exception of the handler has to be logged all the same
        return name


def _registered(server: "Server", method: str, params: Dict[str, Any]) -> str:
    if method == COMPLETE:
        return _completion(server, params)
    feature = HANDLERS.get(method, "")
    if not feature or not server.has_feature(feature):
        return ""
    if feature == "resources":
        return _resource(server, params["uri"])
    listing = getattr(server, feature).listing
    return "%s %r" % (listing.kind, params["name"]) if listing.get(params["name"]) is not None else ""


def _resource(server: "Server", uri: str) -> str:
    """Return the URI or the template with which the resource was registered, as text; "" if there is none."""
    resources: Any = server.resources
    if resources.listing.find(uri, HANDLED.get()) is not None:
        return "resource %r" % uri
    found = resources.find(uri, server.limits.max_uri_length, HANDLED.get())
    if found is None:
        return ""
    described = found[0].describe()
    return "resource template %r" % described.uri_template


def _completion(server: "Server", params: Dict[str, Any]) -> str:
    ref, argument = params["ref"], params["argument"]["name"]
    of = ""
    if ref["type"] == "ref/prompt":
        if server.has_feature("prompts") and server.prompts.listing.get(ref["name"]) is not None:
            of = "prompt %r" % ref["name"]
    elif server.has_feature("resources"):  # `server.resources` would make the feature
        known = server.resources.templates.get(ref["uri"]) is not None
        of = "resource template %r" % ref["uri"] if known else _resource(server, ref["uri"])
    return "completion of %s for %s" % (shown(argument), of) if of else ""


def failed_tool(context: "RequestContext", who: str, error: Exception) -> str:
    """Log an exception of a tool for its author, and return the text for the model."""
    words = text_of(error)
    if isinstance(error, ToolError) and not isinstance(error, BadResult):
        return words or type(error).__name__
    report(context, who, error)
    if isinstance(error, (BadResult, JsonError)):  # the text names a place in the result and holds no secret
        return words or type(error).__name__
    if not isinstance(error, CapabilityMissing) and _server_of(context).hides(context.connection):
        return _fixed(context, who)
    return "%s: %s" % (type(error).__name__, words) if words else type(error).__name__


def failed(context: "RequestContext", who: str, error: BaseException) -> RpcError:
    """Log an exception of any other handler for its author, and return the error for the client."""
    if isinstance(error, TooManyQuestions):
        return RpcError(INTERNAL_ERROR, "Busy: %s" % error)
    if isinstance(error, ToolError):
        return RpcError(INTERNAL_ERROR, one_line(text_of(error) or type(error).__name__))
    report(context, who, error)
    if not isinstance(error, CapabilityMissing) and _server_of(context).hides(context.connection):
        return RpcError(INTERNAL_ERROR, _fixed(context, who))
    return RpcError(INTERNAL_ERROR, "Internal error in %s: %s" % (who, shown_error(error)))


def _fixed(context: "RequestContext", who: str) -> str:
    return "Internal error in %s (%s); the server's log has the details" % (who, named(context.request.id))


def _server_of(context: "RequestContext") -> "Server":
    return context.connection.role  # type: ignore[return-value]


def revised(context: "ToolContext", error: RpcError, in_tool: bool) -> Exception:
    """Return the error to send to the client of this request: the same one, or its replacement in this revision.

    ``in_tool``: True for a call of a tool, whose failure becomes a result.
    """
    rules = context.session.rules
    if error.code == URL_ELICITATION_REQUIRED:
        from .elicitation_url import required

        return required(context, error, in_tool)
    if error.code == RESOURCE_NOT_FOUND:
        return RpcError(rules.resource_not_found_code, error.message, error.data)
    row = CODES.get(error.code)
    if rules.stateless and error.code in RESERVED and not (row is not None and rules.has(row.since, row.until)):
        text = "the code %d is reserved for the protocol: use one outside of -32768 to -32000" % error.code
        return LocalProtocolError(text, "2026-07-28 basic/index §Error Codes")
    return error
