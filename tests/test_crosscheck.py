"""The crosscheck finds no difference, and finds each one that is made on purpose."""
import copy
import json
import pathlib
import sys
from typing import Any, Callable, Dict, Iterator, List, Literal

import pytest

from mcp_ref import methods, model
from mcp_ref.codec import MemberDeclaration, members
from mcp_ref.devtools import crosscheck
from mcp_ref.devtools.crosscheck import all_classes, definition_differences
from mcp_ref.messages import (
    CallToolRequestParams, CallToolResult, CancelledNotificationParams, Icon, ImageContent, SetLevelRequestParams, Tool,
    ToolAnnotations,
)
from mcp_ref.revisions import R2025_11_25, REVISIONS, Revision, revision
from tests.support.outside import SPEC

specified = pytest.mark.needs("specification")
Change = Callable[[MemberDeclaration], None]


@pytest.fixture(scope="module")
def schemas() -> Dict[Revision, Any]:
    return {when: crosscheck.definitions_of(str(SPEC), when) for when in REVISIONS}


def differences(when: Revision, schemas: Dict[Revision, Any]) -> List[str]:
    """The differences of a revision that are no errata."""
    known = crosscheck.errata_lines()
    return [line for line in definition_differences(when, schemas[when]) if "%s %s" % (when, line) not in known]


@specified
def test_there_are_no_differences_but_the_errata(schemas: Any, capsys: Any) -> None:
    assert crosscheck.compare(str(SPEC)) == []
    assert crosscheck.main(str(SPEC)) == 0
    printed = capsys.readouterr().out
    assert "differences: none, except the %d errata above" % len(crosscheck.errata_lines()) in printed
    assert printed.count("erratum: ") == len(crosscheck.errata_lines())
    assert all(len(row.reason) > 20 for row in crosscheck.ERRATA)


@specified
def test_the_command_prints_and_counts_what_differs(schemas: Any, capsys: Any, monkeypatch: Any) -> None:
    change(monkeypatch, Tool, "title", set_to(wire="caption"))
    assert crosscheck.main(str(SPEC)) == 1
    printed = capsys.readouterr().out
    assert "difference: 2025-06-18 Tool.title: missing here" in printed
    assert "difference: 2026-07-28 Tool.caption: not in the schema" in printed


@specified
def test_an_erratum_that_no_longer_differs_is_a_difference(schemas: Any, monkeypatch: Any) -> None:
    row = crosscheck.Erratum((R2025_11_25,), "Tool.name: something", "a reason")
    monkeypatch.setattr(crosscheck, "ERRATA", crosscheck.ERRATA + (row,))
    assert crosscheck.compare(str(SPEC)) == ["2025-11-25 Tool.name: something: an erratum that is none"]


# -- Broken on purpose: a field ----------------------------------------------------------------


def change(monkeypatch: Any, cls: Any, attr: str, how: Change) -> None:
    """Declare one member of a class otherwise, for the time of a test."""
    changed = tuple(copy.copy(m) for m in members(cls))
    how(next(m for m in changed if m.attr == attr))
    monkeypatch.setitem(model._MEMBERS, cls, changed)


def set_to(**facts: Any) -> Change:
    return lambda m: [setattr(m, name, value) for name, value in facts.items()] and None


FIELDS = [
    (CallToolRequestParams, "name", set_to(required=()), "2025-11-25",
     ["CallToolRequestParams.name: required in the schema, optional here"]),
    (CallToolRequestParams, "name", set_to(required=()), "2024-11-05",
     ["CallToolRequest.params: required in the schema, optional here",
      "CallToolRequest.params.name: required in the schema, optional here"]),
    (CallToolRequestParams, "arguments", set_to(required=((None, None),)), "2025-11-25",
     ["CallToolRequestParams.arguments: optional in the schema, required here"]),
    (Tool, "description", set_to(wire="descriptions"), "2025-03-26",
     ["Tool.description: missing here", "Tool.descriptions: not in the schema"]),
    (Tool, "icons", set_to(since=None), "2025-06-18", ["Tool.icons: not in the schema"]),
    (Tool, "execution", set_to(until=None), "2026-07-28", ["Tool.execution: not in the schema"]),
    (Tool, "title", set_to(since=R2025_11_25), "2025-06-18",
     ["Tool as BaseMetadata.title: missing here", "Tool.title: missing here"]),
    (ToolAnnotations, "read_only_hint", set_to(hint=str), "2025-03-26",
     ["ToolAnnotations.readOnlyHint: boolean in the schema, string here"]),
    (SetLevelRequestParams, "level",
     set_to(hint=Literal["debug", "info", "notice", "warning", "error", "critical", "alert"]), "2025-11-25",
     ["SetLevelRequestParams.level: value emergency is missing here"]),
    (Icon, "theme", set_to(hint=Literal["light", "dark", "sepia"]), "2026-07-28",
     ["Icon.theme: value sepia is not in the schema"]),
    (ImageContent, "type", set_to(default="picture"), "2024-11-05",
     ["ImageContent.type: value image is missing here", "ImageContent.type: value picture is not in the schema"]),
    (CallToolResult, "structured_content", set_to(was=()), "2025-11-25",
     ["CallToolResult.structuredContent: map of any in the schema, any here"]),
    (CallToolResult, "content", set_to(hint=Dict[str, str]), "2025-11-25",
     ["CallToolResult.content: array of ContentBlock in the schema, map of string here"]),
    (CancelledNotificationParams, "request_id", set_to(required=((None, None),)), "2025-11-25",
     ["CancelledNotificationParams.requestId: optional in the schema, required here"]),
    (Tool, "input_schema", set_to(shape=None), "2025-11-25",
     ["Tool.inputSchema: object with $schema, properties, required, type in the schema, map of any here",
      "ToolInputSchema: not in the schema"]),
]


@specified
@pytest.mark.parametrize("cls, attr, how, when, lines", FIELDS,
                         ids=["%s.%s-%s" % (f[0].__name__, f[1], f[3]) for f in FIELDS])
def test_a_broken_field_is_found(cls: Any, attr: str, how: Change, when: str, lines: List[str], schemas: Any,
                                 monkeypatch: Any) -> None:
    change(monkeypatch, cls, attr, how)
    assert set(lines) <= set(differences(revision(when), schemas))


def places() -> Iterator[Any]:
    """Each member of each class, with the newest revision that has both.

    Half of them, because each costs a comparison of a whole schema: `make matrix` runs one half on the oldest CPython
    and the other half on the newest.
    """
    every = [(cls, m) for cls in all_classes() for m in members(cls)]
    for number, (cls, m) in enumerate(every):
        if number % 2 == sys.version_info[1] % 2:
            yield cls, m, next(r for r in reversed(REVISIONS) if m.exists(r) and r.has(cls.since, cls.until))


def flip(m: MemberDeclaration, when: Revision) -> None:
    m.required = () if m.required_in(when) else ((None, None),)


def rename(m: MemberDeclaration, when: Revision) -> None:
    m.wire = "renamed"


@specified
@pytest.mark.parametrize("how", [flip, rename])
def test_no_field_can_be_broken_unseen(
    how: Callable[[MemberDeclaration, Revision], None], schemas: Any, monkeypatch: Any
) -> None:
    unseen = []
    monkeypatch.setattr(crosscheck, "frame_differences", lambda name, context: iter(()))  # slow, and about no field
    for cls, m, when in places():
        with monkeypatch.context() as patch:
            change(patch, cls, m.attr, lambda changed: how(changed, when))
            known = crosscheck.errata_lines()
            if all("%s %s" % (when, line) in known for line in definition_differences(when, schemas[when])):
                unseen.append("%s.%s" % (cls.__name__, m.attr))
    assert not unseen


# -- Broken on purpose: a class, a method, a schema --------------------------------------------


@specified
@pytest.mark.parametrize("cls, window, when, line", [
    (Icon, {"since": "2025-06-18"}, "2025-06-18", "Icon: not in the schema"),
    (Icon, {"until": "2025-11-25"}, "2026-07-28", "Icon: missing here"),
    (ToolAnnotations, {"since": "2025-06-18"}, "2025-03-26", "ToolAnnotations: missing here"),
])
def test_a_wrong_window_of_a_class_is_found(cls: Any, window: Any, when: str, line: str, schemas: Any,
                                            monkeypatch: Any) -> None:
    for name, value in window.items():
        monkeypatch.setattr(cls, name, value)
    assert line in differences(revision(when), schemas)


METHODS = [
    ("tools/call", {"sender": "server"}, "2025-11-25",
     ["ClientRequest: tools/call is missing here", "ServerRequest: tools/call is not in the schema"]),
    ("ping", {"sender": "client"}, "2025-03-26", ["ServerRequest: ping is missing here"]),
    ("notifications/progress", {"sender": "both"}, "2026-07-28",
     ["ClientNotification: notifications/progress is not in the schema"]),
    ("tools/list", {"kind": "notification"}, "2025-06-18",
     ["ListToolsRequest: a request in the schema, a notification here"]),
    ("tools/list", {"params": "base:RequestParams"}, "2025-11-25",
     ["ListToolsRequest.params.cursor: missing here"]),
    ("tools/list", {"result": "prompts:ListPromptsResult"}, "2025-11-25",
     ["ListToolsRequest: answered by ListToolsResult in the schema, by ListPromptsResult here"]),
    ("tools/call", {"other": None}, "2026-07-28",
     ["CallToolResultResponse: CallToolResult or InputRequiredResult in the schema, CallToolResult here"]),
    ("roots/list", {"carrier": "wire"}, "2026-07-28", ["ServerRequest: roots/list is not in the schema"]),
    ("elicitation/create", {"name": "elicitation/make"}, "2025-06-18",
     ["ElicitRequest: method elicitation/create is missing here"]),
]


@specified
@pytest.mark.parametrize("name, facts, when, lines", METHODS, ids=["%s-%s" % (m[0], m[2]) for m in METHODS])
def test_a_broken_method_is_found(name: str, facts: Any, when: str, lines: List[str], schemas: Any,
                                  monkeypatch: Any) -> None:
    rows = methods._BY_REVISION[revision(when).rank]
    broken = rows[name]._replace(**facts)
    monkeypatch.delitem(rows, name)
    monkeypatch.setitem(rows, broken.name, broken)
    assert set(lines) <= set(differences(revision(when), schemas))


def broken_copy(schemas: Any, when: str, how: Callable[[Any], None]) -> Dict[Revision, Any]:
    found = {revision(when): copy.deepcopy(schemas[revision(when)])}
    how(found[revision(when)])
    return found


SCHEMAS: List[Any] = [
    ("2025-11-25", lambda d: d.update(Novelty={"type": "object"}), "Novelty: missing here"),
    ("2025-11-25", lambda d: d["LoggingLevel"]["enum"].append("loud"), "LoggingLevel: value loud is missing here"),
    ("2025-11-25", lambda d: d["ContentBlock"]["anyOf"].append({"$ref": "#/$defs/ToolUseContent"}),
     "ContentBlock: alternative ToolUseContent is missing here"),
    ("2025-11-25", lambda d: d["ContentBlock"]["anyOf"].pop(0),
     "ContentBlock: alternative TextContent is not in the schema"),
    ("2024-11-05", lambda d: d["JSONRPCRequest"]["properties"]["jsonrpc"].update(const="3.0"),
     'JSONRPCRequest: {"id": 1, "jsonrpc": "3.0", "method": "x"} is not read as it is written'),
    ("2024-11-05", lambda d: d["RequestId"].update(type=["string", "boolean"]),
     "RequestId: alternative boolean is missing"),
    ("2024-11-05", lambda d: d["JSONRPCResponse"]["required"].append("extra") or
     d["JSONRPCResponse"]["properties"].update(extra={"type": "string"}), "is not read as it is written"),
    ("2026-07-28", lambda d: d["ParseError"]["properties"]["code"].update(const=-1111),
     "ParseError: code -1111 is missing here"),
    ("2026-07-28", lambda d: d["UnsupportedProtocolVersionError"]["properties"]["error"]["allOf"][1]["properties"]
     ["data"]["properties"].update(hint={"type": "string"}), "UnsupportedProtocolVersionError.data.hint: missing here"),
    ("2026-07-28", lambda d: d["BaseMetadata"]["properties"].update(nick={"type": "string"}),
     "Tool as BaseMetadata.nick: missing"),
    ("2026-07-28", lambda d: d["InputRequest"]["anyOf"].pop(), "InputRequest: elicitation/create is not in the schema"),
    ("2026-07-28", lambda d: d["ServerResult"]["anyOf"].pop(), "ServerResult: CompleteResult is not in the schema"),
    ("2025-11-25", lambda d: d["Task"]["properties"]["ttl"].update(type="integer"), "Task.ttl: integer in the schema"),
]


@specified
@pytest.mark.parametrize("when, how, line", SCHEMAS, ids=[row[2][:60] for row in SCHEMAS])
def test_a_change_of_a_schema_is_found(when: str, how: Any, line: str, schemas: Any) -> None:
    assert any(line in found for found in differences(revision(when), broken_copy(schemas, when, how)))


@specified
def test_a_frame_that_is_read_too_freely_is_found(schemas: Any, monkeypatch: Any) -> None:
    from mcp_ref.devtools import crosscheck

    def lenient(data: bytes, batching: bool) -> Any:
        return json.loads(data)

    monkeypatch.setattr(crosscheck, "parse", lenient)
    monkeypatch.setattr(crosscheck, "to_object", lambda frame: frame)
    found = differences(revision("2025-06-18"), schemas)
    assert "JSONRPCRequest.method: required in the schema, optional here" in found
    assert "JSONRPCRequest.id: null is accepted" in found
    assert "JSONRPCError.error.code: 1.5 is accepted" in found


def test_a_folder_without_schemas_is_an_error_and_no_success(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OSError):
        crosscheck.main(str(tmp_path))
