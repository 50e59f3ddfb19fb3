"""Frames against the official `schema.json` of a revision, by our own validator.

`violations(message, revision, request_method)` says what is wrong with one JSON-RPC message. A response is judged
by the result definition of the request it answers; the messages of the tasks extension by its own schema. Without a
copy of the specification (`outside`) it finds nothing wrong.
"""
import functools
import json
import warnings
from typing import Any, Dict, List, Optional

from mcp_ref.jsonschema import SchemaBounds, Validator, compile
from mcp_ref.methods import SKILLS, is_vendor, lookup, of_extension
from mcp_ref.revisions import revision as revision_named

from .outside import SPEC, SPECIFICATION, absent

PRESENT = not absent(SPECIFICATION)
"""Whether frames are checked."""
PATIENT = SchemaBounds(seconds=60.0)
"""A whole schema.json takes nearly the second that a peer's schema may take, on a busy machine."""

EXTENDED = {
    "tasks/get": ("GetTaskRequest", "GetTaskResult"), "tasks/update": ("UpdateTaskRequest", "UpdateTaskResult"),
    "tasks/cancel": ("CancelTaskRequest", "CancelTaskResult"), "notifications/tasks": ("TaskStatusNotification", ""),
}
"""Methods of the tasks extension of 2026-07-28 -> the definitions of message and result in its schema."""
TASKS = "spec-ext/tasks"

EXTENDING = frozenset(row.name for row in of_extension(SKILLS))
"""Methods of extensions under a prefix of the specification."""


@functools.lru_cache(maxsize=None)
def document(revision: str) -> Dict[str, Any]:
    """The schema.json of a revision, or of the tasks extension."""
    folder = SPEC.parent / TASKS if revision == TASKS else SPEC / revision
    with open(folder / "schema.json", encoding="utf-8") as file:
        loaded: Dict[str, Any] = json.load(file)
    return loaded


def keyword(revision: str) -> str:
    """Where this schema keeps its definitions."""
    return "$defs" if "$defs" in document(revision) else "definitions"


@functools.lru_cache(maxsize=None)
def by_method(revision: str) -> Dict[str, str]:
    """Method -> the definition of its request or notification."""
    found = {}
    for name, definition in document(revision)[keyword(revision)].items():
        method = definition.get("properties", {}).get("method", {}).get("const")
        if method is not None:
            found[method] = name
    return found


@functools.lru_cache(maxsize=None)
def validator(revision: str, definition: str) -> Validator:
    """The compiled definition."""
    schema = dict(document(revision))
    schema["$ref"] = "#/%s/%s" % (keyword(revision), definition)
    if keyword(revision) == "definitions":  # in draft-07 nothing may stand beside $ref
        chosen = [{"$ref": schema["$ref"]}]
        schema = {"$schema": schema["$schema"], "definitions": schema["definitions"], "allOf": chosen}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(schema, bounds=PATIENT)


def result_definition(revision: str, method: Optional[str]) -> str:
    """The definition of the result of a request."""
    definitions = document(revision)[keyword(revision)]
    name = by_method(revision).get(method or "", "Request")[: -len("Request")] + "Result"
    return name if name in definitions else "EmptyResult" if method in by_method(revision) else "Result"


def asks_back(revision: str, method: Optional[str], result: Any) -> bool:
    """Whether a result asks for input, and the request is one that may be answered so."""
    if not isinstance(result, dict) or result.get("resultType") != "input_required":
        return False
    name = by_method(revision).get(method or "", "Request")[: -len("Request")] + "ResultResponse"
    response = document(revision)[keyword(revision)].get(name, {"properties": {"result": {}}})
    return any(choice["$ref"].endswith("/InputRequiredResult")
               for choice in response["properties"]["result"].get("anyOf", ()))


def is_task(revision: str, method: Optional[str], result: Any) -> bool:
    """Whether a result is a task in place of the answer, and the request is one that may be answered so."""
    row = None if method is None else lookup(method, revision_named(revision))
    return row is not None and row.other == "tasks:CreateTaskResult" and isinstance(result, dict) and "task" in result


def violations(message: Dict[str, Any], revision: str, request_method: Optional[str] = None) -> List[str]:
    """What is wrong with a message (of a single object, not a batch) in this revision."""
    if not PRESENT:
        return []
    definitions = document(revision)[keyword(revision)]
    found: List[Any] = []
    if "method" in message:
        name = by_method(revision).get(message["method"])
        envelope = "JSONRPCRequest" if "id" in message else "JSONRPCNotification"
        found += validator(revision, envelope).validate(message)
        if revision == "2026-07-28" and message["method"] in EXTENDED:
            return [str(v) for v in found + validator(TASKS, EXTENDED[message["method"]][0]).validate(message)]
        if name is None and (is_vendor(message["method"]) or message["method"] in EXTENDING):
            return [str(v) for v in found]  # what both sides have agreed on beyond the specification
        if name is None:
            return [str(v) for v in found] + ["no such method in %s: %s" % (revision, message["method"])]
        found += validator(revision, name).validate(message)
    elif "error" in message:
        if message.get("id") is None:  # the listed exemption: an error whose request id could not be read
            message = dict(message, id=0)
        name = "JSONRPCErrorResponse" if "JSONRPCErrorResponse" in definitions else "JSONRPCError"
        found += validator(revision, name).validate(message)
    else:
        name = "JSONRPCResultResponse" if "JSONRPCResultResponse" in definitions else "JSONRPCResponse"
        found += validator(revision, name).validate(message)
        result = message.get("result")
        extended = _of_tasks(revision, request_method, result)
        if extended is not None:
            return [str(v) for v in found + validator(TASKS, extended).validate(result)]
        name = ("InputRequiredResult" if asks_back(revision, request_method, result)
                else "CreateTaskResult" if is_task(revision, request_method, result)
                else result_definition(revision, request_method))
        found += validator(revision, name).validate(result)
    return [str(violation) for violation in found]


def _of_tasks(revision: str, method: Optional[str], result: Any) -> Optional[str]:
    """The definition of a result that the tasks extension adds; None for others."""
    if revision != "2026-07-28" or not isinstance(result, dict):
        return None
    if method == "tools/call" and result.get("resultType") == "task":
        return "CreateTaskResult"
    return EXTENDED[method][1] if method in EXTENDED else None
