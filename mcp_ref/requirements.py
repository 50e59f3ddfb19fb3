"""The requirements of the specification and of its extensions, as facts: id, level, party, revisions, page and heading.

`requirements.tsv` beside this module has a row for each; page and heading are those of the newest revision that states
it. No sentence of a page is in it. It is made from the specification's list by ``make spec``.
"""

from functools import lru_cache
from pkgutil import get_data
from typing import Dict, FrozenSet, List, NamedTuple

from .revisions import REVISIONS, Revision

EXTENSIONS = "extensions/"
"""The beginning of the pages of extensions."""


class Requirement(NamedTuple):
    """A row of the table."""

    id: str
    level: str
    """``MUST``, ``MUST NOT``, ``SHOULD``, ``SHOULD NOT`` or ``MAY``."""
    role: str
    """The party that it binds: ``client``, ``server``, ``both``; ``host``, the program around clients; ``author``, who
    writes a server or a client with this package; ``authserver``, the authorization server."""
    revisions: str
    """The revisions that state it, as windows of citations with commas between."""
    page: str
    heading: str

    @property
    def stated(self) -> List[Revision]:
        """The revisions that state it, oldest first."""
        return [each for each in REVISIONS if any(covers(window, each) for window in self.revisions.split(","))]

    @property
    def where(self) -> str:
        """The page and the heading as a citation has them."""
        return "%s §%s" % (self.page, self.heading) if self.heading else self.page

    @property
    def citation(self) -> str:
        """The revisions, the page and the heading, as a citation has them."""
        return "%s %s" % (self.revisions, self.where)

    @property
    def binding(self) -> bool:
        """True if the level is not MAY."""
        return self.level != "MAY"

    def ranks(self) -> FrozenSet[int]:
        """Return the ranks of the revisions that state it."""
        return frozenset(each.rank for each in self.stated)


def covers(window: str, there: Revision) -> bool:
    """Return True if a window of revisions, in the form of citations, has a revision."""
    first, dots, last = window.partition("..")
    return there.has(first or None, (last or None) if dots else first)


@lru_cache(maxsize=None)
def requirements() -> Dict[str, Requirement]:
    """Return the table by id, in the order of the specification's list; the rows of extensions come last."""
    data = get_data(__package__, "requirements.tsv") or b""
    rows = [Requirement(*line.split("\t")) for line in data.decode("utf-8").splitlines()[1:]]
    return {row.id: row for row in rows}
