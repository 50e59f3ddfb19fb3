"""What the judges say: the findings of each rule's scene, and the scenes of the examiner with what each is about."""
from typing import List

from mcp_ref.checker import Checker
from mcp_ref.checker.rules import load
from mcp_ref.checker.scenes import trace
from mcp_ref.examiner import scenes
from mcp_ref.revisions import REVISIONS


def checker() -> str:
    """Two lines for each rule: what is found in the trace that keeps it, and in the one that breaks it.

    A finding is the rule, the number of the message or the exchange, and what it follows from.
    """
    return "".join("%s %s %s\n" % (sign, id, findings(row.scene, sign)) for id, row in sorted(load().items())
                   for sign in "+-")


def findings(scene: str, sign: str) -> str:
    judge = Checker()
    judge.check(trace(scene, sign))
    return ", ".join("%s@%s %s%s%s" % (
        each.rule.id, each.number or "[%s]" % each.exchange, each.party,
        "" if each.verdict == "violation" else " " + each.verdict,
        " from " + each.cause.rule.id if each.cause else "") for each in judge.findings) or "nothing"


def rules() -> str:
    """What each rule is about: its level, its party, the other requirements that it covers."""
    return "".join("%s\n" % " | ".join([id, row.text, " ".join(row.also)]) for id, row in sorted(load().items()))


def examiner() -> str:
    """A line for each scene: who is examined, which requirements it decides and provokes, in which revisions, on which
    wires, and what a server needs for it."""
    said: List[str] = []
    for party in (scenes.SERVER, scenes.CLIENT):
        for row in scenes.load(party).values():
            said.append(" | ".join([
                party, row.name, " ".join(row.ids), "provokes " + " ".join(row.provokes) if row.provokes else "",
                " ".join(REVISIONS[rank].name for rank in sorted(row.ranks)), " ".join(row.wires), row.needs]))
    return "\n".join(said) + "\n"
