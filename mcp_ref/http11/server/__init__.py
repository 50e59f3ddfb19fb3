"""An HTTP/1.1 server on `http.server` and `selectors`: sockets to requests, replies to sockets.

==============================  ====================================================================================
modules                         what they are
==============================  ====================================================================================
`server`                        the server: listens, starts its threads, shuts down in order
`connection`, `tls`             one connection, which a thread serves, and a request on it; the same under TLS
`parking`                       the thread that waits for connections without a thread
`outbox`, `room`                what clients have not read; who has to go when something runs short
`request_parser`, `responses`   bytes to requests; refusals, and what is borrowed from `http.server`
`body_budget`                   memory for bodies, counted over all connections
`owners`                        whose address a client has, behind trusted proxies too
==============================  ====================================================================================
"""
