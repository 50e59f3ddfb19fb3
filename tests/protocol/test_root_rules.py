"""`file://` URIs and what lies below them: tables of paths, legal and hostile."""
import ntpath
import posixpath

import pytest

from mcp_ref.errors import LocalProtocolError
from mcp_ref.protocol.uris import check_root_uri, contains, root_path, root_uri

GOOD = [
    ("/", "file:///"), ("/disk/user", "file:///disk/user"), ("/disk/user/", "file:///disk/user"),
    ("/my project", "file:///my%20project"), ("/a//b", "file:///a/b"), ("/ü/日", "file:///%C3%BC/%E6%97%A5"),
    ("/100%", "file:///100%25"), ("/a#b?c", "file:///a%23b%3Fc"), ("/%2e%2e", "file:///%252e%252e"),
    ("/...", "file:///..."),
    ("/.hidden", "file:///.hidden"), ("/a..b", "file:///a..b"), ("/disk/c:d", "file:///disk/c:d"),
    ("/~me/(a)", "file:///~me/(a)"),
    ("C:\\", "file:///C:/"), ("C:/", "file:///C:/"), ("C:\\Users\\My Name", "file:///C:/Users/My%20Name"),
    ("d:/x/y", "file:///d:/x/y"), ("C:\\a/b\\\\c\\", "file:///C:/a/b/c"),
]


@pytest.mark.spec("roots.file-uri")
@pytest.mark.parametrize("path, uri", GOOD)
def test_a_path_becomes_a_file_uri_and_comes_back(path, uri):
    """[.. client/roots §Root] MUST"""
    assert root_uri(path) == uri and root_uri(root_path(uri)) == uri
    check_root_uri(uri)
    assert contains(uri, path) and contains(uri, uri)


BAD_PATHS = [
    "", ".", "..", "a", "a/b", "./a", "~", "/..", "/../etc", "/a/../b", "/a/..", "/a/./b", "//server/share",
    "\\\\server\\share",
    "/\\server", "\\x", "C:", "C:x", "C:..\\x", "C:\\..", "C:\\a\\..\\b", "C:\\a.\\b", "C:\\a \\b", "C:\\a:stream",
    "C:\\...",
    "\\\\?\\C:\\x", "\\\\.\\C:\\x", "/a\x00b", "/a\nb", "C:\\a\x00", "/a\\b", "/C:/x", "/c:", "/C|/x", "/\udc80",
    "file:///a", "http://a",
]


@pytest.mark.spec("roots.validate-uris")
@pytest.mark.parametrize("path", BAD_PATHS, ids=ascii)
def test_a_path_that_could_lead_elsewhere_has_no_uri(path):
    """[.. client/roots §Security Considerations] MUST"""
    with pytest.raises(ValueError, match="file:// URI"):
        root_uri(path)


BAD_URIS = [
    # not a file:// URI
    "", "/disk/user", "disk", "C:/x", "http://a/b", "https://localhost/x", "ftp://a/b", "data:,x", "javascript:x",
    "files:///a",
    "file:", "file:/", "file:/disk/user", "file:disk", "file://", "file:///a?", "file:///a?b=c", "file:///a#",
    "file:///a#b", " file:///a",
    "\nfile:///a", "urn:file:///a", "vscode-remote://x/disk", "FILE:///a", "File:///a", None, 5, b"file:///a",
    ["file:///a"],
    # another machine
    "file://server/share", "file://server", "file://disk/user", "file://127.0.0.1/a", "file://user@localhost/a",
    "file://localhost:80/a",
    "file://localhost", "file://./a", "file://../a", "file://~/a", "file://%6cocalhost/a", "file:////server/share",
    "file://///a", "file://\\server/a",
    # a way up
    "file:///..", "file:///../etc", "file:///a/..", "file:///a/../b", "file:///a/../../etc/passwd", "file:///.",
    "file:///a/./b", "file:///./a",
    "file:///%2e%2e", "file:///a/%2e%2e/b", "file:///a/%2E%2E/b", "file:///a/.%2e/b", "file:///a/%2e./b",
    "file:///a/%2e/b",
    "file:///a/..%2fb", "file:///a/%2e%2e%2fb", "file:///a/..%5cb", "file:///a/..\\b", "file:///a\\..\\b",
    "file:///a/../", "file:///C:/..",
    "file:///C:/../x", "file:///C:/a/%2e%2e/b", "file:///localhost/../a",
    # hidden slashes and other signs
    "file:///a%2fb", "file:///a%2Fb", "file:///a%5Cb", "file:///a\\b", "file:///a%00b", "file:///a%00",
    "file:///a\x00b", "file:///a%0ab",
    "file:///a\nb", "file:///a%7fb", "file:///a%1b", "file:///a//b", "file:///a//", "file:///a b", "file:///ü",
    "file:///a|b", "file:///a{b}",
    "file:///a<b", "file:///a\"b", "file:///a^b", "file:///a`b",
    # percent signs that mean nothing, and what is no UTF-8
    "file:///%", "file:///a%", "file:///a%2", "file:///a%zz", "file:///a%u002e", "file:///%c0%ae%c0%ae/b",
    "file:///a%c0%afb", "file:///%ff",
    "file:///%e0%80%af", "file:///%ed%a0%80", "file:///%f8%80%80%80%af",
    # drives
    "file://C:/x", "file://c:/x", "file:///C:x", "file:///C|/x", "file:///C%7C/x", "file:///C:/a./b",
    "file:///C:/a%20/b", "file:///C:/a.txt:stream",
    "file:///C:/.../b", "file:///C:/%2e%2e%20/b", "file:///C:\\x", "file:///C:/a:b", "file:///C:/..%2e/x",
]


@pytest.mark.spec("roots.file-uri", "roots.validate-uris")
@pytest.mark.parametrize("uri", BAD_URIS, ids=ascii)
def test_a_uri_that_could_lead_elsewhere_is_no_root(uri):
    """[.. client/roots §Root] MUST, [.. client/roots §Security Considerations] MUST"""
    with pytest.raises(LocalProtocolError, match=r"not a root URI.*client/roots §Root"):
        check_root_uri(uri)


@pytest.mark.parametrize("uri, path", [
    ("file:///disk/user", "/disk/user"), ("file://localhost/disk", "/disk"), ("file://LOCALHOST/disk", "/disk"),
    ("file:///a%20b/", "/a b"),
    ("file:///c%3A/Users", "c:/Users"), ("file:///C%3a/Users", "C:/Users"), ("file:///C:", "C:/"),
    ("file:///%7Euser", "/~user"),
    ("file:///a b", "/a b"), ("file:///ü", "/ü"), ("FILE:///a", "/a"), ("file:///%252e%252e/x", "/%2e%2e/x"),
])
def test_what_peers_write_is_read_where_it_can_mean_one_thing_only(uri, path):
    """[.. client/roots §Root]"""
    assert root_path(uri) == path


def test_long_texts_are_cut_in_errors_and_take_no_long_time():
    """[.. client/roots §Security Considerations]"""
    for uri in ("file:///" + "a/" * 100_000 + "..", "x" * 10**6, "file:///" + "%" * 10**6,
                "file:///" + "%2e" * 10**5 + "/.."):
        with pytest.raises(LocalProtocolError) as caught:
            check_root_uri(uri)
        assert len(str(caught.value)) < 600


ROOT = "file:///disk/user/my%20project"
INSIDE = [
    "/disk/user/my project", "/disk/user/my project/", "/disk/user/my project/a", "/disk/user/my project/a/b.txt",
    "//disk"[1:] + "/user/my project/x",
    "/disk/user//my project///x", "/disk/./user/my project/./x", "/disk/user/my project/a/../b",
    "/disk/user/other/../my project/x",
    "/../disk/user/my project/x", "/disk/user/my project/..hidden", "/disk/user/my project/...",
    "/disk/user/my project/a..b",
    "/disk/user/my project/%2e%2e/x", "file:///disk/user/my%20project", "file:///disk/user/my%20project/",
    "file:///disk/user/my%20project/a%2Eb",
    "file:///disk/user/%6dy%20project/a", "file://localhost/disk/user/my%20project/a",
    "FILE:///disk/user/my%20project/a",
    "file:///disk/user/my%20project/a/../b", "file:///disk/user/x/%2e%2e/my%20project/b",
    "file:///disk/user/my%20project/%252e%252e/x",
    "/disk/user/my project/ü", "file:///disk/user/my%20project/%C3%BC", "file:///disk/user/my project/x",
]
OUTSIDE = [
    "", "/", "/disk", "/disk/user", "/disk/user/", "/disk/user/my", "/disk/user/my projects",
    "/disk/user/my project2/x", "/disk/user/my projec",
    "/disk/user/my project/..", "/disk/user/my project/../", "/disk/user/my project/../other",
    "/disk/user/my project/../../../etc/passwd",
    "/disk/user/my project/a/../../b", "/disk/user/my project/./../x", "/disk/user/my project/x/../../my project2",
    "/etc/passwd",
    "/disk/user/My Project/x", "/DISK/user/my project", "/disk/user/my%20project/x", "my project/x", "x", "./x", "../x",
    "~/x", "disk/user/my project/x",
    "//disk/user/my project/x", "/\\disk/user/my project", "\\disk\\user\\my project", "/disk/user/my project\\..\\x",
    "/disk/user/my project/a\\b",
    "/disk/user/my project/a\x00b", "/disk/user/my project\x00/x", "/disk/user/my project/a\nb",
    "C:/disk/user/my project/x", "C:\\disk\\user",
    "/C:/disk/user/my project/x", "file:/disk/user/my%20project/x", "file:disk", "file:", "file://", "file:///",
    "http://localhost/disk/user/my%20project/x",
    "file://server/disk/user/my%20project/x", "file:////disk/user/my%20project/x",
    "file:///disk/user/my%20project/../x",
    "file:///disk/user/my%20project/%2e%2e/x", "file:///disk/user/my%20project/%2E%2E",
    "file:///disk/user/my%20project/..%2fx",
    "file:///disk/user/my%20project/%2e%2e%2fx", "file:///disk/user/my%20project%2f..%2fx",
    "file:///disk/user/my%20project%2fx",
    "file:///disk/user/my%20project/..%5cx", "file:///disk/user/my%20project/%00", "file:///disk/user/my%20project/x%",
    "file:///disk/user/my%2520project/x",
    "file:///disk/user/my%20project/%c0%ae%c0%ae/x", "file:///disk/user/my%20project/%ff",
    "file:///disk/user/my%20project?x", "file:///disk/user/my%20project#x",
    "file:///C:/disk/user/my%20project", "file:///disk/user/my+project", "/disk/user/my project\u200b/x",
    "/disk/user/my\u00a0project/x",
]


@pytest.mark.spec("roots.validate-paths")
@pytest.mark.parametrize("target", INSIDE, ids=ascii)
def test_what_lies_inside_is_found_however_it_is_written(target):
    """[.. client/roots §Security Considerations] SHOULD"""
    assert contains(ROOT, target) and contains(ROOT + "/", target)


@pytest.mark.spec("roots.validate-paths")
@pytest.mark.parametrize("target", OUTSIDE, ids=ascii)
def test_what_lies_outside_is_never_taken_for_inside(target):
    """[.. client/roots §Security Considerations] SHOULD"""
    assert not contains(ROOT, target) and not contains(ROOT + "/", target)


DRIVE = "file:///C:/Users/me"
DRIVE_INSIDE = [
    "C:\\Users\\me", "c:\\users\\ME\\x", "C:/Users/me/x", "C:\\Users\\me\\a\\..\\b", "C:\\Users\\.\\me\\x",
    "C:\\Users\\other\\..\\me",
    "C:\\\\Users\\\\me", "C:\\..\\Users\\me", "file:///c:/users/me/x", "file:///C%3A/Users/me/x",
    "file:///c%3a/Users/ME", "C:\\Users\\me\\é", "C:\\Users\\me\\.x",
]
DRIVE_OUTSIDE = [
    "C:\\Users", "C:\\Users\\me2", "C:\\Users\\me\\..", "C:\\Users\\me\\..\\you", "C:\\Users\\me\\a\\..\\..\\you",
    "D:\\Users\\me", "C:Users\\me",
    "C:", "C:\\", "\\Users\\me", "/Users/me", "/C:/Users/me", "\\\\?\\C:\\Users\\me", "\\\\.\\C:\\Users\\me",
    "\\\\server\\C$\\Users\\me", "//C:/Users/me",
    "C:\\Users\\me.", "C:\\Users\\me.\\x", "C:\\Users\\me \\x", "C:\\Users\\me\\.. \\you", "C:\\Users\\me\\...\\you",
    "C:\\Users\\me\\x.", "C:\\Users\\me\\x ",
    "C:\\Users\\me\\x:stream", "C:\\Users\\me::$DATA", "C:\\Users\\me\\a\x00", "file:///C|/Users/me",
    "file:///C:Users/me", "file://C:/Users/me",
    "file:///C:/Users/me/..%5c..", "file:///C:/Users/me%5cx", "file:///C:/Users/me/%2e%2e%20/x", "C:\\Users\\m\u00e9",
    "C:\\User\u017f\\me", "\u212a:\\x",
]


@pytest.mark.parametrize("target", DRIVE_INSIDE, ids=ascii)
def test_on_a_drive_upper_and_lower_case_are_alike(target):
    """[.. client/roots §Security Considerations] SHOULD"""
    assert contains(DRIVE, target)


@pytest.mark.parametrize("target", DRIVE_OUTSIDE, ids=ascii)
def test_on_a_drive_what_windows_would_turn_into_something_else_is_outside(target):
    """[.. client/roots §Security Considerations] SHOULD"""
    assert not contains(DRIVE, target)


def test_letters_that_only_some_systems_fold_are_different():
    """[.. client/roots §Security Considerations]"""
    assert not contains("file:///C:/K", "C:\\\u212a\\x") and not contains("file:///C:/%C3%A9", "C:\\\u00c9")
    assert not contains("file:///C:/ss", "C:\\\u00df") and contains("file:///C:/%C3%A9", "c:\\\u00e9\\X")


@pytest.mark.parametrize("root, target, inside", [
    ("file:///", "/", True), ("file:///", "/etc/passwd", True), ("file:///", "C:\\x", False), ("file:///", "x", False),
    ("file:///", "/..", True),
    ("file:///C:/", "C:\\x", True), ("file:///C:", "c:/", True), ("file:///C:/", "D:\\", False),
    ("file:///C:/", "/x", False),
    ("file:///a/b.txt", "/a/b.txt", True), ("file:///a/b.txt", "/a/b.txt.bak", False), ("file:///a/b.txt", "/a", False),
])
def test_whole_disks_and_single_files_are_roots_too(root, target, inside):
    """[.. client/roots §Root]"""
    assert contains(root, target) == inside


@pytest.mark.parametrize("root", ["", "/disk", "file:///a/../b", "http://x/"])
def test_below_what_is_no_root_nothing_can_be(root):
    """[.. client/roots §Root]"""
    with pytest.raises(LocalProtocolError):
        contains(root, "/disk/user")


class Linked:
    """A file system with links, for paths of POSIX or Windows."""

    def __init__(self, system, links):
        self.isabs = system.isabs
        self._links = links
        self._clean = system.normpath

    def realpath(self, path):
        for name, target in self._links.items():
            if path == name or path.startswith(name + "/"):
                if target is None:
                    raise OSError("the disk is gone")
                return self._clean(target + path[len(name):])
        return self._clean(path)


@pytest.mark.parametrize("target, inside", [
    ("/base/plain", True), ("/base/out", False), ("/base/out/x", False), ("/base/out/../x", False),
    ("/base/in/x", True), ("/other/back/x", True),
    ("/other/back/../x", False), ("/base/gone", False), ("file:///base/out/x", False), ("file:///base/in", True),
    ("C:/base", False), ("base", False),
])
def test_symbolic_links_are_followed_where_there_is_a_system_to_ask(target, inside):
    """[.. client/roots §Security Considerations] SHOULD"""
    links = Linked(posixpath,
                   {"/base/out": "/etc", "/base/in": "/base/deep", "/other/back": "/base", "/base/gone": None})
    assert contains("file:///base", target, links) == inside


def test_the_root_itself_may_be_a_link():
    """[.. client/roots §Security Considerations]"""
    links = Linked(posixpath, {"/link": "/data/real"})
    assert contains("file:///link", "/link/x", links) and contains("file:///link", "/data/real/x", links)
    assert not contains("file:///link", "/link/../other/x", links) and not contains("file:///data", "/links/x", links)


def test_paths_of_another_system_are_judged_by_their_text():
    """[.. client/roots §Security Considerations]"""
    posix, windows = Linked(posixpath, {}), Linked(ntpath, {"C:/in": "C:\\out"})
    assert contains("file:///C:/in", "c:\\IN\\x", posix) and not contains("file:///C:/in", "c:\\in\\..\\x", posix)
    assert not contains("file:///C:/in", "C:/other", windows) and contains("file:///C:/in", "C:\\in\\x", windows)
    assert contains("file:///C:/out", "C:\\in\\x", windows)
