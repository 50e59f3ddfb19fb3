"""What a handler returned or raised, as the protocol sends it.

`content` makes content blocks, `tool_result` results of tools, `failures` what clients and the log are told of
exceptions, `error_codes` the code that each revision has for an error.
"""
