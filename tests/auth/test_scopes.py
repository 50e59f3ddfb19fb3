"""Which scopes are asked for: a table."""
from typing import List, Optional

import pytest

from mcp_ref.auth.client.oauth_session import choose
from tests.support.scripted_grant import found

OFFLINE = "offline_access"
S = Optional[List[str]]


@pytest.mark.parametrize(("challenged", "named", "listed", "kept", "wanted"), [
    (None, None, None, [], None),
    (["c"], None, None, [], ["c"]),
    (["c"], None, ["l"], [], ["c"]),  # the challenge is authoritative, whatever is listed
    (["c", "l"], None, ["l"], [], ["c", "l"]),
    (None, None, ["l", "m"], [], ["l", "m"]),
    (None, None, [], [], None),
    (None, ["n"], ["l"], [], ["n"]),
    (["c"], ["n"], ["l"], [], ["n", "c"]),
    (["c"], None, ["l"], ["k", "c"], ["k", "c"]),
    (["c"], ["n"], None, ["k"], ["k", "n", "c"]),
    (None, None, ["l"], ["k"], ["k", "l"]),
    (None, None, None, ["k"], ["k"]),
    (None, [], None, [], None),
    ([OFFLINE], None, None, [], [OFFLINE]),
    (None, None, ["l", OFFLINE], [], ["l"]),
])
def test_scopes_come_from_the_challenge_the_user_or_the_resource(
    challenged: S, named: S, listed: S, kept: List[str], wanted: S,
) -> None:
    assert choose(found(listed), challenged, named, kept, refreshing=True) == wanted
    assert choose(found(listed), challenged, named, kept) == wanted


@pytest.mark.parametrize("at_server", [None, [], ["x"], [OFFLINE], ["x", OFFLINE]])
@pytest.mark.parametrize("refreshing", [True, False])
@pytest.mark.parametrize("listed", [None, [], ["l"], ["l", OFFLINE], [OFFLINE]])
def test_offline_access_is_asked_for_only_where_the_authorization_server_lists_it(
    at_server: S, refreshing: bool, listed: S,
) -> None:
    wanted = choose(found(listed, scopes_supported=at_server), None, None, [], refreshing)
    if listed is None:
        assert wanted is None  # alone it would take the place of the server's own choice
    else:
        basis = [scope for scope in listed if scope != OFFLINE]
        offline = [OFFLINE] if refreshing and OFFLINE in (at_server or ()) else []
        assert (wanted or []) == basis + offline


def test_an_origin_without_a_document_lists_nothing() -> None:
    assert found(legacy=True).resource_scopes is None and choose(found(legacy=True), None) is None
