"""Serve MCP from a Starlette application, or any other of ASGI: handlers run on threads, and may use the event loop.

By hand: `pip install starlette uvicorn`, have `mcp_ref/` beside this file, start `MCP_TOKEN=a-long-secret uvicorn
in_starlette:app`, and tell your host:

    python3 -m mcp_ref config http://127.0.0.1:8000/mcp --for vscode --header "Authorization=Bearer a-long-secret"

A request holds one of the 40 threads of `anyio` until its reply is over.
"""
import asyncio
import os

import anyio
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from mcp_ref import Context, Server
from mcp_ref.server.serving.http_listener import endpoint_of
from mcp_ref.streamable.server.wsgi import Caller

server = Server("starlette", version="1.0")
mcp = Caller(endpoint_of(server, token=os.environ["MCP_TOKEN"], streams=False))
loops = []


@server.tool
def rest(times: int, ctx: Context) -> str:
    """Sleep in the event loop, so many times."""
    for number in range(times):
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), loops[0]).result()
        ctx.progress(number + 1, times)  # ends a call that was cancelled, between two rounds
    return "rested"


class Endpoint:
    async def __call__(self, scope, receive, send):
        loops[:] = [asyncio.get_running_loop()]
        request = Request(scope, receive)
        answer = await run_sync(mcp.call, request.method, request.url.path, request.headers, await request.body())
        fields = [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": fields})
        async with anyio.create_task_group() as group:
            group.start_soon(self.watch, receive, answer.chunks)
            piece = b"more"
            while piece:
                piece = await run_sync(next, answer.chunks, b"")
                await send({"type": "http.response.body", "body": piece, "more_body": bool(piece)})
            group.cancel_scope.cancel()

    async def watch(self, receive, chunks):
        while (await receive())["type"] != "http.disconnect":
            pass
        chunks.close()  # the client has left, which ends its stream


app = Starlette(routes=[Route("/mcp", Endpoint())])
