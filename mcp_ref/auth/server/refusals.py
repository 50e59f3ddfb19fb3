"""How a protected server reads the token of a request, and how it refuses one [RFC 6750 §2.1, §3].

Refusals name the document that says where tokens come from, in a challenge for each scheme that is taken
[2025-06-18 basic/authorization §Authorization Server Location]
[2025-11-25 basic/authorization §Protected Resource Metadata Discovery Requirements]
[2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements]
MUST, and the scopes that are needed [2025-11-25 basic/authorization §Scope Selection Strategy]
[2026-07-28 basic/authorization/index §Scope Selection Strategy] SHOULD.
"""

import re
from typing import List, Optional, Sequence, Tuple
from urllib.parse import parse_qs

from ...http11.message import HttpRequest
from ...streamable.server.authenticate import Denied
from ..discovery.challenge import format_challenge
from .proofs import ALGORITHMS

_TOKEN = re.compile(r"[\x21-\x7e]+\Z")
_UNFIT = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")
"""Characters that a description must not have [RFC 6750 §3]."""
_LONGEST = 200
"""Characters of a description."""


class Refusals:
    """The refusals of one server. ``schemes``: those of Authorization that it takes, such as ``Bearer``;
    ``document_url``: where its document is; ``everything``: the scopes that all requests need."""

    def __init__(self, schemes: Sequence[str], document_url: str, everything: List[str], realm: Optional[str],
                 max_token_bytes: int) -> None:
        self._schemes = tuple(schemes)
        self._document_url = document_url
        self._everything = everything
        self._realm = realm
        self._most = max_token_bytes
        self.make(401, "")  # now, so that the author is told of what no challenge can carry

    def shown(self, request: HttpRequest) -> Tuple[str, str]:
        """Scheme, in lower case, and token of a request: in the field Authorization, and nowhere else. Raises `Denied`.

        Who shows none, or credentials of another kind, is told what is wanted and not that something is wrong.
        """
        fields = request.headers.get_all("authorization")
        if "access_token" in parse_qs(request.query, keep_blank_values=True):
            raise self.make(400, "a token in the address is not taken: send it in the field Authorization",
                            "invalid_request")
        if len(fields) > 1:
            raise self.make(400, "there are several fields Authorization", "invalid_request")
        scheme, _, token = (fields[0] if fields else "").strip(" \t").partition(" ")
        scheme, token = scheme.lower(), token.strip(" \t")
        if scheme not in map(str.lower, self._schemes):
            raise self.make(401, "this server wants an access token in the field Authorization", "", self._everything)
        if not _TOKEN.match(token) or len(token) > self._most:
            raise self.make(400, "the field Authorization has no token that can be read", "invalid_request")
        return scheme, token

    def invalid(self, why: str, error: str = "invalid_token") -> Denied:
        """Of a token that is not good
        [2025-03-26..2025-11-25 basic/authorization §Token Handling]
        [2026-07-28 basic/authorization/index §Token Handling] MUST."""
        return self.make(401, why, error, self._everything)

    def insufficient(self, needed: Sequence[str]) -> Denied:
        """Of a token that does not allow enough; ``needed``: all scopes that this takes, so that it takes one more try
        [2025-11-25 basic/authorization §Runtime Insufficient Scope Errors]
        [2026-07-28 basic/authorization/index §Runtime Insufficient Scope Errors] SHOULD."""
        return self.make(403, "this needs the scopes " + " ".join(needed), "insufficient_scope", needed)

    def make(self, status: int, why: str, error: str = "", scopes: Sequence[str] = ()) -> Denied:
        """A refusal with its challenges; ``error`` as in RFC 6750 §3.1, "" for none."""
        told = _UNFIT.sub(" ", why[:_LONGEST])
        params = [
            ("realm", self._realm or ""),
            ("error", error),
            ("error_description", told if error else ""),
            ("scope", " ".join(scopes)),
            ("resource_metadata", self._document_url),
        ]
        given = [pair for pair in params if pair[1]]
        return Denied(status, ": " + told, [
            format_challenge(scheme, given + ([("algs", " ".join(ALGORITHMS))] if scheme == "DPoP" else []))
            for scheme in self._schemes])
