"""Sessions and tasks that several processes share, so that any of them may answer any request.

`sqlite` is the store for the processes of one machine, `contract` has the checks that a store of your own must pass.
`table` and `resumption` are the sessions that live in a store, `letters` what their processes send each other. The
interface of a store is `mcp_ref.ext.stores`.
"""
