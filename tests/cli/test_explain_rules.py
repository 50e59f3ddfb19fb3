"""`explain` and the checker: the page of each rule, why a requirement is not decided, and the counts of a page."""
import json
import subprocess
import sys

import pytest

from mcp_ref.cli import main
from mcp_ref.cli.learn import pages
from mcp_ref.cli.learn.explain import TEXTS, describe
from mcp_ref.requirements import requirements
from mcp_ref.devtools.checker.rules import UNDECIDED, load
from tests.support.patience import WAIT

from .running import ROOT, here


@pytest.mark.time_limit(120)
def test_every_rule_that_is_listed_can_be_explained(capsys, monkeypatch):
    monkeypatch.setattr(pages, "tests_of", lambda id: None)  # they are looked for in all tests, each time
    listed = [line.split()[0] for line in here(capsys, "check", "--list")[1].splitlines()]
    assert listed == list(load()) and len(listed) > 300
    for id in listed:
        found = describe(id)
        json.dumps(found)
        rule = found["rule"]
        assert (found["id"], rule["id"], rule["text"]) == (id, id, load()[id].text)
        assert rule["moments"] and rule["kept"] and rule["broken"]
        marked = "\n".join(line for line in rule["broken"] if "!! " in line)
        assert " %s" % id in marked and " %s" % id not in "\n".join(rule["kept"]), id
        assert all(line.isascii() and len(line) <= 96 for line in rule["kept"] + rule["broken"])
        lines = TEXTS["requirement"](found)
        ours = lines[lines.index("  the command check judges it by the rule %s:" % id):]
        assert all(line == line.rstrip() and "\n" not in line and len(line) <= 100 for line in ours), id


def test_a_rule_has_its_page(capsys):
    out = here(capsys, "explain", "progress.increases")[1]
    for text in ("judges it by the rule progress.increases:\n    The progress of a token rises with each notification.",
                 "    asked at    a notification (notifications/progress)\n", "    verdict     violation\n",
                 "          !! violation by the server: progress.increases\n             progress 1 after 1\n",
                 "  what to do:\n    Look where the server makes or takes notifications/progress: message 6"):
        assert text in out, text
    assert out.index("\n  kept:\n") < out.index("\n  broken:\n") < out.index("!! violation")


def test_a_requirement_that_another_rule_decides_leads_to_it():
    assert describe("progress.token-in-progress")["rule"]["id"] == "progress.stops"


def test_a_reading_and_a_disagreement_are_told():
    rules = list(load().values())
    read = next(rule for rule in rules if rule.reading)
    assert describe(read.id)["rule"]["reading"] == read.reading
    for rule in rules:
        if rule.disagree:
            found = describe(rule.id)["rule"]
            assert (found["verdict"], found["disagreement"]) == ("disagreement", rule.disagree)
    assert describe("progress.rate-limit")["rule"]["verdict"] == "warning"


def test_what_cannot_be_decided_says_why(capsys):
    found = describe("progress.track-tokens")
    assert (found["rule"], found["undecided"]) == (None, UNDECIDED["progress.track-tokens"])
    out = here(capsys, "explain", "progress.track-tokens")[1]
    assert "check does not decide it:\n    a table inside the party;" in out
    permits = next(row.id for row in pages.requirements().values() if not row.binding and row.id not in load()
                   and pages.rule_of(row.id)["rule"] is None)
    assert "it only permits something" in here(capsys, "explain", permits)[1]


@pytest.mark.parametrize("name", ["2024-11-05", "2026-07-28", "basic/lifecycle §Timeouts", "basic/patterns/mrtr"])
def test_a_revision_and_a_page_count_what_is_decided(name, capsys):
    found = describe(name)
    checked, total = found["checked"], found["requirements"]
    count = total if isinstance(total, int) else len(total)
    assert checked["decided"] + checked["permits"] + checked["open"] + len(checked["undecided"]) == count
    assert checked["decided"] > 0 and all(each["reason"] == UNDECIDED[each["id"]] for each in checked["undecided"])
    assert "  checked     %d have a rule, " % checked["decided"] in here(capsys, "explain", name)[1]


def test_counts_are_those_of_the_tables():
    id = "progress.increases"
    assert pages.coverage([requirements()[id]]) == {"decided": 1, "permits": 0, "open": 0, "undecided": []}
    row = requirements()["progress.track-tokens"]
    assert [each["id"] for each in pages.coverage([row])["undecided"]] == ["progress.track-tokens"]


@pytest.mark.parametrize("word, loaded", [("tools/call", "False"), ("progress.increases", "True")])
def test_the_checker_is_loaded_only_if_it_is_asked(word, loaded):
    code = ("import sys\nfrom mcp_ref.cli import main\nmain(['explain', %r])\n"
            "print('mcp_ref.devtools.checker' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code % word], cwd=str(ROOT), stdout=subprocess.PIPE, timeout=WAIT)
    assert done.stdout.decode().splitlines()[-1] == loaded


def test_a_rule_of_an_extension_leads_to_its_repository_and_to_no_page_of_the_same_name(capsys):
    out = here(capsys, "explain", "tasks-ext.get-working")[1]
    assert "  read it at  https://github.com/modelcontextprotocol/ext-tasks\n" in out
    assert "basic/utilities/tasks" not in out and "tasks/get #2" in out


def test_the_advice_names_the_place_and_what_is_right_there(capsys):
    assert main(["explain", "progress.increases", "--json"]) == 0
    rule = json.loads(capsys.readouterr().out)["rule"]
    assert rule["text"].rstrip(".").lower() not in rule["advice"].lower()
    assert "message 6 of the broken trace" in rule["advice"] and "progress 1 after 1" in rule["advice"]
    assert '"progress": 1}, is S notifications/progress' in rule["advice"]


def test_a_rule_that_binds_both_parties_says_so_and_names_no_empty_method(capsys):
    assert main(["explain", "ping.respond"]) == 0
    out = capsys.readouterr().out
    assert "party       client or server" in out and "(ping)" in out


def test_citations_of_the_checker_come_last(capsys):
    assert main(["explain", "jsonrpc.follow-spec", "--json"]) == 0
    places = [each["place"] for each in json.loads(capsys.readouterr().out)["citations"]]
    rules = [place for place in places if "/checker/" in place]
    assert rules and places[-len(rules):] == rules and len(places) > len(rules)
