"""`tests/support/requirements_table.py` says of each row what the specification's requirement list says."""
import ast
from typing import Dict, Iterator, Tuple

import pytest

from tests.meta.facts import expect_nothing, nodes_of, python_files, requirements, shown, text_of
from tests.meta.test_requirements import AREAS_DUE, ROLES
from tests.support.requirements_table import HANDSHAKE, STATELESS, STATELESS_TOO, WINDOWS, revisions_of


ASKING = {"revisions_of", "every_revision_of"}


def asked() -> Iterator[Tuple[str, str]]:
    """Every id that a test gives to `revisions_of`, and where."""
    for path in [path for path in python_files("tests") if any(name in text_of(path) for name in ASKING)]:
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ASKING:
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        yield argument.value, "%s:%d" % (shown(path), node.lineno)


def stated() -> Dict[str, Tuple[str, ...]]:
    """Id -> the handshake revisions that state it."""
    return {row.id: tuple(name for name in row.revisions if name in HANDSHAKE) for row in requirements().values()}


@pytest.mark.needs("specification")
def test_windows_are_those_of_the_requirement_list() -> None:
    known = stated()
    places = dict(asked())
    places.update((id, "WINDOWS") for id in WINDOWS)
    wrong = ["%s: %s: no such row" % (place, id) for id, place in places.items() if id not in known]
    wrong += ["%s: %s: %s, the list says %s" % (place, id, revisions_of(id), known[id])
              for id, place in places.items() if id in known and revisions_of(id) != known[id]]
    expect_nothing(wrong)


@pytest.mark.needs("specification")
def test_rows_of_both_eras_are_those_of_the_requirement_list() -> None:
    rows = requirements()
    both = {row.id for row in rows.values() if STATELESS in row.revisions and len(row.revisions) > 1}
    ours = {id for id in both if rows[id].area in AREAS_DUE and (rows[id].area != "apps" or rows[id].role in ROLES)}
    expect_nothing(["%s: not in the list as a row of both eras" % id for id in sorted(STATELESS_TOO - both)])
    expect_nothing(["%s: missing in STATELESS_TOO" % id for id in sorted(ours - STATELESS_TOO)])


def test_revisions_of_several_rows_are_those_of_any_in_order() -> None:
    assert revisions_of("lifecycle.respect-version", "lifecycle.respect-version-should") == HANDSHAKE
    assert revisions_of("batch.receive", "jsonrpc.error-same-id") == ("2025-03-26", "2025-11-25")
