"""Folders from outside the project that some tests read: the specification, and the official test suites.

An environment variable names each of them (a relative path starts at the project's root), and they are not looked for
anywhere else. A test that reads one is marked ``needs(NAME)``, with a name from `NEEDS`. If the variable is not set,
the test is skipped. If it is set, as in `.ci/run`, the folder has to exist. ``make test ARGS="-m needs"`` runs these
tests alone.
"""
import os
import pathlib
from typing import Dict, List, NamedTuple


ROOT = pathlib.Path(__file__).resolve().parents[2]


class Need(NamedTuple):
    """The variable that names a folder, and what a run without it does not test."""

    variable: str
    without: str


SPECIFICATION = "specification"
JSON_SCHEMA_SUITE = "JSON Schema suite"
URI_TEMPLATE_SUITE = "URI template suite"
NEEDS: Dict[str, Need] = {
    SPECIFICATION: Need("MCP_REF_SPEC", "no message or table is compared with the specification"),
    JSON_SCHEMA_SUITE: Need("MCP_REF_JSON_SCHEMA_SUITE", "the official JSON Schema test suite does not run"),
    URI_TEMPLATE_SUITE: Need("MCP_REF_URITEMPLATE_SUITE", "the official URI template test cases do not run"),
}


def folder(name: str) -> pathlib.Path:
    """Return a folder from outside. If its variable is not set, the path says so instead of existing."""
    variable = NEEDS[name].variable
    return ROOT / (os.environ.get(variable) or variable + " is not set")


def absent(name: str) -> str:
    """Return why a test that needs this folder is skipped, or "" if it can run."""
    variable, without = NEEDS[name]
    return "" if os.environ.get(variable) else "%s is not set: %s" % (variable, without)


def mistaken() -> List[str]:
    """Return a line for each variable that is set and does not name a folder."""
    return ["%s=%s: there is no such folder" % (need.variable, folder(name)) for name, need in NEEDS.items()
            if not absent(name) and not folder(name).is_dir()]


SPEC = folder(SPECIFICATION)
"""The specification: a folder for each revision, and `requirements.tsv`. `spec-ext` (the extensions), `formats` and
`observer.tsv` lie beside it."""
