"""`visible`: for those who may not see a member it is, in every answer, as if it had never been registered.

Each answer of a server with secret members is compared with that of a *twin*, which has everything but these.
"""
import itertools
from typing import Any, Dict, List, Literal, Optional, Tuple

import pytest

from mcp_ref import Context, Server
from mcp_ref.diagnostics.packagelog import PLACES
from mcp_ref.methods import TASKS
from mcp_ref.server import Cache
from mcp_ref.server.registry.visibility import Requester, Visible
from mcp_ref.server.serving.http_listener import endpoint_of
from tests.support.by_hand import EVERYTHING
from tests.support.http_exchange import Web, opening
from tests.support.http_modern import ModernWeb
from tests.support.requirements_table import HANDSHAKE, STATELESS
from tests.support.scripted import ScriptedPeer
from tests.support.sides import Gate, eventually

REVISIONS = (*HANDSHAKE, STATELESS)
WITH_TASKS = ("2025-11-25", STATELESS)
WAYS = ("memory", "http")
CAPABILITIES: Dict[str, Any] = dict(EVERYTHING, extensions={TASKS: {}})
TOKENS = {"Bearer of root": "root", "Bearer of bob": "bob"}
LETTERS = Literal["ab", "ac", "b"]
SECRETS = ("tool secret", "tool job", "resource s://one", "template s://{part}", "prompt secret")
every_revision = pytest.mark.parametrize("revision", REVISIONS)
every_way = pytest.mark.parametrize("way", WAYS)


def is_root(principal: Any) -> bool:
    return bool(principal == "root")


def is_nobody(principal: Any) -> bool:
    return principal is None


def served(visible: Any = is_root, secrets: bool = True, tasks: bool = True, **options: Any) -> Any:
    """A server with secret members beside others; the twin has no ``secrets``."""
    server = Server("visible", "1", **options)

    def members(word: str, **options: Any) -> None:
        @server.tool(name=word, **options)
        def tool(text: str = word) -> str:
            return text

        @server.resource("%s://one" % word[0], **options)
        def fixed() -> str:
            return word

        @server.resource("%s://{part}/x" % word[0], name=word + " parts", **options)
        def parts(part: LETTERS) -> str:
            return part

        @server.prompt(name=word, **options)
        def prompt(letters: LETTERS = "b") -> str:
            return letters

        if tasks:
            server.tool(tool, name=word + "-job", task="optional", **options)

    members("open")
    if secrets:
        members("secret", visible=visible)
    return server


class Asking:
    """A client of a server: in memory, where nobody knows who it is, or over HTTP with a token. A context manager."""

    def __init__(self, server: Any, revision: str, way: str, who: str = "bob") -> None:
        self.stateless, self.ids = revision == STATELESS, itertools.count(1)
        self.peer: Any = None
        if way == "memory":
            self.peer = ScriptedPeer.of_server(server)
            self.opened = self.peer.handshake(revision, CAPABILITIES)
            return
        options: Any = dict(headers={"Authorization": "Bearer of " + who}, authenticate=by_token)
        if self.stateless:
            self.web: Any = ModernWeb(server, **options)
            self.opened = self.ask("server/discover")[1]["result"]
        else:
            self.web = Web(server, None, **options)
            self.opened = self.web.open(revision, CAPABILITIES)

    def ask(self, method: str, params: Optional[Dict[str, Any]] = None) -> Tuple[Any, Any]:
        """The status (None in memory) and the answer."""
        id = next(self.ids)
        if self.peer is not None:
            return None, self.peer.call(id, method, params)
        if self.stateless:
            meta = {"io.modelcontextprotocol/clientCapabilities": CAPABILITIES}
            fields = {"Mcp-Name": params["taskId"]} if params and "taskId" in params else None
            send = self.web.begin if method == "subscriptions/listen" else self.web.ask
            made = send(id, method, params, headers=fields, **meta)
            if method == "subscriptions/listen":
                return made.status, dict(made.next(), stream=made)
        else:
            made = self.web.ask(id, method, params)
        return made.status, made.answer()

    def listen(self, uris: List[str]) -> Any:
        """What a server agrees to tell of these."""
        filters = {"resourceSubscriptions": uris, "toolsListChanged": True, "resourcesListChanged": True,
                   "promptsListChanged": True}
        if self.peer is None:
            answer = self.ask("subscriptions/listen", {"notifications": filters})[1]
            self.stream = answer.pop("stream")
            return answer["params"]["notifications"]
        self.peer.request("listening", "subscriptions/listen", {"notifications": filters})
        return self.peer.receive(lambda m: "acknowledged" in m.get("method", ""))["params"]["notifications"]

    def heard(self) -> List[Tuple[str, Any]]:
        """The notifications that have come since, as method and URI."""
        if self.peer is not None:
            messages = self.peer.barrier("barrier %d" % next(self.ids))
        else:
            messages = [message for message in self.stream.messages() if "method" in message]
            messages, self.told = messages[getattr(self, "told", 0):], len(messages)
        return [(message["method"].rpartition("notifications/")[2], message["params"].get("uri")
                 if "params" in message else None) for message in messages if "acknowledged" not in message["method"]]

    def __enter__(self) -> "Asking":
        return self

    def __exit__(self, *exception: Any) -> None:
        (self.web if self.peer is None else self.peer).close()


def by_token(headers: Any) -> Any:
    return TOKENS.get(headers.get("authorization"))


def prompt_of(word: str) -> Dict[str, Any]:
    return {"type": "ref/prompt", "name": word}


def resource_of(uri: str) -> Dict[str, Any]:
    return {"type": "ref/resource", "uri": uri}


TYPED = {"name": "part", "value": "a"}
OPERATIONS: Dict[str, Tuple[str, Dict[str, Any], Tuple[str, ...]]] = {
    "list tools": ("tools/list", {}, REVISIONS),
    "list resources": ("resources/list", {}, REVISIONS),
    "list templates": ("resources/templates/list", {}, REVISIONS),
    "list prompts": ("prompts/list", {}, REVISIONS),
    "call": ("tools/call", {"name": "secret", "arguments": {}}, REVISIONS),
    "call with wrong arguments": ("tools/call", {"name": "secret", "arguments": {"text": 7}}, REVISIONS),
    "call a task": ("tools/call", {"name": "secret-job", "arguments": {}, "task": {}}, WITH_TASKS),
    "call what is no task as one": ("tools/call", {"name": "secret", "arguments": {}, "task": {}}, WITH_TASKS),
    "read": ("resources/read", {"uri": "s://one"}, REVISIONS),
    "read of a template": ("resources/read", {"uri": "s://ab/x"}, REVISIONS),
    "read of a template in vain": ("resources/read", {"uri": "s://zz/x"}, REVISIONS),
    "get": ("prompts/get", {"name": "secret"}, REVISIONS),
    "get with a wrong argument": ("prompts/get", {"name": "secret", "arguments": {"wrong": "1"}}, REVISIONS),
    "complete a prompt": (
        "completion/complete", {"ref": prompt_of("secret"), "argument": {"name": "letters", "value": "a"}}, REVISIONS),
    "complete a template": (
        "completion/complete", {"ref": resource_of("s://{part}/x"), "argument": TYPED}, REVISIONS),
    "complete a URI": ("completion/complete", {"ref": resource_of("s://ab/x"), "argument": TYPED}, REVISIONS),
    "complete a resource": ("completion/complete", {"ref": resource_of("s://one"), "argument": TYPED}, REVISIONS),
    "subscribe": ("resources/subscribe", {"uri": "s://one"}, HANDSHAKE),
    "subscribe to a template": ("resources/subscribe", {"uri": "s://ab/x"}, HANDSHAKE),
    "unsubscribe": ("resources/unsubscribe", {"uri": "s://one"}, HANDSHAKE),
}
FAILING = {"call with wrong arguments", "read of a template in vain", "get with a wrong argument",
           "call what is no task as one", "complete a resource", "unsubscribe"}
"""Operations that fail for those who see the member, too, or whose answer is the same."""
CASES = [(operation, revision, way) for operation in sorted(OPERATIONS) for revision in OPERATIONS[operation][2]
         for way in WAYS]


@pytest.mark.spec("tools.list-by-authorization", "resources.list-by-authorization", "prompts.list-by-authorization")
@every_way
@every_revision
def test_every_answer_about_a_hidden_member_is_that_of_a_server_without_it(revision: str, way: str) -> None:
    with Asking(served(), revision, way) as asking, Asking(served(secrets=False), revision, way) as twin:
        assert asking.opened == twin.opened
        for operation, (method, params, revisions) in OPERATIONS.items():
            if revision in revisions:
                got, wanted = asking.ask(method, params), twin.ask(method, params)
                assert got == wanted, operation
                assert "error" in got[1] or operation.startswith("list") or operation == "unsubscribe", operation
                assert "secret" not in str(got[1].get("result")), operation


@every_way
@every_revision
def test_those_who_see_a_member_have_all_of_it(revision: str, way: str) -> None:
    seen = is_nobody if way == "memory" else is_root
    with Asking(served(seen), revision, way, "root") as asking, \
            Asking(served(None), revision, way, "root") as twin:
        assert asking.opened == twin.opened
        for operation, (method, params, revisions) in OPERATIONS.items():
            if revision in revisions and operation != "call a task":
                got = asking.ask(method, params)
                assert got == twin.ask(method, params), operation
                assert ("error" in got[1] or got[1]["result"].get("isError", False)) == (
                    operation in FAILING - {"unsubscribe"} - ({"call what is no task as one"} if asking.stateless
                                                              else set())), (operation, got)


@every_way
@every_revision
def test_one_server_answers_each_client_by_its_own_principal(revision: str, way: str) -> None:
    """Pages are cached, so the one who asks first must not decide for the next."""
    who: Dict[str, Any] = {"memory": None}
    server = served(lambda principal: (principal or who["memory"]) == "root", page_size=1)

    def names(asking: Asking) -> List[str]:
        found: List[str] = []
        cursor: Dict[str, Any] = {}
        while True:
            page = asking.ask("tools/list", cursor)[1]["result"]
            found += [tool["name"] for tool in page["tools"]]
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}

    with Asking(server, revision, way, "bob") as bob, Asking(server, revision, way, "root") as root:
        for _ in range(2):
            for asking, name, wanted in ((bob, "bob", 2), (root, "root", 4), (bob, "bob", 2)):
                who["memory"] = name
                assert names(asking) == ["open", "open-job", "secret", "secret-job"][:wanted]


# -- Cursors ---------------------------------------------------------------------------------------------------------


def paged(order: Any = "registration", size: int = 1) -> Tuple[Any, Dict[str, Any]]:
    """A server whose tools b and d not everybody sees; and the switches: name -> who sees it."""
    shown: Dict[str, Any] = {"b": {"root"}, "d": {"root"}}
    server = Server("paged", page_size=size, order=order)
    for name in "abcde":
        server.tool(lambda: name, name=name, visible=(
            (lambda principal, name=name: principal in shown[name]) if name in shown else None))
    return server, shown


def page(asking: Asking, cursor: Optional[str] = None) -> Tuple[List[str], Optional[str]]:
    result = asking.ask("tools/list", {} if cursor is None else {"cursor": cursor})[1]
    if "error" in result:
        assert result["error"]["code"] == -32602
        return [], "refused: %s" % result["error"]["message"]
    return [tool["name"] for tool in result["result"]["tools"]], result["result"].get("nextCursor")


@pytest.mark.parametrize("order", ["registration", "name"])
def test_cursors_tell_nothing_of_what_lies_between_the_members_that_one_sees(order: str) -> None:
    server, _ = paged(order)
    twin = Server("paged", page_size=1, order=order)  # type: ignore[arg-type]
    for name in "axcye":
        twin.tool(lambda: name, name=name, visible=(lambda principal: False) if name in "xy" else None)
    for each in "xy":
        twin.remove_tool(each)
    twin.tool(lambda: "", name="zz", visible=lambda principal: False)
    with Asking(server, STATELESS, "http") as asking, Asking(twin, STATELESS, "http") as other:
        cursor, walk = None, []
        while True:
            got = page(asking, cursor)
            assert got == page(other, cursor), "a server with another number of hidden members"
            walk += got[0]
            cursor = got[1]
            if cursor is None:
                break
        assert walk == ["a", "c", "e"]


@pytest.mark.parametrize("order", ["registration", "name"])
def test_a_cursor_made_up_of_a_hidden_name_is_as_one_of_no_name(order: str) -> None:
    server, _ = paged(order)
    with Asking(server, STATELESS, "http", "root") as root, Asking(server, STATELESS, "http", "bob") as bob:
        behind_a = page(root)[1]
        behind_b = page(root, behind_a)[1]
        assert page(root, behind_b)[0] == ["c"] and page(bob, behind_a)[0] == ["c"]
        server.tools.listing  # the cursor of a tool that is not there, as a client that knows the format writes it
        unknown = server.tools.listing._write_cursor("bb", "*")
        hidden = page(bob, behind_b)
        assert hidden == page(bob, unknown)
        assert hidden[1] is not None and hidden[1].startswith("refused: ") == (order == "registration")
        numbers = [server.tools.listing._write_cursor(number) for number in range(6)]
        assert {page(bob, each)[1] for each in numbers} == {
            "refused: Invalid cursor: it is not one of this list; ask for the first page again"}


def test_a_walk_goes_on_when_visibility_changes_between_its_pages() -> None:
    server, shown = paged()
    with Asking(server, STATELESS, "http", "root") as root:
        names, behind_a = page(root)
        shown["b"] = ()
        assert page(root, behind_a)[0] == ["c"], "what was hidden meanwhile is left out"
        shown["b"] = {"root"}
        names, behind_b = page(root, behind_a)
        assert names == ["b"]
        shown["b"] = ()
        assert (page(root, behind_b)[1] or "").startswith("refused: "), "the page's own last member was hidden"
        assert page(root)[0] == ["a"]
        shown["b"] = {"root"}
        server.remove_tool("b")
        assert (page(root, behind_b)[1] or "").startswith("refused: ")


def test_pages_are_cached_for_each_set_of_members_and_not_without_end() -> None:
    server = Server("many")
    for number in range(100):
        server.tool(lambda: "", name="t%d" % number, visible=lambda principal, n=number: principal == n)
    context: Any = type("Any", (), {"detached": False})
    listing = server.tools.listing

    def text(principal: int) -> Any:
        context.principal = principal
        context.connection = type("C", (), {"replies": None})
        return listing.page(REVISION, None, context)

    from mcp_ref.revisions import revision as named

    REVISION = named(STATELESS)
    first = text(1)
    assert text(1) is first and '"t1"' in first and '"t2"' not in first
    for principal in range(100):
        assert '"t%d"' % principal in text(principal)
    assert len(listing._view.parts) == 64 and text(1) == first


# -- Caches ----------------------------------------------------------------------------------------------------------


def test_what_depends_on_the_principal_is_private_and_everything_else_stays_as_it_was(tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("a")
    rows = {"tools/list": {}, "prompts/list": {}, "resources/list": {}, "resources/templates/list": {},
            "resources/read": {"uri": "s://one"}, "server/discover": {}}

    def scopes(**options: Any) -> Dict[str, str]:
        server = served(cache=Cache(60, "public"), **options)
        if "directory" in options:
            server.directory(tmp_path)
        with Asking(server, STATELESS, "http", "root") as asking:
            found = {}
            for method, params in rows.items():
                result = asking.ask(method, params)[1]["result"]
                assert result["ttlMs"] == 60000
                found[method] = result["cacheScope"]
            found["read of others"] = asking.ask("resources/read", {"uri": "o://one"})[1]["result"]["cacheScope"]
            return found

    public = dict.fromkeys([*rows, "read of others"], "public")
    assert scopes(visible=None) == public
    assert scopes() == {**dict.fromkeys(rows, "private"), "server/discover": "public", "read of others": "public"}
    server = Server("folder", cache=Cache(60, "public"))
    server.directory(tmp_path, uri="file:///f/", visible=is_root)
    for who, files in (("root", ["file:///f/a.txt"]), ("bob", [])):
        with Asking(server, STATELESS, "http", who) as asking:
            result = asking.ask("resources/list")[1]["result"]
            assert [each["uri"] for each in result["resources"]] == files and result["cacheScope"] == "private"
            read = asking.ask("resources/read", {"uri": "file:///f/a.txt"})[1]
            assert ("error" in read) == (who == "bob")
            if who == "root":
                assert read["result"]["cacheScope"] == "private"


def test_a_public_hint_of_the_handler_itself_is_private_too() -> None:
    from mcp_ref.messages.content import TextResourceContents
    from mcp_ref.messages.resources import ReadResourceResult

    server, made = Server("own"), ReadResourceResult([TextResourceContents("s://one", "x")], 5000, "public")
    server.resource("s://one", visible=is_root)(lambda: made)
    with Asking(server, STATELESS, "http", "root") as asking:
        result = asking.ask("resources/read", {"uri": "s://one"})[1]["result"]
        assert (result["ttlMs"], result["cacheScope"]) == (5000, "private") and made.cache_scope == "public"


# -- What a member hides ---------------------------------------------------------------------------------------------


@every_revision
def test_what_else_stands_for_the_uri_answers(revision: str, tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("of the folder")
    server = Server("layers")
    server.directory(tmp_path, uri="x://")
    server.resource("x://{name}", visible=lambda principal: principal in ("root", "ann"))(lambda name: "template")
    server.resource("x://a.txt", visible=is_root)(lambda: "fixed")
    TOKENS["Bearer of ann"] = "ann"
    for who, wanted in (("root", "fixed"), ("ann", "template"), ("bob", "of the folder")):
        with Asking(server, revision, "http", who) as asking:
            assert asking.ask("resources/read", {"uri": "x://a.txt"})[1]["result"]["contents"][0]["text"] == wanted
            listed = [each["uri"] for each in asking.ask("resources/list")[1]["result"]["resources"]]
            assert listed == ["x://a.txt"], "once, of whichever"


def test_the_name_of_a_hidden_template_is_in_no_error_of_another() -> None:
    def served(**options: Any) -> Any:
        server = Server("errors", mask_errors=False)
        if options:
            server.resource("x://{secret}/y", **options)(lambda secret: "")
        server.resource("x://{part}/{other}")(lambda part, other: 1 // 0)
        return server

    with Asking(served(visible=is_root), STATELESS, "http") as asking, Asking(served(), STATELESS, "http") as twin:
        params = {"uri": "x://a/y"}
        assert asking.ask("resources/read", params) == twin.ask("resources/read", params)


def test_header_fields_of_a_hidden_tool_are_not_compared() -> None:
    """A mismatch would tell that the tool is there [2026-07-28 server/tools §x-mcp-header]."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

    def served(**options: Any) -> Any:
        server = Server("mirrored")
        if options:
            server.tool(lambda region="": region, name="query", input_schema=schema, **options)
        server.tool(lambda: "", name="other")
        return server

    def statuses(server: Any, who: str) -> List[Any]:
        endpoint = endpoint_of(server, authenticate=by_token)
        found = []
        for field in (None, "us", "eu"):
            with ModernWeb(server, headers={"Authorization": "Bearer of " + who}, authenticate=by_token) as web:
                answer = web.ask(1, "tools/call", {"name": "query", "arguments": {"region": "eu"}},
                                 headers={"Mcp-Param-Region": field})
                found.append((answer.status, answer.answer().get("error")))
        endpoint.close(0)
        return found

    unknown = statuses(served(), "bob")
    assert statuses(served(visible=is_root), "bob") == unknown and len({status for status, _ in unknown}) == 1
    assert [status for status, _ in statuses(served(visible=is_root), "root")] == [400, 400, 200]


# -- Functions that fail ---------------------------------------------------------------------------------------------


async def asynchronous(principal: Any) -> bool:
    return True


class Falsy:
    def __bool__(self) -> bool:
        raise ValueError("neither true nor false")


@pytest.mark.parametrize("function, logged", [
    (lambda principal: 1 // 0, "ZeroDivisionError"), (lambda principal: asynchronous(principal), "coroutine"),
    (lambda principal: Falsy(), "neither true nor false"), (lambda principal, *, more: True, "TypeError"),
])
@pytest.mark.parametrize("revision", WITH_TASKS)
def test_a_function_that_fails_hides_and_is_logged(revision: str, function: Any, logged: str, caplog: Any) -> None:
    PLACES.reset()
    with Asking(served(function), revision, "http") as asking, Asking(served(secrets=False), revision, "http") as twin:
        for operation in ("list tools", "call", "read", "read of a template", "get", "complete a prompt"):
            assert asking.ask(*OPERATIONS[operation][:2]) == twin.ask(*OPERATIONS[operation][:2])
    assert logged in caplog.text and "visible of tool secret" in caplog.text
    assert {record.name for record in caplog.records if "visible of" in record.getMessage()} == {"mcp_ref.usercode"}


def test_a_change_between_list_and_call_is_asked_anew() -> None:
    allowed = {"bob"}
    server = served(lambda principal: principal in allowed)
    with Asking(server, "2025-11-25", "http") as asking:
        call = ("tools/call", {"name": "secret", "arguments": {}})
        assert "secret" in str(asking.ask("tools/list")) and "result" in asking.ask(*call)[1]
        allowed.clear()
        assert asking.ask(*call)[1]["error"]["message"] == "Unknown tool: secret"
        assert "secret" not in str(asking.ask("tools/list"))
        allowed.add("bob")
        assert "secret" in str(asking.ask("tools/list")) and "result" in asking.ask(*call)[1]


def test_functions_that_can_be_seen_to_be_wrong_are_refused_at_registration() -> None:
    server = Server("refused")
    for function, text in ((asynchronous, "is asynchronous"), ("root", "visible is a function"),
                           (lambda: True, "no required parameter"), (lambda a, b, c: True, "takes a, b, c"),
                           (lambda *all: True, "no required parameter"), (Requester.__repr__, "method without its")):
        for register in (lambda: server.tool(lambda: "", name="t", visible=function),
                         lambda: server.prompt(lambda: "", name="t", visible=function),
                         lambda: server.resource("x://t", visible=function)(lambda: ""),
                         lambda: server.lists_changed("tools", visible=function)):
            with pytest.raises(TypeError, match=text):
                register()
    with pytest.raises(ValueError, match="'tool' is no list: name some of"):
        server.lists_changed("tool")
    assert not any(server.has_feature(name) and len(getattr(server, name).listing) for name in ("tools", "prompts"))


class Callable:
    def __call__(self, principal: Any) -> bool:
        return bool(principal == "root")

    def method(self, principal: Any, requester: Any) -> bool:
        return bool(principal == "root" and requester.principal == "root")


@pytest.mark.parametrize("function", [
    {"root"}.__contains__, Callable(), Callable().method, is_root, lambda principal, bound="x": principal == "root",
    lambda principal, requester: requester.principal == "root",
])
def test_functions_of_every_kind(function: Any) -> None:
    made = Visible("tool x", function)
    assert made.shows(Requester("root")) is True and made.shows(Requester("bob")) is False


def test_a_function_that_members_share_is_called_once_for_a_list() -> None:
    asked: List[Any] = []
    server = Server("shared")

    def visible(principal: Any) -> bool:
        asked.append(principal)
        return True

    for number in range(20):
        server.tool(lambda: "", name="t%d" % number, visible=visible)
    with Asking(server, STATELESS, "http") as asking:
        assert len(asking.ask("tools/list")[1]["result"]["tools"]) == 20 and asked == ["bob"]
        asking.ask("tools/call", {"name": "t3"})
        asking.ask("tools/call", {"name": "unknown"})
        assert asked == ["bob"] * 3, "an unknown tool takes as long as a hidden one"


# -- Announcements ---------------------------------------------------------------------------------------------------

ANNOUNCED = {"tools": "tools/list_changed", "resources": "resources/list_changed", "prompts": "prompts/list_changed"}


def change(server: Any, feature: str, name: str, **options: Any) -> None:
    if feature == "resources":
        server.resource("n://" + name, **options)(lambda: "")
    else:
        {"tools": server.tool, "prompts": server.prompt}[feature](lambda: "", name=name, **options)


def opened(asking: Asking, uris: List[str]) -> Any:
    """Open what notifications come on; what the server agreed to, where it says that."""
    if asking.stateless:
        return asking.listen(uris)["resourceSubscriptions"]
    if asking.peer is None:
        asking.stream = asking.web.get()
    return [uri for uri in uris if "error" not in asking.ask("resources/subscribe", {"uri": uri})[1]]


@pytest.mark.parametrize("feature", sorted(ANNOUNCED))
@every_revision
def test_changes_are_announced_to_those_who_see_them(revision: str, feature: str) -> None:
    server = served()
    told = [(ANNOUNCED[feature], None)]
    remove = {"tools": server.remove_tool, "prompts": server.remove_prompt,
              "resources": lambda name: server.remove_resource("n://" + name)}[feature]
    with Asking(server, revision, "http", "root") as root, Asking(server, revision, "http", "bob") as bob:
        opened(root, [])
        opened(bob, [])

        def heard() -> Any:
            return root.heard(), bob.heard()

        change(server, feature, "all")
        assert heard() == (told, told)
        change(server, feature, "new", visible=is_root)
        assert heard() == (told, [])
        remove("new")
        assert heard() == (told, [])
        change(server, feature, "failing", visible=lambda principal: 1 // 0)
        assert heard() == ([], [])
        with server.announce_once():
            change(server, feature, "one", visible=is_root)
            change(server, feature, "two", visible=lambda principal: False)
        assert heard() == (told, [])
        for last in ("four", "five"):
            with server.announce_once():
                change(server, feature, last + "-1", visible=is_root)
                change(server, feature, last)
                change(server, feature, last + "-2", visible=is_root)
            assert heard() == (told, told)
        server.lists_changed(feature, visible=lambda principal: principal == "bob")
        assert heard() == ([], told)
        server.lists_changed(feature)
        assert heard() == (told, told)
        server.lists_changed()
        assert all(sorted(each) == sorted((text, None) for text in ANNOUNCED.values()) for each in heard())


@every_way
@every_revision
def test_updates_go_to_those_who_see_the_resource(revision: str, way: str) -> None:
    server = served()
    server.resource("c://h/")(lambda: "all")
    server.resource("c://h/secret", visible=is_root)(lambda: "secret")
    server.resource("c://h/x/{hidden}", visible=is_root)(lambda hidden: "secret")
    server.resource("c://h/x/both")(lambda: "both")
    with Asking(server, revision, way) as asking:
        uris = ["s://one", "s://ab/x", "o://one", "c://h/secret", "c://h/"]
        assert opened(asking, uris) == ["o://one", "c://h/"], "what is hidden is subscribed to as what is not there"
        for uri in ("s://one", "s://ab/x", "o://one", "c://h/secret", "c://h/x/a", "c://h/other", "c://h/x/both"):
            server.resource_updated(uri)
        updated = [("resources/updated", uri) for uri in ("o://one", "c://h/other", "c://h/x/both")]
        assert asking.heard() == updated, "a container tells nothing of what is hidden in it"


@every_revision
def test_a_subscription_is_silent_while_its_resource_is_hidden(revision: str) -> None:
    allowed = {"bob"}
    server = served(lambda principal: principal in allowed)
    with Asking(server, revision, "http") as asking:
        assert opened(asking, ["s://one"]) == ["s://one"]
        wanted = [("resources/updated", "s://one")]
        for names in ({"bob"}, set(), {"bob"}):
            allowed.clear()
            allowed.update(names)
            server.resource_updated("s://one")
            assert asking.heard() == (wanted if names else [])


@pytest.mark.parametrize("revision", ["2025-11-25", STATELESS])
def test_a_function_that_takes_its_time_holds_up_nobody_else(revision: str) -> None:
    server = Server("slow")
    with Gate() as gate, ScriptedPeer.of_server(server) as peer:
        server.resource("s://one", visible=lambda principal: (gate.hold(), True)[1])(lambda: "")
        peer.handshake(revision)
        if revision == STATELESS:
            peer.request("waits", "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["s://one"]}})
        else:
            peer.request("waits", "resources/subscribe", {"uri": "s://one"})
        gate.entered()
        peer.barrier("meanwhile")
        gate.open()
        assert peer.receive(lambda message: message.get("id") == "waits" or "acknowledged" in message.get("method", ""))


# -- Tasks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [
    pytest.param(revision, marks=pytest.mark.sends_illegal(
        "tasks.ttl-reported", "tasks.list-complete", why="the client has lost its access, which no message says"))
    if revision in HANDSHAKE else revision for revision in WITH_TASKS])
def test_a_task_whose_tool_is_hidden_is_not_found_and_runs_on(revision: str) -> None:
    allowed = {"bob"}
    server = Server("tasks")

    @server.tool(task="optional", visible=lambda principal: principal in allowed)
    def job() -> str:
        return "done"

    with Asking(server, revision, "http") as asking:
        made = asking.ask("tools/call", {"name": "job", "arguments": {}, "task": {}})[1]["result"]
        id = (made if asking.stateless else made["task"])["taskId"]
        methods = ["tasks/get", "tasks/cancel"] + (["tasks/update"] if asking.stateless else ["tasks/result"])

        def answers(id: str) -> List[Any]:
            more: Dict[str, Any] = {"inputResponses": {}}
            return [asking.ask(method, dict(more if method == "tasks/update" else {}, taskId=id))[1].get("error")
                    for method in methods]

        eventually(lambda: asking.ask("tasks/get", {"taskId": id})[1]["result"]["status"] == "completed")
        unknown = answers("unknown")
        assert {error["message"] for error in unknown} == {"Task not found"}
        allowed.clear()
        assert answers(id) == unknown
        if not asking.stateless:
            assert asking.ask("tasks/list")[1]["result"] == {"tasks": []}
        assert asking.ask("tools/call", {"name": "job", "arguments": {}, "task": {}})[1]["error"][
            "message"] == "Unknown tool: job"
        allowed.add("bob")
        assert asking.ask("tasks/get", {"taskId": id})[1]["result"]["status"] == "completed"


@pytest.mark.parametrize("revision", WITH_TASKS)
def test_a_task_that_waits_in_the_queue_while_its_tool_is_hidden_runs(revision: str) -> None:
    allowed = {"bob"}
    server, seen = Server("tasks"), []

    @server.tool(task="optional", visible=lambda principal, requester: principal in allowed and not seen.append(1))
    def job(ctx: Context) -> str:
        return "%s %r" % (ctx.requester.principal, ctx.requester.headers.get("authorization"))

    held = server.tasks._submit
    server.tasks._submit = lambda *arguments: (allowed.clear(), held(*arguments))
    with Asking(server, revision, "http") as asking:
        made = asking.ask("tools/call", {"name": "job", "arguments": {}, "task": {}})[1]["result"]
        allowed.add("bob")
        id = (made if asking.stateless else made["task"])["taskId"]
        eventually(lambda: asking.ask("tasks/get", {"taskId": id})[1]["result"]["status"] == "completed")
        found = server.tasks.store.read(id)
        assert "bob None" in str(found.outcome), "the request was answered before it ran"


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("revision", WITH_TASKS)
def test_what_becomes_of_a_task_is_told_to_those_who_see_its_tool(revision: str, hides: bool) -> None:
    allowed = {None}
    server = Server("tasks")
    with Gate() as gate:
        @server.tool(task="optional", visible=lambda principal: principal in allowed)
        def job() -> str:
            gate.hold()
            return "done"

        with Asking(server, revision, "memory") as asking:
            made = asking.ask("tools/call", {"name": "job", "arguments": {}, "task": {}})[1]["result"]
            id = (made if asking.stateless else made["task"])["taskId"]
            gate.entered()
            if asking.stateless:
                asking.peer.request("listening", "subscriptions/listen", {"notifications": {"taskIds": [id]}})
                asking.peer.receive(lambda message: "acknowledged" in message.get("method", ""))
            if hides:
                allowed.clear()
            gate.open()
            eventually(lambda: server.tasks.store.read(id).status == "completed" and not server.tasks._runs)
            told = [method for method, _ in asking.heard() if method.startswith("tasks")]
            assert told == ([] if hides else ["tasks" if asking.stateless else "tasks/status"])


# -- Requesters ------------------------------------------------------------------------------------------------------


def test_a_tool_of_an_object_and_a_page_are_hidden_too() -> None:
    class Admin:
        def stop(self) -> str:
            return "stopped"

    server = Server("object")
    server.add(Admin(), prefix="admin_", visible=is_root)
    server.app("ui://panel", "<!doctype html><title>x</title>", visible=is_root)
    server.tool(lambda: "", name="other")
    for who, tools, pages in (("root", ["admin_stop", "other"], ["ui://panel"]), ("bob", ["other"], [])):
        with Asking(server, "2025-11-25", "http", who) as asking:
            assert [each["name"] for each in asking.ask("tools/list")[1]["result"]["tools"]] == tools
            assert [each["uri"] for each in asking.ask("resources/list")[1]["result"]["resources"]] == pages


def test_the_handshake_itself_says_nothing_of_hidden_members() -> None:
    for revision in HANDSHAKE:
        with Web(served(), None, headers={"Authorization": "Bearer of bob"}, authenticate=by_token) as web, \
                Web(served(secrets=False), None, headers={"Authorization": "Bearer of bob"},
                    authenticate=by_token) as twin:
            assert web.post(opening(revision)).answer() == twin.post(opening(revision)).answer()
