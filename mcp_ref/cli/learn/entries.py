"""The entries of `explain`, as objects: what the tables say of a method, a type, a code, a feature, a revision.

Each function gets a name and the revisions that count, and returns an object as the docstring of `explain` describes,
or None if none of these revisions has what is named.

Each method and each feature has one example message, as a revision writes it. The values stand here as JSON in the form
of the newest revision that has them. The message classes read them and write them for the revision that is asked for,
so that members of later revisions are left out. What is no message of JSON-RPC (header fields, a stream, a schema) is a
text.

`glossary` returns the entries of the methods and types that a session used, for the page of the inspector.
"""

import json
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from ... import jsonrpc, methods
from ...codec import decode, encode
from ...deprecations import DEPRECATED, NOT_DONE, deprecation
from ...requirements import EXTENSIONS, requirements, url
from ...errors import CODES, INVALID_PARAMS, METHOD_NOT_FOUND, PARSE_ERROR
from ...model import alternatives, members
from ...protocol.envelope import PREFIX, VERSION, fields
from ...protocol.lifecycle import PHASES, TABLE
from ...revisions import FEATURES, NAMES, REVISIONS, VALUES, Revision, revision
from . import facts, pages, words

Entry = Dict[str, Any]


def feature_names() -> List[str]:
    """Return the names of all features, those that are values last."""
    return [row.name for row in FEATURES] + list(VALUES)


def _window(span: facts.Span) -> List[str]:
    return [str(span.first), str(span.last)]


# One of the tables


def lifecycle(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return the phases of a connection with handshake and the table of what may be sent in each."""
    rows = [{"sender": sender, "phase": phase, "message": message, "next": following}
            for (sender, phase, message), following in TABLE.items()]
    return {"kind": "lifecycle", "phases": list(PHASES), "rows": rows} if any(r.handshake for r in among) else None


def deprecated(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return the registry of deprecated features."""
    rows = [row._asdict() for row in DEPRECATED.values() if any(r.has(row.since, None) for r in among)]
    return {"kind": "deprecated", "rows": rows} if rows else None


def readings() -> Entry:
    """Return the decisions of this package where the specification leaves a choice."""
    return {"kind": "readings", "rows": [{"place": each.place, "text": each.text, "citations": each.citations}
                                         for each in pages.readings()]}


def missing() -> Entry:
    """Return what is not done here."""
    return {"kind": "missing", "rows": [dict(row._asdict(), pages=list(row.pages)) for row in NOT_DONE]}


# A row of a table


def code(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return an error code, and the values of VALUES that it is."""
    row = CODES[int(name)]
    windows = facts.spans(lambda r: True if r.has(row.since, row.until) else None, among)
    if not windows:
        return None
    used = [{"name": value, "windows": [_window(span) for span in found]}
            for value, found in facts.values_equal_to(row.code)]
    return {"kind": "code", "code": row.code, "name": row.name, "page": row.page, "window": _window(windows[0]),
            "values": used, "url": url(row.page, windows[-1].last)}


def feature(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a feature: where it is there, or its values, with a paragraph and an example."""
    row = facts.feature_named(name)
    found: Entry = {"kind": "feature", "name": name, "text": words.FEATURES[name], "example": _example(name, among)}
    if row is None:
        values = facts.spans(lambda r: getattr(r, name), among)
        page = words.VALUE_PAGES[name]
        return dict(found, page=page, url=_address(page, values[-1].last), values=[
            {"window": _window(span), "value": span.value} for span in values])
    windows = facts.spans(lambda r: getattr(r, name) or None, among)
    if not windows:
        return None
    return dict(found, page=row.page, window=_window(windows[0]), url=_address(row.page, windows[-1].last))


def method(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a method: its rows, their types, a paragraph and an example."""
    rows = facts.spans(lambda r: facts.method_in(name, r), among)
    if not rows:
        return None
    described = []
    for span in rows:
        leaving = deprecation(span.value.deprecated)
        described.append(dict(facts.traits(span.value), window=_window(span),
                              deprecated=None if leaving is None else leaving._asdict()))
    named = [row[part] for row in described for part in ("params", "result", "otherResult")]
    types = [type_(str(each), among) for each in dict.fromkeys(named) if each]
    text = words.METHODS.get(name) or words.EXTENSION_METHODS[name]
    return {"kind": "method", "name": name, "text": text, "rows": described,
            "example": _example(name, among), "url": url(rows[-1].value.page, rows[-1].last),
            "types": [each for each in types if each]}


def type_(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a type: the members of a message, or the alternatives of anything else."""
    hint = facts.type_named(name)
    windows = facts.spans(lambda r: True if facts.exists(hint, r) else None, among)
    if not windows:
        return None
    found: Entry = {"kind": "type", "name": name, "window": _window(windows[0])}
    if not facts.is_message(hint):
        return dict(found, text="", page=None, spans=_plain_spans(hint, among))
    noted = facts.notes(hint)
    listed = []
    for wire in [m.wire for m in members(hint)]:
        found_spans = facts.spans(lambda r: facts.shapes(hint, r).get(wire), among)
        if found_spans:
            listed.append({"name": wire, "note": noted.get(wire, ""), "spans": [
                {"window": _window(span), "type": span.value.type, "required": span.value.required}
                for span in found_spans]})
    return dict(found, text=facts.said_of(hint), page=facts.page_in(hint.__doc__ or "") or _page_of_extension(name),
                members=listed)


def _page_of_extension(name: str) -> Optional[str]:
    """The page of the extension that adds a type; None for a type of the specification's own."""
    page = str(facts.page_of(name)).partition(".")[2]
    return "%s%s/%s" % (EXTENSIONS, page, page) if page else None


def member(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a member of messages: the types that have it, what is said of it, an example with one of them."""
    having = facts.types_with(name)
    found = [each for each in (type_(type, among) for type in having) if each is not None]
    if not found:
        return None
    rows = [(each["name"], row) for each in found for row in each["members"] if row["name"].lower() == name.lower()]
    wire = rows[0][1]["name"]
    kinds = dict.fromkeys(span["type"] for _, row in rows for span in row["spans"])
    notes = dict.fromkeys(row["note"].rstrip(".") + "." for _, row in rows if row["note"])
    page = next((each["page"] for each in reversed(found) if each["page"]), None) or "schema.json"
    uses = [row.name for row in (*methods.METHODS, *methods.EXTENSION_METHODS)
            if facts.named_in(row).intersection(having)]
    last = pages.newest().get(page, REVISIONS[-1])
    shown = [each for each in (_example(use, among) for use in dict.fromkeys((*uses, *words.EXAMPLES))) if each]
    shown.sort(key=lambda each: '"%s":' % wire not in json.dumps(each["message"]))
    return {"kind": "topic", "name": wire, "also": [], "page": page, "heading": "", "url": url(page, last),
            "text": " ".join([
                "A member, %s, of %s." % (" or ".join(kinds), ", ".join(each for each, _ in rows)), *notes]),
            "see": list(dict.fromkeys([*(each for each, _ in rows), *uses])), "requirements": 0,
            "example": shown[0] if uses and shown else None}


def _plain_spans(hint: Any, among: Sequence[Revision]) -> List[Dict[str, Any]]:
    def text(r: Revision) -> Optional[str]:
        parts = [part for part in alternatives(hint) if facts.exists(part, r)]
        return " or ".join(dict.fromkeys(facts.type_text(part, r) for part in parts)) or None

    return [{"window": _window(span), "type": span.value} for span in facts.spans(text, among)]


def _example(name: str, among: Sequence[Revision]) -> Optional[Dict[str, Any]]:
    """The example of the newest of these revisions that has it."""
    for there in reversed(among):
        found = example(name, there)
        if found is not None:
            return {"revision": there.name, "message": found.message, "text": found.text}
    return None


def _address(page: str, last: Revision) -> str:
    """The address of a page in a revision, or in the newest one that has the page if that is older."""
    there = pages.newest().get(page, last)
    return url(page, there if there.rank < last.rank else last)


# A revision


def revision_(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a revision: what it has, and what came and went with it."""
    there = revision(name)
    if there not in among:
        return None
    before = REVISIONS[there.rank - 1] if there.rank else None
    rows = [row for row in pages.requirements().values() if there in row.stated]
    return {"kind": "revision", "name": there.name, "era": there.era,
            "features": [row.name for row in FEATURES if getattr(there, row.name)],
            "values": {value: getattr(there, value) for value in VALUES},
            "methods": [row.name for row in methods.methods(there)],
            "types": [each for each in facts.type_names() if facts.exists(facts.type_named(each), there)],
            "codes": sorted(facts.codes_in(there)), "requirements": len(rows), "checked": pages.coverage(rows),
            "changes": None if before is None else facts.changes(before, there), "url": url("index", there)}


# A place in the specification, and what a word stands for


def requirement(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a requirement by its id: its row, the citations of its heading, its rule, and in a checkout its tests.

    A rule of the checker about a definition of the schema, or about an extension, is one, too.
    """
    row = requirements().get(name) or pages.owned(name)
    if row is None or not any(each in among for each in row.stated):
        return None
    return dict(pages.as_object(row), **pages.rule_of(name))


def fault(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return the scene that has found a fault, or the requirement, if the checker has."""
    id = pages.fault_of(name)
    found = scene(name, among) if pages.scene_of(name) is not None else requirement(id, among)
    return None if found is None else dict(found, asked=name)


def scene(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a scene of the examiner: what is sent and expected, what it decides, and how it is played alone."""
    row = pages.scene_of(name)
    ranks = [] if row is None else sorted(rank for rank in row.ranks if REVISIONS[rank] in among)
    if row is None or not ranks:
        return None

    def about(ids: Sequence[str]) -> List[Entry]:
        rows = [requirements()[id] for id in ids]
        stated = [(each, [REVISIONS[rank] for rank in ranks if REVISIONS[rank] in each.stated]) for each in rows]
        return [{"id": each.id, "level": each.level, "citation": each.stated_in(those[-1]).citation,
                 "url": each.stated_in(those[-1]).url} for each, those in stated if those]

    return {"kind": "scene", "name": row.name, "text": row.text, "revisions": [REVISIONS[rank].name for rank in ranks],
            "wires": list(row.wires), "needs": row.needs or None, "decides": about(row.ids),
            "provokes": about(row.provokes)}


def topic(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return what a word stands for, with an example of the first method or feature that it leads to."""
    found = words.find(name)
    if found is None:
        return None
    last = pages.newest()[found.page]
    shown = (_example(each, REVISIONS if found.page.startswith(EXTENSIONS) else among) for each in (
        found.word, *found.see))
    rows = [row for row in requirements().values()
            if row.page == found.page and found.heading in ("", row.heading)]
    entry = {"kind": "topic", "name": found.word, "also": list(found.also), "text": found.text, "see": list(found.see),
             "page": found.page, "heading": found.heading, "url": url(found.page, last, found.heading),
             "requirements": len(rows), "example": next((each for each in shown if each), None)}
    return entry if words.folded(name) == words.folded(found.word) else dict(entry, asked=name)


def place(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a page or a heading, with requirements and citations; the places, where a heading is on several pages."""
    found = [(page, heading, pages.place_object(page, heading, among)) for page, heading in pages.find(name)]
    there = [(page, heading, entry) for page, heading, entry in found if entry is not None]
    if len(there) == 1:
        entry = there[0][2]
        rows = [requirements()[row["id"]] for row in entry["requirements"]]
        return dict(entry, checked=pages.coverage(rows) if rows else None)
    named = [{"kind": "page", "name": "%s §%s" % (page, heading) if heading else page} for page, heading, _ in there]
    return {"kind": "matches", "name": name, "matches": named} if named else None


def name_of(entry: Entry) -> str:
    """Return the name of an entry: a name of the tables, the id of a requirement, or a place."""
    where = "%s §%s" % (entry.get("page"), entry["heading"]) if entry.get("heading") else entry.get("page")
    return str(entry.get("name") or entry.get("code") or entry.get("id") or where)


# Example messages

Message = Union[Dict[str, Any], List[Any]]
_NUMBERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"]}
_KEPT = {"ttlMs": 60000, "cacheScope": "public", "resultType": "complete"}
_FORM = {"mode": "form", "message": "Which seat?", "requestedSchema": {
    "type": "object", "properties": {"seat": {"type": "string", "title": "Seat"}}, "required": ["seat"]}}
_SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "Sum this up: ..."}}], "maxTokens": 100}
_TASK = {"taskId": "t-1", "status": "working", "createdAt": "2025-11-25T10:00:00Z",
         "lastUpdatedAt": "2025-11-25T10:00:05Z", "ttl": 60000}
_CLIENT = {"name": "example-client", "version": "1.0"}

OPENING = "initialize"

PARAMS: Dict[str, Dict[str, Any]] = {
    OPENING: {"protocolVersion": "", "capabilities": {"roots": {"listChanged": True}}, "clientInfo": _CLIENT},
    "notifications/cancelled": {"requestId": 7, "reason": "the user has changed his mind"},
    "notifications/progress": {"progressToken": "p-7", "progress": 2, "total": 3, "message": "step 2"},
    "tools/call": {"name": "add", "arguments": {"a": 1, "b": 2}},
    "resources/read": {"uri": "file:///docs/readme.md"},
    "resources/subscribe": {"uri": "file:///docs/readme.md"},
    "resources/unsubscribe": {"uri": "file:///docs/readme.md"},
    "notifications/resources/updated": {"uri": "file:///docs/readme.md"},
    "prompts/get": {"name": "review", "arguments": {"code": "x = 1"}},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": "travel"},
                            "argument": {"name": "city", "value": "Par"}, "context": {"arguments": {"country": "FR"}}},
    "logging/setLevel": {"level": "warning"},
    "notifications/message": {"level": "warning", "logger": "disk", "data": "90 % full"},
    "subscriptions/listen": {"notifications": {"toolsListChanged": True,
                                               "resourceSubscriptions": ["file:///docs/readme.md"]}},
    "notifications/subscriptions/acknowledged": {"notifications": {"toolsListChanged": True}},
    "sampling/createMessage": _SAMPLE,
    "elicitation/create": _FORM,
    "notifications/elicitation/complete": {"elicitationId": "e-1"},
    "tasks/get": {"taskId": "t-1"}, "tasks/result": {"taskId": "t-1"}, "tasks/cancel": {"taskId": "t-1"},
    "notifications/tasks/status": _TASK,
}
"""Method -> its params. A method that is not here is sent without any but those that the revision asks for."""


class ErrorExample(NamedTuple):
    """An error as an example."""

    code: int
    message: str


_ERRORS: Dict[str, ErrorExample] = {
    "errors_may_omit_id": ErrorExample(PARSE_ERROR, "this is no JSON"),
    "negotiated_only": ErrorExample(METHOD_NOT_FOUND, "the client has not declared roots"),
    "resource_not_found_code": ErrorExample(INVALID_PARAMS, "there is no resource file:///nothing.md"),
}


class Shown(NamedTuple):
    """The place where a feature shows: the params or the result of a method, an error, or a text."""

    params: str = ""
    result: str = ""
    value: Dict[str, Any] = {}
    error: bool = False
    text: str = ""


_ADDED = {"content": [{"type": "text", "text": "3"}], "structuredContent": {"result": 3}, "resultType": "complete"}
_PHOTO = {"audio_content": {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
          "resource_links": {"type": "resource_link", "uri": "file:///docs/readme.md", "name": "readme"}}


def _tool(**more: Any) -> Dict[str, Any]:
    return dict(_KEPT, tools=[dict({"name": "add", "inputSchema": _NUMBERS}, **more)])


SHOWN: Dict[str, Shown] = {
    "handshake": Shown(params="initialize"),
    "stateless": Shown(params="tools/call"),
    "peer_requests": Shown(params="roots/list"),
    "batching": Shown(),
    "errors_may_omit_id": Shown(error=True),
    "result_type": Shown(result="tools/call", value=_ADDED),
    "version_header": Shown(text="POST /mcp HTTP/1.1\nMCP-Protocol-Version: %s\nContent-Type: application/json"),
    "ids_unique_per_session": Shown(params="ping"),
    "meta_key_rules": Shown(params="tools/call", value={"name": "add", "_meta": {"com.example/shard": "eu"}}),
    "trace_context": Shown(params="tools/call", value={"name": "add", "_meta": {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}),
    "negotiated_only": Shown(error=True),
    "audio_content": Shown(result="tools/call", value={"content": [_PHOTO["audio_content"]], "resultType": "complete"}),
    "resource_links": Shown(result="tools/call", value={"content": [_PHOTO["resource_links"]],
                                                        "resultType": "complete"}),
    "structured_content": Shown(result="tools/call", value=_ADDED),
    "structured_content_any": Shown(result="tools/call", value=dict(_ADDED, structuredContent=3)),
    "tool_annotations": Shown(result="tools/list", value=_tool(annotations={"readOnlyHint": True,
                                                                            "openWorldHint": False})),
    "tool_input_errors_are_results": Shown(result="tools/call", value={
        "content": [{"type": "text", "text": "b: an integer is missing"}], "isError": True, "resultType": "complete"}),
    "titles": Shown(result="tools/list", value=_tool(title="Add two numbers")),
    "icons": Shown(result="tools/list", value=_tool(icons=[
        {"src": "https://example.com/add.png", "sizes": ["48x48"]}])),
    "stream_polling": Shown(text="HTTP/1.1 200 OK\nContent-Type: text/event-stream\n\nid: 1\nretry: 1000\ndata:\n"),
    "progress_message": Shown(params="notifications/progress"),
    "client_progress": Shown(params="notifications/progress"),
    "completions_capability": Shown(result=OPENING, value={
        "protocolVersion": "", "capabilities": {"completions": {}, "prompts": {}},
        "serverInfo": {"name": "example-server", "version": "1.0"}}),
    "completion_context": Shown(params="completion/complete"),
    "caching_hints": Shown(result="tools/list", value=_tool()),
    "elicitation": Shown(params="elicitation/create"),
    "elicitation_modes": Shown(params="elicitation/create"),
    "elicitation_ids": Shown(params="elicitation/create", value={
        "mode": "url", "elicitationId": "e-1", "url": "https://example.com/pay", "message": "Pay there, please."}),
    "elicitation_enum_schemas": Shown(params="elicitation/create", value=dict(_FORM, requestedSchema={
        "type": "object", "properties": {"seat": {"type": "string", "oneOf": [
            {"const": "12A", "title": "12A, window"}, {"const": "12C", "title": "12C, aisle"}]}}})),
    "sampling_arrays": Shown(params="sampling/createMessage", value=dict(_SAMPLE, messages=[{
        "role": "user", "content": [{"type": "text", "text": "What is this?"},
                                    {"type": "image", "data": "iVBORw0=", "mimeType": "image/png"}]}])),
    "sampling_tools": Shown(params="sampling/createMessage", value=dict(
        _SAMPLE, tools=[{"name": "add", "inputSchema": _NUMBERS}], toolChoice={"mode": "auto"})),
    "sampling_context_capability": Shown(params="sampling/createMessage", value=dict(
        _SAMPLE, includeContext="thisServer")),
    "tasks": Shown(params="tools/call", value={"name": "add", "arguments": {"a": 1, "b": 2}, "task": {"ttl": 60000}}),
    "pkce_announced": Shown(text='{"issuer": "https://as.example.com", "code_challenge_methods_supported": ["S256"]}'),
    "resource_not_found_code": Shown(error=True),
    "schema_dialect": Shown(result="tools/list", value=_tool()),
    "fallback_statuses": Shown(text="POST /sse HTTP/1.1      (InitializeRequest)\nHTTP/1.1 405 Method Not Allowed\n"
                                    "GET /sse HTTP/1.1       (then the client tries HTTP+SSE)"),
}
"""Feature, also a row of VALUES -> how it is shown."""


class Example(NamedTuple):
    """An example in one revision."""

    revision: Revision
    message: Optional[Message]
    """A message of JSON-RPC, or a batch of them; None where the example is a text."""
    answers: Optional[str] = None
    """The method of the request that the message answers; None for a message that is no answer."""
    text: str = ""


def example(name: str, there: Revision) -> Optional[Example]:
    """Return the example of a method, a feature or a topic in a revision; None if that revision does not have it."""
    if name in facts.method_names():
        return _sent(name, there, {**PARAMS, **words.PARAMS}.get(name, {}))
    if there is REVISIONS[-1] and name in words.EXAMPLES:
        return _answer(words.EXAMPLES[name][0], there, words.EXAMPLES[name][1])
    if there is REVISIONS[-1] and name == words.VIEW:
        return Example(there, None, text=words.VIEW_EXAMPLE)
    shown = SHOWN.get(name)
    if shown is None or not getattr(there, name):
        return None
    if shown.params:
        return _sent(shown.params, there, shown.value or PARAMS.get(shown.params, {}))
    if shown.result:
        method, value = shown.result, shown.value
        if method == OPENING and there.stateless:
            method = "server/discover"
            value = dict(_KEPT, supportedVersions=[there.name], capabilities=value["capabilities"])
        elif method == OPENING:
            value = dict(value, protocolVersion=there.name)
        return _answer(method, there, _written(method, "result", value, there))
    if shown.error:
        refused = _ERRORS[name]
        if name == "resource_not_found_code":
            refused = refused._replace(code=there.resource_not_found_code)
        frame: Message = {"jsonrpc": "2.0", "error": {"code": refused.code, "message": refused.message}}
        return Example(there, frame if name == "errors_may_omit_id" else dict(frame, id=1))
    if name == "batching":
        sent = [_sent(method, there, {}) for method in ("ping", "tools/list")]
        return Example(there, [dict(each.message, id=id) for id, each in enumerate(sent, 1)
                               if each and isinstance(each.message, dict)])
    return Example(there, None, text=shown.text.replace("%s", there.name))


def _sent(name: str, there: Revision, params: Dict[str, Any]) -> Optional[Example]:
    """The request or the notification of a method; None if the revision does not have it."""
    row = facts.method_in(name, there)
    if row is None:
        return None
    if "protocolVersion" in params:
        params = dict(params, protocolVersion=there.name)
    written = _written(name, "params", params, there)
    if row.carrier == methods.EMBEDDED:
        asked = {"method": name, "params": written} if written else {"method": name}
        return _answer("tools/call", there, {"resultType": "input_required", "inputRequests": {"question": asked},
                                             "requestState": "c3RhdGU"})
    if row.kind == methods.NOTIFICATION:
        return Example(there, jsonrpc.to_object(jsonrpc.Notification(name, written or None)))
    return Example(there, jsonrpc.to_object(jsonrpc.Request(1, name, written or None)))


def _answer(method: str, there: Revision, result: Dict[str, Any]) -> Example:
    return Example(there, jsonrpc.to_object(jsonrpc.ResultResponse(1, result)), method)


def _written(method: str, part: str, value: Dict[str, Any], there: Revision) -> Dict[str, Any]:
    """A value of the newest form, read by its class and written for a revision: what that lacks is left out."""
    there_too = methods.lookup(method, there)
    newest = there if there_too is None else methods.known_since(method)[-1]
    row = facts.method_in(method, newest)
    if row is None:
        raise ValueError("revision %s has no %s" % (newest, method))
    if part == "params" and newest.stateless and row.kind == methods.REQUEST and row.carrier == methods.WIRE:
        declares = row.extension is not None and row.holder == methods.SENDER
        needed: Dict[str, Any] = {"extensions": {row.extension: {}}} if declares else {}
        value = dict(value, _meta=dict(fields(newest, needed, _CLIENT), **value.get("_meta", {})))
    made = decode(methods.params_class(row) if part == "params" else methods.result_class(row), value, newest)
    written = encode(made, there)
    meta = written.get("_meta", {})
    if not there.stateless:  # these members of `_meta` are of the stateless era only
        written.pop("_meta", None)
        kept = {name: each for name, each in meta.items() if not name.startswith(PREFIX)}
        written.update({"_meta": kept} if kept else {})
    elif VERSION in meta:
        meta[VERSION] = there.name
    return written


_NAME = re.compile(r"[A-Z]\w+")


def glossary(used: Iterable[Tuple[str, str]]) -> Dict[str, Any]:
    """Return by revision an object of ``methods`` and ``types``, of the methods used and all types that they need.

    ``used``: revisions and methods; what this package does not know is left out.
    """
    found: Dict[str, Any] = {}
    for name, called in sorted(used):
        if name not in NAMES or called not in facts.method_names():
            continue
        words = found.setdefault(name, {"methods": {}, "types": {}})
        described = method(called, (revision(name),))
        if described is None:
            continue
        row = described["rows"][-1]
        words["methods"][called] = {
            "text": described["text"], "url": described["url"], "page": row["page"], "params": row["params"] or "",
            "result": row["result"] or "", "otherResult": row["otherResult"] or ""}
        for part in ("params", "result", "otherResult"):
            _add_type(words["types"], row[part] or "", name)
    return found


def _add_type(types: Dict[str, Any], text: str, name: str) -> None:
    """Add the types that a text names, and those that these need."""
    waiting = _NAME.findall(text)
    while waiting:
        each = waiting.pop()
        if each in types or facts.page_of(each) is None:
            continue
        described = type_(each, (revision(name),))
        if described is None:
            continue
        if "members" in described:
            types[each] = {"text": described["text"], "page": described["page"], "members": {
                row["name"]: {"type": row["spans"][-1]["type"], "required": row["spans"][-1]["required"],
                              "note": row["note"]} for row in described["members"]}}
            waiting += [found for row in described["members"] for found in _NAME.findall(row["spans"][-1]["type"])]
        else:
            types[each] = {"alternatives": str(described["spans"][-1]["type"])}
            waiting += _NAME.findall(types[each]["alternatives"])
