"""Sends one message of so many bytes at once and reads one at the same time; then says how long that one was."""
import sys
import threading

from mcp_ref.transports.lines.stdio import StdioServer

transport = StdioServer()
transport.open()
message = b'{"": "%s"}' % (b"t" * (int(sys.argv[1]) - 8))
writer = threading.Thread(target=transport.write, args=([message],))
writer.start()
items = transport.read()
writer.join()
transport.write([b'{"received": %d}' % len(items[0])])
transport.read()
transport.close()
