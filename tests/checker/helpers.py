"""What the tests of the checker share: a scene in, what was found out."""

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.scenes import trace


def judged(scene):
    """The checker that has judged a scene."""
    checker = Checker()
    checker.check(trace(scene, "+"))
    return checker


def roots(scene):
    """The ids of the rules that were broken in a scene, without what follows from another."""
    return sorted({each.rule.id for each in judged(scene).findings if each.cause is None})


def unsure(scene, id):
    """Why a rule could not be told in a scene."""
    return judged(scene).tallies()[id].unsure
