"""The client's side of MCP over HTTP.

=========================  =================================================================================
modules                    what they are
=========================  =================================================================================
`detect`                   finds out which of the two transports a server speaks
`streamable`, `http_sse`   the two transports
`base`                     what both share: requests on pooled connections, retries, authorization
`posts`                    a request on its way: its header fields, also those that repeat a part of its body;
                           when the caller's thread sends it; what refusals mean; messages that came, for the
                           reader
`auth_provider`            the contract of what gets requests let in
=========================  =================================================================================
"""
