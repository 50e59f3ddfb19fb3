"""The official JSON Schema test suite, where the folder of a copy is in the environment variable
MCP_REF_JSON_SCHEMA_SUITE (`tests/tools/fetch_suites.py` gets one).

The mandatory parts of 2020-12 and draft-07 must pass completely; the optional parts, formats included, except for the
cases listed here with a reason.
"""
import functools
import json
from typing import Any, Dict, List, NamedTuple, Tuple

import pytest

from mcp_ref.jsonschema import DRAFT_07, DRAFT_2020_12, check_schema, compile
from tests.support.outside import JSON_SCHEMA_SUITE, folder

pytestmark = pytest.mark.needs(JSON_SCHEMA_SUITE)
SUITE = folder(JSON_SCHEMA_SUITE)
REMOTES = "http://localhost:1234/"
PARTS: List[Tuple[str, str]] = [("draft2020-12", DRAFT_2020_12), ("draft7", DRAFT_07)]

# (file, what a line about a failure contains) -> why it is not passed
EXCEPTIONS: Dict[Tuple[str, str], str] = {
    ("draft2020-12/optional/cross-draft.json", "UnsupportedDialect"): "2019-09 is refused by name",
    ("draft7/optional/cross-draft.json", "UnsupportedDialect"): "2019-09 is refused by name",
    ("draft7/optional/content.json", "invalid"): "content keywords are annotations, as 2020-12 settled",
    ("draft2020-12/optional/format/idn-hostname.json", "not preceded by Virama but matches regexp"):
        "the joining types of letters are not in the standard library",
    ("draft7/optional/format/idn-hostname.json", "not preceded by Virama but matches regexp"):
        "the joining types of letters are not in the standard library",
}


class Case(NamedTuple):
    """One schema of the suite with its tests."""

    path: str
    dialect: str
    description: str
    schema: Any
    tests: List[Dict[str, Any]]


@functools.lru_cache(maxsize=None)
def remotes() -> Dict[str, Any]:
    """The documents that the suite's references lead to, by URI."""
    return {REMOTES + path.relative_to(SUITE / "remotes").as_posix(): json.loads(path.read_text(encoding="utf-8"))
            for path in (SUITE / "remotes").rglob("*.json")}


def cases(part: str, dialect: str, pattern: str) -> List[Case]:
    """The cases of the files that match."""
    found = []
    for path in sorted((SUITE / "tests" / part).glob(pattern)):
        for case in json.loads(path.read_text(encoding="utf-8")):
            name = path.relative_to(SUITE / "tests").as_posix()
            found.append(Case(name, dialect, case["description"], case["schema"], case["tests"]))
    assert found, "no such part in the suite"
    return found


def failures(case: Case, assert_formats: bool) -> List[str]:
    """The tests of a case that come out otherwise than the suite says, each in one line."""
    wrong = []
    for test in case.tests:
        try:
            validator = compile(case.schema, remotes(), default_dialect=case.dialect, assert_formats=assert_formats)
            outcome: Any = not validator.validate(test["data"])
            if validator.is_valid(test["data"]) != outcome:
                outcome = "is_valid and validate differ"
        except Exception as error:  # any at all is a finding, and the next case shall run too
            outcome = repr(error)
        if outcome is not test["valid"]:
            wrong.append("%s: %s: %s: %s" % (case.path, case.description, test["description"], outcome))
    return wrong


def _run(found: List[Case], assert_formats: bool = False) -> None:
    """Fail for what is no exception, and for exceptions that have become needless."""
    wrong = [line for case in found for line in failures(case, assert_formats)]
    total = sum(len(case.tests) for case in found)
    print("official suite: %d of %d tests passed" % (total - len(wrong), total))
    paths = {case.path for case in found}
    needless = [key for key in EXCEPTIONS if key[0] in paths and not any(_is_about(key, line) for line in wrong)]
    unexpected = [line for line in wrong if not any(_is_about(key, line) for key in EXCEPTIONS)]
    if unexpected or needless:
        pytest.fail("\n".join(unexpected + ["needless exception: %s: %s" % key for key in needless]), pytrace=False)


def _is_about(exception: Tuple[str, str], line: str) -> bool:
    return line.startswith(exception[0] + ": ") and exception[1] in line


@pytest.mark.parametrize("part, dialect", PARTS)
def test_the_mandatory_part_passes(part: str, dialect: str) -> None:
    _run(cases(part, dialect, "*.json"))


@pytest.mark.parametrize("part, dialect", PARTS)
def test_the_optional_part_passes_but_for_listed_cases(part: str, dialect: str) -> None:
    _run(cases(part, dialect, "optional/*.json"))


@pytest.mark.parametrize("part, dialect", PARTS)
def test_the_formats_pass_when_they_assert(part: str, dialect: str) -> None:
    _run(cases(part, dialect, "optional/format/*.json"), assert_formats=True)


@pytest.mark.parametrize("part, dialect", PARTS)
def test_every_schema_of_the_suite_is_valid_by_its_metaschema(part: str, dialect: str) -> None:
    found = [case for case in cases(part, dialect, "*.json")
             if check_schema(case.schema, remotes(), default_dialect=dialect)]
    assert [(case.path, case.description) for case in found] == []
