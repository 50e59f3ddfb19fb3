"""The client's side of MCP over HTTP.

=========================  =================================================================================
modules                    what they are
=========================  =================================================================================
`detect`                   finds out which of the two transports a server speaks
`streamable`, `http_sse`   the two transports
`base`                     what both share: requests on pooled connections, retries, authorization
`posts`                    a request on its way; when the caller's thread sends it; what refusals mean
`inbox`                    messages that came, for the reader
`headers`                  header fields of a request, also those that repeat a part of its body
`auth_provider`            the contract of what gets requests let in
=========================  =================================================================================
"""
