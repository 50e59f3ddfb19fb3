"""Scenes about the header fields of parameters [2026-07-28 basic/transports/streamable-http §Custom Headers from Tool
Parameters]."""

from typing import Any, Dict, List, NamedTuple, Optional

from ...checker.toolheaders import annotations_of
from ...errors import HEADER_MISMATCH
from ...methods import CALL_TOOL
from ..arguments import valid
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..stage import SceneStage
from ..talk import encoded, in_base64
from ..wire import Reaction

_OTHER = "examiner-another-value"
Fields = Dict[str, Optional[str]]


class Parameter(NamedTuple):
    """A call of a tool with a parameter that a header field repeats."""

    params: Dict[str, Any]
    fields: Fields
    """The fields of all its parameters."""
    field: str
    text: str
    """Name and value of the field that is altered."""


def _texts(arguments: Dict[str, Any], schema: Any) -> Fields:
    """Return the header fields that repeat arguments."""
    found: Fields = {}
    for path, field in annotations_of(schema).headers:
        value: Any = arguments
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            found[field] = {True: "true", False: "false"}[value] if isinstance(value, bool) else encoded(str(value))
    return found


def _parameters(stage: SceneStage) -> List[Parameter]:
    """Return calls whose parameter is a string. Raises `NotExamined` if there are none."""
    found = []
    for tool, _ in stage.callable(mirrored=True):
        schema = tool["inputSchema"]
        for path, field in annotations_of(schema).headers:
            if len(path) == 1 and schema["properties"][path[0]].get("type") == "string":
                needed = schema.get("required")
                made = valid({**schema, "required": [*(needed if isinstance(needed, list) else ()), path[0]]})
                if made is not None:
                    found.append(Parameter({"name": tool["name"], "arguments": made}, _texts(made, schema), field,
                                           str(made[path[0]])))
    if not found:
        raise NotExamined("no tool that may be called has a parameter with a header field")
    return found[:3]


def _call(stage: SceneStage, params: Dict[str, Any], fields: Fields) -> Reaction:
    talk = stage.talk
    return talk.say(talk.message(CALL_TOOL, params, talk.next_id), fields=fields)


def _mismatch(answer: Reaction, what: str) -> Verdict:
    """Return the verdict on a call that has to be refused with 400 and -32020."""
    if answer.status is None:
        return CannotTell("%s: %s" % (what, answer))
    right = answer.status == 400 and answer.code == HEADER_MISMATCH
    return KEPT if right else Broken("%s: %s, in the place of status 400 and error %d" % (
        what, answer, HEADER_MISMATCH))


@scene("parameter-fields", "http.param-mismatch-rejected", "http.param-validate-body", "http.param-missing-rejected",
       "http.param-invalid-chars", "http.param-server-decodes", needs="tools", wires="web")
def parameter_fields(stage: SceneStage) -> Said:
    """The field of a parameter is compared with the argument after decoding: another value, none, and characters that
    are not allowed are refused.

    Reading: a value with characters that are not allowed may be refused with any status from 400 to 499, by the HTTP
    server, too.
    """
    found: Dict[str, List[Verdict]] = {}
    for each in _parameters(stage):
        plain = _call(stage, each.params, each.fields)
        if plain.result is None:
            raise NotExamined("tool %s with its header fields: %s" % (each.params["name"], plain))
        sent = {text: _call(stage, each.params, {**each.fields, each.field: text}) for text in (
            _OTHER, in_base64(_OTHER), in_base64(each.text), each.text + "\u00e9")}
        absent = _call(stage, each.params, {**each.fields, each.field: None})
        other, coded, right, odd = sent.values()
        raw = "%s with characters that are not allowed: %s" % (each.field, odd)
        for id, said in (
            ("http.param-mismatch-rejected", _mismatch(other, "%s of another value" % each.field)),
            ("http.param-validate-body", _mismatch(coded, "%s of another value, encoded" % each.field)),
            ("http.param-missing-rejected", KEPT if absent.result is None and absent.status is not None else Broken(
                "without %s: %s" % (each.field, absent))),
            ("http.param-invalid-chars", CannotTell(raw) if odd.status is None else KEPT
             if 400 <= odd.status < 500 else Broken(raw)),
            ("http.param-server-decodes", KEPT if right.result is not None else Broken(
                "%s with the right value, encoded: %s" % (each.field, right))),
        ):
            found.setdefault(id, []).append(said)
    return {id: every(verdicts) for id, verdicts in found.items()}


@scene("parameter-absent", "http.param-absent-not-expected", "http.param-null-not-expected", needs="tools",
       wires="web")
def parameter_absent(stage: SceneStage) -> Said:
    """A parameter that is not given needs no field, nor one that is null.

    Reading: what the tool makes of such arguments is its own affair; only a refusal of the header fields counts.
    """
    found: Dict[str, List[Verdict]] = {"http.param-absent-not-expected": [], "http.param-null-not-expected": []}
    for tool, arguments in stage.callable(mirrored=True):
        fields = _texts(arguments, tool["inputSchema"])
        for path, field in annotations_of(tool["inputSchema"]).headers:
            if len(path) == 1 and path[0] not in arguments:
                for id, more in (("http.param-absent-not-expected", {}),
                                 ("http.param-null-not-expected", {path[0]: None})):
                    answer = _call(stage, {"name": tool["name"], "arguments": {**arguments, **more}}, fields)
                    found[id].append(Broken("without %s: %s" % (field, answer)) if answer.code == HEADER_MISMATCH else
                                     KEPT if answer.message is not None else CannotTell(str(answer)))
    if not found["http.param-absent-not-expected"]:
        raise NotExamined("no tool that may be called has a parameter with a header field that it can do without")
    return {id: every(verdicts) for id, verdicts in found.items()}
