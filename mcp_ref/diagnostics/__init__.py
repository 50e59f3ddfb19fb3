"""What the package tells its operators: log records, counts, and text that is safe to show.

`packagelog` makes the loggers, `stderrlog` is the handler of last resort, `counters` counts oddities and logs them
rarely, `usercode` reports exceptions of handlers and callbacks, `redaction` and `redactionfilter` mask secrets, and
`plaintext` escapes what a terminal must not see.
"""
