"""Addresses of an author's own, on the port of the endpoint: a page of settings, a health check, counts of requests.

::

    @server.http_route("GET", "/settings.html")
    def settings(request):                       # an `mcp_ref.http11.message.HttpRequest`
        return "<!doctype html><title>Settings</title>..."

    server.run_http("0.0.0.0", 8000, token="secret", health="/healthz", metrics="/metrics")

A function returns a str or bytes, whose media type the suffix of the path tells (else plain text, or octets); a dict or
a list, which is sent as JSON; or status, header fields and bytes: ``(303, [("Location", "/")], b"")``. An exception is
logged, and answered 500. HEAD is answered as GET is, without the body.

Host and Origin are checked as for the endpoint, so no page of another site can call a route, and so is who asks:

==================  ===========================================  ======================================================
``access``          where clients have to show who they are      where nobody has to
==================  ===========================================  ======================================================
"clients" (default) those who may use the endpoint               everybody who can reach the port
"here"              those, and programs of this machine          programs of this machine
"everybody"         everybody who can reach the port             everybody who can reach the port
==================  ===========================================  ======================================================

``health`` and ``metrics`` have "here"; `Server.http_route` with `health` or `metrics` of this module gives another. A
request that a proxy has passed on, as its fields ``Forwarded``, ``Via`` or ``X-Forwarded-For`` say, is of no program of
this machine, wherever the proxy runs.
"""

import json
from functools import partial
from mimetypes import guess_type
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...diagnostics.packagelog import log_raised
from ...http11.message import Exchange, HttpRequest, Pairs
from ...jsonrpc import shown
from ...limits import Limits
from ...protocol.streamable_http.refusals import ORDER, HeaderVerdict
from ...urls import is_loopback
from .endpoint import Endpoint
from .post import PostRefused, admit

ACCESS = ("clients", "here", "everybody")
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
Reply = Tuple[int, Pairs, bytes]
_ORDER = (*ORDER["OPTIONS"], "credentials", "unchecked", "principal", "closing")
"""The reasons to refuse a request, first to last: those that its header fields show, then those of the guard."""
_PASSED_ON = ("forwarded", "via", "x-forwarded-for", "x-real-ip")
_SAFE = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))


class OwnRoute(NamedTuple):
    """A function that answers the requests of one method to one path."""

    method: str
    path: str
    function: Callable[[HttpRequest], Any]
    access: str = "clients"


def own_route(method: str, path: str, function: Any, access: str) -> OwnRoute:
    """Return a route. Raises TypeError or ValueError for another method, path or access, or for what is no function."""
    if method not in METHODS:
        raise ValueError("http_route: the method is one of %s, not %.80r" % (", ".join(METHODS), method))
    if not isinstance(path, str) or not path.startswith("/") or any(mark in path for mark in "?# "):
        raise ValueError("http_route: the path begins with / and has no query, such as /settings.html, not %.80r"
                         % (path,))
    if access not in ACCESS:
        raise ValueError('http_route: access is "clients", "here" or "everybody", not %.80r' % (access,))
    if not callable(function):
        raise TypeError("http_route: a function answers the request, not %.80r" % (function,))
    return OwnRoute(method, path, function, access)


def answer(route: OwnRoute, endpoint: Endpoint, exchange: Exchange, verdict: HeaderVerdict) -> None:
    """Answer a request to a route: ask the guard, where the route has one, call the function, and reply."""
    request = exchange.request
    if route.access != "everybody" and not (route.access == "here" and _is_of_this_machine(request)):
        if endpoint.guard is None and route.access == "here":
            raise PostRefused("scope", ": this address answers programs of this machine")
        admit(endpoint, exchange)
    if endpoint.closing:  # so that a balancer sends the request elsewhere
        raise PostRefused("closing")
    try:
        status, fields, body = _reply(route, route.function(request))
    except Exception as error:
        log_raised("http_route", error, "%s %s" % (route.method, shown(request.path)))
        raise PostRefused("failure") from None
    exchange.reply(status, tuple(fields) + verdict.cors, body)


def _is_of_this_machine(request: HttpRequest) -> bool:
    return is_loopback(request.peer) and not any(name in request.headers for name in _PASSED_ON)


def _reply(route: OwnRoute, value: Any) -> Reply:
    """Return the reply for what a function has returned. Raises TypeError for anything else."""
    if isinstance(value, tuple) and len(value) == 3 and type(value[0]) is int and isinstance(value[2], bytes):
        return value
    if isinstance(value, (dict, list)):
        return 200, (("Content-Type", "application/json"), *_SAFE), json.dumps(value, allow_nan=False).encode("ascii")
    if not isinstance(value, (str, bytes)):
        raise TypeError("the function of %s %s returned %.80r: it returns a str, bytes, a dict, a list, or status,"
                        " header fields and bytes" % (route.method, route.path, value))
    guessed = guess_type(route.path)[0]
    if isinstance(value, bytes):
        return 200, (("Content-Type", guessed or "application/octet-stream"), *_SAFE), value
    return 200, (("Content-Type", "%s; charset=utf-8" % (guessed or "text/plain")), *_SAFE), value.encode("utf-8")


class OwnRoutes:
    """The routes of one listener, each path an `Endpoint`, by whose rules its requests are refused.

    Raises ValueError for a route that is there twice, or whose path is one of ``taken``.
    """

    def __init__(self, routes: Sequence[OwnRoute], limits: Limits, taken: Sequence[str], shared: Mapping[str, Any]
                 ) -> None:
        paths: Dict[str, Dict[str, OwnRoute]] = {}
        for route in routes:
            path = route.path.rstrip("/")
            if path in [each.rstrip("/") for each in taken] or route.method in paths.get(path, ()):
                raise ValueError("http_route: there is something at %s %s already" % (route.method, route.path))
            paths.setdefault(path, {})[route.method] = route
        self._endpoints = {path: _endpoint(path, found, limits, shared) for path, found in paths.items()}

    def at(self, path: str) -> Optional[Endpoint]:
        """Return what answers at this path; None if no route does."""
        return self._endpoints.get(path.rstrip("/"))

    def close(self) -> None:
        """Refuse new requests."""
        for endpoint in self._endpoints.values():
            endpoint.closing = True


def _endpoint(path: str, routes: Mapping[str, OwnRoute], limits: Limits, shared: Mapping[str, Any]) -> Endpoint:
    methods = {method: partial(answer, route) for method, route in routes.items()}
    if "GET" in methods:
        methods["HEAD"] = methods["GET"]
    options = {name: shared[name] for name in (
        "authenticate", "allowed_hosts", "allowed_origins", "strict", "held", "trusted_proxies")}
    return Endpoint(_connect_nobody, path=path, sessions="none", limits=limits, methods=methods,
                    order={method: _ORDER for method in (*methods, "OPTIONS")}, **options)


def _connect_nobody(session: Any) -> None:
    raise RuntimeError("no message of the protocol comes to an address of an author's own")


# What servers are asked for by those who run them


def health(server: Any) -> Callable[[HttpRequest], Any]:
    """Return the function of a health check: status 200 and the server's name while it serves, 503 when it closes."""
    name, version = server.identity[:2]
    return lambda request: {"status": "ok", "server": name, "version": version}


def metrics(server: Any) -> Callable[[HttpRequest], Any]:
    """Return the function that replies with `Server.statistics` in the text format of Prometheus, version 0.0.4.

    They are the counts of the process that answers; ``run --workers N --metrics PATH`` adds up those of all workers.
    """
    fields = (("Content-Type", "text/plain; version=0.0.4; charset=utf-8"), *_SAFE)
    return lambda request: (200, fields, _exposition(server.statistics()).encode("utf-8"))


def _exposition(counted: Dict[str, Any]) -> str:
    requests = counted["requests"]
    lines: List[str] = []

    def family(name: str, kind: str, text: str, samples: Sequence[Tuple[Mapping[str, str], float]]) -> None:
        lines.extend(["# HELP %s %s" % (name, text), "# TYPE %s %s" % (name, kind)])
        for labels, value in samples:
            inside = ",".join('%s="%s"' % (label, _escaped(labels[label])) for label in labels)
            lines.append("%s%s %s" % (name, "{%s}" % inside if inside else "", repr(value)))

    family("mcp_requests_total", "counter", "Requests by method and by what became of them.", [
        ({"method": method, "outcome": outcome}, requests[method][outcome])
        for method in requests for outcome in ("answered", "failed")])
    family("mcp_request_seconds_total", "counter", "Seconds in the handlers of requests.", [
        ({"method": method}, round(requests[method]["seconds"], 6)) for method in requests])
    family("mcp_requests_inflight", "gauge", "Requests without an answer yet.", [({}, counted["inflight"])])
    family("mcp_connections", "gauge", "Connections and sessions that are operating.", [({}, counted["connections"])])
    family("mcp_notes_total", "counter", "What went wrong with peers, by kind.", [
        ({"note": note}, counted["notes"][note]) for note in sorted(counted["notes"])])
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
