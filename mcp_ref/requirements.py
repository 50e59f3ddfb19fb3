"""The requirements of the specification and of its extensions, as facts: id, level, party, revisions, page and heading.

`requirements.tsv` beside this module has a row for each; page and heading are those of the newest revision that states
it, and `Requirement.stated_in` has those of an older one. No sentence of a page is in it. It is made from the
specification's list by ``make spec``.
"""

from functools import lru_cache
from pkgutil import get_data
from typing import Dict, FrozenSet, List, NamedTuple, Optional

from .revisions import REVISIONS, Revision

EXTENSIONS = "extensions/"
"""The beginning of the pages of extensions."""
SITE = "https://modelcontextprotocol.io/specification"
REPOSITORIES = "https://github.com/modelcontextprotocol"
_SCHEMA = "schema.json"


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
    earlier: str = ""
    """The places in older revisions that are not the one above: citations with ";" between; the page ``?`` is one that
    is not known."""

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

    def stated_in(self, there: Optional[Revision]) -> "Requirement":
        """Return the requirement as one revision states it, with its page and heading there.

        The row as it is, if that revision does not state it, or its place there is not known.
        """
        if there is None or there not in self.stated or self.page.startswith(EXTENSIONS):
            return self
        for place in filter(None, self.earlier.split(";")):
            window, _, where = place.partition(" ")
            if covers(window, there):
                page, _, heading = where.partition(" §")
                return self if page == "?" else self._replace(revisions=there.name, page=page, heading=heading)
        return self._replace(revisions=there.name)

    @property
    def url(self) -> str:
        """The public address of its place in the newest revision of the row."""
        return url(self.page, self.stated[-1], self.heading)

    def ranks(self) -> FrozenSet[int]:
        """Return the ranks of the revisions that state it."""
        return frozenset(each.rank for each in self.stated)


def covers(window: str, there: Revision) -> bool:
    """Return True if a window of revisions, in the form of citations, has a revision."""
    first, dots, last = window.partition("..")
    return there.has(first or None, (last or None) if dots else first)


def url(page: str, there: Revision, heading: str = "") -> str:
    """Return the public address of a page in a revision, and of a heading on it; of an extension, of its repository.
    """
    if page.startswith(EXTENSIONS):
        return "%s/ext-%s" % (REPOSITORIES, page.split("/")[1])
    path = "schema" if page == _SCHEMA else page[: -len("/index")] if page.endswith("/index") else page
    anchor = "" if page == _SCHEMA else anchor_of(heading.rpartition(" > ")[2])
    return "%s/%s%s%s" % (SITE, there, "" if path == "index" else "/" + path, "#" + anchor if anchor else "")


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading: its words in lower case with hyphens between."""
    kept = "".join(sign if sign.isalnum() or sign in " -_" else "" for sign in heading.lower())
    return "-".join(kept.split())


@lru_cache(maxsize=None)
def requirements() -> Dict[str, Requirement]:
    """Return the table by id, in the order of the specification's list; the rows of extensions come last."""
    data = get_data(__package__, "requirements.tsv") or b""
    rows = [Requirement(*line.split("\t")) for line in data.decode("utf-8").splitlines()[1:]]
    return {row.id: row for row in rows}
