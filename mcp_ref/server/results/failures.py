"""What becomes of an exception of an author's code: a record in the log for the author, and a text for the client.

===================================  ===============================  ==============================================
what was raised                      the client is told               the log has
===================================  ===============================  ==============================================
`ToolError`                          its text                         nothing: it was meant for the client
`RpcError`                           that error                       nothing
a result that may not be sent        what is wrong with it, by place  the exception with its traceback
`CapabilityMissing`                  what this client cannot be       the exception with its traceback
                                     asked
anything else                        type and text, or a fixed text   the exception with its traceback
===================================  ===============================  ==============================================

The fixed text, ``Internal error in tool 'add' (request 7); the server's log has the details``, is for clients that may
be on other machines: the text of an exception can hold paths, queries and credentials. That is HTTP of every kind
(`Server.run_http`, `Server.wsgi`, `Server.handle`) and TCP, also on loopback, where a proxy may stand in front. Clients
on stdio, on a Unix socket and in the same process are told type and text. ``Server(mask_errors=True)`` and ``False``
decide it for all.
"""

from typing import TYPE_CHECKING, Any, Dict

from ...diagnostics.usercode import one_line, shown_error, text_of
from ...errors import INTERNAL_ERROR, CapabilityMissing, RpcError, TooManyQuestions, ToolError
from ...jsonrpc import shown
from ...jsontext import JsonError
from ...peer.raised import named, report
from ...revisions import Revision
from .tool_result import BadResult

if TYPE_CHECKING:
    from ...peer.context import Context
    from ..server import Server

HANDLERS = {"tools/call": "tools", "resources/read": "resources", "prompts/get": "prompts"}
"""Method -> the feature whose functions answer it."""
HOOKS = {"logging/setLevel": "on_log_level", "notifications/roots/list_changed": "on_roots_changed"}
"""Method -> the option of `Server` that is called for it."""


def handler_of(server: "Server", method: str, params: Dict[str, Any], revision: Revision) -> str:
    """What of the author's code takes this message; see `Role.handler_of`. Only registered names are shown."""
    try:
        return HOOKS.get(method) or _registered(server, method, params) or _of_extension(server, method, revision)
    except Exception:  # whatever the params are, what was raised is logged
        return "handler of %s" % shown(method)


def _registered(server: "Server", method: str, params: Dict[str, Any]) -> str:
    if method == "completion/complete":
        return _completion(server, params)
    feature = HANDLERS.get(method, "")
    if not feature or not server.has_feature(feature):
        return ""
    if feature == "resources":
        return _resource(server, params["uri"])
    listing = getattr(server, feature).listing
    return "%s %r" % (listing.kind, params["name"]) if listing.get(params["name"]) is not None else ""


def _resource(server: "Server", uri: str) -> str:
    """By the URI or the template that it was registered with."""
    resources: Any = server.resources
    if resources.listing.get(uri) is not None:
        return "resource %r" % uri
    found = resources.find(uri, server.limits.max_uri_length)
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
    elif server.has_feature("resources"):  # asking for one that is not there would make it
        known = server.resources.templates.get(ref["uri"]) is not None
        of = "resource template %r" % ref["uri"] if known else _resource(server, ref["uri"])
    return "completion of %s for %s" % (shown(argument), of) if of else ""


def _of_extension(server: "Server", method: str, revision: Revision) -> str:
    row = None if server.extensions is None else server.extensions.lookup(method, revision)
    name = "handler of %s" % shown(method)
    return name if row is None else "%s of extension %s" % (name, row.extension)


def failed_tool(context: "Context", who: str, error: Exception) -> str:
    """The text for the model of what a tool has raised, after its author was told."""
    words = text_of(error)
    if isinstance(error, ToolError) and not isinstance(error, BadResult):
        return words or type(error).__name__
    report(context, who, error)
    if isinstance(error, (BadResult, JsonError)):  # it names a place in the result, and nothing of what lies behind
        return words or type(error).__name__
    if not isinstance(error, CapabilityMissing) and _server_of(context).hides(context.connection):
        return _fixed(context, who)
    return "%s: %s" % (type(error).__name__, words) if words else type(error).__name__


def failed(context: "Context", who: str, error: BaseException) -> RpcError:
    """The error for what any other handler has raised, after its author was told."""
    if isinstance(error, TooManyQuestions):
        return RpcError(INTERNAL_ERROR, "Busy: %s" % error)
    if isinstance(error, ToolError):
        return RpcError(INTERNAL_ERROR, one_line(text_of(error) or type(error).__name__))
    report(context, who, error)
    if not isinstance(error, CapabilityMissing) and _server_of(context).hides(context.connection):
        return RpcError(INTERNAL_ERROR, _fixed(context, who))
    return RpcError(INTERNAL_ERROR, "Internal error in %s: %s" % (who, shown_error(error)))


def _fixed(context: "Context", who: str) -> str:
    return "Internal error in %s (%s); the server's log has the details" % (who, named(context.request.id))


def _server_of(context: "Context") -> "Server":
    return context.connection.role  # type: ignore[return-value]
