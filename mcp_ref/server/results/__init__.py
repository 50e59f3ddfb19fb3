"""The messages that are made of what a handler returned or raised.

`content` makes content blocks and the results of tools. `failures` decides what the client and the log are told of an
exception, and which error code each revision gets. `stamp` adds the members that every result of 2026-07-28 has.
"""
