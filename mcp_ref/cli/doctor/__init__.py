"""The command that says why a connection fails.

`evidence` has what was tried on a server and what was seen, which is mostly the trace of a real client, and finds the
cause by the tables of `programs` and `addresses`. `examination` has the command, its steps, and what is told of a
server that works.
"""
