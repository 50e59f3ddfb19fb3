"""The messages of the package to its operators: log records, counts, and text that is safe to show.

`packagelog` makes the loggers, counts oddities and logs them rarely; `stderrlog` is the handler of last resort;
`usercode` reports exceptions of handlers and callbacks; `redaction` and `redactionfilter` mask secrets; `plaintext`
escapes what a terminal must not see.
"""
