"""A scripted HTTP server (`scripted_http`) that speaks HTTP+SSE."""
import threading
from typing import Any

from .scripted_http import SERVER, Request, ScriptedHttp, log


class Older:
    """Makes a scripted server one of HTTP+SSE, at ``/sse`` and ``/messages``."""

    def __init__(self, server: ScriptedHttp) -> None:
        self.server = server
        self.refusal = 405
        self.endpoint: Any = b"/messages?session=7"
        self.stream: Any = None
        self.begun = threading.Event()
        server.on["GET"], server.on["*"] = self.listen, self.take

    def listen(self, request: Request) -> None:
        request.begin_events()
        request.event(log("too early"), event="message")
        request.event(self.endpoint, event="endpoint")
        self.stream = request
        self.begun.set()
        request.wait_gone()

    def take(self, request: Request) -> None:
        if request.target.partition("?")[0] != "/messages":
            request.reply(self.refusal, b"only GET here", "text/plain")
            return
        request.reply(202)
        self.begun.wait(10)
        if request.key == "initialize":
            revision = request.message["params"]["protocolVersion"]
            result: Any = {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": SERVER}
        else:
            result = {"content": [{"type": "text", "text": request.key}]}
        if "id" in request.message and "method" in request.message:
            self.stream.event(request.result(result), event="message")
