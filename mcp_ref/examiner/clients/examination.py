"""The examination of a client: it is started for each scene, against a scripted server, and the checker judges it."""

from typing import Any, Callable, FrozenSet, Iterable, List, Optional

from ...errors import McpError
from ...revisions import REVISIONS, Revision
from ...wiretrace import CLIENT, HEADER, Event, Trace
from ..examination import PATIENCE, Chapter
from ..scenes import PIPE, SSE, WEB, NotExamined, load
from .stage import ClientStage
from .starts import Start

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
