"""The connections of an HTTP/1.1 client: dial, send, read the response, use the connection again.

`connect` dials (proxies, TLS, cancellation), `connection_pool` keeps connections for the next request and has the
threads that wait for replies, and `response` reads what comes back.
"""
