"""Transports: the contracts, and the ways to move messages without HTTP.

=========  ====================================================================================
module     what it is
=========  ====================================================================================
`base`     the contract: a `Transport` reads and writes messages
`replies`  a transport whose replies each take their own way: a session of an HTTP server
`memory`   two ends in one process, the smallest transport there is
`tap`      wraps any other transport and shows its traffic in a trace
`held`     counts the bytes that a peer makes this process hold, against limits
`lines/`   messages in lines: pipes, standard input and output, child processes, sockets
=========  ====================================================================================

Streamable HTTP and HTTP+SSE are in `mcp_ref.streamable`, on top of `mcp_ref.http11`.
"""
