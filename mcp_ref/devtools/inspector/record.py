"""A session as a JSON object for the page, and the page itself: markup, style and scripts in one file.

=============== =====================================================================================================
member          what it is
=============== =====================================================================================================
``form``        1, the version of this form
``title``       the name of the session
``recorder``    what recorded it; ``started``: when, as text; ``recorded``: what the recorder sees (`RECORDED`)
``connections`` an array of ``[name, transport]``
``revisions``   the names of the revisions in force
``kinds``       the names of the kinds of steps; ``counted``: the methods of steps
``steps``       an array of arrays, see STEP
``groups``      an array of ``[kind, label, connection, steps]``; the steps of a phase are the first and the last
``exchanges``   by number, an object of ``method``, ``target``, ``fields``, ``status``, ``answered`` (the fields of the
                response)
``findings``    an array of objects: ``step`` (-1: at none), ``verdict``, ``rule``, ``text``, ``party``, ``evidence``,
                ``where``, ``key``, ``page``, ``heading``, ``url``, ``level``, ``cause`` (the place of the
                finding that it follows from, or -1)
``glossary``    what `SessionRecord.document` was given
=============== =====================================================================================================

Bytes of messages are texts, also where they are JSON: a browser would make numbers of them, and lose digits.
"""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from pkgutil import get_data
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Set, Tuple

from ...wiretrace import HEADER, MESSAGE, OPEN, REQUEST, RESPONSE, Event
from ...wiretrace.text import plain, shorten
from ..checker import Finding
from ..ladder.conversation import PHASE, LadderStep, Remark, Scribe, pairs

SCRIPTS = ("json.js", "session.js", "ladder.js", "details.js", "page.js", "start.js")
"""The scripts, in the order in which they run."""
LIVE_SCRIPTS = ("json.js", "session.js", "ladder.js", "details.js", "page.js", "wire.js", "form.js", "panel.js",
                "calls.js", "questions.js", "compare.js", "live.js", "start.js")
"""The scripts of a page of a session that goes on; only that one can ask its server anything."""
_POLICY = ("default-src 'none'; script-src %s; style-src %s; img-src data:; connect-src %s; base-uri 'none'; "
           "form-action 'none'")
POLICY_OF_HEAD = "frame-ancestors 'none'"
"""The part of the policy that a page cannot say of itself [CSP Level 3 §3.3 The meta element]: nobody may show it
inside another page."""


def page(document: Dict[str, Any]) -> str:
    """Return the page of a session as text; ``document``: what `SessionRecord.document` returns.

    With a member ``live``, the names of what its server does for it, it is the page of a session that goes on.
    """
    live = "live" in document
    script = "\n".join(_asset(name) for name in (LIVE_SCRIPTS if live else SCRIPTS))
    style = _asset("page.css")
    # In a script element nothing is markup but "<" [HTML §4.12.1.3 Restrictions for contents of script elements].
    data = json.dumps(document).replace("<", "\\u003c")
    title = str(document["title"]).encode("utf-8", "replace").decode("utf-8")  # names of files may be no text
    parts = {"title": escape(title), "policy": _POLICY % (
        _digest(script), _digest(style), "'self'" if live else "'none'"),
             "style": style, "data": data, "script": script}
    text = _asset("page.html")
    pieces = text.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def _asset(name: str) -> str:
    """Return a file of this folder, also from an archive."""
    found = get_data(__package__ or __name__.rpartition(".")[0], name)
    if found is None:
        raise FileNotFoundError("%s is missing beside %s: the copy of the package is not whole" % (name, __name__))
    return found.decode("utf-8")


def _digest(text: str) -> str:
    """Return the source expression that allows an inline script or style [CSP Level 3 §2.3.1 Source Lists]."""
    return "'sha256-%s'" % b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")


FORM = 1
STEP = ("kind", "from", "label", "time", "connection", "exchange", "number", "counted", "sense", "status", "answers",
        "revision", "about", "text")
"""The members of a step. ``kind``, ``connection``, ``counted`` and ``revision`` are places in the arrays of these
names, -1 for none; ``from`` is 0 for the client, 1 for the server, -1 for neither; ``sense`` is 1 for a request, 2 for
the response to one, 0 for anything else; ``answers`` is the place of the request, or -1; ``about`` is the name or the
URI that a request is about; ``text`` has the bytes of a message."""
_PARTIES = {"client": 0, "server": 1}
_SENSES = {"asked": 1, "answered": 2}
_ABOUT = 60
_META = "io.modelcontextprotocol/protocolVersion"


class _Numbering:
    """Names by the order in which they came."""

    def __init__(self) -> None:
        self.names: List[str] = []
        self._places: Dict[str, int] = {}

    def of(self, name: str) -> int:
        """Return the place of a name; -1 for ""."""
        if not name:
            return -1
        if name not in self._places:
            self._places[name] = len(self.names)
            self.names.append(name)
        return self._places[name]


class SessionRecord:
    """Makes the record of a session from its events, one by one."""

    def __init__(self) -> None:
        self._scribe = Scribe()
        self._header: Mapping[str, Any] = {}
        self._connections: Dict[str, str] = {}
        """Name -> transport."""
        self._texts: List[str] = []
        """The bytes of each message."""
        self._said: List[str] = []
        """The revision that each message names; "" where it names none."""
        self._about: List[str] = []
        """The name or URI that each message is about."""
        self._exchanges: Dict[int, Dict[str, Any]] = {}

    def take(self, event: Event) -> None:
        """Take the next event."""
        if event.kind == HEADER:
            self._header = event.more
            return
        if event.kind == OPEN:
            self._connections[event.connection] = str(event.more.get("transport") or "")
        else:
            self._connections.setdefault(event.connection, "")
        if event.kind == MESSAGE:
            several = isinstance(event.message, list)
            for message in event.message if several else [event.message]:
                self._texts.append(_bytes_of(event) if event.text and not several
                                   else json.dumps(message, ensure_ascii=False))
                self._said.append(_revision_in(message))
                self._about.append(_about(message))
        elif event.kind in (REQUEST, RESPONSE):
            self._exchange(event)
        self._scribe.take(event)

    def _exchange(self, event: Event) -> None:
        found = self._exchanges.setdefault(event.exchange, {})
        if event.kind == REQUEST:
            found.update(method=event.more.get("method"), target=event.more.get("target"), fields=pairs(event))
        else:
            found.update(status=event.more.get("status"), answered=pairs(event))

    def document(self, title: str, findings: Sequence[Finding] = (),
                 glossary: "Mapping[str, Any]" = {}) -> Dict[str, Any]:
        """Return the session as the page reads it.

        ``glossary``: by revision, an object of ``methods`` and ``types``, as the command `explain` has them.
        """
        remarks = [Remark(each.verdict, each.rule.id, each.party, each.evidence, each.number, each.exchange,
                          each.connection, each.time) for each in findings]
        whole = self._scribe.conversation(remarks)
        steps = [step for step in whole.steps if isinstance(step, LadderStep)]
        at = {id(remark): place for place, step in enumerate(steps) for remark in step.remarks}
        names = {"kinds": _Numbering(), "counted": _Numbering(), "revisions": _Numbering()}
        connections = list(self._connections)
        rows = [self._row(step, names, connections, revision)
                for step, revision in zip(steps, _InForce().all(steps, self._said))]
        return {
            "form": FORM, "title": title, "recorder": self._header.get("recorder", ""),
            "started": self._header.get("started", ""), "recorded": list(self._header.get("recorded", ())),
            "connections": [[name, transport] for name, transport in self._connections.items()],
            **{name: places.names for name, places in names.items()},
            "steps": rows,
            "groups": [[group.kind, group.label, connections.index(group.connection),
                        [group.steps[0], group.steps[-1]] if group.kind == PHASE else list(group.steps)]
                       for group in whole.groups if group.steps],
            "exchanges": {str(number): exchange for number, exchange in self._exchanges.items()},
            "findings": _findings(findings, [at.get(id(remark), -1) for remark in remarks]),
            "glossary": dict(glossary),
        }

    def methods(self) -> Set[Tuple[str, str]]:
        """Return the revisions and methods that occur, for a glossary."""
        steps = [step for step in self._scribe.conversation().steps if isinstance(step, LadderStep)]
        return {(revision, step.counted) for step, revision in zip(steps, _InForce().all(steps, self._said))
                if revision and step.counted}

    def _row(self, step: LadderStep, names: Dict[str, _Numbering], connections: List[str], revision: str) -> List[Any]:
        text, about = (self._texts[step.number - 1], self._about[step.number - 1]) if step.number else ("", "")
        return [names["kinds"].of(step.kind), _PARTIES.get(step.direction, -1), step.label, round(step.time, 6),
                connections.index(step.connection), step.exchange, step.number, names["counted"].of(step.counted),
                _SENSES.get(step.sense, 0), step.status, step.answers, names["revisions"].of(revision), about,
                text]


class _InForce:
    """The revision of each step: the one that it names, that of its request, or that of its connection."""

    def __init__(self) -> None:
        self.found: List[str] = []
        self._agreed: Dict[str, str] = {}

    def take(self, place: int, step: LadderStep, said: str) -> str:
        """Return the revision of the step at a place, which names this one itself, or ""; again where it changed."""
        del self.found[place:]
        if said and step.counted == "initialize" and step.answers >= 0:
            self._agreed[step.connection] = said
        elif not said and step.answers >= 0:
            said = self.found[step.answers]
        self.found.append(said or self._agreed.get(step.connection, ""))
        return self.found[-1]

    def all(self, steps: Iterable[LadderStep], said: Sequence[str]) -> List[str]:
        """Return the revisions of all steps. ``said``: the revision that each message names."""
        for place, step in enumerate(steps):
            self.take(place, step, said[step.number - 1] if step.number else "")
        return self.found


class LiveRecord(SessionRecord):
    """Makes the record of a session that goes on: what came since the last look, in time that grows with that alone."""

    def __init__(self) -> None:
        super().__init__()
        self._names = {"kinds": _Numbering(), "counted": _Numbering(), "revisions": _Numbering()}
        self._revisions = _InForce()
        self._rows: List[List[Any]] = []
        self._settled = 0
        self._phases: List[Tuple[str, str, int]] = []
        """Label, connection and first step of each phase."""
        self._phase: Dict[str, str] = {}
        self._at: Dict[int, int] = {}
        """The step of each message."""
        self._in_exchange: Dict[int, int] = {}
        """The last step of each exchange."""
        self.size = 0
        """The characters of all messages."""

    def take(self, event: Event) -> None:
        """Take the next event."""
        before = len(self._texts)
        super().take(event)
        self.size += sum(len(text) for text in self._texts[before:])
        steps, settled = self._scribe.since(self._settled)
        del self._rows[self._settled:]
        names, connections = self._names, list(self._connections)
        for place, step in enumerate(steps, self._settled):
            said = self._said[step.number - 1] if step.number else ""
            self._rows.append(self._row(step, names, connections, self._revisions.take(place, step, said)))
            self._at[step.number] = self._in_exchange[step.exchange] = place
            phase = self._scribe.phase(place)
            if place < settled and self._phase.get(step.connection) != phase:
                self._phase[step.connection] = phase
                self._phases.append((phase, step.connection, place))
        self._settled = settled

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return len(self._rows)

    def news(self, cursor: Mapping[str, int], findings: Sequence[Finding], most: int, most_size: int
             ) -> "Tuple[Dict[str, Any], Dict[str, int]]":
        """Return what came since a cursor, with at most so many steps and characters, and the cursor behind it.

        The members are those of `document`, each with what is new alone; ``from`` is the place of the first step, which
        a later answer may have again. ``groups`` have their number before them, ``phases`` are label, connection and
        first step. The cursor: ``steps``, ``groups``, ``phases``, ``findings``; 0 for each in the beginning.
        """
        start = min(cursor["steps"], len(self._rows))
        end = self._end_of(start, most, most_size)
        connections = list(self._connections)
        grouped = list(self._scribe.grouped(cursor["groups"], start))
        groups = [[number, group.kind, group.label, connections.index(group.connection), list(group.steps)]
                  for number, group in grouped]
        known = 1 + max((number for number, _ in grouped), default=-1)
        numbers = sorted({row[5] for row in self._rows[start:end]} & set(self._exchanges))
        shown = [finding for finding in findings[cursor["findings"]:]] if end == len(self._rows) else []
        phases = self._phases[cursor["phases"]:]
        news = {
            "from": start, "steps": self._rows[start:end], "groups": groups,
            "phases": [[label, connections.index(name), place] for label, name, place in phases],
            "exchanges": {str(number): self._exchanges[number] for number in numbers},
            "connections": [[name, transport] for name, transport in self._connections.items()],
            **{name: places.names for name, places in self._names.items()},
            "findings": _findings(shown, [self._place_of(each) for each in shown], findings),
        }
        return news, {"steps": min(end, self._settled), "groups": max(cursor["groups"], known),
                      "phases": cursor["phases"] + len(phases), "findings": cursor["findings"] + len(shown)}

    def _end_of(self, start: int, most: int, most_size: int) -> int:
        end, size = start, 0
        while end < len(self._rows) and end - start < most and (size < most_size or end == start):
            size += len(self._rows[end][-1])
            end += 1
        return end

    def _place_of(self, finding: Finding) -> int:
        """Return the step of a finding: its message, or the last one of its exchange so far; -1 for none."""
        if finding.number:
            return self._at.get(finding.number, -1)
        return self._in_exchange.get(finding.exchange, -1) if finding.exchange else -1


def _bytes_of(event: Event) -> str:
    """Return bytes that are not canonical; those that are no UTF-8 as escapes."""
    return event.text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _revision_in(message: Any) -> str:
    """Return the revision that a message names: in ``_meta``, or as the parameter or the result of `initialize`."""
    for name in ("params", "result"):
        part = message.get(name) if isinstance(message, dict) else None
        if isinstance(part, dict):
            meta = part.get("_meta")
            for said in (meta.get(_META) if isinstance(meta, dict) else None, part.get("protocolVersion")):
                if isinstance(said, str):
                    return said
    return ""


def _about(message: Any) -> str:
    """Return the name or the URI in the params of a request; "" if there is none."""
    params = message.get("params") if isinstance(message, dict) else None
    found = (params.get(name) for name in ("name", "uri", "taskId")) if isinstance(params, dict) else ()
    return next((plain(shorten(each, _ABOUT)) for each in found if isinstance(each, str)), "")


def _findings(findings: Sequence[Finding], at: Sequence[int], among: Sequence[Finding] = ()) -> List[Dict[str, Any]]:
    """Return findings as the page reads them; causes are places ``among`` all, by default these."""
    places = {id(finding): place for place, finding in enumerate(among or findings)}
    return [{
        "step": step, "verdict": each.verdict, "rule": each.rule.id, "text": each.rule.text, "party": each.party,
        "evidence": each.evidence, "where": each.where, "key": each.key, "page": each.clause.page,
        "heading": each.clause.heading, "url": each.clause.url or "", "level": each.clause.level,
        "cause": places.get(id(each.cause), -1),
    } for each, step in zip(findings, at)]
