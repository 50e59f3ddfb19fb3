"""Questions of a server to the person who runs the command: fill in a form, open a link, answer as the model.

Without a terminal every question is declined, with a line on standard error. The person reviews answers
before they are sent, and can decline or cancel each question
[2025-06-18.. client/elicitation §User Interaction Model]. A link is shown whole, with its host and all
warnings, and opened only after a yes [2025-11-25.. client/elicitation §Safe URL Handling].

A question is written to standard error, its answer comes from standard input. Answers are read with ``os.read``, in
slices: the thread that waits for a person must not keep the process from ending, and must notice that the server has
cancelled its question.
"""

import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from ...errors import URL_ELICITATION_REQUIRED, PeerError
from ...protocol.elicitation import as_json, read_form
from ..output import note, one_line, write_prompt

if TYPE_CHECKING:
    from ...client import Client
    from ...client.elicitation import Elicitation, UrlRequest
    from ...client.sampling import Sampling
    from ...messages.elicitation import ElicitRequestFormParams
    from ...messages.sampling import CreateMessageRequestParams
    from ...peer.context import Context

ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"
HINT = "  (Enter takes what stands in brackets or leaves a field out; !d declines, !c or Ctrl-D cancels)"
WORDS: Dict[str, str] = {"y": ACCEPT, "yes": ACCEPT, "n": DECLINE, "no": DECLINE, "!d": DECLINE, "c": CANCEL,
                         "cancel": CANCEL, "!c": CANCEL}
SLICE = 0.2
"""Seconds between two checks whether the question was cancelled."""


class Gone(Exception):
    """No answer: the person ended the input, or the server cancelled the question."""


def is_interactive() -> bool:
    """True if standard input and standard error are both a terminal."""
    streams = (sys.stdin, sys.stderr)
    try:
        return all(stream is not None and stream.isatty() for stream in streams)
    except ValueError:
        return False  # closed


def ask(question: str, gone: "Optional[threading.Event]" = None) -> str:
    """Ask for one line and return it without its end. Raises `Gone`, also as soon as the event ``gone`` is set."""
    write_prompt(question)
    number = sys.stdin.fileno()
    data = b""
    while not data.endswith(b"\n"):
        if not _wait(number, gone):
            write_prompt("\n")
            raise Gone("the server took the question back")
        part = os.read(number, 4096)
        if not part:
            raise Gone("the input ended")
        data += part
    return data.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n").strip()


def _wait(number: int, gone: "Optional[threading.Event]") -> bool:
    """Wait until a line was typed; return False as soon as the question is cancelled."""
    if os.name == "nt":
        return gone is None or not gone.is_set()  # there is no waiting for a console; reading blocks
    import select

    while not select.select([number], [], [], SLICE)[0]:
        if gone is not None and gone.is_set():
            return False
    return True


class Declined(Exception):
    """The person declined or cancelled; ``action`` says which."""

    def __init__(self, action: str) -> None:
        super().__init__(action)
        self.action = action


class Asking:
    """Answers the questions of one server, one at a time. ``server`` names it as the person knows it."""

    def __init__(self, server: str) -> None:
        self.server = one_line(server)
        self.interactive = is_interactive()
        self._lock = threading.Lock()

    def elicitation(self) -> "Elicitation":
        """Return the callbacks that answer `elicitation/create`."""
        from ...client.elicitation import Elicitation

        return Elicitation(self._form, self._url, open_url=_open)

    def sampling(self) -> "Sampling":
        """Return the callback that answers `sampling/createMessage`: the person is the model."""
        from ...client.sampling import Sampling

        return Sampling(self._model, model="a person at a terminal", approve_request=self._may_sample)

    def attempt(self, client: "Client", call: Callable[[], Any]) -> Any:
        """Make a call. If the server wants a link followed first (-32042), ask the person, and make the call again."""
        try:
            return call()
        except PeerError as error:
            if error.code != URL_ELICITATION_REQUIRED or not self.elicitation().follow(error, client):
                raise
        try:
            ask("press Enter when you are done there ")
        except Gone:
            pass
        return call()

    # Forms

    def _form(self, params: "ElicitRequestFormParams", context: "Context") -> Any:
        if not self.interactive:
            return self._nobody("to fill in a form", params.message)
        revision = context.connection.session.rules
        schema = as_json(params.requested_schema, revision)
        with self._lock:
            note("%s asks: %s\n%s" % (self.server, _shown(params.message), HINT))
            try:
                while True:
                    content = {name: value for name, value in (
                        (name, _field(name, field, schema, revision, context.cancelled))
                        for name, field in schema["properties"].items()) if value is not None}
                    for name, value in content.items():
                        note("  %s: %s" % (one_line(name), value))
                    action = _choice("send this? [y]es, [n]o, [c]ancel, [e]dit: ", context.cancelled, ("e",))
                    if action != "e":
                        return content if action == ACCEPT else action
            except Declined as answered:
                return answered.action
            except Gone:
                return CANCEL

    # Links

    def _url(self, request: "UrlRequest", context: "Optional[Context]") -> str:
        if not self.interactive:
            return self._nobody("to open a link", request.url)
        host = request.host if not request.punycode else "%s, shown as %s" % (request.host, request.unicode_host)
        lines = ["%s wants you to open a link: %s" % (self.server, _shown(request.message)),
                 "  " + one_line(request.url), "  it leads to " + one_line(host)]
        lines += ["  WARNING: " + one_line(warning) for warning in request.warnings]
        with self._lock:
            note("\n".join(lines))
            try:
                return _choice("open it? [y]es, [n]o, [c]ancel: ", context.cancelled if context else None)
            except Gone:
                return CANCEL

    # Sampling

    def _may_sample(self, params: "CreateMessageRequestParams", context: "Context") -> bool:
        if not self.interactive:
            return self._nobody("the model", "sampling/createMessage") == ACCEPT
        lines = ["%s asks the model, which is you:" % self.server]
        if params.system_prompt:
            lines.append("  system: " + _shown(params.system_prompt))
        for message in params.messages:
            blocks = message.content if isinstance(message.content, list) else [message.content]
            lines += ["  %s: %s" % (message.role, _shown(str(getattr(block, "text", "[%s]" % block.type))))
                      for block in blocks]
        with self._lock:
            note("\n".join(lines))
            try:
                return _choice("answer it? [y]es, [n]o: ", context.cancelled) == ACCEPT
            except Gone:
                return False

    def _model(self, params: "CreateMessageRequestParams", context: "Context") -> str:
        lines: List[str] = []
        with self._lock:
            note("your answer, ended by an empty line:")
            try:
                while not lines or lines[-1]:
                    lines.append(ask("> ", context.cancelled))
            except Gone:
                pass
        return "\n".join(lines).rstrip("\n")

    def _nobody(self, what: str, about: str) -> str:
        note("%s asks %s: %s; declined, because there is no terminal" % (self.server, what, one_line(about)))
        return DECLINE


def _open(url: str) -> bool:
    import webbrowser

    if webbrowser.open(url):
        return True
    note("no browser could be started; the server gets the answer: cancelled")
    return False


def _shown(text: str) -> str:
    """The lines of a server's text, indented so that they cannot pass for ours."""
    return "\n    ".join(one_line(line) for line in text.splitlines())


def _choice(question: str, gone: Optional[threading.Event], more: Tuple[str, ...] = ()) -> str:
    """Ask until the person chooses an action or one of the other words, and return it."""
    while True:
        word = ask(question, gone).lower()
        if word in more:
            return word
        if word in WORDS:
            return WORDS[word]


# Fields


def _field(name: str, field: Dict[str, Any], schema: Dict[str, Any], revision: Any, gone: threading.Event) -> Any:
    """Ask for one field and return its value; None if it is left out. Raises `Declined`, `Gone`."""
    required = name in schema.get("required", ())
    choices = _choices(field)
    for value, title in choices:
        note("    %s%s" % (one_line(value), "" if title == value else "  " + one_line(title)))
    rules = read_form({"type": "object", "properties": {name: field}}, revision)
    default = rules.defaults(revision).get(name)
    while True:
        text = ask(_question(name, field, required, default), gone)
        if text in ("!d", "!c"):
            raise Declined(WORDS[text])
        if not text:
            if default is not None or not required:
                return default
            note("  %s is required" % one_line(name))
            continue
        value = _value(text, field, choices)
        problems = rules.problems({name: value})
        if not problems:
            return value
        note("  " + one_line("; ".join(problems)))


def _question(name: str, field: Dict[str, Any], required: bool, default: Any) -> str:
    about = [field["type"] if field.get("format") is None else field["format"], "required" if required else "optional"]
    if field["type"] == "array":
        about[0] = "some of these, commas between"
    title = one_line(str(field.get("title") or name))
    description = field.get("description")
    shown = ", ".join(default) if isinstance(default, list) else str(default)
    kept = "" if default is None else " [%s]" % one_line(shown)
    return "  %s%s (%s)%s: " % (title, " - " + one_line(description) if description else "", ", ".join(about), kept)


def _choices(field: Dict[str, Any]) -> List[Tuple[str, str]]:
    """Return the values of a choice, each with its title."""
    inside = field.get("items", field)
    titled = inside.get("oneOf") or inside.get("anyOf")
    if titled:
        return [(option["const"], option["title"]) for option in titled]
    values = inside.get("enum") or []
    return list(zip(values, inside.get("enumNames") or values))


def _value(text: str, field: Dict[str, Any], choices: List[Tuple[str, str]]) -> Any:
    """Return typed text as a value of the field's type; else the text itself, which the rules then refuse."""
    values = {title: value for value, title in choices}
    if field["type"] == "array":
        return [values.get(word, word) for word in (part.strip() for part in text.split(",")) if word]
    if field["type"] == "boolean":
        return {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}.get(text.lower(), text)
    if field["type"] in ("integer", "number"):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
    return values.get(text, text)
