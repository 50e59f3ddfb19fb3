"""A server that says nothing of its own: what comes from stdin goes to a socket, and back. Argument: the address."""
import sys
import threading

from mcp_ref.errors import ConnectionLost
from mcp_ref.transports.base import Transport
from mcp_ref.transports.lines.sockets import connect_socket
from mcp_ref.transports.lines.stdio import StdioServer


def pump(source: Transport, sink: Transport) -> None:
    try:
        while True:
            items = source.read()
            if items is None:
                break
            sink.write([item for item in items if isinstance(item, bytes)])
    except ConnectionLost:
        source.close()
    sink.close()


stdio, far = StdioServer(), connect_socket(sys.argv[1])
far.open()
stdio.open()
back = threading.Thread(target=pump, args=(far, stdio))
back.start()
pump(stdio, far)
back.join()
