"""The floor of the client figures: a threaded client with a reader thread and a dict of queues, and nothing else."""
import itertools
import json
import queue
import subprocess
import threading
from typing import Any, Dict, Sequence

ANSWER_SECONDS = 60


class FloorClient:
    """Starts a server and calls its tools. It checks nothing: no lifecycle, no types, no end of stream."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ids = itertools.count(1)
        self.waiting: Dict[int, "queue.Queue[Dict[str, Any]]"] = {}
        self.write_lock = threading.Lock()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.submit("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                   "clientInfo": {"name": "floor", "version": "1"}}).get(timeout=ANSWER_SECONDS)

    def read(self) -> None:
        """Hand each answer to the queue of its id; the reader thread's whole life."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            self.waiting.pop(message["id"]).put(message)

    def submit(self, method: str, params: Dict[str, Any]) -> "queue.Queue[Dict[str, Any]]":
        """Send one request; its answer comes out of the queue returned."""
        assert self.process.stdin is not None
        number = next(self.ids)
        answer = self.waiting[number] = queue.Queue()
        line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
        with self.write_lock:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        return answer

    def submit_tool(self, name: str, arguments: Dict[str, Any]) -> "queue.Queue[Dict[str, Any]]":
        """Send a tool call."""
        return self.submit("tools/call", {"name": name, "arguments": arguments})

    def close(self) -> None:
        """Close the server's stdin and wait until it is gone."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=ANSWER_SECONDS)
        self.reader.join()
        self.process.stdout.close()
