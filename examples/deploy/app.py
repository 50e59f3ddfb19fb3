"""A protected server for several hosts, which share a Redis: ``gunicorn --workers 2 --threads 128 app:application``.

The environment says the rest: ``MCP_URL`` (as clients know the server), ``MCP_ISSUER`` (whose tokens it takes),
``REDIS_URL``, and ``MCP_REF_STATE_KEYS``, which is the same on all hosts.
"""
import os

from redis_store import RedisStore

from mcp_ref import Limits, Server
from mcp_ref.auth import JwtVerifier, ResourceServer
from mcp_ref.server import Tasks

store = RedisStore(os.environ["REDIS_URL"])
secret = os.environ.get("MCP_TOKEN_KEY")  # for tests; without it the keys that the issuer publishes
verify = JwtVerifier(os.environ["MCP_ISSUER"], **({"keys": secret.encode(), "algorithms": ["HS256"]} if secret else {}))
server = Server("demo", version="1.0", tasks=Tasks(store, ttl=600.0), consume_state=store,
                auth=ResourceServer(os.environ["MCP_URL"], [os.environ["MCP_ISSUER"]], verify),
                limits=Limits(max_sessions=50_000))
# GET streams are needed for what belongs to no request, and for streams that clients resume; each holds a thread.
application = server.wsgi(sessions=store, streams=True, poll_after=float(os.environ.get("MCP_POLL_AFTER", "60")))


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
