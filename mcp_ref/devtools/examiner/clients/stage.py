"""The examination of a client: it is started for each scene, against a scripted server, and the checker judges it.

A scene gets a `ClientStage`: it puts its own answers into the script, starts the client, and looks at what it has
sent.
"""

from functools import partial
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Mapping, Optional

from ....deadline import clock
from ....errors import McpError
from ....methods import DISCOVER, INITIALIZE
from ....revisions import REVISIONS, Revision
from ....wiretrace import CLIENT, HEADER, Event, Trace
from ....wiretrace.text import plain, shorten
from ..examination import PATIENCE, Chapter
from ..scenes import KEPT, PIPE, SSE, WEB, Broken, NotExamined, Verdict, load, scene
from .endpoints import LineEndpoint, endpoint_of
from .script import ClientMessage, ScriptedTool, ServerScript
from .starts import Start, environment, server_command

_STEP = 0.1
_SETTLE = 2.0
_MOST = 1000
"""The messages after which a client is ended that repeats something without end: it is never silent."""
SCENARIO = "tools_call"
"""The scenario of the official suite that most scenes want: the tools are listed, and one is called."""
client_scene = partial(scene, party=CLIENT)
web_scene = partial(scene, party=CLIENT, wires="web")
pipe_scene = partial(scene, party=CLIENT, wires="pipe")
stateless_scene = partial(scene, party=CLIENT, wires="pipe web", only=lambda revision: revision.stateless)


class ClientRun:
    """One start of the client, which is over."""

    def __init__(self, script: ServerScript, ended: bool, words: str) -> None:
        self.script = script
        self.ended = ended
        """True if the client has ended by itself; False if it was ended, after silence."""
        self.words = words
        self.heard: List[ClientMessage] = script.heard

    @property
    def methods(self) -> List[str]:
        """The methods that the client has sent, in order."""
        return [each.method for each in self.heard if each.method]

    def after(self, method: str, count: int = 1) -> List[ClientMessage]:
        """Return what was sent after so many messages with a method."""
        for place, each in enumerate(self.heard):
            count -= each.method == method
            if not count:
                return self.heard[place + 1:]
        return []

    def said(self) -> str:
        """Return what was sent, in a few words, for evidence."""
        return shorten(plain(", ".join(self.methods) or "nothing"), 120)


class ClientStage:
    """A client in one revision on one kind of wire. ``start``: starts it. ``port``: 0: any free one, for each start."""

    def __init__(self, start: Start, revision: Revision, wire: str, patience: float, trace: Trace,
                 port: int = 0, direct: bool = False) -> None:
        self.revision, self.wire, self.patience = revision, wire, patience
        self.scene = ""
        """The name of the scene that is played."""
        self._start, self._trace, self._port = start, trace, port
        self.direct = direct
        """True if the client is given the address of a socket, in the place of a command."""
        self._usual: Dict[str, ClientRun] = {}
        self.garbled = False
        """True if the client has sent bytes, and no message."""
        self.authorizes: Optional[bool] = None
        """True if the client gets a token where one is wanted; None: not tried yet."""
        self.endpoint: Any = None
        """The place where the client arrives, while it runs."""

    def script(self, tools: Optional[Dict[str, ScriptedTool]] = None) -> ServerScript:
        """Return a script that answers legally."""
        return ServerScript(self.revision, tools)

    def run(self, script: ServerScript, scenario: str = SCENARIO, context: Mapping[str, Any] = {}) -> ClientRun:
        """Start the client against a script, and wait until it has ended, or is silent.

        ``scenario``, ``context``: those of the official suite that have a client do what the scene needs.
        """
        endpoint = self.endpoint = endpoint_of(script, self._trace, self.wire, self._port)
        address = endpoint.open()
        try:
            if self.wire == PIPE and not self.direct:
                address = server_command(address.rpartition(":")[2])
            started = self._start(address, environment(
                self.scene, scenario, self.revision.name, address, context))
            try:
                ended = self._until_over(script, started, endpoint)
                script.stopped = not ended
            finally:
                started.stop()
            words = started.words
            if isinstance(endpoint, LineEndpoint) and endpoint.connected.is_set():
                ends = {"disconnected"} if self.direct else {"disconnected", "gone"}
                self._await(script, lambda: ends <= {each.get("did") for each in script.told})
        finally:
            endpoint.close()
        return ClientRun(script, ended, words)

    def in_process(self, settings: Dict[str, Any]) -> ClientRun:
        """Return a run with settings of the process, see `stub`. Raises `NotExamined` if the client starts none."""
        if self.direct:
            raise NotExamined("the client starts no process")
        script = self.script()
        script.stub = settings
        return self.run(script)

    def _until_over(self, script: ServerScript, started: Any, endpoint: Any) -> bool:
        begun = clock()
        while not started.wait(_STEP):
            if endpoint.connected.is_set():
                if script.silence > self.patience or len(script.heard) > _MOST:
                    return False
            elif clock() - begun > max(started.first_seconds, self.patience):
                return False
        return True

    @staticmethod
    def _await(script: ServerScript, seen: Callable[[], bool]) -> None:
        until = clock() + _SETTLE
        while not seen() and clock() < until:
            script.pause(0.02)

    def usual(self, scenario: str = SCENARIO, tools: Optional[Dict[str, ScriptedTool]] = None) -> ClientRun:
        """Return a start against a script that only answers, legally: what the client does when nothing is odd."""
        if scenario not in self._usual:
            self._usual[scenario] = self.run(self.script(tools), scenario)
        return self._usual[scenario]

    def look(self) -> str:
        """Start the client once; return why it cannot be examined in this revision, or ""."""
        run = self.usual()
        self.garbled = bool(run.heard) and not any(isinstance(each.message, (dict, list)) for each in run.heard)
        opening = DISCOVER if self.revision.stateless else INITIALIZE
        if self.revision.stateless:
            good = any(each.is_request and each.method != INITIALIZE for each in run.heard)
        else:
            good = "notifications/initialized" in run.methods or any(
                each.is_request and each.method not in (INITIALIZE, DISCOVER) for each in run.after(INITIALIZE))
        if good:
            return ""
        last = run.words.splitlines()[-1:]
        return "the client has sent %s, in the place of %s and more%s" % (
            run.said(), opening, "; its last line: %s" % last[0] if last else "")

    def needs(self, method: str, why: str = "") -> None:
        """Raise `NotExamined` if the client does not send a method when nothing is odd."""
        if method not in self.usual().methods:
            raise NotExamined(why or "the client never sends %s" % method)

    def declares(self, *names: str) -> Any:
        """Return the value of a capability that the client declares. Raises `NotExamined` if it does not."""
        found: Any = self.usual().script.declared
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        if found is None:
            raise NotExamined("the client does not declare %s" % ".".join(names))
        return found

    def goes_on(self, run: ClientRun, what: str) -> Verdict:
        """Return the verdict on a client that has to do, in spite of something, what it does without it."""
        missing = [method for method in dict.fromkeys(self.usual().methods) if method not in run.methods]
        missing = [method for method in missing if not method.startswith("notifications/")]
        if not missing:
            return KEPT
        return Broken("%s: %s did not come any more" % (what, ", ".join(missing)))


HTTP, STDIO = "http", "stdio"
WAYS = (HTTP, STDIO)
"""The ways in which a client reaches the server: over HTTP, which is HTTP+SSE in 2024-11-05, or stdio."""


class ClientExamination:
    """The examination of one client; ``start``: starts it, see `starts`.

    ``way``: http or stdio. ``only``, ``patience``, ``tell``, ``trace``: those of `Examination`; patience is also the
    silence after which a client that does not end is ended. ``port``: where it is waited for, 0: any free port.
    ``direct``: on stdio the client is given the address of the socket, in the place of a command.
    """

    def __init__(
        self, start: Start, revisions: Iterable[Revision] = REVISIONS, way: str = HTTP, only: Iterable[str] = (),
        patience: float = PATIENCE, tell: Callable[[str], Any] = lambda line: None,
        trace: Callable[[Callable[[Event], None]], Trace] = Trace, port: int = 0, direct: bool = False,
    ) -> None:
        self._start, self._way, self._port, self._direct = start, way, port, direct
        self._revisions = list(revisions)
        self._scenes = frozenset(only).intersection(load(CLIENT))
        self._ids: FrozenSet[str] = frozenset(only) - self._scenes
        self._patience, self._tell = patience, tell
        self._header: Optional[Event] = None
        self._chapter: Optional[Chapter] = None
        self.chapters: List[Chapter] = []
        self.trace = trace(self._take)
        self.trace.records("process")

    def _take(self, event: Event) -> None:
        if event.kind == HEADER:
            self._header = event
        if self._chapter is not None:
            self._chapter.feed(event)

    def run(self) -> List[Chapter]:
        """Examine the client in each revision; return what came of each. Raises `McpError` if it cannot be started."""
        for revision in self._revisions:
            chapter = self._chapter = Chapter(revision, CLIENT)
            if self._header is not None:
                chapter.feed(self._header)
            self.chapters.append(chapter)
            chapter.wire = PIPE if self._way == STDIO else SSE if revision.rank == 0 else WEB
            stage = ClientStage(self._start, revision, chapter.wire, self._patience, self.trace, self._port,
                                self._direct)
            self._tell("%s: opening" % revision)
            chapter.refused = stage.look()
            chapter.garbled = stage.garbled
            if not chapter.refused:
                self._play(chapter, stage)
            chapter.finish(self._ids)
        return self.chapters

    def _play(self, chapter: Chapter, stage: ClientStage) -> None:
        rows = [row for row in load(CLIENT).values() if row.plays_in(chapter.revision, chapter.wire) and (
            self._ids or not self._scenes or row.name in self._scenes)]
        for number, row in enumerate(rows, 1):
            self._tell("%s: %d of %d: %s" % (chapter.revision, number, len(rows), row.name))
            chapter.begin(row.name)
            stage.scene = row.name
            try:
                if row.needs:
                    stage.needs(row.needs)
                chapter.note(row, row.play(stage))
            except NotExamined as error:
                chapter.skipped(row, str(error))
            except McpError as error:
                chapter.skipped(row, "the client could not be started for it: %s" % error)
