"""The engine of an HTTP/1.1 server: sockets to requests, replies to sockets, and the threads for handlers.

=======================================  ===================================================================
modules                                  what they are
=======================================  ===================================================================
`server`                                 the server: listens, starts the threads, shuts down in order
`head`, `request_parser`, `body_budget`  bytes to requests; memory for bodies, counted over all connections
`stdlib`, `responses`                    what is borrowed from `http.server`; heads of replies
`connection`, `exchange`, `tls`          one socket; one request on it and its reply; TLS
`acceptor`, `reactor`, `commands`        the thread that owns the selector, and what other threads ask of it
`leader`                                 lets the thread that read a request run its handler; the pool for others
`owners`                                 whose address a client has, behind trusted proxies too
=======================================  ===================================================================
"""
