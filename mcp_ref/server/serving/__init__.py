"""The ways to serve: `stdio` for one client on standard input and output, `http_listener` for many over HTTP.

`signals` ends both in order at SIGTERM and Ctrl-C.
"""
