"""The server's side of MCP over HTTP: requests to messages, and answers to replies.

======================================  ====================================================================
modules                                 what they are
======================================  ====================================================================
`endpoint`                              one MCP endpoint: routes methods and eras, refuses with a reason
`authenticate`                          who sent a request, and whether it is let in
`post`, `session`, `session_table`      POST in a session; one session; all sessions of this process
`sessionless`                           the handshake revisions without session ids (`sessions="none"`)
`stateless`                             requests of 2026-07-28, which need no session
`reply_stream`                          the place where answers go: a JSON body, or a stream with replay
`http_sse`                              the two addresses of HTTP+SSE of 2024-11-05
`call`, `wsgi`                          the endpoint without a socket: a plain call, and any WSGI engine
======================================  ====================================================================
"""
