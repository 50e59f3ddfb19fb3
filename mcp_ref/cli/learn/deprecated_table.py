"""The registry of deprecated features, from the table of `deprecations`, as objects and in words."""

from typing import Dict, List, Optional, Sequence

from ...deprecations import DEPRECATED, Deprecation, deprecation
from ...revisions import Revision


def registry(among: Sequence[Revision]) -> List[Dict[str, str]]:
    """The rows that one of these revisions knows as deprecated, for programs."""
    return [_object(row) for row in DEPRECATED.values() if any(r.has(row.since, None) for r in among)]


def registry_text(rows: Sequence[Dict[str, str]]) -> List[str]:
    """The same in words."""
    lines = []
    for row in rows:
        lines += ["", "  " + row["feature"]] + ["    " + line for line in said_of(row)]
        lines += ["    page        " + row["page"]]
    return lines


def deprecated(feature: Optional[str]) -> Optional[Dict[str, str]]:
    """What is said of a feature, for programs; None if it is not deprecated."""
    row = deprecation(feature)
    return None if row is None else _object(row)


def said_of(row: Dict[str, str]) -> List[str]:
    """Since when, until when at least, and what to do, a line each."""
    return ["deprecated  since " + row["since"], "removal     at the earliest " + row["removal"],
            "instead     " + row["migration"]]


def _object(row: Deprecation) -> Dict[str, str]:
    return dict(row._asdict())
