"""The official test cases for URI templates, if MCP_REF_URITEMPLATE_SUITE names the folder that holds them.

`tests/tools/fetch_suites.py` fetches a copy.
"""
import json
from typing import Any, Dict, Iterator, NamedTuple, Optional

import pytest

from mcp_ref.uritemplate import expand, match
from tests.support.outside import URI_TEMPLATE_SUITE, absent, folder

pytestmark = pytest.mark.needs(URI_TEMPLATE_SUITE)

FILES = ("spec-examples", "spec-examples-by-section", "extended-tests", "negative-tests")


class Case(NamedTuple):
    file: str
    template: str
    expected: Any           # one URI, several equally good ones, or False: must be refused
    values: Dict[str, Any]


def cases() -> Iterator[Case]:
    for file in FILES:
        groups = json.loads((folder(URI_TEMPLATE_SUITE) / (file + ".json")).read_text(encoding="utf-8"))
        for group in groups.values():
            for template, expected in group["testcases"]:
                yield Case(file, template, expected, group["variables"])


CASES = [] if absent(URI_TEMPLATE_SUITE) else list(cases())


def shown(case: Any) -> Optional[str]:
    """A case in the name of its test; an older pytest asks for the one that stands for none at all, too."""
    return "%s %s" % (case.file, case.template) if isinstance(case, Case) else None


def test_the_official_cases_are_at_hand() -> None:
    assert {case.file for case in CASES} == set(FILES)
    assert len(CASES) >= 220


@pytest.mark.parametrize("case", CASES, ids=shown)
def test_official_case_expands_as_it_should(case: Case) -> None:
    """[RFC 6570 §3]"""
    if case.expected is False:
        with pytest.raises(ValueError):
            expand(case.template, case.values)
    elif isinstance(case.expected, list):
        assert expand(case.template, case.values) in case.expected
    else:
        assert expand(case.template, case.values) == case.expected


@pytest.mark.parametrize("case", CASES, ids=shown)
def test_what_matches_an_official_expansion_expands_to_it_again(case: Case) -> None:
    """Whatever values `match` finds in the expansion of a template, they are values with that expansion."""
    if case.expected is False:
        return
    uri = expand(case.template, case.values)
    try:
        found = match(case.template, uri)
    except ValueError as refusal:
        assert "cannot be matched" in str(refusal)
        return
    if found is not None:
        assert match(case.template, expand(case.template, found)) == found
