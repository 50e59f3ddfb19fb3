"""The command that says why a connection fails.

`evidence` is what was tried on a server and what was seen: the trace of a real client, mostly. `causes` decides by it,
with the tables of `programs` and `addresses`; what a table wants to look at besides is in `looks`. `examination` has
the steps and the command, `health` what is told of a server that works.
"""
