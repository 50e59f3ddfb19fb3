"""The table of features in ``examples/inspecting.md``: each that is there has tests, and the tests exist."""
import re
from typing import List

import pytest

from .facts import ROOT

TEXT = (ROOT / "examples" / "inspecting.md").read_text(encoding="utf-8")
ROWS: List[List[str]] = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines()
                         if re.match(r"\| \d", line)]
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)


def test_every_feature_is_there_once_and_says_what_proves_it() -> None:
    assert [row[0] for row in ROWS] == [str(number) for number in range(1, 16)]
    for row in ROWS:
        _, name, here, command, tests = row
        assert here.split(":")[0].split(",")[0] in ("yes", "partly", "not yet"), name
        assert bool(tests) is bool(command) is (here != "not yet"), name
        assert re.sub(r"`tests/[\w/]+\.py::\w+`(, )?", "", tests) == "", name


@pytest.mark.parametrize("file, name", NAMED)
def test_what_is_named_exists(file: str, name: str) -> None:
    assert re.search(r"^def %s\(" % name, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
