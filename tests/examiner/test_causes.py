"""Faults that have one cause are told once."""
import pytest

from mcp_ref.devtools.examiner.causes import ENDED, ServerFault, short, united


def fault(id: str, scene: str = "", evidence: str = "said", where: str = "", key: str = "") -> ServerFault:
    return ServerFault(id, evidence, where, scene, key or "%s:%s" % (id, scene))


ONE_CAUSE = {
    "requirement-and-scene": (fault("tools.output-schema-conform", "call-tools", key="a"),
                              fault("tools.output-schema-conform", "call-tools", key="b")),
    "revisions": (fault("jsonrpc.error-same-id", "other-jsonrpc"), fault("jsonrpc.response-same-id", "other-jsonrpc")),
    "decided-by-one-scene": (fault("logging.invalid-level", "log-levels"),
                             fault("logging.validate-fields", "log-levels")),
    "ended": (fault("jsonrpc.follow-spec", "unreadable", ENDED + " after half a message: gone"),
              fault("lifecycle.base-required", "line-ends", ENDED + " after empty lines: gone")),
    "silent": (fault("jsonrpc.follow-spec", "unreadable", "after half a message: no answer in 5 s"),
               fault("lifecycle.base-required", "line-ends", ENDED + " after empty lines: gone")),
    "failed": (fault("ping.respond", "ping-first", "ping: status 500, a body that is no response: b'oops'"),
               fault("prompts.invalid-name", "unknown-prompt", "status 500, an empty body, in the place of -32602")),
    "part": (fault("http.origin-403", "foreign-origin", where="message 1"),
             fault("http.origin-validate", "foreign-host")),
    "follows": (fault("pagination.invalid-cursor-32602", "bad-cursor"), fault("tools.list-responds", "lists")),
    "follows-in-a-scene": (fault("jsonrpc.follow-spec", "unreadable"), fault("http.notification-rejected", "web")),
    "after-a-ping": (fault("cancel.race", "cancel-nothing", "after a cancellation: error -32601 'no'"),
                     fault("ping.respond", "ping", where="message 4")),
}
TWO_CAUSES = {
    "scenes": (fault("lifecycle.base-required", "ids"), fault("lifecycle.base-required", "unknown-method")),
    "provoked": (fault("tools.output-schema-conform", "call-tools"),
                 fault("tools.structured-text-fallback", "call-tools")),
    "in-another-scene": (fault("jsonrpc.follow-spec", "unknown-method"), fault("http.notification-rejected", "web")),
    "other-500": (fault("jsonrpc.follow-spec", "unreadable", "status 500, error -32603 'oops'"),
                  fault("prompts.invalid-name", "unknown-prompt", "status 500, error -32603 'oops'")),
}


@pytest.mark.parametrize("name", sorted(ONE_CAUSE))
def test_one_cause(name: str) -> None:
    found, = united(ONE_CAUSE[name], {})
    assert {each.key for each in found.every} == {each.key for each in ONE_CAUSE[name]}


@pytest.mark.parametrize("name", sorted(TWO_CAUSES))
def test_two_causes(name: str) -> None:
    assert len(united(TWO_CAUSES[name], {})) == 2


def test_a_method_unites_what_several_scenes_have_shown() -> None:
    shown = [fault("resources.not-found-32002", scene, where="message 1", key=scene) for scene in ("a", "b")]
    assert len(united(shown, {"a": "resources/read", "b": "resources/read"})) == 1
    assert len(united(shown, {"a": "resources/read", "b": "prompts/get"})) == 2


def test_a_third_fault_unites_two() -> None:
    first, second = TWO_CAUSES["scenes"]
    gone = [each._replace(evidence=ENDED + ": gone") for each in (first, second)]
    between = fault("lifecycle.base-required", "ids", ENDED + ": gone", key="between")
    assert len(united([first, gone[1], between], {})) == 1


def test_the_root_is_against_a_must() -> None:
    found, = united([fault("completion.unsupported-error", "complete-undeclared"),
                     fault("completion.capability", "complete-undeclared")], {})
    assert found.id == "completion.capability" and found.also == ("completion.unsupported-error",)


def test_two_causes_stay_apart_that_have_a_consequence_in_common() -> None:
    found = united([fault("pagination.invalid-cursor-32602", "bad-cursor"),
                    fault("tools.list-responds", "lists", where="message 1", key="a"),
                    fault("prompts.list-responds", where="message 2", key="b")], {})
    assert [each.id for each in found] == ["tools.list-responds", "prompts.list-responds"]
    assert [each.also for each in found] == [("pagination.invalid-cursor-32602",), ()]


def test_what_a_malformed_message_spoils_stands_beside_it() -> None:
    said = fault("completion.invalid-prompt", "complete")
    seen = fault("jsonrpc.error-code-integer", "another", where="message 9", key="a")
    elsewhere = fault("prompts.invalid-name", "unknown-prompt")
    found = united([said, seen, elsewhere], {}, malformed={"complete": {seen.id}})
    assert [(each.id, each.also) for each in found] == [(seen.id, (said.id,)), (elsewhere.id, ())]


def test_a_must_that_follows_from_a_should_is_the_root() -> None:
    said = fault("tools.validate-inputs", "unknown-tool")
    seen = fault("errors.message-concise", "unknown-tool", where="message 9", key="a")
    found, = united([seen, said], {}, malformed={"unknown-tool": {seen.id}})
    assert (found.id, found.also) == (said.id, (seen.id,))


def test_an_evidence_has_no_lines_of_standard_error() -> None:
    assert short("server exited with code 1; last stderr lines:\n" + "x" * 1000) == "server exited with code 1"
    assert len(short("x" * 1000)) <= 200
