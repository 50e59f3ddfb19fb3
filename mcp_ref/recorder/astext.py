"""Text for people of the events that recorders tell."""

from typing import IO, Callable, Dict, List

from ..jsontext import dumps
from ..wiretrace import (
    BODY, CLOSE, END, GAP, HEADER, OPEN, PROCESS, REQUEST, RESPONSE, SSE_EVENT, STDERR, TRANSPORT, Event,
    Sink, TextSink,
)


def text_sink(stream: IO[str]) -> Sink:
    """Return a sink that writes lines for people on a text stream."""
    write = TextSink(stream)

    def sink(event: Event) -> None:
        if event.kind == HEADER:
            return
        if event.kind in _SHOWN:
            words = _SHOWN[event.kind](event)
            event = Event(event.time, event.direction, TRANSPORT, None, " ".join(filter(None, words)))
        write(event)

    return sink


def _process(event: Event) -> List[str]:
    more = event.more
    words = ["process", str(more["did"])]
    words += [" ".join(more["command"])] if "command" in more else []
    return words + [str(more[name]) for name in ("code", "signal") if name in more]


def _number(event: Event) -> str:
    return "exchange %d" % event.exchange if event.exchange else ""


def _pairs(event: Event) -> str:
    return "(%s)" % ", ".join("%s: %s" % (name, value) for name, value in event.more.get("fields", ()))


_SHOWN: Dict[str, Callable[[Event], List[str]]] = {
    OPEN: lambda event: ["connected over", event.more.get("transport", "an unknown transport")],
    CLOSE: lambda event: ["closed:", event.text],
    PROCESS: _process,
    STDERR: lambda event: ["stderr:", event.text],
    GAP: lambda event: ["not recorded:", event.text],
    REQUEST: lambda event: [_number(event), event.more["method"], event.more["target"], _pairs(event)],
    RESPONSE: lambda event: [_number(event), "->", str(event.more["status"]), _pairs(event)],
    BODY: lambda event: [_number(event), "body", dumps(dict(event.more))],
    SSE_EVENT: lambda event: [_number(event), "event", dumps(dict(event.more))],
    END: lambda event: [_number(event), "over" if event.more.get("complete", True) else "broken off", event.text],
}
