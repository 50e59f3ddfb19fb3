"""The messages of the package to its operators: log records, counts, and text that is safe to show.

`packagelog` makes the loggers, counts oddities and logs them rarely; `loghandlers` has the
handler of last resort and a filter that masks secrets; `usercode` reports exceptions of handlers and callbacks;
`redaction` masks secrets; `plaintext` escapes what a terminal must not see.
"""
