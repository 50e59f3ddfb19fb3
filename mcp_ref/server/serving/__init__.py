"""The ways to serve: one client on standard input and output, many over HTTP or on a socket.

`process` is the first, and ends all of them in order at SIGTERM and Ctrl-C; the others are `http_listener` and
`socket_listener`. `lifespan` holds open what an author's server needs meanwhile.
"""
