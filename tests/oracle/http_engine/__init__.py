"""The engine of an HTTP/1.1 server: sockets to requests, replies to sockets, and the threads for handlers.

===============================  ===================================================================================
modules                          what they are
===============================  ===================================================================================
`server`                         the server: listens, starts the threads, shuts down in order
`reactor`, `acceptor`            the thread that owns the selector; new connections and other threads' commands for it
`leader`                         the threads that run handlers: the one that read the request, or a pool
`connection`, `tls`              one socket, a request on it and its reply; the same under TLS
`request_parser`, `body_budget`  bytes to requests; memory for bodies, counted over all connections
`responses`                      heads of replies, refusals, and what is borrowed from `http.server`
`owners`                         whose address a client has, behind trusted proxies too
===============================  ===================================================================================
"""
