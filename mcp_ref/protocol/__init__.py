"""Rules without input or output: functions and tables that know no sockets, threads or clocks.

`lifecycle`, `eras`, `negotiation` and `capabilities` say what may be sent when; `envelope`, `metakeys`,
`tracecontext` and `requeststate` what travels in `_meta` and in states; `content`, `links`, `uris`, `roots`,
`sampling`, `elicitation`, `toolnames`, `priorities` and `caching` are the rules of their pages, and `streamable_http/`
those of HTTP.
"""
