"""The table of methods: one row for a name in a revision, and a page is loaded when one of its methods is used."""
import doctest
import json
import pathlib
import subprocess
import sys
from typing import Any, Set

import pytest

from mcp_ref import methods
from mcp_ref.codec import Model, alternatives, members
from mcp_ref.methods import (
    BOTH, CLIENT, EMBEDDED, EXTENSION_METHODS, METHODS, NOTIFICATION, RECEIVER, REQUEST, SENDER, SERVER, WIRE, Method,
    known_since, load, lookup, params_class, result_class,
)
from mcp_ref.revisions import LATEST, REVISIONS, Revision, revision
from tests.support.patience import WAIT

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = json.loads((ROOT / "tests/data/spec_index.json").read_text(encoding="utf-8"))
PAGES_OF_LISTS = ("tools", "resources", "prompts")
LEGACY = [r for r in REVISIONS if r.handshake]


@pytest.mark.parametrize("when", REVISIONS, ids=str)
def test_no_revision_finds_two_rows_for_a_name(when: Revision) -> None:
    names = [row.name for row in METHODS if when.has(row.since, row.until)]
    assert len(names) == len(set(names)) == len(methods.methods(when))


@pytest.mark.parametrize("row", METHODS, ids=lambda row: "%s %s..%s" % (row.name, row.since or "", row.until or ""))
def test_a_row_makes_sense(row: Method) -> None:
    assert row.kind in (REQUEST, NOTIFICATION) and row.sender in (CLIENT, SERVER, BOTH)
    assert row.carrier in (WIRE, EMBEDDED) and row.holder in (RECEIVER, SENDER)
    assert (row.result is None) == (row.kind == NOTIFICATION) == row.name.startswith("notifications/")
    assert any(r.has(row.since, row.until) for r in REVISIONS), "its window is empty"
    for path in filter(None, (row.params, row.result, row.other)):
        classes = alternatives(load(str(path)))
        assert all(issubclass(cls, Model) and members(cls) for cls in classes)
        for when in (r for r in REVISIONS if r.has(row.since, row.until)):
            assert any(when.has(cls.since, cls.until) for cls in classes)
    assert row.page in PAGES[max(str(r) for r in REVISIONS if r.has(row.since, row.until))]
    if row.carrier == EMBEDDED:
        assert row.sender == SERVER and not any(r.handshake and r.has(row.since, row.until) for r in REVISIONS)


@pytest.mark.parametrize("row", EXTENSION_METHODS, ids=lambda row: row.name)
def test_a_row_of_an_extension_makes_sense(row: Method) -> None:
    assert row in methods.of_extension(str(row.extension)) and row.holder in (RECEIVER, SENDER)
    assert (row.result is None) == (row.kind == NOTIFICATION) == row.name.startswith("notifications/")
    assert row.since is not None and lookup(row.name, revision(row.since)) is None, "the protocol has it, too"
    for path in filter(None, (row.params, row.result)):
        assert all(issubclass(cls, Model) for cls in alternatives(load(str(path))))
    assert row.named is None or row.named in [each.wire for each in members(load(row.params))]


@pytest.mark.parametrize("name, senders", [
    ("initialize", [CLIENT, CLIENT, CLIENT, CLIENT, None]),
    ("ping", [BOTH, BOTH, BOTH, BOTH, None]),
    ("notifications/progress", [BOTH, BOTH, BOTH, BOTH, SERVER]),
    ("notifications/cancelled", [BOTH] * 5),
    ("tools/call", [CLIENT] * 5),
    ("roots/list", [SERVER] * 5),
    ("elicitation/create", [None, None, SERVER, SERVER, SERVER]),
    ("tasks/get", [None, None, None, BOTH, None]),
    ("server/discover", [None, None, None, None, CLIENT]),
    ("logging/setLevel", [CLIENT, CLIENT, CLIENT, CLIENT, None]),
    ("nothing/such", [None] * 5),
])
def test_who_sends_it_in_which_revision(name: str, senders: Any) -> None:
    found = [lookup(name, when) for when in REVISIONS]
    assert [row and row.sender for row in found] == senders
    assert known_since(name) == [when for when, row in zip(REVISIONS, found) if row]


@pytest.mark.parametrize("name, capabilities", [
    ("completion/complete", [None, "completions", "completions", "completions", "completions"]),
    ("resources/subscribe", ["resources.subscribe"] * 4),
    ("logging/setLevel", ["logging"] * 4),
    ("sampling/createMessage", ["sampling"] * 5),
    ("ping", [None] * 4),
])
def test_what_must_have_been_declared(name: str, capabilities: Any) -> None:
    rows = [row for row in (lookup(name, when) for when in REVISIONS) if row]
    assert [row.capability for row in rows] == capabilities
    assert {row.holder for row in rows} == {RECEIVER}


def test_a_notification_needs_what_its_sender_declared_but_for_the_end_of_an_elicitation() -> None:
    holders = {row.name: row.holder for row in METHODS if row.kind == NOTIFICATION and row.capability}
    assert {name for name, holder in holders.items() if holder == RECEIVER} == {"notifications/elicitation/complete"}


def test_without_handshake_a_server_sends_no_request() -> None:
    rows = [row for row in methods.methods(LATEST) if row.kind == REQUEST and row.sender != CLIENT]
    assert {row.name for row in rows} == {"roots/list", "sampling/createMessage", "elicitation/create"}
    assert {row.carrier for row in rows} == {EMBEDDED}
    assert all(row.carrier == WIRE for when in LEGACY for row in methods.methods(when))


@pytest.mark.parametrize("when, other", [
    ("2025-06-18", None), ("2025-11-25", "CreateTaskResult"), ("2026-07-28", "InputRequiredResult"),
])
def test_what_a_tool_call_may_be_answered_instead(when: str, other: Any) -> None:
    row = lookup("tools/call", revision(when))
    assert row and result_class(row).__name__ == "CallToolResult"
    assert (load(row.other).__name__ if row.other else None) == other


def test_a_notification_has_no_result() -> None:
    row = lookup("notifications/initialized", LEGACY[0])
    assert row and result_class(row) is None and params_class(row).__name__ == "NotificationParams"


# -- What is loaded when -----------------------------------------------------------------------


def loaded_by(code: str) -> Set[str]:
    """The modules that a fresh interpreter has loaded after this code, those of the package without its name."""
    script = code + "\nimport sys; print(' '.join(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=str(ROOT), stdout=subprocess.PIPE, timeout=WAIT,
                          check=True)
    return {name[len("mcp_ref."):] if name.startswith("mcp_ref.") else name for name in done.stdout.decode().split()}


def pages(loaded: Set[str]) -> Set[str]:
    return {name[len("messages."):] for name in loaded if name.startswith("messages.")}


USE = """
from mcp_ref import codec, methods
from mcp_ref.revisions import revision
row = methods.lookup(%r, revision(%r))
params, result = methods.params_class(row), methods.result_class(row)
"""


def test_the_table_alone_loads_no_page() -> None:
    loaded = loaded_by("import mcp_ref.codec, mcp_ref.methods")
    assert "methods" in loaded and "messages" not in loaded and not pages(loaded)


@pytest.mark.parametrize("name, when, expected", [
    ("initialize", "2025-11-25", {"base", "lifecycle"}),
    ("ping", "2025-11-25", {"base"}),
    ("tools/call", "2025-11-25", {"base", "caching", "content", "pagination", "tools"}),
    ("prompts/list", "2024-11-05", {"base", "caching", "content", "pagination", "prompts"}),
])
def test_a_method_loads_its_page_and_what_that_needs(name: str, when: str, expected: Set[str]) -> None:
    assert pages(loaded_by(USE % (name, when))) == expected


def test_opening_a_conversation_loads_two_pages_and_nothing_heavy() -> None:
    loaded = loaded_by(USE % ("initialize", "2025-11-25") + """
said = codec.decode(params, {"protocolVersion": "2025-11-25", "capabilities": {"roots": {"listChanged": True}},
                             "clientInfo": {"name": "c", "version": "1"}}, revision("2025-11-25"))
from mcp_ref.messages.lifecycle import InitializeResult, ListChangedCapability, ServerCapabilities
from mcp_ref.messages.base import Implementation
answer = InitializeResult("2025-11-25", ServerCapabilities(tools=ListChangedCapability()), Implementation("s", "1"))
codec.encode(answer, revision("2025-11-25"))
""")
    assert pages(loaded) == {"base", "lifecycle"}
    assert not loaded & {"http", "ssl", "email", "concurrent.futures", "logging", "socket", "json"}


def test_calling_a_tool_loads_no_page_that_the_call_does_not_mention() -> None:
    loaded = loaded_by(USE % ("tools/call", "2025-11-25") + """
codec.decode(params, {"name": "echo", "arguments": {}}, revision("2025-11-25"))
from mcp_ref.messages.content import TextContent
codec.encode(result([TextContent("x")]), revision("2026-07-28"))
""")
    assert not pages(loaded) & {"mrtr", "tasks", "sampling", "elicitation", "downgrade"}


def test_each_name_is_that_of_a_row() -> None:
    known = {row.name for row in (*METHODS, *EXTENSION_METHODS)}
    named = {name: value for name, value in vars(methods).items()
             if isinstance(value, str) and (value in known or value.startswith("notifications/"))}
    assert len(named) > 20 and set(named.values()) <= known and len(set(named.values())) == len(named)


def test_lists_of_a_server_that_can_change_are_found_by_their_capability() -> None:
    assert methods.LIST_CHANGED == {name: "notifications/%s/list_changed" % name for name in PAGES_OF_LISTS}


def test_the_examples_in_the_docstring_hold() -> None:
    assert doctest.testmod(methods).failed == 0
