"""What the judges say: the findings of each rule's scene, and the scenes of the examiner with what each is about."""
import contextlib
import importlib
import io
import json
import sys
from typing import Dict, List

from mcp_ref.cli import main
from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.rules import load
from mcp_ref.devtools.checker.scenes import trace
from mcp_ref.devtools.examiner import scenes
from mcp_ref.revisions import REVISIONS
from tests.meta.facts import ROOT
from tests.support.patience import WAIT


def checker() -> str:
    """Two lines for each rule: what is found in the trace that keeps it, and in the one that breaks it.

    A finding is the rule, the number of the message or the exchange, and what it follows from.
    """
    return "".join("%s %s %s\n" % (sign, id, findings(row.scene, sign)) for id, row in sorted(load().items())
                   for sign in "+-")


def findings(scene: str, sign: str) -> str:
    judge = Checker()
    judge.check(trace(scene, sign))
    return ", ".join(sorted("%s@%s %s%s%s" % (
        each.rule.id, each.number or "[%s]" % each.exchange, each.party,
        "" if each.verdict == "violation" else " " + each.verdict,
        " from " + each.cause.rule.id if each.cause else "") for each in judge.findings)) or "nothing"


def disputed() -> str:
    """The scene of the first rule about which page and schema disagree."""
    return next(row.scene for row in load().values() if row.disagree)


def rules() -> str:
    """What each rule is about: its level, its party, the other requirements that it covers."""
    return "".join("%s\n" % " | ".join([id, row.text, " ".join(row.also)]) for id, row in sorted(load().items()))


def examiner() -> str:
    """A line for each scene: who is examined, which requirements it decides and provokes, in which revisions, on which
    wires, and what a server needs for it."""
    said: List[str] = []
    for party in (scenes.SERVER, scenes.CLIENT):
        for _, row in sorted(scenes.load(party).items()):
            said.append(" | ".join([
                party, row.name, " ".join(row.ids), "provokes " + " ".join(row.provokes) if row.provokes else "",
                " ".join(REVISIONS[rank].name for rank in sorted(row.ranks)), " ".join(row.wires), row.needs]))
    return "\n".join(said) + "\n"


def examination() -> str:
    """What the examiner says of examples/everything_server.py over a socket: a line for each requirement, and for each
    scene that was not played, with what it says in each revision."""
    out = io.StringIO()
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        served = importlib.import_module("everything_server")
    finally:
        sys.path.remove(str(ROOT / "examples"))
    with served.server.listen("tcp://127.0.0.1:0") as listener, contextlib.redirect_stdout(out):
        main(["examine", listener.address, "--json", "--timeout", str(WAIT)])
    found: Dict[str, List[str]] = {}
    report = json.loads(out.getvalue())
    for revision, told in report["revisions"].items():
        for name, why in told["scenes"].items():
            found.setdefault("scene %s" % name, []).append("%s %s" % (revision, why or "played"))
        for id, row in told["requirements"].items():
            if not id.startswith(("timeout.", "cancel.in-")):  # whether a call still runs is up to the machine
                found.setdefault(id, []).append("%s %s" % (revision, row["state"]))
    return "".join("%s: %s\n" % (name, "; ".join(each)) for name, each in sorted(found.items()))
