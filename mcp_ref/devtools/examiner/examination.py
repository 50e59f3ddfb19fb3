"""An examination: a server is put through the scenes, revision by revision, and the checker judges what is seen.

What the checker finds at the messages of the party that is examined, and what the scenes decide by themselves make one
verdict for each requirement (`Chapter`). What a scene sends is illegal where it has to be: so only that party's faults
count. Clients are examined by `mcp_ref.devtools.examiner.clients.stage`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Set

from ...deadline import clock
from ...requirements import Requirement, requirements
from ...errors import McpError
from ...revisions import REVISIONS, Revision
from ...wiretrace import CLIENT, HEADER, MESSAGE, REQUEST, SERVER, Event, Trace
from ...wiretrace.text import shorten
from ..checker import Checker
from ..checker.findings import Finding
from .causes import ENDED, ServerFault, is_about_form, is_unreadable, short, united
from .scenes import PIPE, SSE, WEB, Broken, CannotTell, Kept, NotExamined, Said, Scene, Verdict, load
from .stage import SceneStage
from .talk import NotSpoken, Wire, WiresAhead
from .wire import Reaction

if TYPE_CHECKING:
    from .hostile.told import HostileReport

KEPT, BROKEN, WARNED, UNSURE, NOT_EXAMINED = "kept", "broken", "warned", "cannot tell", "not examined"
STATES = (BROKEN, WARNED, KEPT, UNSURE, NOT_EXAMINED)
"""The states of a requirement, the worst first."""
PATIENCE = 5.0
"""The seconds for which an answer is waited for, by default."""
_REASON = 500
"""Characters of the reason why a revision was not examined: a server that does not start says why on standard error."""
_ELSEWHERE = {PIPE: ("http.", "sse.", "auth."), WEB: ("stdio.", "sse."), SSE: ("stdio.", "auth.")}
"""Wire -> the requirements that are about others."""


class Row(NamedTuple):
    """A requirement in one revision, and what came of it."""

    requirement: Requirement
    state: str
    said: str
    """The evidence, or the reason."""


class Chapter:
    """The results of one revision. ``party``: who is examined."""

    def __init__(self, revision: Revision, party: str = SERVER) -> None:
        self.revision = revision
        self.party = party
        self.wire = ""
        """The kind of wire, once there is a conversation: pipe, web or sse."""
        self.refused = ""
        """The reason why the party was not examined in it; "" if it was."""
        self.garbled = False
        """True if the reason is that the answer to the opening could not be read."""
        self.scenes: Dict[str, str] = {}
        """Scene -> why it was not played, or "" if it was."""
        self.faults: List[ServerFault] = []
        self._said: Dict[str, List[Verdict]] = {}
        _rules()  # now: loading them takes seconds on a slow machine, which would count as silence of the party
        self._checker = Checker()
        self._scene = ""
        self._seen_in: Dict[str, str] = {}
        """Key of a finding -> the scene in which it was seen first."""
        self._malformed: Dict[str, Set[str]] = {}
        """Scene -> the requirements that were broken in it by messages that nobody can read."""
        self._answered = False
        """True once there was a response of the party that is no error, or bytes that are no message."""
        self._reasons: Dict[str, str] = {}
        self._sent_in: Dict[str, str] = {}
        """Connection -> the scene that has last sent something on it."""

    def feed(self, event: Event) -> None:
        """Take an event of the trace. What is seen of a connection is of the scene that has last sent something on it:
        a process may end while the next scene is played."""
        if _is_sent(event):
            self._sent_in[event.connection] = self._scene
        self._answered = self._answered or _is_an_answer(event)
        for finding in self._checker.feed(event):
            scene = self._sent_in.get(event.connection, self._scene)
            self._seen_in.setdefault(finding.key, scene)
            if scene and finding.party == self.party and is_unreadable(finding.rule.id):
                self._malformed.setdefault(scene, set()).add(finding.rule.id)

    def begin(self, scene: str) -> None:
        """Note that a scene begins; "" for what is in none."""
        self._scene = scene

    def note(self, row: Scene, said: Said) -> None:
        """Take what a scene has said."""
        verdicts = said if isinstance(said, dict) else {id: said for id in row.ids}
        self.scenes[row.name] = ""
        for id, verdict in verdicts.items():
            if verdict is None or self.revision.rank not in requirements()[id].ranks():
                continue
            self._said.setdefault(id, []).append(verdict)
            if not isinstance(verdict, (Kept, CannotTell)):
                for each in verdict if isinstance(verdict, list) else [verdict]:
                    made = each if isinstance(each, Broken) else Broken(str(each))
                    self._found(id, made.evidence, "", "%s:%s" % (id, row.name))

    def note_end(self, row: Scene, why: str) -> None:
        """Note that the shared conversation has ended in a scene: none of them gives the server a reason."""
        if why and not any(each.scene == row.name for each in self.faults):
            id = "version.base-required" if self.revision.stateless else "lifecycle.base-required"
            self._said.setdefault(id, []).append(why)
            self._found(id, "%s: %s" % (ENDED, why), "", "%s:%s" % (id, row.name))

    def skipped(self, row: Scene, why: str) -> None:
        """Note why a scene was not played."""
        self.scenes[row.name] = why
        for id in (*row.ids, *row.provokes):
            self._reasons.setdefault(id, why)

    def _found(self, id: str, evidence: str, where: str, key: str) -> None:
        if all(each.key != key for each in self.faults):
            self.faults.append(ServerFault(id, short(evidence), where, self._seen_in.get(key, self._scene), key))

    def finish(self, wanted: FrozenSet[str] = frozenset()) -> None:
        """Judge what can only be judged at the end. ``wanted``: the requirements whose faults count; empty: all."""
        self.begin("")
        self._checker.finish()
        if self.refused and not (self.garbled and (self._answered or self.party != SERVER)):
            return  # a revision that is not spoken is not broken
        seen: Dict[str, None] = {}
        methods: Dict[str, str] = {}
        for finding in self._checker.findings:
            if finding.cause is None and finding.party == self.party and finding.verdict != "disagreement" and (
                    not self.refused or is_about_form(finding.rule.id)):
                for id in (finding.rule.id, *finding.rule.also):
                    seen[id] = None
                methods[finding.key] = finding.method
                self._found(finding.rule.id, finding.evidence, _place(finding), finding.key)
        # What the checker has found is the cause of what the scene says of the same requirement.
        told = [each for each in self.faults if each.where or each.id not in seen]
        self.faults = [each for each in united(told, methods, self.party, self._malformed)
                       if not wanted or wanted.intersection(_broken(each))]

    def rows(self) -> List[Row]:
        """Return the requirements that bind the party in this revision on this wire, with what came of each."""
        tallies = self._checker.tallies()
        of = {id: tallies[rule] for rule, row in _rules().items() for id in (rule, *row.also)}
        faults: Dict[str, ServerFault] = {}
        for fault in self.faults:
            for each in fault.every:
                for id in _broken(each._replace(others=())):
                    faults.setdefault(id, each)
        found = []
        elsewhere = _ELSEWHERE.get(self.wire, ())
        if self.wire == SSE and self.revision not in requirements()["sse.endpoint-event"].stated:
            elsewhere += ("http.",)  # what later revisions say of HTTP is about their own transport
        for id, row in requirements().items():
            if row.binding and row.role in (self.party, "both") and self.revision in row.stated and not id.startswith(
                    elsewhere):
                found.append(self._row(row, faults.get(id), of.get(id)))
        return found

    def _row(self, row: Requirement, fault: Optional[ServerFault], tally: Any) -> Row:
        row = row.stated_in(self.revision)
        said = self._said.get(row.id, [])
        if fault is not None:
            return Row(row, BROKEN if "MUST" in row.level else WARNED, fault.evidence)
        if any(isinstance(each, Kept) for each in said) or (tally is not None and tally.judged):
            return Row(row, KEPT, "")
        unsure = [each.missing for each in said if isinstance(each, CannotTell)]
        if tally is not None and tally.unsure:
            unsure += tally.unsure
        if unsure:
            return Row(row, UNSURE, unsure[0])
        return Row(row, NOT_EXAMINED, self._reasons.get(row.id, "no scene shows it" if tally is None else
                                                        "nothing was seen that it is about"))


def _broken(fault: ServerFault) -> List[str]:
    """Return the requirements that a fault and those with its cause break."""
    rules = _rules()
    return [id for each in fault.every for id in (each.id, *(rules[each.id].also if each.id in rules else ()))]


def _rules() -> Dict[str, Any]:
    from ..checker.rules import load as load_rules

    return load_rules()


def _place(finding: Finding) -> str:
    parts = ["message %d" % finding.number] * bool(finding.number)
    parts += ["HTTP exchange %d" % finding.exchange] * bool(finding.exchange)
    parts += [finding.method] * bool(finding.method)
    return ", ".join(parts) or "the connection"


def _is_an_answer(event: Event) -> bool:
    found = event.message
    return event.kind == MESSAGE and event.direction == SERVER and (
        found is None or isinstance(found, dict) and not {"method", "error"} & set(found))


def _is_sent(event: Event) -> bool:
    return event.direction == CLIENT and event.kind in (MESSAGE, REQUEST)


class Examination:
    """The examination of one server.

    ``make(trace)``: returns a wire to it, not open yet. ``revisions``: those to examine. ``allowed``: the names of
    tools that may be called although they do not say that they only read. ``only``: names of scenes, which alone are
    played, or ids of requirements, whose faults alone count, whatever the scene; empty: all. ``tell``: called with a
    line about what is done, for people who wait. ``trace``: a function that returns a trace with the given sink, for a
    trace that has sinks of its own, too.
    """

    def __init__(
        self, make: Callable[[Trace], Wire], revisions: Iterable[Revision] = REVISIONS, allowed: Iterable[str] = (),
        only: Iterable[str] = (), patience: float = PATIENCE, tell: Callable[[str], Any] = lambda line: None,
        trace: Callable[[Callable[[Event], None]], Trace] = Trace,
    ) -> None:
        self._make = make
        self._revisions = list(revisions)
        self._allowed: FrozenSet[str] = frozenset(allowed)
        self._scenes = frozenset(only).intersection(load())
        self._ids = frozenset(only) - self._scenes
        self._patience = patience
        self._tell = tell
        self._header: Optional[Event] = None
        self._held: Dict[str, Optional[List[Event]]] = {}
        """Connection -> what was seen of it before it was used; None for one that is used."""
        self._chapter: Optional[Chapter] = None
        self.chapters: List[Chapter] = []
        self.trace = trace(self._take)

    def _take(self, event: Event) -> None:
        """Give an event to the chapter; the start of a process only when a scene uses it, be it in a later chapter."""
        held = None
        if event.kind == HEADER:
            self._header = event
        elif self._chapter is not None:
            held = self._held.setdefault(event.connection, [])
        if held is not None:
            held.append(event)
            if not _is_sent(event):
                return
            self._held[event.connection] = None
        for each in held or [event]:
            if self._chapter is not None:
                self._chapter.feed(each)

    def run(self) -> List[Chapter]:
        """Examine the server in each revision; return what came of each. Raises `McpError` if it cannot be reached."""
        wires = WiresAhead(lambda: self._make(self.trace))
        try:
            for revision in self._revisions:
                chapter = self._chapter = Chapter(revision)
                if self._header is not None:
                    chapter.feed(self._header)
                self.chapters.append(chapter)
                stage = SceneStage(wires.take, revision, self._patience, self._allowed)
                try:
                    self._examine(chapter, stage)
                finally:
                    stage.leave()
                chapter.finish(self._ids)
        finally:
            wires.close()
        return self.chapters

    def attack(self, seed: int, only: Mapping[str, FrozenSet[int]], seconds: float) -> "HostileReport":
        """Send hostile input: in the newest revision with a handshake, and in the newest without, that is spoken.

        ``only``: attacks, and the numbers of their inputs; empty: all. ``seconds``: for all. Nothing of it is judged by
        the checker. Raises `NotSpoken`, or `McpError` if the server cannot be reached.
        """
        from .hostile.told import HostileReport
        from .hostile.trial import Trial

        self._chapter = None
        refused = {chapter.revision for chapter in self.chapters if chapter.refused}
        spoken = [each for each in reversed(self._revisions) if each not in refused]
        trials: List[Trial] = []
        wires, why, until = WiresAhead(lambda: self._make(self.trace)), None, clock() + seconds
        try:
            for number, revision in enumerate(spoken):
                if all(trial.revision.stateless != revision.stateless for trial in trials):
                    share = (until - clock()) / len({each.stateless for each in spoken[number:]})
                    trial = Trial(wires.take, revision, self._allowed, self._patience, seed, only, share, self._tell)
                    try:
                        trial.run()
                        trials.append(trial)
                    except NotSpoken as error:
                        why = error
        finally:
            wires.close()
        if not trials:
            raise why or NotSpoken("no revision is spoken")
        return HostileReport(seed, trials)

    def _examine(self, chapter: Chapter, stage: SceneStage) -> None:
        self._tell("%s: opening" % chapter.revision)
        try:
            stage.look()
        except NotSpoken as error:
            if error.answer.status != 401:
                chapter.refused = shorten(str(error), _REASON)
                chapter.garbled = error.answer != Reaction() and error.answer.error is None
                return
            stage.shut = shorten(str(error), _REASON)
        chapter.wire = stage.wire
        rows = [row for row in load().values() if row.plays_in(chapter.revision, chapter.wire) and (
            self._ids or not self._scenes or row.name in self._scenes)]
        for number, row in enumerate(rows, 1):
            self._tell("%s: %d of %d: %s" % (chapter.revision, number, len(rows), row.name))
            chapter.begin(row.name)
            try:
                if stage.shut and not row.shut:
                    raise NotExamined("the server asks for authorization: --token-env NAME sends a token")
                if row.needs and row.needs not in stage.talk.capabilities:
                    raise NotExamined("the server does not declare %s" % row.needs)
                chapter.note(row, row.play(stage))
                chapter.note_end(row, stage.ended)
            except NotExamined as error:
                chapter.skipped(row, str(error))
            except (NotSpoken, McpError) as error:
                chapter.skipped(row, "the server could not be reached for it: %s" % error)
