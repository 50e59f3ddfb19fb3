"""The connections of an inspector page, with one trace for all, and the server requests that a person answers there.

What the page asks for is a JSON object with ``do``; what comes of it are objects of the feed, which last longer than
one page: ``server`` (a connection and its state), ``call`` (a request, its progress, its outcome), ``entry`` (a server
that was named when the inspector began), ``question``.

A question (a form, a link, a sampling request) is an object of the feed until it is answered, cancelled by the server,
or its connection ends. The thread that serves the request waits for the answer.
"""

import argparse
import threading
from dataclasses import replace
from functools import partial
from itertools import count
from json import dumps
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple

from ... import deadline
from ...codec import DecodeError, decode
from ...devtools.inspector.live import Feed
from ...errors import McpError, PeerError
from ...jsontext import loads
from ...limits import DEFAULT, Limits
from ...messages.sampling import CreateMessageResult
from ...protocol.elicitation import read_form
from ...wiretrace import Trace
from ..output import UsageError, one_line
from ..use.connecting import take_entry, target_arguments, target_options

if TYPE_CHECKING:
    from ...client import Client
    from ...client.elicitation import Elicitation, UrlRequest
    from ...client.sampling import Sampling
    from ...peer.context import Context

_SLICE = 0.2
"""Seconds between two looks whether the server has cancelled its question."""
_ACTIONS = ("accept", "decline", "cancel")


class OpenRequests:
    """The open questions of all connections; each has a number."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._open: "Dict[str, Tuple[threading.Event, Dict[str, Any], Callable[[str], None]]]" = {}

    def ask(self, connection: str, question: Dict[str, Any], gone: Optional[threading.Event],
            check: Callable[[str], None] = lambda text: None) -> Dict[str, Any]:
        """Show a question, wait, and return its answer: ``action``, and ``text`` with JSON or words.

        ``check`` raises ValueError for a text that cannot be accepted: then the question stays open.
        """
        number, answered = str(next(self._numbers)), threading.Event()
        given: Dict[str, Any] = {"action": "cancel"}
        with self._lock:
            self._open[number] = answered, given, check
        self._feed.put("question", number, dict(question, connection=connection))
        try:
            while not answered.wait(_SLICE) and not (gone is not None and gone.is_set()):
                pass
            return given
        finally:
            with self._lock:
                self._open.pop(number, None)
            self._feed.put("question", number, None)

    def answer(self, given: Dict[str, Any]) -> Dict[str, Any]:
        """Take an answer of the page: ``question``, ``action``, and ``text`` for what is accepted."""
        if given.get("action") not in _ACTIONS:
            raise UsageError("the action of an answer is one of %s" % ", ".join(_ACTIONS))
        with self._lock:
            found = self._open.get(str(given.get("question")))
        if found is None:
            raise UsageError("this question is not open any more")
        if given["action"] == "accept":
            found[2](str(given.get("text") or ""))
        found[1].update(action=given["action"], text=str(given.get("text") or ""))
        found[0].set()
        return {}

    def release(self) -> None:
        """Cancel all questions: the inspector ends."""
        with self._lock:
            waiting = list(self._open.values())
        for answered, *_ in waiting:
            answered.set()

    def elicitation(self, connection: str) -> "Elicitation":
        """Return the callbacks that answer `elicitation/create` of one connection."""
        from ...client.elicitation import Elicitation

        def form(params: Any, context: "Context") -> Any:
            revision = context.connection.session.rules
            schema = _text(params.requested_schema, revision)
            rules = read_form(loads(schema.encode("utf-8")), revision)

            def check(text: str) -> None:
                problems = rules.problems({**rules.defaults(revision), **loads(text.encode("utf-8"))})
                if problems:
                    raise ValueError("; ".join(problems))

            found = self.ask(connection, {"kind": "form", "message": params.message, "schema": schema},
                             context.cancelled, check)
            return loads(found["text"].encode("utf-8")) if found["action"] == "accept" else found["action"]

        def url(request: "UrlRequest", context: "Optional[Context]") -> Any:
            gone = None if context is None else context.cancelled
            return self.ask(connection, {"kind": "link", "message": request.message, "url": request.url,
                                         "host": request.host, "warnings": list(request.warnings),
                                         "looks": request.unicode_host if request.punycode else ""}, gone)["action"]

        # The page opens the link itself, by a click of the person [2025-11-25.. client/elicitation §Safe URL Handling].
        return Elicitation(form, url, open_url=lambda address: True)

    def sampling(self, connection: str) -> "Sampling":
        """Return the callback that answers `sampling/createMessage` of one connection: the person is the model."""
        from ...client.sampling import Sampling

        answers: "Dict[int, Dict[str, Any]]" = {}

        def approve(params: Any, context: "Context") -> bool:
            revision = context.connection.session.rules
            found = self.ask(connection, {"kind": "sampling", "params": _text(params, revision)}, context.cancelled)
            answers[threading.get_ident()] = found  # the callback is called on this thread, behind this
            return bool(found["action"] == "accept")

        def model(params: Any, context: "Context") -> Any:
            text = answers.pop(threading.get_ident())["text"]
            if not text.lstrip().startswith("{"):
                return text
            try:
                return decode(CreateMessageResult, loads(text.encode("utf-8")), context.connection.session.rules,
                              "result")
            except DecodeError as error:
                raise ValueError("what was entered is no result: %s" % error) from None

        return Sampling(model, model="a person at the inspector", tools=True, approve_request=approve)


def _text(value: Any, revision: Any) -> str:
    """Return a message as JSON text: the page parses no numbers."""
    from ...codec import encode

    return dumps(value if isinstance(value, dict) else encode(value, revision), ensure_ascii=False)


_LIMITS = replace(DEFAULT, request_timeout=DEFAULT.request_ceiling)
"""A person answers in between, so only the ceiling ends a request."""
_MOST_CALLS = 100
"""The calls that are over whose outcome is kept."""
_PROGRESS = 0.05
"""Seconds between two looks of the page at the progress of a call."""
_EXAMINED = 5.0
"""The seconds that a server has when it is examined why it could not be reached."""


class _Member:
    """A connection: what was asked for, and the client, while there is one."""

    def __init__(self, name: str, form: Dict[str, Any]) -> None:
        self.name, self.form = name, form
        self.client: "Optional[Client]" = None
        self.roots: Any = None
        self.shown: Dict[str, Any] = {}
        self.turn = threading.Lock()
        self.listening: List[Any] = []


class PageActions:
    """The hands of the page; `acts` are functions by the names of their addresses."""

    def __init__(self, feed: Feed, trace: Trace, defaults: Any) -> None:

        self._feed, self._trace, self._defaults = feed, trace, defaults
        self.questions = OpenRequests(feed)
        self._members: Dict[str, _Member] = {}
        self._calls: Dict[str, Any] = {}
        self._over: List[str] = []
        self._numbers, self._names = count(1), count(1)
        self._lock = threading.Lock()
        self.acts: Dict[str, Callable[[Dict[str, Any]], Dict[str, Any]]] = {
            "servers": partial(_done, self._servers), "request": partial(_done, self._request),
            "answer": partial(_done, self.questions.answer)}

    def close(self) -> None:
        """End all connections."""
        self.questions.release()
        with self._lock:
            members = list(self._members.values())
        for member in members:
            self._hang_up(member)

    # Connections

    def _servers(self, given: Dict[str, Any]) -> Dict[str, Any]:
        table: Dict[str, Callable[[_Member, Dict[str, Any]], Dict[str, Any]]] = {
            "reconnect": self._again, "close": self._end, "forget": self._forget, "roots": self._set_roots,
            "log": self._set_level, "listen": self._listen}
        what = given.get("do")
        if what == "connect":
            return self.connect(given)
        if what == "cancel":
            return self._cancel(given)
        if what not in table:
            raise UsageError("a server is told to do one of connect, cancel, %s" % ", ".join(table))
        return table[what](self._member(given), given)

    def connect(self, form: Dict[str, Any]) -> Dict[str, Any]:
        """Open a connection; its outcome is in the object ``server``. Returns its name."""
        if not str(form.get("server") or "").strip():
            raise UsageError("which server? A command, a URL, tcp://host:port, unix:///path, or mcp.json:NAME")
        with self._lock:
            member = _Member(str(next(self._names)), dict(form))
            self._members[member.name] = member
        self._open(member)
        return {"server": member.name}

    def _open(self, member: _Member) -> None:
        form, began = member.form, deadline.clock()
        with member.turn:
            options: Any = None
            self._show(member, state="connecting", server=self._title(form), era=form.get("era") or "", error="",
                       cause=None)
            try:
                options = self._options(form)
                client = self._connect(member, options)
            except (McpError, OSError, ValueError, UsageError) as error:
                text = one_line(self._trace.masker.text(str(error) or type(error).__name__))
                self._show(member, state="failed", error=text)
            else:
                info = client.server_info
                self._show(member, state="open", revision=str(client.revision), seconds=deadline.clock() - began,
                           name=info.name if info else "", version=info.version if info else "",
                           title=info.title or "" if info else "", instructions=client.instructions or "",
                           capabilities=dumps(dict(client.server_capabilities), ensure_ascii=False))
                return
        if options is not None:
            self._show(member, cause=_cause(self._options(form)))

    def _connect(self, member: _Member, options: Any) -> "Client":
        from ...client import Client
        from ...client.connecting import is_command, transport_to
        from ...client.roots import Roots

        limits: Limits = take_entry(options, _LIMITS)
        arguments = target_arguments(options)
        self._ask_in_page(member, arguments)
        member.roots = Roots(list(_words(member.form.get("roots"))))
        if is_command(options.server):
            arguments["stderr"] = False  # the page shows it
        transport = transport_to(options.server, limits=limits, trace=self._trace, **arguments)
        self._show(member, connection=getattr(transport, "connection_name"))
        client = member.client = Client(  # from now on `close` ends it, also while it waits for a slow server
            era=options.revision or options.era, limits=limits, roots=member.roots, tasks=None,
            sampling=self.questions.sampling(member.name), elicitation=self.questions.elicitation(member.name))
        try:
            return client.open(transport)
        except BaseException:
            member.client = None
            raise

    def _ask_in_page(self, member: _Member, arguments: Dict[str, Any]) -> None:
        """Have authorization shown in the page: the person opens the address there."""
        if not member.form.get("oauth"):
            return
        from ...auth.client.oauth import OAuth
        from ...auth.client.store import MemoryStore
        from ...threads import start_thread

        def show(url: str) -> None:
            start_thread("mcp-ref:inspect", self.questions.ask, member.name, {
                "kind": "authorize", "message": "Allow access on this page, and come back.", "url": url}, None)

        arguments["auth"] = OAuth(open_browser=show, store=MemoryStore())

    def _options(self, form: Dict[str, Any]) -> Any:
        """Return the options of `target_options` that a form of the page means. Raises `UsageError`."""
        parser = argparse.ArgumentParser(add_help=False)
        target_options(parser)
        options = parser.parse_args(["-"])
        options.server = str(form["server"]).strip()
        spoken = str(form.get("era") or "")
        options.revision, options.era = (spoken, None) if spoken[:1].isdigit() else (None, spoken or None)
        options.env = list(_words(form.get("env")))
        options.header = list(_words(form.get("headers")))
        options.cwd = str(form.get("cwd") or "") or None
        for name in ("inherit_env", "env", "header", "cwd"):
            if not getattr(options, name):
                setattr(options, name, getattr(self._defaults, name))
        options.cafile = self._defaults.cafile
        return options

    def _title(self, form: Dict[str, Any]) -> str:
        """Return what a form connects to, for people: secrets are masked."""
        server, masker = str(form["server"]), self._trace.masker
        return masker.url(server) if "://" in server else " ".join(masker.command(server.split()))

    def _show(self, member: _Member, **members: Any) -> None:
        member.shown.update(members)
        self._feed.put("server", member.name, dict(member.shown))

    def _member(self, given: Dict[str, Any]) -> _Member:
        with self._lock:
            found = self._members.get(str(given.get("server")))
        if found is None:
            raise UsageError("there is no connection %s" % one_line(str(given.get("server"))))
        return found

    def _client(self, given: Dict[str, Any]) -> "Client":
        client = self._member(given).client
        if client is None:
            raise UsageError("this server is not connected")
        return client

    def _hang_up(self, member: _Member) -> None:
        client, member.client = member.client, None
        for subscription in member.listening:
            subscription.close()
        member.listening = []
        if client is not None:
            client.close()

    def _again(self, member: _Member, given: Dict[str, Any]) -> Dict[str, Any]:
        self._hang_up(member)
        self._open(member)
        return {}

    def _end(self, member: _Member, given: Dict[str, Any]) -> Dict[str, Any]:
        self._hang_up(member)
        self._show(member, state="closed", listens="")
        return {}

    def _forget(self, member: _Member, given: Dict[str, Any]) -> Dict[str, Any]:
        self._hang_up(member)
        with self._lock:
            self._members.pop(member.name, None)
        self._feed.put("server", member.name, None)
        return {}

    def _set_roots(self, member: _Member, given: Dict[str, Any]) -> Dict[str, Any]:
        roots = list(_words(given.get("roots")))
        if member.roots is not None:
            member.roots.set(roots)
        member.form["roots"] = "\n".join(roots)
        return {"roots": [root.uri for root in member.roots.listed()] if member.roots is not None else roots}

    def _set_level(self, member: _Member, given: Dict[str, Any]) -> Dict[str, Any]:
        self._client(given).set_log_level(str(given.get("level")))
        self._show(member, level=str(given.get("level")))
        return {}

    def _listen(self, member: _Member, given: Dict[str, Any]) -> Dict[str, Any]:
        """Listen to lists and resources, in the place of what was listened to before; nothing named: no more."""
        client = self._client(given)
        features, uris = list(_words(given.get("features"))), list(_words(given.get("uris")))
        before, member.listening = member.listening, []
        for subscription in before:
            subscription.close()
        if features or uris:
            if not client.revision.stateless:
                features = []  # those servers tell of their lists unasked
            if features or uris:
                member.listening = [client.listen(*features, uris=uris)]
        self._show(member, listens=", ".join([*features, *uris]))
        return {}

    # Requests

    def _request(self, given: Dict[str, Any]) -> Dict[str, Any]:
        """Send a request or, with ``notify``, a notification. ``params`` is JSON text, or absent. Returns the number of
        the call."""
        from ...client.options import REQUEST_DEFAULTS, Options
        from ...jsontext import loads

        client, method = self._client(given), given.get("method")
        if not isinstance(method, str) or not method:
            raise UsageError("which method?")
        text = given.get("params")
        params = loads(str(text).encode("utf-8")) if text not in (None, "") else {}
        if not isinstance(params, dict):
            raise UsageError("params is an object")
        if given.get("notify"):
            client.notify(method, params)
            return {}
        number = str(next(self._numbers))
        shown = {"server": str(given["server"]), "method": method, "about": _about(params), "state": "running",
                 "quiet": bool(given.get("quiet"))}
        self._feed.put("call", number, shown)
        began = deadline.clock()
        progress = partial(self._progress, number, shown)
        options: Options = {**REQUEST_DEFAULTS, "timeout": DEFAULT.request_ceiling,
                            "progress": progress if given.get("progress") else None,
                            "extend_on_progress": bool(given.get("progress"))}
        try:
            call = client._requests.submit(method, params, options, lambda result: result)
        except (McpError, ValueError) as error:
            self._settle(number, shown, began, error=one_line(str(error)))
            return {"call": number}
        with self._lock:
            self._calls[number] = call
        call.add_done_callback(partial(self._done, number, shown, began))
        return {"call": number}

    def _progress(self, number: str, shown: Dict[str, Any], value: float, total: Optional[float],
                  message: Optional[str]) -> None:
        last, now = shown.get("told", 0.0), deadline.clock()
        if now - last >= _PROGRESS or value == total:
            shown.update(told=now, progress=value, total=total, message=message or "")
            if shown["state"] == "running":
                self._feed.put("call", number, dict(shown))

    def _done(self, number: str, shown: Dict[str, Any], began: float, call: Any) -> None:
        if call.cancelled():
            self._settle(number, shown, began, state="cancelled")
            return
        error = call.exception()
        if error is None:
            self._settle(number, shown, began, state="done", result=dumps(call.result(), ensure_ascii=False))
        elif isinstance(error, PeerError):
            self._settle(number, shown, began, error=str(error.message), code=error.code,
                         data=dumps(error.data, ensure_ascii=False) if error.data is not None else "")
        else:
            self._settle(number, shown, began, error=one_line(str(error)))

    def _settle(self, number: str, shown: Dict[str, Any], began: float, state: str = "failed", **members: Any) -> None:
        shown.update(state=state, seconds=deadline.clock() - began, **members)
        self._feed.put("call", number, dict(shown))
        with self._lock:
            self._calls.pop(number, None)
            self._over.append(number)
            old, self._over = self._over[:-_MOST_CALLS], self._over[-_MOST_CALLS:]
        for each in old:
            self._feed.put("call", each, None)

    def _cancel(self, given: Dict[str, Any]) -> Dict[str, Any]:
        with self._lock:
            call = self._calls.get(str(given.get("call")))
        if call is None:
            raise UsageError("this call is over")
        call.cancel()
        return {}


def _done(act: Callable[[Dict[str, Any]], Dict[str, Any]], given: Dict[str, Any]) -> Dict[str, Any]:
    """Do something for the page. Raises ValueError for wrong usage, which is the page's, and not that of the command.
    """
    try:
        return act(given)
    except UsageError as error:
        raise ValueError(str(error)) from None


def _words(lines: Any) -> Iterator[str]:
    """Yield the lines of a text that are not empty."""
    for line in str(lines or "").splitlines():
        if line.strip():
            yield line.strip()


def _about(params: Dict[str, Any]) -> str:
    found = (params.get(name) for name in ("name", "uri", "taskId"))
    return next((one_line(each)[:80] for each in found if isinstance(each, str)), "")


def _cause(options: Any) -> Optional[Dict[str, Any]]:
    """Return what the command `doctor` says of a server that could not be reached; None if it works now."""
    from ..doctor.examination import examined, limits_of

    try:
        report = examined(options, limits_of(_EXAMINED), lambda text: None)
    except (McpError, OSError, ValueError, UsageError) as error:
        return {"sentence": one_line(str(error)), "advice": "", "stderr": []}
    cause = report.get("cause")
    if cause is None:
        return {"sentence": "It works now.", "advice": "Connect again.", "stderr": []}
    return {"sentence": cause["sentence"].strip(), "advice": cause["advice"], "id": cause["id"],
            "stderr": report["stderr"]}
