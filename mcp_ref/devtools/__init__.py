"""The tools for those who judge or look: none of them is needed to serve or to call, and the core loads none.

============  ======================================================================================================
`recorder`    records the sessions of others: a shim for pipes, a proxy for HTTP, files that other tools wrote
`ladder`      a recorded session as a structure, and as a drawing
`checker`     judges recorded and live sessions; each rule cites the sentence of the specification that it holds
`examiner`    examines servers and clients with legal and illegal messages, in each revision
`bridge`      puts a server behind another transport, or in another revision, than it has
`inspector`   a session as a page in the browser
`crosscheck`  compares `mcp_ref.messages` with the official schemas
`playback`    plays either party of a recording again, and compares by meaning
============  ======================================================================================================

The command line has a command for each: ``python3 -m mcp_ref --help``.
"""
