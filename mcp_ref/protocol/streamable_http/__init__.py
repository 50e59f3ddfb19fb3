"""Rules of the page basic/transports/streamable-http, without input or output.

`refusals` judges a request and says how it is refused, `era` tells from header and body which revisions it belongs to,
`header_values` reads values of header fields, `mirrored` compares the fields that repeat a part of the body, and `sse`
writes and reads events.
"""
