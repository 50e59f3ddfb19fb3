"""Sessions and tasks that several processes share, so that any of them may answer any request.

The interface of a store is `mcp_ref.stores`. `sqlite` is the store for the processes of one machine, `contract` has the
checks that a store of your own must pass. `table` has the sessions that live in a store, `resumption` their streams and
the letters that their processes send each other.
"""
