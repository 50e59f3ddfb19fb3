"""Endpoints that share a store in a file, as processes of one machine do, and a client that turns to any of them.

    with Site(tmp_path) as site:
        site[0].ask(1, "tools/call", {"name": "state"})
        site[1].lives()
"""
import json

from mcp_ref import Server
from mcp_ref.limits import Limits
from mcp_ref.server import Context, SqliteStore
from tests.support.http_exchange import Web
from tests.support.patience import WAIT
from tests.support.sides import Gate

CAPABILITIES = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}


class Site:
    """Endpoints that share a store, and a client that turns to either: ``site[0]``, ``site[1]``."""

    def __init__(self, path, revision="2025-06-18", limits=Limits(), store=None, **options):
        self.path = str(path / "sessions.db")
        self.store = store or (lambda: SqliteStore(self.path))
        self.limits, self.options = limits, options
        self.gate = Gate()
        self.webs = []
        self.servers = []
        for _ in range(2):
            self.add()
        if revision is not None:
            self.result = self.webs[0].open(revision, CAPABILITIES)
            self.webs[1].headers.update(self.webs[0].headers)

    def add(self):
        """One more process."""
        self.servers.append(self.server())
        self.webs.append(Web(self.servers[-1], None, limits=self.limits, sessions=self.store(), **self.options))
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
