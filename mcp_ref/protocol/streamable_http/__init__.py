"""The rules of the page basic/transports/streamable-http, without input or output.

`refusals` has the reasons to refuse a request and their order, and finds the revisions that a message belongs to.
`header_values` reads values of header fields, and writes and reads server-sent events; `mirrored` compares the fields
that repeat a part of the body.
"""
