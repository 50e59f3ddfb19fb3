"""The message classes compared with the published schemas: ``python3 -m mcp_ref crosscheck SPEC_FOLDER``.

The folder holds one folder for each revision with its ``schema.json``. Every definition of every
schema is compared with what stands for it here, and everything that is here with the schemas:
names and types of members, required or optional, the values of enumerations, the methods, who
sends them and what answers them, the frames, the codes of errors. `mcp_ref.crosscheck.definitions`
has the table. Each difference is printed on a line; the exit code is 1 if there are any beyond
ERRATA.
"""

import json
import os
import sys
from typing import Any, Dict, List, NamedTuple, Tuple

from ..revisions import (
    R2024_11_05, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28, REVISIONS, Revision,
)
from .definitions import definition_differences


class Erratum(NamedTuple):
    """An intended difference: a line as `compare` would print it, and the reason not to follow the schema."""

    revisions: Tuple[str, ...]
    line: str
    reason: str


ERRATA: Tuple[Erratum, ...] = (
    Erratum(
        (R2024_11_05, R2025_03_26, R2025_06_18),
        "JSONRPCError.id: required in the schema, optional here",
        "An id that could not be read cannot be sent back; null or nothing stands in its place, and both are read.",
    ),
    Erratum(
        (R2025_06_18, R2025_11_25, R2026_07_28),
        "ElicitResult.content[]: alternative number is not in the schema",
        "A form may ask for a number, so an answer may be one; the generated schema has every number as an integer.",
    ),
    Erratum(
        (R2025_11_25,),
        "CancelledNotification.params: required in the schema, optional here",
        "Nothing in these params is required in that revision; without any, the notification names no request.",
    ),
    Erratum(
        (R2025_11_25,),
        "ClientResult: CreateTaskResult is not in the schema",
        "Answers to requests that run as tasks: [2025-11-25 basic/utilities/tasks §Creating Tasks].",
    ),
    Erratum(
        (R2025_11_25,),
        "ServerResult: CreateTaskResult is not in the schema",
        "The same in the other direction.",
    ),
    Erratum(
        (R2026_07_28,),
        "JSONValue: (JSONObject or array of JSONValue or boolean or integer or string) in the schema, any here",
        "Null and fractions are JSON values too; the generated schema leaves them out.",
    ),
)


def definitions_of(spec_folder: str, revision: Revision) -> Dict[str, Any]:
    """Return the definitions of a revision's ``schema.json``. Raises OSError if the file is missing."""
    with open(os.path.join(spec_folder, revision.name, "schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    found: Dict[str, Any] = schema.get("$defs") or schema["definitions"]
    return found


def compare_all(spec_folder: str) -> List[str]:
    """Return all differences, errata included, each line with its revision in front."""
    return ["%s %s" % (revision, line) for revision in REVISIONS
            for line in definition_differences(revision, definitions_of(spec_folder, revision))]


def errata_lines() -> Dict[str, str]:
    """Return the lines of ERRATA with their reasons, one for each revision concerned."""
    return {"%s %s" % (revision, row.line): row.reason for row in ERRATA for revision in row.revisions}


def compare(spec_folder: str) -> List[str]:
    """Return the differences that are no errata, and the errata that are no longer differences."""
    found, known = compare_all(spec_folder), errata_lines()
    stale = ["%s: an erratum that is none" % line for line in known if line not in found]
    return [line for line in found if line not in known] + stale


def main(spec_folder: str) -> int:
    """Print the differences; return 0 if there are none beyond the errata, else 1."""
    counts = ["%s %d" % (revision, len(definitions_of(spec_folder, revision))) for revision in REVISIONS]
    print("definitions compared: " + ", ".join(counts))
    for line, reason in errata_lines().items():
        print("erratum: %s\n    %s" % (line, reason))
    differences = compare(spec_folder)
    for line in differences:
        print("difference: " + line)
    print("differences: %s" % (len(differences) or "none, except the %d errata above" % len(errata_lines())))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
