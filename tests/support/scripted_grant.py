"""A grant's context without sockets: what a grant is given, with an authorization server that answers from a list."""
import json
from typing import Any, Dict, List, Optional, Sequence, Tuple

from mcp_ref.auth.client.single_flight import Authorization
from mcp_ref.auth.client.store import MemoryStore, TokenStore
from mcp_ref.auth.discover import AuthorizationServer, Discovered, ProtectedResource
from mcp_ref.auth.fetch import HttpAnswer
from mcp_ref.limits import DEFAULT

ISSUER = "https://auth.example"
SERVER = "https://mcp.example/mcp"
NOW = 1_700_000_000.0


def answer(value: Any, status: int = 200, **headers: str) -> HttpAnswer:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return HttpAnswer(status, {name.replace("_", "-"): text for name, text in headers.items()}, body, ISSUER + "/x")


class Sent:
    """One request that was made."""

    def __init__(self, url: str, form: Any, headers: Sequence[Tuple[str, str]]) -> None:
        self.url = url
        self.form: Dict[str, str] = dict(form) if isinstance(form, list) else {}
        self.json = form
        self.headers = dict(headers)


class ListFetcher:
    """In place of a `Fetcher`: keeps what it is to send, and answers in turn."""

    def __init__(self, *answers: HttpAnswer) -> None:
        self.answers = list(answers)
        self.sent: List[Sent] = []

    def post_form(self, url: str, fields: Any, headers: Any = ()) -> HttpAnswer:
        assert len(dict(fields)) == len(list(fields)), "a field comes twice"
        self.sent.append(Sent(url, list(fields), headers))
        return self.answers.pop(0)

    def post_json(self, url: str, value: Any, headers: Any = ()) -> HttpAnswer:
        self.sent.append(Sent(url, value, headers))
        return self.answers.pop(0)


class ListContext(Authorization):
    """What a grant works with, on a `ListFetcher`; ``persons``: whether a person was waited for, as it changed."""

    def __init__(
        self, *answers: HttpAnswer, store: Optional[TokenStore] = None, revision: Optional[str] = None,
    ) -> None:
        self.fetched = fetcher = ListFetcher(*answers)
        self.persons: List[bool] = []
        super().__init__(lambda context: None, (), SERVER, fetcher,  # type: ignore[arg-type]
                         MemoryStore() if store is None else store, DEFAULT, lambda: NOW, revision=revision)

    def pause(self, seconds: float) -> None:
        pass

    def waiting_for_user(self, busy: bool) -> None:
        self.persons.append(busy)


def server(**members: Any) -> AuthorizationServer:
    known: Dict[str, Any] = {
        "authorization_endpoint": ISSUER + "/authorize", "registration_endpoint": ISSUER + "/register",
        "code_challenge_methods_supported": ["S256"],
    }
    return AuthorizationServer(ISSUER, ISSUER + "/token", **{**known, **members})


def found(scopes: Optional[List[str]] = None, legacy: bool = False, **members: Any) -> Discovered:
    document = None if legacy else ProtectedResource(SERVER, [ISSUER], scopes_supported=scopes)
    return Discovered(SERVER, document, server(**members), legacy)
