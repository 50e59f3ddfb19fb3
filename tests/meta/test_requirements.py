"""The specification's requirements and the tests that claim them (marker `spec`) agree, in both directions.

Each row that binds a library and can be run has a test or stands in `tests/requirements.py` with a reason, in every
area that is done. A row that both eras state has a test on the wire of each.
"""
from typing import List, Tuple

import pytest

from tests.meta.facts import Requirement, claims, claims_without_handshake, expect_nothing, requirements
from tests.requirements import EXCEPTIONS

pytestmark = pytest.mark.needs("specification")

# Areas whose rows are all due.
AREAS_DUE: Tuple[str, ...] = (
    "jsonrpc", "lifecycle", "versioning", "batching", "stdio", "ping", "cancellation", "progress", "schema-dialect",
    "tools", "resources", "prompts", "completion", "logging", "pagination", "roots", "sampling", "elicitation", "meta",
    "icons", "http", "session", "resumability", "transport", "sse-legacy", "caching", "discover", "mrtr",
    "subscriptions", "auth", "tasks", "tasks-ext", "skills", "apps",
)
STATELESS = "2026-07-28"
LEVELS_DUE = {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT"}
ROLES = {"client", "server", "both"}
RUNNABLE = {"wire", "api"}


def due(row: Requirement) -> bool:
    """Must a test, or a reason, exist for this row now?"""
    return (row.area in AREAS_DUE and row.level in LEVELS_DUE and row.role in ROLES and row.testable in RUNNABLE)


def test_every_claimed_id_is_in_the_list() -> None:
    known = requirements()
    unknown = ["%s: %s" % (where, name) for name, where in claims().items() if name not in known]
    expect_nothing(unknown)


@pytest.mark.parametrize("area", AREAS_DUE)
def test_every_row_of_a_finished_area_has_a_test_or_a_reason(area: str) -> None:
    rows = [row for row in requirements().values() if row.area == area]
    uncovered = [describe(row) for row in rows if due(row) and row.id not in claims() and row.id not in EXCEPTIONS]
    assert rows, "no such area in the list"
    expect_nothing(uncovered)


def describe(row: Requirement) -> str:
    """A row as a failure shows it."""
    return "%s (%s, %s, %s)" % (row.id, row.level, row.role, ", ".join(row.revisions))


def test_exceptions_are_rows_of_the_list_that_no_test_claims_each_with_a_reason() -> None:
    known = requirements()
    wrong: List[str] = ["%s: not in the list" % name for name in EXCEPTIONS if name not in known]
    wrong += ["%s: claimed at %s" % (name, claims()[name]) for name in EXCEPTIONS if name in claims()]
    wrong += ["%s: no reason" % name for name, reason in EXCEPTIONS.items() if len(reason.split()) < 3]
    expect_nothing(wrong)


@pytest.mark.parametrize("area", AREAS_DUE)
def test_every_row_of_both_eras_is_tested_in_both(area: str) -> None:
    rows = [row for row in requirements().values() if row.area == area and STATELESS in row.revisions
            and len(row.revisions) > 1]
    uncovered = [describe(row) for row in rows if due(row) and row.id not in claims_without_handshake()
                 and row.id not in EXCEPTIONS]
    expect_nothing(uncovered)
