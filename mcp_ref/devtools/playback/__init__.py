"""Recordings played again: as the server for a live client, as the client of a live server; two of them compared.

::

    script = read("session.jsonl")             # what `check` reads: a trace, a HAR, JSON-RPC messages one a line
    play(Book(script))                         # answers the client on standard input and output
    Drive(script, wire_to(server)).run()       # asks a live server the same, and says where it answers otherwise
    compare(script, read("other.jsonl"))       # what differs in meaning

==============  ====================================================================================================
`script`        a recording as turns: a message of the client, and what the server sent because of it; what counts in
                a JSON value of the protocol, and what is made anew in each conversation
`player`        the server's side, and its transport on standard streams
`web`           the same over Streamable HTTP
`driver`        the client's side; two recordings by meaning
==============  ====================================================================================================

Frames are played as they were recorded: no role of this package takes part, so what a server or client of another maker
did wrong is played, too. Secrets are masked in recordings, and stay so: what was a token is a mask when it is played.
"""
