"""Directories: which files can be reached, and that nothing else can be."""
import base64
import contextlib
import os
import re
import socket
import stat
import sys
import threading

import pytest

from mcp_ref import Server
from mcp_ref.messages.base import Annotations
from mcp_ref.server.registry import directory as directories, safefiles
from mcp_ref.server.registry.checks import Paging
from mcp_ref.server.registry.directory import Directory, PathPattern, mime_type_of
from mcp_ref.server.registry.safefiles import DescriptorTree, Missing, PathTree, TooLarge
from mcp_ref.uritemplate import Template
from tests.support.patience import WAIT
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted import ScriptedPeer
from tests.support.serving import assert_masked

every_revision = pytest.mark.parametrize("revision", HANDSHAKE)
every_tree = pytest.mark.parametrize("tree", [DescriptorTree, PathTree], ids=["by descriptors", "by paths"])
BASE = "file:///served/"
SECRET = "what nobody may see"
LONG = "n" * 300


@pytest.fixture
def folder(tmp_path):
    """A folder with files, and outside and in between what must not be reached."""
    inside = tmp_path / "served"
    (inside / "docs" / "deep").mkdir(parents=True)
    (inside / "a.txt").write_bytes("h\u00e9llo\r\n".encode("utf-8"))
    (inside / "docs" / "b.md").write_bytes(b"# b")
    (inside / "docs" / "deep" / "c d#?%41.png").write_bytes(b"\x89PNG\xff\0")
    (inside / "\u00fc\u4e2d.json").write_bytes(b"{}")
    (inside / "noext").write_bytes(b"plain")
    (inside / "data.bin").write_bytes(b"abc\0")
    (inside / "latin1.txt").write_bytes(b"\xe9")
    (inside / "empty.txt").write_bytes(b"")
    (inside / ".hidden").write_text(SECRET)
    (inside / ".git").mkdir()
    (inside / ".git" / "config").write_text(SECRET)
    (inside / "docs" / ".env").write_text(SECRET)
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "served-too").mkdir()
    (tmp_path / "served-too" / "secret.txt").write_text(SECRET)
    return inside


@pytest.fixture
def linked(folder):
    """The same with symbolic links, inside and out, and with files that are none."""
    outside = folder.parent
    for name, target in {
        "link.txt": outside / "secret.txt", "linkdir": outside, "inner.txt": folder / "a.txt",
        "innerdir": folder / "docs", "relative.txt": "../secret.txt", "dangling": "nowhere", "loop": "loop",
        "absolute": "/", "dot": ".", "up": "..",
        "docs/link": outside / "secret.txt", "tohidden": ".hidden",
    }.items():
        (folder / name).symlink_to(target)
    os.mkfifo(str(folder / "fifo"))
    with socket.socket(socket.AF_UNIX) as listening, in_folder(folder):
        listening.bind("socket")
    return folder


@contextlib.contextmanager
def in_folder(path):
    """A Unix socket has a short name only from within."""
    before = os.getcwd()
    os.chdir(str(path))
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def talk(server, revision="2025-11-25"):
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake(revision)
        peer.barrier("ready")
        yield peer


def serving(path, tree=DescriptorTree, **options):
    """A server of this folder, and what it serves."""
    server = Server("files")
    served = server.directory(path, **dict({"uri": BASE}, **options))
    served.tree = tree(served.tree.root)
    return server


def read(peer, uri):
    return peer.call("read %d" % len(peer.seen), "resources/read", {"uri": uri})


def listed(peer, **params):
    """All pages of the list: resources by URI, and how many pages there were."""
    found, pages, cursor = {}, 0, None
    while pages == 0 or cursor is not None:
        pages += 1
        sent = params if cursor is None else dict(params, cursor=cursor)
        page = peer.call("list %d" % len(peer.seen), "resources/list", sent)["result"]
        for resource in page["resources"]:
            assert resource["uri"] not in found, "listed twice"
            found[resource["uri"]] = resource
        cursor = page.get("nextCursor")
    return found, pages


FILES = ["a.txt", "data.bin", "docs/b.md", "docs/deep/c%20d%23%3F%2541.png", "empty.txt", "latin1.txt", "noext",
         "%C3%BC%E4%B8%AD.json"]


# -- What is served ----------------------------------------------------------------------------------------------------

@every_revision
@every_tree
def test_files_are_listed_with_what_is_known_of_them(tree, revision, linked):
    """[.. server/resources §file://]"""
    os.utime(str(linked / "a.txt"), (1736694058, 1736694058))
    os.utime(str(linked / "noext"), (-5, -5))
    given = Annotations(["user"], 0.25)
    with talk(serving(linked, tree, description="A file.", annotations=given), revision) as peer:
        found, pages = listed(peer)
    assert list(found) == [BASE + name for name in FILES] and pages == 1
    annotations = {"audience": ["user"], "priority": 0.25}
    if revision >= "2025-06-18":
        annotations["lastModified"] = "2025-01-12T15:00:58Z"
    assert found[BASE + "a.txt"] == {"uri": BASE + "a.txt", "name": "a.txt", "description": "A file.",
                                     "mimeType": "text/plain", "size": 8, "annotations": annotations}
    assert "mimeType" not in found[BASE + "noext"] and "lastModified" not in found[BASE + "noext"]["annotations"]
    deep = found[BASE + "docs/deep/c%20d%23%3F%2541.png"]
    assert (deep["name"], deep["mimeType"]) == ("docs/deep/c d#?%41.png", "image/png")
    assert found[BASE + "%C3%BC%E4%B8%AD.json"]["name"] == "\u00fc\u4e2d.json"


@every_revision
@every_tree
def test_what_is_listed_can_be_read_as_text_or_as_binary(tree, revision, linked):
    """[.. server/resources §Reading Resources]"""
    texts = {"a.txt": "h\u00e9llo\r\n", "docs/b.md": "# b", "empty.txt": "", "noext": "plain",
             "%C3%BC%E4%B8%AD.json": "{}"}
    with talk(serving(linked, tree), revision) as peer:
        for uri in listed(peer)[0]:
            contents, = read(peer, uri)["result"]["contents"]
            name = uri[len(BASE):]
            assert contents["uri"] == uri and contents.get("text") == texts.get(name), name
        assert read(peer, BASE + "noext")["result"]["contents"][0]["mimeType"] == "text/plain"
        assert read(peer, BASE + "latin1.txt")["result"]["contents"][0] == {
            "uri": BASE + "latin1.txt", "blob": "6Q==", "mimeType": "text/plain"}
        for name, data in [("data.bin", b"abc\0"), ("docs/deep/c%20d%23%3F%2541.png", b"\x89PNG\xff\0")]:
            contents, = read(peer, BASE + name)["result"]["contents"]
            assert base64.b64decode(contents["blob"]) == data


OTHER_SPELLINGS = ["%61.txt", "a%2Etxt", "a%2etxt", "%61%2E%74%78%74", "docs/%62.md", "%64ocs/b.md", "docs/b%2Emd",
                   "docs/deep/c%20d%23%3f%2541.png", "docs/deep/c%20%64%23%3F%2541.png", "%c3%bc%E4%B8%AD.json",
                   "%C3%BC%e4%b8%ad.json", "note%2dbook", "note%5Fbook", "note%7Ebook"]


@every_revision
@every_tree
def test_each_file_has_the_one_spelling_of_the_list(tree, revision, folder):
    """[RFC 3986 §6.2.2] Equivalent spellings are refused, for whoever grants access by URI compares texts."""
    for name in ["note-book", "note_book", "note~book"]:
        (folder / name).write_text("x")
    with talk(serving(folder, tree), revision) as peer:
        for other in OTHER_SPELLINGS:
            uri = BASE + other
            nothing = {"code": -32002, "message": "Resource not found", "data": {"uri": uri}}
            assert read(peer, uri).get("error") == nothing, other
        assert len(listed(peer)[0]) == len(FILES) + 3
        assert all("result" in read(peer, uri) for uri in listed(peer)[0])


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25"])
def test_nobody_subscribes_to_another_spelling(revision, folder):
    server = serving(folder)
    with talk(server, revision) as peer:
        folders = ["%64ocs/", "docs%2F", "docs//", "docs/deep%2F", "/", "docs/../"]
        for path in OTHER_SPELLINGS + folders + ["a.txt?", "a.txt#"]:
            answer = peer.call(path, "resources/subscribe", {"uri": BASE + path})
            assert answer["error"]["code"] == -32002, path
        for path in ["", "a.txt", "docs/", "docs", "docs/b.md", "nothing.txt", "%C3%BC%E4%B8%AD.json"]:
            assert peer.call("+" + path, "resources/subscribe", {"uri": BASE + path}).get("result") == {}, path


def test_another_spelling_is_not_read_by_a_wider_template(folder):
    """Not found is the last word: a template after the directory gets nothing of it."""
    server, asked = serving(folder, listed=False), []

    @server.resource("file:///{+path}")
    def anything(path):
        asked.append(path)
        return "wide"

    with talk(server) as peer:
        assert "error" in read(peer, BASE + "%61.txt") and asked == []
        assert read(peer, "file:///elsewhere/%61.txt")["result"]["contents"][0]["text"] == "wide"


@pytest.mark.parametrize("name, typed", [("a+b(1).txt", "a+b"), ("x;y=1,2.txt", "x;"), ("m@h[1]!.txt", "m@"),
                                         ("it's $5 & more.txt", "it"), ("n:m*.txt", "n%3A")])
def test_what_a_path_completes_to_expands_to_the_one_spelling(name, typed, tmp_path):
    """Expansion leaves reserved characters alone [RFC 6570 §3.2.3]."""
    (tmp_path / name).write_text("here")
    (tmp_path / "other").write_text("")
    with talk(serving(tmp_path, listed=False)) as peer:
        argument = {"name": "path", "value": typed}
        params = {"ref": {"type": "ref/resource", "uri": BASE + "{+path}"}, "argument": argument}
        value, = peer.call(1, "completion/complete", params)["result"]["completion"]["values"]
        uri = Template(BASE + "{+path}").expand({"path": value})
        assert read(peer, uri)["result"]["contents"][0]["text"] == "here"


@pytest.mark.parametrize("data, name, is_text", [
    (b"<svg/>", "a.svg", True), (b"GIF89a", "a.gif", False), (b"", "a.png", False), (b"ID3", "a.mp3", False),
    (b"\xef\xbb\xbfx", "a.txt", True), (b"\xff\xfex\0", "a.txt", False), (b"%PDF-1.4", "a.pdf", True),
    (b"x", "a.tar.gz", True), ("\U0001f600".encode(), "a", True), (b"\xed\xa0\x80", "a", False), (b"\0", "a", False),
])
def test_text_is_utf_8_without_null_and_no_picture(data, name, is_text, tmp_path):
    (tmp_path / name).write_bytes(data)
    with talk(serving(tmp_path)) as peer:
        contents, = read(peer, BASE + name)["result"]["contents"]
    assert ("text" in contents) is is_text
    assert (contents["text"].encode("utf-8") if is_text else base64.b64decode(contents["blob"])) == data


@pytest.mark.parametrize("name, kind", [
    ("a.txt", "text/plain"), ("a.TXT", "text/plain"), ("a", None), ("a.nothing", None), (".json", None),
    ("a.tar.gz", "application/gzip"), ("a.xz", "application/x-xz"), ("data:image,x.png", "image/png"),
    ("http:x.html", "text/html"), ("a.b.json", "application/json"),
])
def test_types_come_from_endings(name, kind):
    assert mime_type_of(name) == kind


# -- What is not -------------------------------------------------------------------------------------------------------

ATTACKS = [
    # up
    "../secret.txt", "../served-too/secret.txt", "docs/../../secret.txt", "docs/../a.txt", "./a.txt", "docs/./b.md",
    "..", ".", "docs/..", "docs/.", "a.txt/..", "a.txt/../a.txt", ".../secret.txt", "....//secret.txt",
    "..;/secret.txt",
    # up, encoded
    "%2e%2e/secret.txt", "%2E%2E/secret.txt", ".%2e/secret.txt", "%2e./secret.txt", "%2e%2e%2fsecret.txt",
    "..%2fsecret.txt", "..%2Fsecret.txt", "docs/%2e%2e/%2e%2e/secret.txt", "%2e/a.txt", "docs%2fb.md", "docs%2Fb.md",
    "%252e%252e/secret.txt", "%252e%252e%252fsecret.txt", "..%252fsecret.txt", "%c0%ae%c0%ae/secret.txt",
    "%c0%ae%c0%ae%c0%afsecret.txt", "%e0%80%ae%e0%80%ae/secret.txt", "%ef%bc%8e%ef%bc%8e/secret.txt",
    "..%c0%afsecret.txt", "%25u002e%25u002e/secret.txt", "%e2%80%a5/secret.txt",
    # backslashes, drives, shares, streams, devices
    "..%5csecret.txt", "..%5Csecret.txt", "%2e%2e%5c%2e%2e%5csecret.txt", "docs%5cb.md", "C:/windows/win.ini",
    "C:%5cwindows%5cwin.ini", "c%3a/windows/win.ini", "%5c%5cserver%5cshare%5cx", "//server/share/x", "a.txt::$DATA",
    "a.txt:stream", "a.txt%3a%3a$DATA", "a.txt.", "a.txt%20", "a.txt...", "NUL", "CON", "COM1", "nul.txt", "AUX.txt",
    "DOCS~1/b.md", "%5c%5c%3f%5cC:%5cx", "%5c%5c.%5cpipe%5cx",
    # absolute
    "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "%2Fetc/passwd", "~/secret.txt", "~root/x", "$HOME/x",
    "%24HOME/x",
    # null and other controls
    "a.txt%00", "a.txt%00.png", "%00", "%00a.txt", "docs%00/b.md", "a.txt%0a", "%0d%0aa.txt", "a.txt%7f", "%1ba.txt",
    "a%09.txt", "a.txt%ff", "%ff%fe", "%80",
    # empty names, folders, queries, fragments
    "", "/", "docs", "docs/", "docs//b.md", "//a.txt", "a.txt/", "a.txt//", "a.txt/x", "a.txt?", "a.txt?x=1", "a.txt#",
    "a.txt#top", "?", "#", "?a.txt", "docs/deep/c%20d#?%41.png",
    # hidden
    ".hidden", "%2ehidden", "%2Ehidden", ".git/config", ".git", "%2egit/config", ".git/", "docs/.env", "docs/%2eenv",
    ".hidden/", "docs/../.hidden",
    # cases, patterns and lengths
    "A.TXT", "DOCS/B.MD", "Docs/b.md", "*", "*.txt", "a.*", "?.txt", "%5Ba%5D.txt",
    "docs/deep/c%20d#?%2541.png", "docs/deep/c%20d%23?%2541.png",
    LONG, "docs/" + LONG, "/".join(["docs"] * 500), "d/" * 3000 + "x", "../" * 200 + "etc/passwd",
]
LINKS = ["link.txt", "linkdir/secret.txt", "linkdir/served/a.txt", "inner.txt", "innerdir/b.md", "relative.txt",
         "dangling", "loop", "loop/x", "absolute/etc/passwd", "dot/a.txt", "dot/dot/dot/a.txt", "up/secret.txt",
         "docs/link", "tohidden", "linkdir", "linkdir/", "fifo", "socket", "fifo/", "fifo/x"]
ELSEWHERE = ["file:///served", "file:///served-too/secret.txt", "file:///", "file:///serve", "file:///served%2Fa.txt",
             "file:///served%2fa.txt", "file:///x/../served/a.txt", "file://localhost/served/a.txt",
             "FILE:///served/a.txt", "File:///served/a.txt", "file:///Served/a.txt", "file:/served/a.txt",
             "file:served/a.txt", "file:////served/a.txt", "file:///%73erved/a.txt", "file://host/served/a.txt",
             "file:///served;/a.txt", "http:///served/a.txt", "file:///served?a.txt", "file:///served:a.txt"]


def reached(peer, paths):
    """Those of these paths that are not answered like a file that is not there."""
    found = []
    for uri in [BASE + path for path in paths]:
        nothing = {"code": -32002, "message": "Resource not found", "data": {"uri": uri}}
        if read(peer, uri).get("error") != nothing:
            found.append(uri)
    return found


@every_tree
@every_revision
def test_no_other_spelling_reaches_anything(revision, tree, folder):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    with talk(serving(folder, tree), revision) as peer:
        assert reached(peer, ATTACKS) == [] and reached(peer, ["a.txt"]) == [BASE + "a.txt"]


@every_tree
@pytest.mark.time_limit(10)
def test_links_and_what_is_no_file_are_not_there(tree, linked):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    with talk(serving(linked, tree, hidden=True)) as peer:
        assert reached(peer, LINKS) == [] and reached(peer, [".hidden"]) == [BASE + ".hidden"]


@every_tree
def test_other_uris_are_not_the_directorys(tree, folder):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    with talk(serving(folder, tree)) as peer:
        for uri in ELSEWHERE:
            assert read(peer, uri)["error"]["code"] == -32002, uri


@every_revision
def test_the_answer_does_not_tell_whether_something_is_there(revision, linked):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    there = ["../secret.txt", "%2e%2e/secret.txt", "link.txt", ".hidden", "docs", "fifo", "linkdir/secret.txt", "docs/"]
    nowhere = ["../nothing.txt", "%2e%2e/nothing.txt", "lin.txt", ".hiddes", "socs", "fif", "linkdir/nothing.txt",
               "ducs/"]
    if os.getuid() != 0:
        (linked / "noext").chmod(0)
        there, nowhere = there + ["noext"], nowhere + ["noexs"]
    with talk(serving(linked), revision) as peer:
        for one, other in zip(there, nowhere):
            first, second = read(peer, BASE + one)["error"], read(peer, BASE + other)["error"]
            assert dict(first, data={"uri": BASE + other}) == second


@every_tree
def test_what_is_no_file_is_not_even_opened(tree, linked, monkeypatch):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    really, opened = os.open, []

    def note(name, *arguments, **options):
        opened.append(os.path.basename(str(name)))
        return really(name, *arguments, **options)

    with talk(serving(linked, tree)) as peer:
        monkeypatch.setattr(safefiles.os, "open", note)
        assert reached(peer, ["link.txt", "fifo", "socket", "dangling", "inner.txt", "docs/link", "docs"]) == []
        assert "result" in read(peer, BASE + "a.txt")
        monkeypatch.undo()
    assert set(opened) <= {"served", "docs", "a.txt"} and "a.txt" in opened


@every_tree
def test_names_that_mean_more_elsewhere_are_not_there(tree, folder):
    """A backslash is a separator on other platforms, and control characters end up in logs and headers."""
    for name in ["back\\slash", "line\nfeed", "tab\t", "delete\x7f"]:
        (folder / name).write_text(SECRET)
    (folder / "docs" / "a\\b").mkdir()
    (folder / "docs" / "a\\b" / "c").write_text(SECRET)
    with talk(serving(folder, tree)) as peer:
        assert [uri[len(BASE):] for uri in listed(peer)[0]] == FILES
        assert reached(peer, ["back%5Cslash", "line%0Afeed", "tab%09", "delete%7F", "docs/a%5Cb/c"]) == []


@every_tree
def test_a_tree_takes_names_and_no_paths(tree, folder):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    made = tree(str(folder))
    for parts in [("docs/b.md",), ("..", "secret.txt"), ("docs", "..", "a.txt"), (".", "a.txt"), ("", "a.txt"), ("..",),
                  ("docs", "../a.txt"), (str(folder / "a.txt"),), ("docs", ""), ("a\\b",), ("docs", "\0")]:
        with pytest.raises(Missing):
            made.read(parts, 1000)
        with pytest.raises(Missing):
            made.entries(parts)
    assert made.read(("docs", "b.md"), 1000) == b"# b" and not any(map(safefiles.is_name, ["", ".", "..", "a/b", "\0"]))


def test_another_spelling_that_the_system_would_take_is_not_there(folder, monkeypatch):
    """As on systems where case does not count: what is in no listing has no file."""
    def lower(function):
        return lambda path, *arguments, **options: function(
            os.path.join(os.path.dirname(path), os.path.basename(path).lower()), *arguments, **options)

    tree = PathTree(str(folder))
    for name in ["lstat", "open"]:
        monkeypatch.setattr(safefiles.os, name, lower(getattr(os, name)))
    monkeypatch.setattr(safefiles.os.path, "realpath", lambda path: path)
    assert tree.read(("a.txt",), 100) == "h\u00e9llo\r\n".encode("utf-8")
    for parts in [("A.TXT",), ("DOCS", "b.md"), ("docs", "B.MD")]:
        with pytest.raises(Missing):
            tree.read(parts, 100)


@pytest.mark.parametrize("number", [13, 1])
def test_a_file_that_may_not_be_opened_is_not_there(number, folder, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(number, "secret words")

    with talk(serving(folder)) as peer:
        monkeypatch.setattr(safefiles.os, "open", refuse)
        error = read(peer, BASE + "a.txt")["error"]
        monkeypatch.undo()
        assert error["code"] == -32002 and "secret" not in str(error)


@every_tree
@pytest.mark.parametrize("number", [24, 5])
def test_a_failing_system_is_an_internal_error_without_its_text(number, tree, folder, monkeypatch):
    """[.. server/resources §Error Handling] SHOULD"""
    def fail(*arguments, **options):
        raise OSError(number, "secret words")

    server = serving(folder, tree)
    server.mask_errors = True
    with talk(server) as peer:
        monkeypatch.setattr(safefiles.os, "open", fail)
        error = read(peer, BASE + "a.txt")["error"]
        monkeypatch.undo()
        assert_masked(error)


@every_tree
@pytest.mark.parametrize("path, swap", [
    ("a.txt", "a.txt"), ("docs/b.md", "docs/b.md"), ("docs/b.md", "docs"), ("docs/deep/x.txt", "docs"),
    ("docs/deep/x.txt", "docs/deep"),
])
def test_a_link_put_in_place_between_check_and_open_is_not_followed(path, swap, tree, folder, monkeypatch):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    (folder / "docs" / "deep" / "x.txt").write_text("x")
    outside = folder.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    for name in ["a.txt", "b.md", "x.txt", "deep/x.txt"]:
        (outside / name).write_text(SECRET)
    target = {"a.txt": "a.txt", "docs/b.md": "b.md", "docs": "", "docs/deep": "deep"}[swap]
    really, swapped = os.open, []

    def swap_then_open(name, flags, *arguments, **options):
        if os.path.basename(str(name)) == os.path.basename(path if tree is PathTree else swap) and not swapped:
            swapped.append(name)
            os.rename(str(folder / swap), str(folder.parent / "away"))
            (folder / swap).symlink_to(outside / target)
        return really(name, flags, *arguments, **options)

    with talk(serving(folder, tree)) as peer:
        monkeypatch.setattr(safefiles.os, "open", swap_then_open)
        error = read(peer, BASE + path).get("error")
        monkeypatch.undo()
        assert swapped and error is not None and error["code"] == -32002


def test_a_link_put_in_place_and_taken_away_again_is_noticed(folder, monkeypatch):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "b.md").write_text(SECRET)
    really, docs, away = os.open, folder / "docs", folder.parent / "away"

    def swap_around_open(name, *arguments, **options):
        os.rename(str(docs), str(away))
        docs.symlink_to(outside)
        try:
            return really(name, *arguments, **options)
        finally:
            docs.unlink()
            os.rename(str(away), str(docs))

    tree = PathTree(str(folder))
    monkeypatch.setattr(safefiles.os, "open", swap_around_open)
    with pytest.raises(Missing):
        tree.read(("docs", "b.md"), 100)
    monkeypatch.undo()
    assert tree.read(("docs", "b.md"), 100) == b"# b"


@every_tree
@pytest.mark.time_limit(10)
def test_a_fifo_put_in_place_between_check_and_open_does_not_block(tree, folder, monkeypatch):
    really, swapped = os.open, []

    def swap_then_open(name, flags, *arguments, **options):
        if str(name).endswith("a.txt"):
            swapped.append(name)
            os.unlink(str(folder / "a.txt"))
            os.mkfifo(str(folder / "a.txt"))
        return really(name, flags, *arguments, **options)

    with talk(serving(folder, tree)) as peer:
        monkeypatch.setattr(safefiles.os, "open", swap_then_open)
        error = read(peer, BASE + "a.txt")["error"]
        monkeypatch.undo()
        assert swapped and error["code"] == -32002


@every_tree
def test_a_root_that_is_replaced_by_a_link_or_removed_serves_nothing(tree, folder):
    server = serving(folder, tree)
    with talk(server) as peer:
        os.rename(str(folder), str(folder.parent / "away"))
        assert read(peer, BASE + "a.txt")["error"]["code"] == -32002 and listed(peer)[0] == {}
        folder.symlink_to(folder.parent / "away")
        assert read(peer, BASE + "a.txt")["error"]["code"] == -32002
        assert listed(peer)[0] == {}


# -- Sizes -------------------------------------------------------------------------------------------------------------

@every_tree
@every_revision
def test_a_file_that_is_too_large_is_refused_by_the_name_of_the_option(revision, tree, tmp_path):
    for size in [99, 100, 101]:
        (tmp_path / str(size)).write_bytes(b"x" * size)
    with talk(serving(tmp_path, tree, max_bytes=100), revision) as peer:
        assert len(read(peer, BASE + "99")["result"]["contents"][0]["text"]) == 99
        assert len(read(peer, BASE + "100")["result"]["contents"][0]["text"]) == 100
        error = read(peer, BASE + "101")["error"]
        assert error["code"] == -32603 and "max_bytes (100)" in error["message"]
        assert error["data"] == {"uri": BASE + "101"}
        assert sorted(listed(peer)[0]) == [BASE + "100", BASE + "101", BASE + "99"]


def test_a_file_that_grows_while_it_is_read_is_not_read_further(tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes(b"x")
    monkeypatch.setattr(safefiles.os, "read", lambda fd, size: b"y" * size)
    with pytest.raises(TooLarge):
        DescriptorTree(str(tmp_path)).read(("log",), 5_000_000)


@every_tree
def test_a_file_that_says_it_is_too_large_is_not_read_at_all(tree, tmp_path, monkeypatch):
    with open(str(tmp_path / "sparse"), "wb") as file:
        file.truncate(1 << 40)
    monkeypatch.setattr(safefiles.os, "read", lambda fd, size: pytest.fail("read"))
    with pytest.raises(TooLarge):
        tree(str(tmp_path)).read(("sparse",), 1 << 30)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no files of a kernel here")
def test_files_of_a_kernel_have_no_size_and_are_read_to_their_end():
    tree = DescriptorTree(os.path.realpath("/proc/self"))
    assert b"Name:" in tree.read(("status",), 100_000)
    with pytest.raises(TooLarge):
        tree.read(("status",), 10)


# -- Patterns ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("pattern, fits, others, entered, closed", [
    ("**", ["a", "a/b", "a/b/c"], [], ["a", "a/b"], []),
    ("*", ["a", "a.md"], ["a/b"], [], ["a"]),
    ("*.md", ["a.md", ".md"], ["a.MD", "a.txt", "a/b.md", "a.md/x"], [], ["a", "a.md"]),
    ("**/*.md", ["a.md", "a/b.md", "a/b/c.md"], ["a.txt", "a.md/b"], ["a", "a/b"], []),
    ("docs/**", ["docs/a", "docs/a/b"], ["other", "a/docs/b", "Docs/a"], ["docs", "docs/a"], ["a", "DOCS"]),
    ("docs/*", ["docs/a"], ["docs/a/b", "docs"], ["docs"], ["docs/a", "a"]),
    ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/b/x", "b"], ["a", "a/x", "a/b"], ["b"]),
    ("**/x/**/y", ["x/y", "a/x/y", "x/a/y", "a/x/b/x/c/y"], ["y", "x", "y/x"], ["a", "x", "a/x"], []),
    ("**/**", ["a", "a/b"], [], ["a"], []),
    ("[ab]?", ["ax", "bb"], ["c1", "a", "a/x"], [], ["ax"]),
    ("a.txt", ["a.txt"], ["a.txtx", "b/a.txt", "aXtxt"], [], ["a.txt"]),
])
def test_patterns(pattern, fits, others, entered, closed):
    made = PathPattern(pattern)
    assert [path for path in fits + others if made.matches(tuple(path.split("/")))] == fits
    assert [path for path in entered + closed if made.leads_on(tuple(path.split("/")))] == entered


def test_a_pattern_of_many_stars_costs_little():
    made = PathPattern("/".join(["**", "a"] * 200) + "/b")
    assert not made.matches(("a",) * 60) and made.leads_on(("a",) * 60)


@every_tree
def test_what_does_not_fit_the_pattern_is_neither_listed_nor_read(tree, folder):
    with talk(serving(folder, tree, pattern="docs/**")) as peer:
        assert list(listed(peer)[0]) == [BASE + "docs/b.md", BASE + "docs/deep/c%20d%23%3F%2541.png"]
        assert "result" in read(peer, BASE + "docs/b.md")
        for path in ["a.txt", "noext", "docs/../a.txt", "docs/.env"]:
            assert read(peer, BASE + path)["error"]["code"] == -32002


@every_tree
def test_hidden_files_are_served_where_that_is_asked_for(tree, folder):
    with talk(serving(folder, tree, hidden=True)) as peer:
        found = list(listed(peer)[0])
        assert [uri[len(BASE):] for uri in found if "/." in uri] == [".git/config", ".hidden", "docs/.env"]
        assert "result" in read(peer, BASE + ".git/config")
        shown = re.compile(r"(^|/)(%2e|\.)(hidden|git/config|env)$", re.IGNORECASE)
        assert reached(peer, [path for path in ATTACKS if not shown.search(path) or "../" in path]) == []


# -- The list ----------------------------------------------------------------------------------------------------------

@every_tree
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000, None])
def test_pages_show_registered_resources_first_and_every_entry_once(size, tree, linked):
    """[.. server/resources §Listing Resources]"""
    server = Server("files", page_size=size)
    for number in range(3):
        server.resources.add_fixed("", "x://%d" % number)
    server.resources.add_fixed("instead", BASE + "docs/b.md")
    for uri in [BASE, "other:///"]:
        made = server.directory(linked, uri=uri)
        made.tree = tree(made.tree.root)
    with talk(server) as peer:
        found, pages = listed(peer)
        assert read(peer, BASE + "docs/b.md")["result"]["contents"][0]["text"] == "instead"
    wanted = ["x://0", "x://1", "x://2", BASE + "docs/b.md"]
    wanted += [BASE + name for name in FILES if name != "docs/b.md"] + ["other:///" + name for name in FILES]
    assert list(found) == wanted and pages >= (1 if size is None else len(wanted) / size)


@every_tree
def test_a_list_is_as_the_folder_is_at_that_moment(tree, folder):
    server = serving(folder, tree)
    server.resources._paging = Paging(2)
    with talk(server) as peer:
        assert len(listed(peer)[0]) == len(FILES)
        (folder / "new.txt").write_text("new")
        (folder / "a.txt").unlink()
        found = listed(peer)[0]
        assert BASE + "new.txt" in found and BASE + "a.txt" not in found and len(found) == len(FILES)


@every_tree
def test_pages_survive_what_comes_and_goes_between_them(tree, tmp_path):
    """[.. server/utilities/pagination §Implementation Guidelines]"""
    for name in ["a", "b", "c", "e", "f"]:
        (tmp_path / name).write_text("")
    server = Server("files", page_size=2)
    made = server.directory(tmp_path, uri=BASE)
    made.tree = tree(made.tree.root)

    def page(cursor):
        params = {"cursor": cursor} if cursor else {}
        result = peer.call("page %d" % len(peer.seen), "resources/list", params)["result"]
        return [each["name"] for each in result["resources"]], result.get("nextCursor")

    with talk(server) as peer:
        names, cursor = page(None)
        assert names == ["a", "b"]
        (tmp_path / "b").unlink()                     # the one the cursor stands on
        (tmp_path / "aa").write_text("")              # before it: not shown any more
        (tmp_path / "d").write_text("")               # behind it
        names, cursor = page(cursor)
        assert names == ["c", "d"]
        (tmp_path / "d").unlink()
        (tmp_path / "d").mkdir()                      # a folder where the file was
        (tmp_path / "d" / "x").write_text("")
        assert page(cursor)[0] == ["d/x", "e"]


@every_tree
def test_a_page_looks_at_so_many_entries_and_no_more(tree, tmp_path, monkeypatch):
    for number in range(25):
        (tmp_path / ("n%02d" % number)).mkdir()
        (tmp_path / ("n%02d" % number) / "skip.txt").write_text("")
    (tmp_path / "z.md").write_text("")
    monkeypatch.setattr(directories, "LOOKED_AT", 10)
    with talk(serving(tmp_path, tree, pattern="**/*.md")) as peer:
        found, pages = listed(peer)
    assert list(found) == [BASE + "z.md"] and pages == 6


@every_tree
def test_a_very_deep_folder_is_listed_as_far_as_it_goes_and_holds_nothing_open(tree, tmp_path):
    deep = tmp_path
    for _ in range(70):
        deep = deep / "d"
        deep.mkdir()
        (deep / "f").write_text("")
    with talk(serving(tmp_path, tree)) as peer:
        found = list(listed(peer)[0])
        assert len(found) == safefiles.MAX_FOLDERS
        longest = max(found, key=len)
        assert "result" in read(peer, longest)
        assert read(peer, longest[:-1] + "d/f")["error"]["code"] == -32002


FOREIGN = ["", "x", "\u00e9", "AAAA", "ZmlsZXM", "ZmlsZXMg=", base64.urlsafe_b64encode(b"files nowhere:///x").decode(),
           base64.urlsafe_b64encode(b"files \xff").decode(), base64.urlsafe_b64encode(b"files  ").decode(),
           base64.urlsafe_b64encode(b"resources 99 00000000").decode(), "Z" * 100_000]


@pytest.mark.parametrize("cursor", FOREIGN, ids=range(len(FOREIGN)))
def test_a_foreign_cursor_is_refused(cursor, folder):
    """[.. server/utilities/pagination §Error Handling] SHOULD"""
    with talk(serving(folder)) as peer:
        error = peer.call(1, "resources/list", {"cursor": cursor})["error"]
        assert error["code"] == -32602 and "Invalid cursor" in error["message"]


@pytest.mark.parametrize("path", [
    "../../../etc/", "%2e%2e/secret", "..", "%00", "%ff", "docs/../..", "/etc/passwd", "?", "#"])
def test_a_cursor_made_up_shows_nothing_but_what_is_listed_anyway(path, folder):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    cursor = base64.urlsafe_b64encode(("files " + BASE + path).encode()).decode()
    with talk(serving(folder)) as peer:
        answer = peer.call(1, "resources/list", {"cursor": cursor})
        shown = [each["uri"] for each in answer.get("result", {"resources": []})["resources"]]
        assert set(shown) <= {BASE + name for name in FILES}


# -- As a template -----------------------------------------------------------------------------------------------------

@every_revision
@every_tree
def test_a_directory_of_many_files_is_a_template_whose_path_completes(tree, revision, linked):
    """[.. server/resources §Resource Templates]"""
    server = serving(linked, tree, listed=False, name="files", title="Files", description="All of them.",
                     annotations=Annotations(priority=1))
    ref = {"type": "ref/resource", "uri": BASE + "{+path}"}

    def complete(value):
        params = {"ref": ref, "argument": {"name": "path", "value": value}}
        return peer.call("c%d" % len(peer.seen), "completion/complete", params)["result"]["completion"]["values"]

    with talk(server, revision) as peer:
        assert peer.call(1, "resources/list")["result"] == {"resources": []}
        template, = peer.call(2, "resources/templates/list")["result"]["resourceTemplates"]
        assert (template["uriTemplate"], template["name"], template["description"], template["annotations"]) == (
            BASE + "{+path}", "files", "All of them.", {"priority": 1})
        assert "result" in read(peer, BASE + "docs/b.md")
        assert complete("") == ["a.txt", "data.bin", "docs/", "empty.txt", "latin1.txt", "noext", "\u00fc\u4e2d.json"]
        assert complete("d") == ["data.bin", "docs/"] and complete("docs/") == ["docs/b.md", "docs/deep/"]
        assert complete("docs/deep/") == complete("docs/deep/c d%23%3F%25") == ["docs/deep/c d%23%3F%2541.png"]
        for value in ["x", "../", "..", "/", "//", ".", ".h", ".git/", "linkdir/", "innerdir/", "docs/../", "fifo",
                      "up/", "%2e%2e/", "/etc/", "docs/.", "docs\\", "\x00/", "%00/", "%ff/", LONG * 9 + "/", "x//"]:
            assert complete(value) == [], value


def test_a_name_that_is_no_utf_8_is_listed_and_read_but_not_suggested(tmp_path):
    name = b"\xff\xe9.txt"
    try:
        with open(os.path.join(os.fsencode(str(tmp_path)), name), "wb") as file:
            file.write(b"here")
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    with talk(serving(tmp_path)) as peer:
        (uri, resource), = listed(peer)[0].items()
        assert uri == BASE + "%FF%E9.txt" and resource["name"] == "??.txt"
        assert read(peer, uri)["result"]["contents"][0]["text"] == "here"
    assert list(Directory(tmp_path).choices("path", "")) == []


# -- Registration ------------------------------------------------------------------------------------------------------

def test_the_uri_is_that_of_the_real_folder_unless_another_is_given(folder, tmp_path):
    os.symlink(str(folder), str(tmp_path / "a link"))
    assert Directory(tmp_path / "a link").uri == folder.resolve().as_uri() + "/"
    spaced = tmp_path / "a b#{c}"
    spaced.mkdir()
    assert Directory(str(spaced)).uri.endswith("/a%20b%23%7Bc%7D/") and Directory("/").uri == "file:///"
    assert Directory(folder, uri="my+docs://here/").template == "my+docs://here/{+path}"


@pytest.mark.parametrize("options, words", [
    ({"uri": "file:///x"}, "ends with a slash"), ({"uri": "file:///x/?"}, "ends with a slash"),
    ({"uri": "file:///?/"}, "ends with a slash"), ({"uri": "file:///#/"}, "ends with a slash"),
    ({"uri": "docs/"}, "URI"), ({"uri": "file:///a b/"}, "URI"), ({"uri": ""}, "URI"), ({"uri": "x://{a}/"}, "URI"),
    ({"pattern": ""}, "pattern"), ({"pattern": "/a"}, "pattern"), ({"pattern": "../*"}, "pattern"),
    ({"pattern": "a//b"}, "pattern"), ({"pattern": "a/"}, "pattern"), ({"pattern": "./*"}, "pattern"),
    ({"annotations": Annotations(priority=2)}, "priority"),
])
def test_wrong_options_are_told_at_once(options, words, folder):
    with pytest.raises(ValueError) as caught:
        Server("x").directory(folder, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("path", ["nowhere", "a.txt", "\0"])
def test_a_folder_that_is_none_is_told_at_once(path, folder):
    with pytest.raises(ValueError):
        Server("x").directory(str(folder / path) if path != "\0" else path)


@pytest.mark.parametrize("listed", [True, False])
def test_a_uri_is_taken_once(listed, folder):
    server = Server("x")
    server.directory(folder, listed=listed)
    with pytest.raises(ValueError, match="already"):
        server.directory(folder, listed=listed)


@pytest.mark.parametrize("first, second", [("file:///d/", "file:///d/docs/"), ("file:///d/docs/", "file:///d/")])
def test_a_folder_and_one_inside_it_are_not_both_listed(first, second, folder):
    """A cursor is a place among all files, so where a file is listed twice the list would have no end."""
    server = Server("x")
    server.directory(folder, uri=first)
    with pytest.raises(ValueError, match="overlaps it"):
        server.directory(folder, uri=second)
    server.directory(folder, uri=second, listed=False)
    server.directory(folder, uri="file:///docs/")


@pytest.mark.race
def test_a_folder_may_change_all_the_time_while_it_is_listed_and_read(tmp_path):
    (tmp_path / "stays").write_text("here")
    stop = threading.Event()

    def change():
        folder = tmp_path / "comes"
        while not stop.is_set():
            folder.mkdir()
            (folder / "f").write_text("f")
            (folder / "f").unlink()
            folder.rmdir()

    thread = threading.Thread(target=change, daemon=True)
    with talk(serving(tmp_path)) as peer:
        thread.start()
        try:
            for _ in range(20):
                assert BASE + "stays" in listed(peer)[0]
                assert read(peer, BASE + "comes/f").get("error", {"code": -32002})["code"] == -32002
        finally:
            stop.set()
            thread.join(WAIT)
    assert not thread.is_alive()


def test_both_trees_work_here_and_the_better_one_is_taken(folder):
    assert sys.platform == "win32" or DescriptorTree.works() and isinstance(Directory(folder).tree, DescriptorTree)
    assert DescriptorTree(str(folder)).entries(()) == PathTree(str(folder)).entries(())
    for tree in [DescriptorTree(str(folder)), PathTree(str(folder))]:
        for parts in [("nothing",), ("a.txt", "x"), ("docs",), ("\0",), ("\ud800",)]:
            with pytest.raises(Missing):
                tree.read(parts, 10)
        files = [status for _, status in tree.walk((), lambda parts: False) if status is not None]
        assert [stat.S_ISREG(status.st_mode) for status in files] == [True] * 7
