"""Recorders of the conversations of others: a shim on the pipes of a server, a proxy before one, files of other tools.

Both carry bytes first and record second: what they saw waits in a `Backlog`, from which a thread of its own makes the
events of `mcp_ref.wiretrace`. Neither client nor server of this package is used, so nothing is judged by what made it.

==============  ====================================================================================
`shim`          starts a server and stands between its standard streams and ours; makes events of the lines
`proxy`         stands before a server of the web; `relay` is one of its connections
`exchanges`     finds out where HTTP messages end, in bytes that pass, and makes events of HTTP exchanges
`telling`       keeps what was seen until it is recorded, and drops it rather than delay anybody; writes events with
                their times, secrets masked
`imported`      reads HAR, and JSON-RPC messages one a line
==============  ====================================================================================
"""
