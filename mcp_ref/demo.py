"""The main job, with the wire visible: start a server as a child, connect, list, call, read, close."""

import pathlib
import sys
from typing import List

from .client import connect
from .errors import ConnectFailed
from .wiretrace import to_text

SERVER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "echo_server.py"


def main() -> int:
    """Run the demonstration against ``examples/echo_server.py``; 0 if everything came back as expected.

    Raises `ConnectFailed` in a copy of the package without the examples.
    """
    if not SERVER.is_file():
        raise ConnectFailed("the demonstration needs examples/echo_server.py beside the package; it is not there")
    print("# C> is what the client sends, S> what the server answers; one line for each message.\n")
    seen: List[str] = []
    with connect([sys.executable, str(SERVER)], trace=to_text(sys.stdout)) as client:
        tools = [tool.name for tool in client.tools()]
        seen.append("tools: %s" % ", ".join(tools))
        seen.append("echo: %s" % getattr(client.call_tool("echo", {"text": "hello, wire"}).content[0], "text", None))
        seen.append("2 + 3 = %s" % client.call_tool("add", {"a": 2, "b": 3}).structured_content)
        steps: List[float] = []
        client.call_tool("count", {"to": 3}, progress=lambda value, total, message: steps.append(value))
        seen.append("progress: %s" % steps)
        resources = [resource.uri for resource in client.resources()]
        seen.append("resources: %s" % ", ".join(resources))
        seen.append("config://app: %s" % getattr(client.read_resource("config://app").contents[0], "text", None))
        seen.append("greeting: %s" % getattr(client.read_resource("greeting://you").contents[0], "text", None))
        prompts = [prompt.name for prompt in client.prompts()]
        seen.append("prompts: %s" % ", ".join(prompts))
        message = client.get_prompt("review", {"code": "x = 1"}).messages[0]
        seen.append("review: %s" % getattr(message.content, "text", "").replace("\n", " "))
        revision = client.revision
    print("\n# What came of it, in revision %s:" % revision)
    for line in seen:
        print("  " + line)
    return 0
