"""Ways to move frames: `base` is the contract, the others implement it. A reading order:

=========================  =================================================================================
modules                    what they are
=========================  =================================================================================
`base`, `memory`, `tap`    the contract; its smallest keeper; one that shows the wire of any other
`framing`, `fds`, `lines`  messages in lines, over file descriptors
`stdio`, `child`,          standard input and output; a server as a child process; `stderr`: what it says beside
`process`, `commands`      its messages
`sockets`, `listener`      TCP and Unix sockets
`http_exchange`            one HTTP request and its reply, between what carries it and what answers it
`http_endpoint`            answers: Streamable HTTP. Sessions: `http_in_session`, `http_session`, `http_streams`,
                           `http_sessions`, `http_owners`; without: `http_modern`, `http_stateless`; both are
                           `http_routed`. `sse_endpoint` is the same for HTTP+SSE
`store`, `sqlite_store`    sessions that processes share, with `http_store`, `http_copy`
`http_server`              carries: the socket engine. Bytes: `http_head`, `http_parsing`, `http_shape`,
                           `http_replies`, `http_bodies`; connections: `http_connection`,
                           `http_answering`, `http_tls`, `http_accepting`; threads: `http_reactor`,
                           `http_lead`, `http_workers`, `http_mailbox`
`http_call`, `wsgi`        carry, too: a plain call, and any WSGI engine
`http_client`,             the client's side of both, over `http_channel`, with `http_pool`, `http_dial`,
`sse_client`, `http_auto`  `http_reply`, `http_inbox`, `http_crew`; what goes beside requests without session:
                           `http_mirroring`, `http_fields`; what lets them in: `http_authorizing`; and finding
                           out which transport it is
`http_trace`               what a trace shows of HTTP, on both sides
=========================  =================================================================================
"""
