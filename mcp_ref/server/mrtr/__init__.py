"""Questions to the client from inside a handler, in every revision [2026-07-28 basic/patterns/mrtr §Basic Workflow].

`rounds` asks; `replay` runs a handler again with the answers so far.
"""
