"""Faults that have one cause are told once."""
import pytest

from mcp_ref.examiner.causes import ENDED, ServerFault, short, united


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
}
TWO_CAUSES = {
    "scenes": (fault("lifecycle.base-required", "ids"), fault("lifecycle.base-required", "unknown-method")),
    "provoked": (fault("tools.output-schema-conform", "call-tools"),
                 fault("tools.structured-text-fallback", "call-tools")),
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


def test_an_evidence_has_no_lines_of_standard_error() -> None:
    assert short("server exited with code 1; last stderr lines:\n" + "x" * 1000) == "server exited with code 1"
    assert len(short("x" * 1000)) <= 200
