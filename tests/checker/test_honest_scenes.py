"""No rule finds fault with conversations that are legal, though they look odd: `tests/data/honest_scenes.txt`."""
import re

import pytest

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.httpfacts import challenges
from mcp_ref.devtools.checker.scenes import trace
from tests.meta.facts import ROOT

TEXT = (ROOT / "tests" / "data" / "honest_scenes.txt").read_text(encoding="utf-8")
SCENES = dict(block.split("\n", 1) for block in re.split(r"^=== ", TEXT, flags=re.MULTILINE)[1:])


@pytest.mark.parametrize("name", SCENES)
def test_legal_conversation_is_silent(name):
    checker = Checker()
    checker.check(trace(SCENES[name], "+"))
    assert [(each.rule.id, each.evidence) for each in checker.findings] == []


def test_a_long_word_in_a_challenge_is_read_once():
    """Quadratic time took more than a minute for this."""
    assert challenges("Bearer " + "a" * 16000 + "(") is not None
