"""Names in a host: the grammar of servers' names, and qualified names that no hostile tool can take from another."""
import itertools
import re

import pytest

from mcp_ref.host.catalogue import NameRule, check_server_name, qualify, server_of

STRICTEST = re.compile(r"[a-zA-Z0-9_-]{1,64}")
DOTTED = re.compile(r"[a-zA-Z0-9_.-]{1,128}")

GOOD = ["a", "7zip", "my-server", "my_server", "A_b_C", "x" * 32, "a-", "a--b", "a-_b"]
BAD = ["", "_a", "-a", "a__b", "a_", "a b", "a.b", "a/b", "x" * 33, "é", "a\n", "\n", "a\x00", "ａ", None, 5, b"a"]

HOSTILE = [
    "", "_", "__", "___", "a", "A", "_a", "a_", "__a", "a__b", "b__a", "_b__c", "read", "read ", " read", "read/all",
    "read_all", "read.all", "read-all", "re\u0430d", "r\u0435ad", "\uff52ead", "read\u200b", "read\n", "read\x00",
    "\u202eread", "\xe9", "e\u0301", "\ud800", "\U0001f600", "x" * 10_000, "x" * 10_001, "x" * 60, "x" * 61, "x" * 62,
    "x" * 63, "x" * 59 + "\xe9", "read-0123456789abcdef", "-0123456789abcdef", "read-0123456789ABCDEF",
    "read-0123456789abcde", "../read", "read;rm -rf /", "tools/call", "{}", "%s", "%(name)s",
]


@pytest.mark.parametrize("name", GOOD)
def test_a_good_name_is_taken(name):
    assert check_server_name(name) == name


@pytest.mark.parametrize("name", BAD)
def test_a_bad_name_is_refused_with_the_rule(name):
    with pytest.raises(ValueError, match="cannot name a server"):
        check_server_name(name)


@pytest.mark.parametrize("other", ["files", "Files", "FILES"])
def test_names_that_look_alike_are_taken(other):
    with pytest.raises(ValueError, match="already"):
        check_server_name(other, ["time", "files"])


@pytest.mark.parametrize("rule, accepted", [
    (NameRule(), STRICTEST), (NameRule(dots=True), DOTTED), (NameRule(128), re.compile(r"[a-zA-Z0-9_-]{1,128}")),
    (NameRule(51), re.compile(r"[a-zA-Z0-9_-]{1,51}")),
])
@pytest.mark.spec("tools.aggregate-disambiguate")
def test_no_two_tools_of_any_two_servers_share_a_qualified_name(rule, accepted):
    """[2026-07-28 server/tools §Tool Names] SHOULD: and each name is one that models accept."""
    servers = ["a", "a_b", "a-b", "b", "A", "a-", "x" * 32]
    names = HOSTILE + [qualify(server, name, rule) for server in servers for name in HOSTILE]
    names += [qualify("a", name, rule).partition("__")[2] for name in HOSTILE]
    names = list(dict.fromkeys(names))
    found = {}
    for server, name in itertools.product(servers, names):
        qualified = qualify(server, name, rule)
        assert accepted.fullmatch(qualified), ascii(name[:50])
        assert server_of(qualified) == server
        assert found.setdefault(qualified, (server, name)) == (server, name)
    assert len(found) == len(servers) * len(names)


@pytest.mark.parametrize("name, qualified", [
    ("read", "files__read"), ("DATA_EXPORT_v2", "files__DATA_EXPORT_v2"), ("a__b", "files__a__b"),
    ("admin.tools.list", "files__admin_tools_list-ce33de314e695e39"),
    ("", "files__-e3b0c44298fc1c14"),
    ("x" * 10_000, "files__" + "x" * 40 + "-e4ee97ec252749d2"),
])
def test_names_mean_the_same_tomorrow(name, qualified):
    assert qualify("files", name) == qualified


def test_dots_stay_where_the_model_takes_them():
    assert qualify("files", "admin.tools.list", NameRule(dots=True)) == "files__admin.tools.list"


@pytest.mark.parametrize("length", [0, 50, -1])
def test_a_rule_too_short_to_keep_names_apart_is_refused(length):
    with pytest.raises(ValueError, match="51"):
        NameRule(length)
