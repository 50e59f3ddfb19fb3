"""Every binding requirement that shows on the wire has a rule, or a reason why nobody who only observes can decide it.

A first judgement of each row, made before there were rules, lies beside the specification: observer.tsv.
"""
import csv

import pytest

from mcp_ref.requirements import requirements
from mcp_ref.devtools.checker.rules import RULES, UNDECIDED, load
from tests.support.outside import SPEC

load()
DECIDED = {each for rule in RULES.values() for each in (rule.id, *rule.also)}

_ELSEWHERE = "a client may have an id from elsewhere, and does not say so"
_WISH = "the wish to cancel is inside the client; a call that is made again is no proof that the first was given up"
_TEXT = "the cause of an error would be read off a text that has no fixed words for it"
_REASON = "a client that stops, closes or errs after it may have any other reason"
_ENOUGH = "a client that asks for no other page may have what it wanted, and one that does shows one half only"
_LIMIT = "the page names no number, so that no trace is beyond it"
_REFUSAL = "it shows only when a party refuses, and then the refusal may be for another cause"
_HISTORY = "one trace has one server, and a client may remember what it saw before"
DIFFERENT = {
    "apps.fetch-by-resources-read": "a client that reads no UI resource may have it in its cache, or show none",
    "apps.app-only-tool-hidden-from-model": "what a host offers its model shows in no message",
    "auth.dcr-application-type-web": "native applications may have https redirects, too",
    "auth.dcr-should": _ELSEWHERE, "auth.registration-dcr": _ELSEWHERE, "auth.registration-preregistered": _ELSEWHERE,
    "auth.iss-absent-proceed": _REASON,
    "auth.resource-case-robust": "the party that takes or refuses a spelling is the authorization server",
    "auth.scope-hierarchy": "which scopes imply which is known to the server alone",
    "auth.step-up-user": "whether a client acts for a user, and whether that user agreed, is not on the wire",
    "cache.stale-refetch": "a client that asks again after a result is stale shows it, but none has to",
    "cancel.client-notifies": _WISH, "cancel.stdio-notification": _WISH,
    "completion.rate-limit": _LIMIT, "sampling.iteration-limits": _LIMIT, "ping.periodic": _LIMIT,
    "elicit.complete-unknown-ignored": _REASON, "http.client-supports-json-and-sse": _REASON,
    "jsonrpc.result-type-absent-complete": _REASON, "stdio.stderr-not-error": _REASON,
    "subscribe.client-checks-ack": _REASON, "subscribe.stdio-resubscribe": _REASON,
    "version.client-disconnect": "which versions a client supports is inside it, and any may be among them",
    "version.client-must-disconnect": "what a client supports is inside it; an odd version is its server's fault",
    "http.header-version-absent-assume": "a server that refuses need not have the revision that it assumed",
    "logging.configuration-error": _TEXT, "logging.internal-error": _TEXT, "roots.internal-error": _TEXT,
    "tools.errors-in-result": _TEXT,
    "mrtr.state-integrity": "traces mask the state, and whether it matters shows to its server only",
    "mrtr.state-principal": "a token that was renewed is another one for the same principal",
    "pagination.both-flows": _ENOUGH, "prompts.client-pagination": _ENOUGH,
    "sampling.preserve-meta": "the history of a question is put together by the server, which has no such duty",
    "schema.unresolved-ref-reject": "a party may have the document that a reference leads to, or was told to fetch it",
    "schema.unsupported-dialect-error": _REFUSAL, "stateless.no-connection-affinity": _REFUSAL,
    "stdio.fallback-any-error": _HISTORY, "stdio.modern-client-probe": _HISTORY,
    "stdio.restart": "whether anybody still wanted the server is not on the wire",
    "tasks.http-compliance": "it repeats the page of Streamable HTTP, whose rules judge messages of tasks like others",
    "tasks.messages-any-stream": _REASON, "tasks.no-reliance-on-notification": _REASON,
    "tasks.list-pagination": _LIMIT, "tasks.requestor-track": _ELSEWHERE,
    "skills.empty-list-proves-nothing": _ENOUGH, "skills.load-by-uri": _ENOUGH, "skills.limits-supported": _REASON,
    "tasks-ext.client-handles-both-results": _REASON,
    "stdio.shutdown-force": "how long the client was there after it closed the input is not on the wire",
}
"""Rows that the list takes for decidable in part, and for which no observation is worth a finding, each with the
reason."""


def table_of(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["id"]: row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}


def stated():
    """The rows that bind a client or a server and can be seen or called, with those of the extensions."""
    found = {}
    for folder in (SPEC, SPEC.parent / "spec-ext"):
        found.update(table_of(folder / "requirements.tsv"))
    return {id: row for id, row in found.items() if row["level"] != "MAY" and row["testable"] in ("wire", "api")
            and row["role"] in ("client", "server", "both")}


def test_no_requirement_is_decided_and_undecided():
    assert DECIDED & set(UNDECIDED) == set()


def test_ids_and_reasons_are_of_the_list():
    assert [id for id in UNDECIDED if id not in requirements() or len(UNDECIDED[id]) < 20] == []


@pytest.mark.needs("specification")
def test_each_row_that_shows_has_a_rule_or_a_reason(capsys):
    rows = stated()
    assert sorted(set(rows) - DECIDED - set(UNDECIDED)) == []
    with capsys.disabled():
        print("\n%d requirements by %d rules, %d undecided, %d of these against the first judgement" % (
            len(DECIDED & set(rows)), len(RULES), len(set(UNDECIDED) & set(rows)), len(DIFFERENT)))


def test_differences_from_the_first_judgement_are_undecided():
    assert [id for id in DIFFERENT if id not in UNDECIDED] == []


@pytest.mark.needs("specification")
def test_all_other_rows_are_as_first_judged():
    rows = table_of(SPEC.parent / "observer.tsv")
    ruled = {id for id, row in rows.items() if row["decidable"] != "no"}
    assert sorted(ruled - DECIDED - set(DIFFERENT)) == []
    assert sorted(set(rows) - ruled - set(UNDECIDED) - set(DIFFERENT)) == []
    assert [id for id in DIFFERENT if rows[id]["decidable"] == "no"] == []
