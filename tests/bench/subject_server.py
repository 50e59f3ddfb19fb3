"""The subject where `examples/echo_server.py` does not do: our server with a tool that blocks."""
import time

from mcp_ref import Server

server = Server("bench", version="1")


@server.tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def sleep(ms: int) -> str:
    """Block the handler's thread for that many milliseconds."""
    time.sleep(ms / 1000)
    return "slept"


if __name__ == "__main__":
    server.run()
