"""The requirements of the specification and its extensions, as facts: id, level, revisions, party, page and heading.

`requirements.tsv` beside this module has a row for each. No sentence of a page is in it.
"""

from functools import lru_cache
from pkgutil import get_data
from typing import Dict, FrozenSet, NamedTuple

from ..revisions import REVISIONS, Revision


class Requirement(NamedTuple):
    """A row of the table."""

    id: str
    level: str
    """``MUST``, ``MUST NOT``, ``SHOULD``, ``SHOULD NOT`` or ``MAY``."""
    revisions: str
    """The revisions that state it, as windows of citations with commas between."""
    role: str
    """The party that it binds: client, server, both, host, author or authserver."""
    page: str
    heading: str

    @property
    def citation(self) -> str:
        """The revisions, the page and the heading, as a citation has them."""
        return "%s %s%s" % (self.revisions, self.page, " §" + self.heading if self.heading else "")

    @property
    def binding(self) -> bool:
        """True if the level is not MAY."""
        return self.level != "MAY"

    def ranks(self) -> FrozenSet[int]:
        """Return the ranks of the revisions that state it."""
        return frozenset(each.rank for each in REVISIONS
                         if any(_covers(window, each) for window in self.revisions.split(",")))


def _covers(window: str, there: Revision) -> bool:
    first, dots, last = window.partition("..")
    return there.has(first or None, (last or None) if dots else first)


@lru_cache(maxsize=None)
def requirements() -> Dict[str, Requirement]:
    """Return the table by id, in the order of the specification's list; the extensions' come last."""
    data = get_data(__package__, "requirements.tsv") or b""
    rows = [Requirement(*line.split("\t")) for line in data.decode("utf-8").splitlines()[1:]]
    return {row.id: row for row in rows}
