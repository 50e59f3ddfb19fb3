"""The contracts of transports, and the ways to move messages without HTTP.

============  =================================================================================
module        what it is
============  =================================================================================
`base`        the contracts: of a pipe, where a `Transport` reads and writes messages; of an HTTP server, where
              each message goes its own way, in the reply to a request; of an HTTP client, where each message
              is a request of its own, with a reply. And a transport around another one, of whichever contract
`tap`         wraps any other transport and shows its traffic in a trace
`memory`      two ends in one process, the smallest transport there is
`held`        counts the bytes that a peer makes this process hold, against limits
`lines/`      messages in lines: pipes, standard input and output, child processes, sockets
============  =================================================================================

Streamable HTTP and HTTP+SSE are in `mcp_ref.streamable`, on top of `mcp_ref.http11`.
"""
