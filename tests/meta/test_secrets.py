"""What nobody may guess comes from `secrets` or `os.urandom`: shown once by the text, and once by the values.

`random` is a sequence that a few of its numbers give away; a hash of a counter or of the clock is one that everybody
can make. Both look as random as what is. So the package imports no such module but for what is listed, and the values
below are made once more with a source of randomness of our own, of which they must consist.
"""
import ast
import base64
import itertools
import os
import secrets
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

import pytest

from mcp_ref import Server
from mcp_ref.auth.client.store import FileStore
from mcp_ref.auth.client.token_endpoint import ClientInfo, CodeFlow, client_assertion
from mcp_ref.auth.jose import HmacSigner, split_jwt
from mcp_ref.ext.auth.dpop import Prover
from mcp_ref.ext.stores.sqlite import SqliteStore
from mcp_ref.server.mrtr import ENVIRONMENT, States
from mcp_ref.streamable.server.session import new_id
from tests.conformance.es256 import Es256Signer
from tests.meta.facts import expect_nothing, nodes_of, python_files, shown
from tests.support.by_hand import ByHand, asking_server
from tests.support.http_exchange import exchange, opening
from tests.support.legacy_web import LegacyWeb
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted_grant import found

GUESSABLE = {"random", "uuid", "_random", "numpy"}
ALLOWED = {("mcp_ref/streamable/client/streamable.py", "random", "uniform"),
           ("mcp_ref/devtools/examiner/hostile/texts.py", "random", "Random")}
"""File, module, and what is used of it: how long clients wait before they come back; what a seed has to repeat."""
HASHES = {"mcp_ref/server/elicitation.py", "mcp_ref/server/registry/caching.py", "mcp_ref/client/cached_calls.py",
          "mcp_ref/peer/inflight.py"}
"""Files that call `hash`: to see whether there is one, to give one, and to remember cursors and ids that were seen."""
MADE = {
    ("mcp_ref/streamable/server/session.py", "token_urlsafe"),
    ("mcp_ref/auth/client/token_endpoint.py", "token_urlsafe"),
    ("mcp_ref/ext/auth/dpop.py", "token_urlsafe"), ("mcp_ref/auth/client/token_endpoint.py", "token_urlsafe"),
    ("mcp_ref/server/elicitation.py", "token_urlsafe"), ("mcp_ref/server/mrtr.py", "urandom"),
    ("mcp_ref/cli/serve/workers.py", "token_hex"), ("mcp_ref/auth/client/store.py", "token_hex"),
}
"""File, and what makes secrets there; other files may have such calls, too."""
LEAST = 8
"""Bytes below which a secret is none: those of the name of a file, which only has to be a new one."""


# -- By the text -------------------------------------------------------------------------------------------------------

def uses(nodes: List[ast.AST]) -> Iterator[Tuple[str, str, int]]:
    """Modules, what is used of them, and the line, under whatever names they were imported; "" where that is not seen.
    """
    names: Dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield node.module or "", alias.name, node.lineno
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            yield names[node.value.id], node.attr, node.lineno
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if called in ("__import__", "import_module") and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value), "", node.lineno


def imported(nodes: List[ast.AST]) -> Set[str]:
    """The modules that a file imports by name."""
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return found | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}


def faults(path: str, nodes: List[ast.AST]) -> List[str]:
    """Where a file takes what can be guessed."""
    used = list(uses(nodes))
    wrong = ["%s:%d uses %s.%s" % (path, line, module, name) for module, name, line in used
             if module.split(".")[0] in GUESSABLE and (path, module, name) not in ALLOWED]
    allowed = {module for where, module, _ in ALLOWED if where == path}
    wrong += ["%s imports %s" % (path, module) for module in imported(nodes)
              if module.split(".")[0] in GUESSABLE and module not in allowed]
    if path not in HASHES:
        wrong += ["%s:%d calls hash()" % (path, node.lineno) for node in nodes
                  if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hash"]
    return wrong


def test_nothing_is_made_of_what_can_be_guessed() -> None:
    wrong = [fault for path in python_files("mcp_ref") for fault in faults(shown(path), nodes_of(path))]
    expect_nothing(wrong)  # secrets come from `secrets` or `os.urandom`; what need not be secret is in ALLOWED


def test_what_is_listed_is_there() -> None:
    texts = {shown(path): nodes_of(path) for path in python_files("mcp_ref")}
    missing = ["%s: %s" % pair for pair in sorted(MADE) if not any(
        module in ("secrets", "os") and name == pair[1] for module, name, _ in uses(texts[pair[0]]))]
    missing += ["%s: %s.%s" % row for row in sorted(ALLOWED) if not any(
        (module, name) == row[1:] for module, name, _ in uses(texts[row[0]]))]
    expect_nothing(missing)


@pytest.mark.parametrize("text", [
    "import random", "import random as r\nr.random()", "from random import random", "from random import SystemRandom",
    "import uuid\nuuid.uuid1()", "from uuid import uuid4", "def f():\n    import random\n    return random.choice(x)",
    "x = hash(7)", "__import__('random')", "import importlib\nimportlib.import_module('uuid')", "import numpy.random",
])
def test_these_are_noticed(text: str) -> None:
    nodes = list(ast.walk(ast.parse(text)))
    assert faults("mcp_ref/x.py", nodes)
    assert faults("mcp_ref/streamable/client/streamable.py", nodes) or text == "import random"


# -- By the values -----------------------------------------------------------------------------------------------------

class Source:
    """Randomness that is known: what was asked for, in every form in which it may be used."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.sizes: List[int] = []
        self.forms: List[str] = []

    def __call__(self, size: Any = None) -> bytes:
        size = 32 if size is None else size
        data = (b"%06d" % next(self._numbers) * 20)[:size]
        self.sizes.append(size)
        self.forms += [base64.urlsafe_b64encode(data).rstrip(b"=").decode(), data.hex()]
        return data


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Source:
    made = Source()
    monkeypatch.setattr(secrets, "token_bytes", made)  # of which token_urlsafe and token_hex are made
    monkeypatch.setattr(os, "urandom", made)
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    return made


def web_session(revision: str, **options: Any) -> str:
    from mcp_ref.server.serving.http_listener import endpoint_of

    endpoint = endpoint_of(Server("x"), **options)
    try:
        asked = exchange("POST", {}, opening(revision))
        endpoint.handle(asked)
        return asked.done().headers.get("Mcp-Session-Id") or ""
    finally:
        endpoint.close(0)


@pytest.mark.parametrize("revision", HANDSHAKE[1:])
@pytest.mark.parametrize("stored", [False, True])
def test_session_ids(revision: str, stored: bool, source: Source, tmp_path: Any) -> None:
    """[2025-03-26..2025-11-25 basic/transports §Session Management] SHOULD"""
    options = {"sessions": SqliteStore(str(tmp_path / "sessions"))} if stored else {}
    ids = [web_session(revision, **options) for _ in range(2)]
    assert set(ids) <= set(source.forms) and len(set(ids)) == 2 and min(map(len, ids)) >= 32


def test_session_ids_of_http_and_sse(source: Source) -> None:
    """[2024-11-05 basic/transports §HTTP with SSE]: who knows the address has the session."""
    with LegacyWeb(Server("x")) as web:
        assert any(form in web.address for form in source.forms if len(form) >= 32), web.address


def by_flow(source: Source) -> List[str]:
    flow = CodeFlow(found(), ClientInfo("me"), "http://localhost/callback")
    assert flow.state in flow.url and flow.verifier not in flow.url
    return [flow.verifier, flow.state]


def by_proofs(source: Source) -> List[str]:
    prover = Prover(Es256Signer(4711), lambda: 1000.0)
    return [str(split_jwt(prover.proof("POST", "https://a.example/")).claims["jti"]) for _ in range(2)]


def by_assertions(source: Source) -> List[str]:
    signer = HmacSigner("s" * 32)
    return [str(split_jwt(client_assertion(signer, "me", "https://a.example", 1000.0)).claims["jti"]) for _ in range(2)]


def by_keys(source: Source) -> List[str]:
    keys = [next(iter(States().keys._keys.values())) for _ in range(2)]
    assert min(map(len, keys)) >= 32
    return [key.hex() for key in keys]


def by_states(source: Source) -> List[str]:
    used: List[str] = []
    server = asking_server(lambda ctx: ctx.elicit("A?", {"name": str})["name"],
                           consume_state=lambda id: used.append(id) or True)  # type: ignore[func-returns-value]
    with ByHand(server) as client:
        for _ in range(2):
            state = client.call("tools/call")["result"]["requestState"]
            client.call("tools/call", requestState=state)
    return used


def by_links(source: Source) -> List[str]:
    from mcp_ref.server.elicitation import _request

    return [_request("Please", "https://a.example/", None).elicitation_id or "" for _ in range(2)]


def by_workers(source: Source) -> List[str]:
    from mcp_ref.cli.serve import workers

    seen: List[str] = []

    def popen(words: Any, env: Dict[str, str], **options: Any) -> Any:
        seen.append(env[workers.STATE_KEYS])
        raise OSError("enough")

    before, workers.subprocess.Popen = workers.subprocess.Popen, popen  # type: ignore[misc, assignment]
    try:
        for _ in range(2):
            with pytest.raises(OSError, match="enough"):
                workers._starter({"fds": [], "alive": 0})(0)
    finally:
        workers.subprocess.Popen = before  # type: ignore[misc]
    return seen


MAKERS: Dict[str, Tuple[Callable[[Source], List[str]], int]] = {
    "session ids": (lambda source: [new_id(), new_id()], 16), "PKCE and state": (by_flow, 32),
    "jti of DPoP": (by_proofs, 12), "jti of assertions": (by_assertions, 12), "keys of states": (by_keys, 32),
    "ids of states": (by_states, 12), "ids of links": (by_links, 16), "keys of workers": (by_workers, 32),
}
"""What is made, and of how many bytes at least."""


@pytest.mark.parametrize("name", MAKERS)
def test_what_must_be_secret_is_made_of_randomness_of_the_system(name: str, source: Source) -> None:
    make, least = MAKERS[name]
    values = make(source)
    assert len(set(values)) == len(values) >= 2
    assert set(values) <= set(source.forms), "not from secrets or os.urandom"
    assert min(source.sizes) >= min(least, 12) and all(len(value) >= least for value in values)


def test_the_verifier_has_as_much_of_it_as_can_be(source: Source) -> None:
    """[RFC 7636 §7.1] 256 bits; [RFC 6749 §10.10] state, 160."""
    by_flow(source)
    assert source.sizes[0] >= 32 and source.sizes[1] >= 20


def test_a_new_file_of_tokens_has_a_name_that_nobody_knows_before(source: Source, tmp_path: Any,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    names: List[str] = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda fresh, path: (names.append(fresh), replace(fresh, path)))
    FileStore(tmp_path / "tokens").set("token", "a", {})
    assert names[0].rpartition(".")[2] in source.forms and min(source.sizes) >= LEAST
