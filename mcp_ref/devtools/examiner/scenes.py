"""The scenes of an examination as rows: what a scene is, what it may say, and how the pages declare theirs.

Those for servers are in `mcp_ref.devtools.examiner.pages`, those for clients in
`mcp_ref.devtools.examiner.clients.pages`.

A scene is a function with a row around it::

    @scene("unknown-method", "jsonrpc.follow-spec", provokes="http.method-not-found-404")
    def unknown_method(stage: SceneStage) -> Verdict:
        "A method that there is not: an error, -32601."
        answer = stage.talk.request("examiner/no-such-method")
        ...

The ids are requirements. Those of the row are decided by the function, which alone knows what it has sent; those that
it ``provokes`` are decided by the rules of `mcp_ref.devtools.checker`, which see the conversation as they see any
other. A scene that only provokes returns None.

====================  =============================================================================================
what it returns       meaning
====================  =============================================================================================
``KEPT``              the requirements were kept
a string, `Broken`    they were broken: the evidence
`CannotTell`          they may have been kept or broken
None                  there was nothing of its own to decide
a dict                one of these for each id
raises `NotExamined`  the server or the client does not have, or do, what the scene needs
====================  =============================================================================================
"""

from importlib import import_module
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Tuple, Union

from ...requirements import requirements
from ...revisions import REVISIONS, Revision
from ...wiretrace import CLIENT, SERVER
from ..checker.rules import KEPT, Broken, CannotTell, Kept, Verdict


PIPE, WEB, SSE = "pipe", "web", "sse"
Said = Union[Verdict, Dict[str, Verdict]]
Play = Callable[[Any], Said]
__all__ = ["KEPT", "PIPE", "SSE", "WEB", "Broken", "CannotTell", "Kept", "NotExamined", "Said", "Scene", "Verdict",
           "every", "load", "refused", "scene"]


class NotExamined(Exception):
    """A scene cannot be played; the text is the reason."""


class Scene(NamedTuple):
    """A row."""

    name: str
    ids: Tuple[str, ...]
    """The requirements that it decides."""
    provokes: Tuple[str, ...]
    """The requirements that the checker can decide because of it."""
    ranks: FrozenSet[int]
    """The ranks of the revisions in which it is played."""
    wires: Tuple[str, ...]
    needs: str
    """The capability of the server without which it is not played; "" for none."""
    play: Play
    text: str
    """The rule of the scene: the message that is sent, and the answer that is expected."""
    shut: bool = False
    """True if it is played without a conversation, too: with a server that lets us not in."""
    party: str = SERVER
    """The party that is examined: server or client."""

    def plays_in(self, revision: Revision, wire: str) -> bool:
        """Return True if it is played in a revision on a kind of wire."""
        return revision.rank in self.ranks and wire in self.wires


SCENES: Dict[str, Dict[str, Scene]] = {SERVER: {}, CLIENT: {}}
"""Party -> its scenes by name, in the order in which they are played; `load` fills it."""


def scene(
    name: str, *ids: str, provokes: str = "", wires: str = "pipe web sse", needs: str = "",
    only: Optional[Callable[[Revision], Any]] = None, shut: bool = False, party: str = SERVER,
) -> Callable[[Play], Play]:
    """Declare the decorated function as a scene; see the module.

    It is played in the revisions that state one of the requirements. ``only``: a function that narrows them. ``wires``:
    pipe, web (Streamable HTTP), sse (HTTP+SSE). ``shut``: see `Scene`. ``party``: who is examined. Raises ValueError
    for a name that is taken, and for ids that are no requirements.
    """
    every = (*ids, *provokes.split())
    unknown = [id for id in every if id not in requirements()]
    if name in SCENES[party] or unknown or not every:
        raise ValueError("scene %s: %s" % (name, "no such requirement: %s" % ", ".join(unknown) if unknown else
                                           "it is about nothing" if not every else "it is there already"))
    ranks = frozenset(rank for id in every for rank in requirements()[id].ranks()
                      if only is None or only(REVISIONS[rank]))

    def declare(play: Play) -> Play:
        SCENES[party][name] = Scene(name, ids, tuple(provokes.split()), ranks, tuple(wires.split()), needs, play,
                                    " ".join((play.__doc__ or "").split()), shut, party)
        return play

    return declare


def load(party: str = SERVER) -> Dict[str, Scene]:
    """Import the pages, and return all scenes of a party by name."""
    pages = import_module(".clients.pages" if party == CLIENT else ".pages", __package__)
    for name in pages.NAMES:
        import_module("%s.%s" % (pages.__name__, name))
    return SCENES[party]


def refused(answer: Any, *codes: int) -> Verdict:
    """Return the verdict on an answer that has to be an error with one of these codes; without codes, with any."""
    if answer.error is not None and (not codes or answer.code in codes):
        return KEPT
    wanted = " or ".join(map(str, codes)) or "an error"
    if answer.message is None:
        return CannotTell("%s, in the place of %s" % (answer, wanted)) if answer.status is None else Broken(
            "%s, in the place of %s" % (answer, wanted))
    return Broken("%s, in the place of %s" % (answer, wanted))


def every(verdicts: List[Verdict]) -> Verdict:
    """Return the worst of several verdicts: broken, then cannot tell, then kept."""
    for kind in (Broken, str, CannotTell):
        found: Any = next((each for each in verdicts if isinstance(each, kind)), None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    return KEPT if KEPT in verdicts else None
