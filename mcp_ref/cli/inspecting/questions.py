"""The questions of one server that a person answers in the page: forms, links, what a model would say.

A question is an object of the feed until it is answered, cancelled by the server, or its connection has ended. The
thread that serves the question waits for the answer.
"""

import threading
from itertools import count
from json import dumps
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

from ...codec import DecodeError, decode
from ...inspector.live import Feed
from ...jsontext import loads
from ...messages.sampling import CreateMessageResult
from ...protocol.elicitation import read_form
from ..output import UsageError

if TYPE_CHECKING:
    from ...client.elicitation import Elicitation, UrlRequest
    from ...client.sampling import Sampling
    from ...peer.context import Context

_SLICE = 0.2
"""Seconds between two looks whether the server has cancelled its question."""
_ACTIONS = ("accept", "decline", "cancel")


class Questions:
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
