"""The stage of a scene: a server that can be talked to, and what it offers, found by listing.

Nothing is destroyed: a tool is called only if its annotations say that it only reads, or if its name was allowed. The
hints of a server are believed, because it is the server's own author who has it examined.
"""

from contextlib import contextmanager
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Tuple

from ..methods import LIST_PROMPTS, LIST_RESOURCE_TEMPLATES, LIST_RESOURCES, LIST_TOOLS
from ..revisions import Revision
from .ahead import Endings
from .arguments import valid
from .scenes import WEB, NotExamined
from .talk import NotSpoken, Talk, Wire

ALL = "*"
"""The name by which all tools are allowed."""
LISTS: Tuple[Tuple[str, str, str], ...] = (
    (LIST_TOOLS, "tools", "tools"), (LIST_RESOURCES, "resources", "resources"),
    (LIST_RESOURCE_TEMPLATES, "resourceTemplates", "resources"), (LIST_PROMPTS, "prompts", "prompts"))
"""Method, member of the result, and capability of each list."""
_MOST = 5
"""The tools, resources and prompts that are used by a scene that goes through them."""
_START = 30.0
"""Seconds in which a server has to answer the first time: a program may take long to start."""
MANY = 20
"""The tools that are called by a scene that looks for one that does something."""
MakeWire = Callable[[], Wire]


class SceneStage:
    """A server in one revision; ``make``: returns an open wire to it. One thread."""

    def __init__(self, make: MakeWire, revision: Revision, patience: float, allowed: FrozenSet[str]) -> None:
        self.revision = revision
        self.patience = patience
        self._make = make
        self._endings = Endings()
        self._allowed = allowed
        self._talk: Optional[Talk] = None
        self._aside: Optional[Talk] = None
        self._started = False
        self.offered: Dict[str, List[Dict[str, Any]]] = {}
        """Member of the result -> what was listed."""
        self.shut = ""
        """The refusal of a server that lets in nobody without a token, and we have none; "" otherwise."""

    @property
    def talk(self) -> Talk:
        """A conversation that was opened, which scenes share; a new one, if the last one has ended."""
        if self._talk is not None and self._talk.wire.ended:
            self._endings.end(self._talk)
            self._talk = None
        if self._talk is None:
            self._talk = self._opened()
        return self._talk

    @property
    def ended(self) -> str:
        """The reason why the server has ended the shared conversation; "" if it has not."""
        return "" if self._talk is None else self._talk.wire.ended

    @property
    def wire(self) -> str:
        """The kind of wire: pipe, web or sse."""
        return WEB if self.shut else self.talk.wire.kind

    @contextmanager
    def fresh(self, opened: bool = True, declared: Optional[Dict[str, Any]] = None) -> Iterator[Talk]:
        """Make a conversation that no other scene sees; without ``opened`` nothing was sent on it.

        ``declared``: the capabilities of the client.
        """
        talk = self._opened(declared) if opened else self._begun(declared)
        try:
            yield talk
        finally:
            self._endings.end(talk)

    @property
    def aside(self) -> Talk:
        """A conversation that was opened, for scenes that may break it: a new one, if the last one has ended, or has
        not answered. It spares the start of a process, where none is needed that nobody has talked to.
        """
        if self._aside is not None and (self._aside.wire.ended or self._aside.failed):
            self._endings.end(self._aside)
            self._aside = None
        if self._aside is None:
            self._aside = self._opened()
        return self._aside

    def _begun(self, declared: Optional[Dict[str, Any]] = None) -> Talk:
        return Talk(self._make(), self.revision, self.patience, declared)

    def _opened(self, declared: Optional[Dict[str, Any]] = None) -> Talk:
        talk = self._begun(declared)
        try:
            talk.open(self.patience if self._started else max(self.patience, _START))
            self._started = True
        except NotSpoken:
            self._endings.end(talk)
            raise
        return talk

    def leave(self) -> None:
        """End the shared conversations, and wait for the end of all."""
        for talk in (self._talk, self._aside):
            if talk is not None:
                self._endings.end(talk)
        self._talk = self._aside = None
        self._endings.wait()

    def look(self) -> None:
        """List what the server offers, and call what may be called once, for the checker to see."""
        for method, member, capability in LISTS:
            found: List[Dict[str, Any]] = []
            if capability in self.talk.capabilities:
                for _, items in self.talk.pages(method, member):
                    found += [item for item in items if isinstance(item, dict)]
            self.offered[member] = found

    def some(self, member: str) -> List[Dict[str, Any]]:
        """Return a few of what is offered. Raises `NotExamined` if there is nothing."""
        if not self.offered.get(member):
            raise NotExamined("the server lists no %s" % member)
        return self.offered[member][:_MOST]

    def callable(self, wanted: Callable[[Dict[str, Any]], bool] = lambda tool: True, mirrored: bool = False,
                 most: int = _MOST) -> List[Tuple[Dict[str, Any], Dict[str, Any]]]:
        """Return tools that may be called, with arguments. Raises `NotExamined` if there are none.

        ``wanted``: leaves out others. ``mirrored``: those alone that have parameters with header fields, which a scene
        has to send; the others have none. ``most``: the number of tools, the first ones.
        """
        found, held = [], 0
        for tool in self.offered.get("tools", ()):
            schema, hints = tool.get("inputSchema"), tool.get("annotations")
            reads = isinstance(hints, dict) and hints.get("readOnlyHint") is True
            made = valid(schema)
            if not (reads or tool.get("name") in self._allowed or ALL in self._allowed):
                held += 1
            elif made is not None and isinstance(tool.get("name"), str) and wanted(tool) and (
                    "x-mcp-header" in str(schema)) == mirrored:
                found.append((tool, made))
        if not found:
            raise NotExamined("no tool may be called: %s" % (
                "%d have no readOnlyHint; --allow NAME or --all-tools allows them" % held if held else
                "for none of them arguments could be made" if self.offered.get("tools") else "there is none"))
        return found[:most]
