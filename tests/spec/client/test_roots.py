"""Roots on the wire: our client and a scripted server, our server and a scripted client, and both of ours."""
import os
import threading

import pytest

from mcp_ref.client import Client
from mcp_ref.client.roots import Roots
from mcp_ref.errors import CapabilityMissing, LocalProtocolError, PeerProtocolError
from mcp_ref.messages.roots import Root
from mcp_ref.protocol import lifecycle
from mcp_ref.server import Server
from mcp_ref.server.roots import contains
from mcp_ref.transports.memory import pair
from tests.support.questions import Asking, Offering
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import HANDSHAKE, Gate, eventually, in_thread

METHOD = "roots/list"
CHANGED = "notifications/roots/list_changed"
TOLD = {"jsonrpc": "2.0", "method": CHANGED}
HOME, SRV = {"uri": "file:///disk/user/project"}, {"uri": "file:///srv/data", "name": "Data"}
in_every_revision = pytest.mark.parametrize("revision", HANDSHAKE)


def listed(offering):
    """The URIs that the client tells."""
    return [root["uri"] for root in offering.call(METHOD)["result"]["roots"]]


def watching():
    """The threads that watch folders."""
    return [thread for thread in threading.enumerate() if thread.name == "mcp-ref:roots"]


# --- Declaring and listing --------------------------------------------------------------------------------------------

@pytest.mark.spec("roots.capability-init")
@in_every_revision
@pytest.mark.parametrize("roots, declared", [
    (Roots(), {"listChanged": True}), (Roots(["/a"], list_changed=True), {"listChanged": True}),
    (Roots(["/a"], list_changed=False), {}),
    (["/a"], {"listChanged": True}), ([], {"listChanged": True}),
])
def test_the_client_declares_roots_and_whether_it_announces_changes(roots, declared, revision):
    """[.. client/roots §Capabilities] MUST"""
    with Offering(revision, roots=roots) as offering:
        assert offering.opening["capabilities"]["roots"] == declared


@in_every_revision
def test_the_list_has_uri_and_name_of_each_root(revision):
    """[.. client/roots §Listing Roots]"""
    roots = Roots(["/disk/user/project", Root("file:///srv/data", "Data", {"com.example/a": 1}), "file:///x%20y",
                   "C:\\work"])
    with Offering(revision, roots=roots) as offering:
        data = dict(SRV, _meta={"com.example/a": 1}) if revision >= "2025-06-18" else SRV
        expected = {"roots": [HOME, data, {"uri": "file:///x%20y"}, {"uri": "file:///C:/work"}]}
        assert offering.call(METHOD)["result"] == expected == offering.call(METHOD,
                                                                            {"_meta": {"progressToken": 1}})["result"]


@in_every_revision
def test_an_empty_list_is_a_list(revision):
    """[.. client/roots §Listing Roots]"""
    with Offering(revision, roots=[]) as offering:
        assert offering.call(METHOD)["result"] == {"roots": []}


def test_a_relative_path_is_made_absolute():
    """[.. client/roots §Root] MUST"""
    here = os.getcwd()
    assert [root.uri for root in Roots(["."]).listed()] == [Roots(here).listed()[0].uri]
    assert Roots(os.path.join(here, "a", "..", "b")).listed()[0].uri == Roots("b").listed()[0].uri


@pytest.mark.spec("roots.file-uri", "roots.validate-uris")
@pytest.mark.parametrize("uri", [
    "file:///a/../b", "file:///a/%2e%2e/b", "file:///a%2f..%2fb", "file://server/a", "file:///a%00", "file:///a?x",
    "file:/a", "FILE:///a",
    "file:////a", "file:///C:/a./b", "file:///a b",
])
@pytest.mark.parametrize("wrap", [str, Root])
def test_a_uri_that_could_lead_elsewhere_never_becomes_a_root(uri, wrap):
    """[.. client/roots §Security Considerations] MUST"""
    roots = Roots(["/disk/user/project"])
    for attempt in (lambda: Roots([wrap(uri)]), lambda: roots.set([wrap(uri)]), lambda: roots.add(wrap(uri)),
                    lambda: roots.set(["/x", wrap(uri)])):
        with pytest.raises(LocalProtocolError, match="not a root URI"):
            attempt()
    assert roots.listed() == [Root(HOME["uri"])]


@pytest.mark.spec("roots.file-uri")
@pytest.mark.parametrize("uri", ["https://example.com/", "vscode-remote://x/disk", "", "/disk/user"])
def test_a_root_has_a_file_uri(uri):
    """[.. client/roots §Root] MUST"""
    with pytest.raises(LocalProtocolError, match="must begin with file://"):
        Roots([Root(uri)])
    if "://" in uri:  # a str is a path, unless it begins as a URI
        with pytest.raises(LocalProtocolError, match="must begin with file://"):
            Roots([uri])


# --- Errors -----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("roots.unsupported-error")
@in_every_revision
def test_without_roots_the_method_is_not_found(revision):
    """[.. client/roots §Error Handling] SHOULD"""
    with Offering(revision) as offering:
        assert "roots" not in offering.opening["capabilities"]
        assert offering.call(METHOD)["error"]["code"] == -32601


@pytest.mark.spec("roots.internal-error")
@in_every_revision
def test_what_goes_wrong_inside_is_an_internal_error_without_its_text(revision, monkeypatch):
    """[.. client/roots §Error Handling] SHOULD"""
    roots = Roots(["/a"])

    def fail():
        raise OSError("/secret/disk is broken")

    monkeypatch.setattr(roots, "_visible", fail)
    with Offering(revision, roots=roots) as offering:
        assert offering.call(METHOD)["error"] == {"code": -32603, "message": "Internal error"}


@in_every_revision
@pytest.mark.parametrize("params", [{"_meta": 5}, {"_meta": {"progressToken": {}}}])
def test_params_that_do_not_fit_are_refused(params, revision):
    """[.. client/roots §Listing Roots]"""
    with Offering(revision, roots=["/a"]) as offering:
        assert offering.call(METHOD, params)["error"]["code"] == -32602


# --- Announcing changes -----------------------------------------------------------------------------------------------

CHANGES = [
    (lambda roots: roots.add("/c"), ["/a", "/b", "/c"]), (lambda roots: roots.remove("/a"), ["/b"]),
    (lambda roots: roots.set([]), []),
    (lambda roots: roots.set(["/b", "/a"]), ["/b", "/a"]),
    (lambda roots: roots.add(Root("file:///a", "with a name")), ["/a", "/b"]),
    (lambda roots: roots.remove(Root("file:///b")), ["/a"]), (lambda roots: roots.set("/x"), ["/x"]),
]


@pytest.mark.spec("roots.list-changed", "roots.monitor-changes")
@in_every_revision
@pytest.mark.parametrize("change, after", CHANGES, ids=range(len(CHANGES)))
def test_every_change_is_announced_once(change, after, revision):
    """[..2025-11-25 client/roots §Root List Changes] MUST"""
    roots = Roots(["/a", "/b"])
    with Offering(revision, roots=roots) as offering:
        change(roots)
        assert offering.said() == [TOLD] and listed(offering) == ["file://" + path for path in after]
        assert offering.said() == []


@in_every_revision
def test_what_changes_nothing_is_not_announced(revision):
    """[..2025-11-25 client/roots §Root List Changes]"""
    roots = Roots(["/a", "/b"])
    with Offering(revision, roots=roots) as offering:
        roots.set(["/a", Root("file:///b")])
        roots.add("/b")
        roots.set(["/a", "/b", "/a", "/b/"][:2])
        with pytest.raises(KeyError):
            roots.remove("/c")
        with pytest.raises(ValueError):
            roots.add("/a\x00")
        assert offering.said() == [] and listed(offering) == ["file:///a", "file:///b"]


@in_every_revision
def test_a_client_that_did_not_declare_it_announces_nothing(revision):
    """[..2025-11-25 client/roots §Capabilities]"""
    roots = Roots(["/a"], list_changed=False)
    with Offering(revision, roots=roots) as offering:
        roots.set(["/b"])
        assert offering.said() == [] and listed(offering) == ["file:///b"]


@in_every_revision
def test_nothing_is_announced_before_the_connection_is_operating(revision):
    """[..2025-11-25 basic/lifecycle §Initialization]"""
    roots = Roots(["/a"])
    client = Client(roots=roots, era="legacy")
    near, far = pair()
    peer = ScriptedPeer(far)
    opening = in_thread(client.open, near)
    asked = peer.receive()
    roots.set(["/b"])
    result = {"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "s", "version": "0"}}
    peer.respond(asked["id"], result)
    assert peer.receive()["method"] == "notifications/initialized"
    opening.get()
    assert peer.barrier() == [] and peer.call(1, METHOD)["result"]["roots"] == [{"uri": "file:///b"}]
    client.close()
    roots.set(["/c"])
    assert peer.ended() and all(message.get("method") != CHANGED for message in peer.seen)
    peer.close()


@in_every_revision
def test_a_connection_that_is_not_operating_is_told_nothing(revision):
    """[..2025-11-25 basic/lifecycle §Initialization]"""
    roots = Roots(["/a"])
    with Offering(revision, roots=roots) as offering:
        session = offering.client.connection.session
        session.phase = lifecycle.ANSWERED  # as while a client opens its next connection
        roots.set(["/b"])
        session.phase = lifecycle.OPERATING
        assert offering.said() == [] and listed(offering) == ["file:///b"]


@in_every_revision
def test_a_server_that_was_told_an_old_list_before_it_could_be_told_so_is_told_now(revision):
    """[..2025-11-25 client/roots §Root List Changes] MUST"""
    roots = Roots(["/a"])
    with Gate() as gate:
        attach = roots.attach
        roots.attach = lambda client: gate.hold() or attach(client)
        client = Client(roots=roots)
        near, far = pair()
        peer = ScriptedPeer(far)
        opening = in_thread(client.open, near)
        peer.accept_handshake(revision)
        gate.entered()  # the server knows that the connection is operating, and the roots do not yet
        assert peer.call(1, METHOD)["result"]["roots"] == [{"uri": "file:///a"}]
        roots.set(["/b"])
        assert peer.barrier() == []
        gate.open()
        opening.get()
        assert peer.barrier("b2") == [TOLD] and peer.call(2, METHOD)["result"]["roots"] == [{"uri": "file:///b"}]
        client.close()
        peer.close()


@in_every_revision
def test_one_list_serves_several_clients_and_forgets_the_closed_ones(revision):
    """[..2025-11-25 client/roots §Root List Changes] MUST"""
    roots = Roots(["/a"])
    with Offering(revision, roots=roots) as one:
        with Offering(revision, roots=roots) as two:
            roots.add("/b")
            assert one.said() == two.said() == [TOLD]
        roots.add("/c")
        assert one.said() == [TOLD] and listed(one) == ["file:///a", "file:///b", "file:///c"]
        assert eventually(lambda: roots._clients == [one.client]) is None
        roots.close()
        roots.add("/d")
        assert one.said() == []


@pytest.mark.race
def test_changes_from_many_threads_end_in_one_list_that_the_server_can_learn():
    """[..2025-11-25 client/roots §Root List Changes] MUST"""
    roots = Roots()
    with Offering(HANDSHAKE[-1], roots=roots) as offering:
        together = threading.Barrier(4)

        def change(number):
            together.wait(PATIENCE)
            for step in range(10):
                roots.add("/t%d/%d" % (number, step))
                roots.remove("/t%d/%d" % (number, step - step % 2))
                roots.add("/t%d/%d" % (number, step - step % 2))

        for worker in [in_thread(change, number) for number in range(4)]:
            worker.get()
        said = offering.said()
        assert said == [TOLD] * 120 and len(set(listed(offering))) == 40 == len(roots.listed())


# --- Folders that come and go -----------------------------------------------------------------------------------------

@pytest.mark.spec("roots.monitor-accessibility", "roots.validate-accessibility")
@in_every_revision
def test_a_folder_that_vanishes_is_left_out_and_announced_and_again_when_it_is_back(revision, tmp_path):
    """[.. client/roots §Security Considerations] MUST, [.. client/roots §Implementation Guidelines] SHOULD"""
    here, gone = tmp_path / "here", tmp_path / "gone"
    here.mkdir()
    roots = Roots([here, gone])
    with Offering(revision, roots=roots) as offering:
        assert listed(offering) == [here.as_uri(), gone.as_uri()]  # nobody has looked
        assert roots.check() and offering.said() == [TOLD] and listed(offering) == [here.as_uri()]
        assert not roots.check() and offering.said() == []
        gone.mkdir()
        assert roots.check() and offering.said() == [TOLD] and listed(offering) == [here.as_uri(), gone.as_uri()]
        gone.rmdir()
        here.rmdir()
        assert roots.check() and offering.said() == [TOLD] and listed(offering) == []
        assert not roots.contains(here / "x") and not roots.contains(gone)


def test_what_is_watched_is_looked_at_before_it_is_exposed(tmp_path):
    """[.. client/roots §Implementation Guidelines] SHOULD"""
    here, gone = tmp_path / "here", tmp_path / "gone"
    here.mkdir()
    roots = Roots([here, gone], watch=3600)
    with Offering(HANDSHAKE[-1], roots=roots) as offering:
        assert listed(offering) == [here.as_uri()]
        roots.add(tmp_path / "nothing")
        assert offering.said() == [] and listed(offering) == [here.as_uri()]
        gone.mkdir()
        roots.add(tmp_path)
        assert offering.said() == [TOLD] and listed(offering) == [here.as_uri(), gone.as_uri(), tmp_path.as_uri()]


def test_a_root_that_is_given_again_is_not_held_to_an_old_look(tmp_path):
    """[.. client/roots §Implementation Guidelines]"""
    roots = Roots(["/nowhere/at/all", tmp_path])
    assert roots.check() and len(roots.listed()) == 1
    roots.add(tmp_path / "more")
    assert len(roots.listed()) == 2
    roots.remove("/nowhere/at/all")
    roots.add("/nowhere/at/all")
    assert len(roots.listed()) == 3


@pytest.mark.race
def test_the_watching_thread_looks_by_itself_and_ends_with_the_last_connection(tmp_path):
    """[.. client/roots §Security Considerations] MUST"""
    folder = tmp_path / "here"
    folder.mkdir()
    roots = Roots([folder], watch=0.001)
    assert watching() == []
    with Offering(HANDSHAKE[-1], roots=roots) as one:
        with Offering(HANDSHAKE[-1], roots=roots) as two:
            assert len(watching()) == 1 and watching()[0].daemon
            folder.rmdir()
            assert one.peer.receive() == two.peer.receive() == TOLD
        assert len(watching()) == 1
        folder.mkdir()
        assert one.peer.receive() == TOLD and listed(one) == [folder.as_uri()]
    eventually(lambda: watching() == [])
    with Offering(HANDSHAKE[-1], roots=roots):
        assert len(watching()) == 1
        roots.close()
        eventually(lambda: watching() == [])


def test_a_disk_that_does_not_answer_keeps_nobody_from_the_list(tmp_path, monkeypatch):
    """[.. client/roots §Security Considerations]"""
    roots = Roots([tmp_path])
    with Gate() as gate, Offering(HANDSHAKE[-1], roots=roots) as offering:
        monkeypatch.setattr("mcp_ref.client.roots._readable", lambda uri: gate.hold())
        looking = in_thread(roots.check)
        gate.entered()
        assert listed(offering) == [tmp_path.as_uri()] and roots.contains(tmp_path / "x")
        gate.open()
        assert looking.get() is True and listed(offering) == []


# --- Inside or not ----------------------------------------------------------------------------------------------------

@pytest.mark.spec("roots.validate-paths")
@pytest.mark.parametrize("ask", ["client", "server"])
def test_symbolic_links_do_not_lead_out(ask, tmp_path):
    """[.. client/roots §Security Considerations] SHOULD"""
    root, other = tmp_path / "top", tmp_path / "other"
    (root / "deep").mkdir(parents=True)
    other.mkdir()
    (root / "out").symlink_to(other)
    (root / "in").symlink_to(root / "deep")
    (root / "loop").symlink_to(root / "loop")
    (root / "up").symlink_to("..")
    (other / "back").symlink_to(root)
    (tmp_path / "alias").symlink_to(root)
    for given in (root, tmp_path / "alias"):
        roots = Roots([given])
        inside = roots.contains if ask == "client" else lambda path: contains(roots.listed(), path)
        for name in ("", "deep", "deep/x", "in", "in/x", "new/deeper", "out/../top/x", "up/top", "out/back/deep"):
            assert inside(root / name), name
            assert inside((root / name).as_uri()), name
        for name in ("out", "out/x", "up", "up/other", "in/../../other", "../other", "out/back/../other", ".."):
            assert not inside(root / name), name
            assert not inside((root / name).as_uri()), name
        assert inside(tmp_path / "alias" / "x") and inside(other / "back") and not inside(other)
        assert not inside("deep") and not inside("") and not inside("/\ud800")


def test_a_server_may_judge_paths_of_another_machine_by_their_text(tmp_path):
    """[.. client/roots §Security Considerations] SHOULD"""
    (tmp_path / "link").symlink_to("/etc")
    roots = [Root(tmp_path.as_uri()), Root("file:///C:/work")]
    assert contains(roots, tmp_path / "link" / "x", follow_links=False) and not contains(roots, tmp_path / "link" / "x")
    assert contains(roots, "c:\\WORK\\x") and not contains(roots, "C:\\work\\..\\x") and not contains([], "/")


# --- The server asks --------------------------------------------------------------------------------------------------

ANNOUNCING, SILENT = {"roots": {"listChanged": True}}, {"roots": {}}


@pytest.mark.spec("roots.check-capability")
@in_every_revision
@pytest.mark.parametrize("declared", [{}, {"sampling": {}}])
def test_a_client_without_roots_is_not_asked(declared, revision):
    """[.. client/roots §Implementation Guidelines] SHOULD"""
    with Asking(revision, declared) as asking, pytest.raises(CapabilityMissing, match="roots") as caught:
        asking.ask(lambda ctx: ctx.list_roots())
    assert caught.value.capability == "roots"


@in_every_revision
def test_the_server_gets_the_roots(revision):
    """[.. client/roots §Listing Roots]"""
    with Asking(revision, SILENT) as asking:
        assert asking.ask(lambda ctx: ctx.list_roots(), {"roots": [HOME, SRV]}) == [Root(HOME["uri"]),
                                                                                    Root(SRV["uri"], "Data")]
        assert asking.questions[0]["method"] == METHOD and asking.questions[0].get("params", {}) == {}


@pytest.mark.spec("roots.cache", "roots.handle-changes")
@in_every_revision
def test_the_list_is_kept_until_the_client_announces_another(revision):
    """[.. client/roots §Implementation Guidelines] SHOULD"""
    heard = []
    with Asking(revision, ANNOUNCING, on_roots_changed=heard.append) as asking:
        assert asking.ask(lambda ctx: ctx.list_roots(), {"roots": [HOME]}) == [Root(HOME["uri"])]
        kept = asking.ask(lambda ctx: ctx.list_roots())
        assert kept == [Root(HOME["uri"])]
        kept.clear()  # the caller's own
        assert asking.ask(lambda ctx: ctx.list_roots()) == [Root(HOME["uri"])]
        asking.peer.notify(CHANGED)
        assert asking.ask(lambda ctx: ctx.list_roots(), {"roots": []}) == []
        assert asking.ask(lambda ctx: ctx.list_roots()) == []
        eventually(lambda: heard == [asking.connection])


@pytest.mark.spec("roots.handle-changes")
@in_every_revision
def test_without_announcements_the_client_is_asked_each_time(revision):
    """[.. client/roots §Implementation Guidelines] SHOULD"""
    with Asking(revision, SILENT) as asking:
        for roots in ([HOME], [SRV], []):
            assert [root.uri for root in asking.ask(lambda ctx: ctx.list_roots(),
                                                    {"roots": roots})] == [root["uri"] for root in roots]


@pytest.mark.spec("roots.handle-changes")
@in_every_revision
def test_a_change_during_the_question_leaves_no_old_list_behind(revision):
    """[.. client/roots §Implementation Guidelines] SHOULD"""
    with Asking(revision, ANNOUNCING) as asking:
        asking.start(lambda ctx: ctx.list_roots())
        question = asking.question()
        asking.peer.notify(CHANGED)
        asking.peer.respond(question["id"], {"roots": [HOME]})
        assert asking.outcome() == [Root(HOME["uri"])]
        assert asking.ask(lambda ctx: ctx.list_roots(), {"roots": [SRV]}) == [Root(SRV["uri"], "Data")]


@pytest.mark.spec("roots.handle-changes")
def test_each_client_has_a_list_of_its_own():
    """[.. client/roots §Implementation Guidelines] SHOULD"""
    with Asking(HANDSHAKE[-1], ANNOUNCING) as one:
        one.ask(lambda ctx: ctx.list_roots(), {"roots": [HOME]})
        near, far = pair()
        serving = one.server.connect(near)
        peer = ScriptedPeer(far)
        peer.handshake(HANDSHAKE[-1], ANNOUNCING)
        peer.notify(CHANGED)
        peer.barrier()
        assert one.ask(lambda ctx: ctx.list_roots()) == [Root(HOME["uri"])]
        peer.request(1, "tools/call", {"name": "go"})
        assert peer.receive()["method"] == METHOD
        peer.close()
        serving.close()
        assert serving.wait_closed(PATIENCE)


UNSAFE = [
    "https://example.com", "/disk/user", "file:///a/../b", "file:///a/%2e%2e/etc", "file:///a%2fb",
    "file://server/share", "file:///a%00b", "",
    "file:/a", "file:////x", "file:///%ff",
]


@in_every_revision
@pytest.mark.parametrize("uri", UNSAFE, ids=ascii)
def test_a_root_that_could_lead_elsewhere_is_left_out_or_refused(uri, revision):
    """[.. client/roots §Root] MUST"""
    answer = {"roots": [{"uri": uri}, HOME]}
    with Asking(revision, ANNOUNCING) as asking:
        assert asking.ask(lambda ctx: ctx.list_roots(), answer) == [Root(HOME["uri"])]
        assert asking.connection.counters["unsafe root"] == 1
    with Asking(revision, ANNOUNCING, strict=True) as asking, pytest.raises(PeerProtocolError, match="not a root URI"):
        asking.ask(lambda ctx: ctx.list_roots(), answer)


@in_every_revision
@pytest.mark.parametrize("answer",
                         [{}, {"roots": None}, {"roots": {}}, {"roots": [{}]}, {"roots": ["file:///a"]},
                          {"roots": [{"uri": 5}]}])
def test_an_answer_that_does_not_fit_is_the_clients_fault(answer, revision):
    """[.. client/roots §Listing Roots]"""
    with Asking(revision, ANNOUNCING) as asking:
        with pytest.raises(PeerProtocolError, match="the answer to roots/list"):
            asking.ask(lambda ctx: ctx.list_roots(), answer)
        assert asking.ask(lambda ctx: ctx.list_roots(), {"roots": []}) == []  # nothing was kept


# --- Both of ours -----------------------------------------------------------------------------------------------------

@pytest.mark.race
@in_every_revision
def test_a_server_of_ours_sees_each_change_of_a_client_of_ours_at_once(revision):
    """[.. client/roots §Message Flow]"""
    server = Server("asking")

    @server.tool
    def where(ctx) -> str:
        """The roots."""
        return " ".join(root.uri for root in ctx.list_roots())

    near, far = pair()
    serving = server.connect(far)
    roots = Roots(["/r0"])
    with Client(roots=roots, revisions=[revision]) as client:
        client.open(near)
        for number in range(1, 6):
            assert client.call_tool("where").content[0].text == "file:///r%d" % (number - 1)
            roots.set(["/r%d" % number])
    serving.close()
    assert serving.wait_closed(PATIENCE)
