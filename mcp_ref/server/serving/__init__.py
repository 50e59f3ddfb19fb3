"""The ways to serve: `process` serves one client on standard input and output, `http_listener` many over HTTP.

`process` also ends both in order at SIGTERM and Ctrl-C.
"""
