"""Tokens beyond the scenes of their rules: a server that names other authorization servers while requests are out."""
from mcp_ref.devtools.checker.pages.auth.auth_discovery import found
from mcp_ref.devtools.checker.pages.auth.auth_registration import TRADES, exchanges

from .helpers import roots

OLD, NEW = 'Authorization="Bearer ***0000000a"', 'Authorization="Bearer ***0000000b"'
ISSUER = """
    C [%d] GET https://%s/.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-11-25"}
    S [%d] document {"issuer": "https://%s", "token_endpoint": "https://%s/token", \
"code_challenge_methods_supported": ["S256"]}
"""
BEGUN = found("2025-11-25") + ISSUER % (5, "as.example", 5, "as.example", "as.example") + exchanges(TRADES, 7)
CHANGED = """
    C [10] GET /.well-known/oauth-protected-resource/mcp {}
    S [10] document {"resource": "http://127.0.0.1:8000/mcp", "authorization_servers": ["https://other.example"]}
""" + ISSUER % (11, "other.example", 11, "other.example", "other.example")
RENEWED = exchanges(TRADES, 12, " ", "https://other.example", "***0000000b")
RULE = "auth.only-issued-tokens"


def call(number: int, token: str, id: int) -> str:
    return "\n    C [%d %s] #%d tools/list {}\n" % (number, token, id)


def answer(number: int, id: int) -> str:
    return '\n    S [%d] #%d {"tools": []}\n' % (number, id)


def test_a_request_that_is_out_while_the_list_changes_goes_by_the_old_one() -> None:
    assert RULE not in roots(BEGUN + call(20, OLD, 2) + CHANGED + answer(20, 2))


def test_another_thread_may_send_the_token_from_before_until_there_is_one_of_the_new_list() -> None:
    assert RULE not in roots(BEGUN + CHANGED + call(20, OLD, 2) + RENEWED + answer(20, 2))


def test_the_new_token_is_legal_and_the_one_from_before_is_not_any_more() -> None:
    begun = BEGUN + CHANGED + RENEWED + "\n    @ 1\n"
    assert RULE not in roots(begun + call(20, NEW, 2) + answer(20, 2))
    assert RULE in roots(begun + call(20, OLD, 2) + answer(20, 2))
