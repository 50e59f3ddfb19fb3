"""The sessions that several processes serve, in a `Store`: see `mcp_ref.stores`.

`table` is the session table of a server whose sessions are in a store, and has the replicas of this process: sessions
of which another process may hold the other half. `resumption` has the part of a replica that resumes streams.
"""
