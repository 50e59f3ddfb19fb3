"""Hooks around every request (`Server.around`), one line of log for each, and the request in log records.

::

    @server.around
    def timed(method, params, principal, proceed):
        begun = time.monotonic()
        try:
            return proceed()                      # the next hook, or the answer; proceed(other_params) changes them
        finally:
            durations[method].append(time.monotonic() - begun)

A hook is called with the method, its params, the `Context.principal`, and a function that goes on. It returns what that
function returns, the result as a JSON object, or one of its own with all members that the client's revision asks for
(``dict(proceed(), contents=[...])`` keeps the others); `RpcError` refuses a request. The first hook that was
registered is the outermost. Exceptions of handlers and cancellations pass through hooks as they are; a hook that
swallows one has to return a result instead.

===========================================  ==========================================================================
not seen by hooks                            since
===========================================  ==========================================================================
notifications, unknown methods, messages     they are refused before
that are none, requests out of their phase
the run of a task                            the call that creates it passes the hooks; its handler runs later
the end of `subscriptions/listen` and of     they are answered later: ``proceed`` returns None at once
`tasks/result`
===========================================  ==========================================================================

`initialize`, `server/discover` and `ping` are answered on the thread that reads, so hooks have to return soon there.
`mcp_ref.server.current` gives the `Context` of the request. Hooks are registered before the server serves. They are
plain functions with these four parameters; anything else is refused at registration.
"""

import logging
import time
from typing import Any, Callable, Dict, Sequence

from ...diagnostics.packagelog import get_logger
from ...errors import RequestCancelled
from ...jsonrpc import decoded, shown
from ...peer.context import HANDLED, Context, Route
from ..hints.members import SignatureError
from ..hints.signature import function_parts

Hook = Callable[[str, Dict[str, Any], Any, Callable[..., Any]], Any]
NAMING = ("name", "uri", "taskId")
"""The members of params that say what a request is about."""
ACCESS = get_logger(__name__.partition(".server.")[0] + ".access")


def checked(hook: Hook) -> Hook:
    """Return the hook. Raises `SignatureError`, a TypeError, for what cannot be called with the four arguments."""
    if not callable(hook):
        raise SignatureError("around takes a function(method, params, principal, proceed), got %.80r: write"
                             " @server.around without parentheses, or server.around(function)" % (hook,))
    import inspect

    try:
        signature = inspect.signature(hook)
    except ValueError:
        return hook  # its parameters are unknown, as those of some builtins
    function_parts(hook, _name_of(hook), True)
    try:
        signature.bind("ping", {}, None, hook)
    except TypeError as error:
        raise SignatureError("%s%s cannot be a hook: it is called with (method, params, principal, proceed); %s" % (
            _name_of(hook), signature, error)) from None
    return hook


def wrapped(method: str, route: Route, hooks: Sequence[Hook]) -> Route:
    """Return the route of a method with these hooks around it, the first of them outermost."""

    def call(context: Context, params: Dict[str, Any]) -> Any:
        def go_on(index: int, params: Dict[str, Any]) -> Any:
            if index == len(hooks):
                return decoded(route.call(context, params))
            hook = hooks[index]
            result = hook(method, params, context.principal,
                          lambda changed=params: go_on(index + 1, changed))
            if not isinstance(result, dict) and not route.deferred:
                raise TypeError("the hook %s returned %.80r around %s, where a result is a dict: it has to return what"
                                " the function that it is given returns" % (_name_of(hook), result, method))
            return result

        return go_on(0, params)

    return route.calling(call)


def _name_of(hook: Hook) -> str:
    return getattr(hook, "__qualname__", None) or type(hook).__name__


def access_log(method: str, params: Dict[str, Any], principal: Any, proceed: Callable[..., Any]) -> Any:
    """Log each request in one line of the logger ``mcp_ref.access``, from INFO up: ``server.around(access_log)``.

    ``tools/call search id=7 by alice: answered in 12.3 ms``
    """
    begun, how = time.monotonic(), "answered"
    try:
        result = proceed()
        if isinstance(result, dict) and result.get("isError"):
            how = "answered with an error of the tool"
        return result
    except RequestCancelled:
        how = "cancelled"
        raise
    except BaseException as error:
        how = "failed with %s" % type(error).__name__
        raise
    finally:
        context = HANDLED.get()
        about = next((params[name] for name in NAMING if isinstance(params.get(name), str)), "")
        ACCESS.info("%s%s id=%s%s: %s in %.1f ms", method, about and " " + shown(about),
                    "-" if context is None else shown(str(context.request_id)),
                    "" if principal is None else " by %s" % shown(str(principal)), how,
                    (time.monotonic() - begun) * 1000)


class RequestNames(logging.Filter):
    """A filter for handlers of `logging` that gives each record a member ``mcp_request``, such as ``tools/call#7``.

    It is "-" outside of requests. ``handler.addFilter(RequestNames())``, with ``%(mcp_request)s`` in the format.
    """

    def __init__(self) -> None:
        super().__init__()

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the member; return True."""
        context = HANDLED.get()
        record.mcp_request = "-" if context is None else "%s#%s" % (
            context.request.method, shown(str(context.request_id)))
        return True
