"""Endpoints that share a store in a file, as processes of one machine do, and a client that turns to any of them.

    with Site(tmp_path) as site:
        site[0].ask(1, "tools/call", {"name": "state"})
        site[1].lives()
"""
import contextlib
import json

from mcp_ref import Server
from mcp_ref.ext.stores import resumption, table
from mcp_ref.limits import Limits
from mcp_ref.server import Context, SqliteStore
from tests.support.http_exchange import Web
from tests.support.patience import WAIT
from tests.support.sides import Gate

CAPABILITIES = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}


class Hooked(SqliteStore):
    """A store with a function of a test in place of some methods: it gets the store, and what the method gets."""

    def __init__(self, path):
        super().__init__(path)
        self.hooks = {}


def _hooked(name):
    real = getattr(SqliteStore, name)
    return lambda store, *arguments: store.hooks.get(name, real)(store, *arguments)


for _name in ("create_session", "read_session", "update_session", "expect", "keep", "unkeep", "version", "news",
              "send"):
    setattr(Hooked, _name, _hooked(_name))


def times(monkeypatch, **seconds):
    """Other times of those by which processes look after each other's streams and sessions, by their names."""
    for name, value in seconds.items():
        monkeypatch.setattr(resumption if hasattr(resumption, name) else table, name, value)


class Site:
    """Endpoints that share a store, and a client that turns to either: ``site[0]``, ``site[1]``."""

    def __init__(self, path, revision="2025-06-18", limits=Limits(), store=None, **options):
        self.path = str(path / "sessions.db")
        self.store = store or (lambda: Hooked(self.path))
        self.limits, self.options = limits, options
        self.gate = Gate()
        self.webs, self.stores = [], []
        self.servers = []
        for _ in range(2):
            self.add()
        if revision is not None:
            self.result = self.webs[0].open(revision, CAPABILITIES)
            self.webs[1].headers.update(self.webs[0].headers)

    def add(self):
        """One more process."""
        self.servers.append(self.server())
        self.stores.append(self.store())
        self.webs.append(Web(self.servers[-1], None, limits=self.limits, sessions=self.stores[-1], **self.options))
        if len(self.webs) > 1:
            self.webs[-1].headers.update(self.webs[0].headers)
        return self.webs[-1]

    def server(self):
        server, gate = Server("shared", limits=self.limits), self.gate

        @server.tool
        def state(ctx: Context) -> dict:
            """What is known of the client."""
            session = ctx.connection.session
            return {"info": session.peer_info, "capabilities": session.peer_capabilities, "phase": session.phase,
                    "revision": session.revision.name, "level": ctx.connection.state.get("log_level"),
                    "principal": ctx.connection.session.principal,
                    "subscriptions": server.subscriptions.by(ctx.connection)}

        @server.tool
        def ask(ctx: Context) -> str:
            """A question to the user."""
            return str(ctx.elicit("Which region?", {"region": str})["region"])

        @server.tool
        def roots(ctx: Context) -> int:
            """How many roots the client has."""
            return len(ctx.list_roots())

        @server.tool
        def steps(ctx: Context) -> int:
            """How often the client told how far it is."""
            seen = []
            ctx.call("roots/list", on_progress=lambda *step: seen.append(step))
            return len(seen)

        @server.tool
        def hold(ctx: Context) -> bool:
            """Wait until cancelled."""
            gate._entered.release()
            return ctx.cancelled.wait(WAIT)

        @server.resource("config://app")
        def config() -> str:
            return "x"

        return server

    @contextlib.contextmanager
    def hooked(self, **hooks):
        """Meanwhile all stores have these functions in place of their methods."""
        for store in self.stores:
            store.hooks.update(hooks)
        yield
        for store in self.stores:
            store.hooks.clear()

    def deafen(self, place):
        """This process hears nothing of the others any more, as one that stands still."""
        self.stores[place].hooks["news"] = lambda *arguments: []

    def __getitem__(self, place):
        return self.webs[place]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for web in self.webs:
            web.close()


def call(web, name, id):
    answer = web.ask(id, "tools/call", {"name": name})
    assert answer.status == 200, answer.raw
    return json.loads(answer.answer()["result"]["content"][0]["text"])
