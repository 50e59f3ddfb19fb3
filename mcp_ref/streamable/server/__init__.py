"""The server's side of MCP over HTTP: requests to messages, and answers to replies.

======================================  ====================================================================
modules                                 what they are
======================================  ====================================================================
`endpoint`                              one MCP endpoint: routes methods and eras, refuses with a reason
`authenticate`                          who sent a request, and whether it is let in
`post`                                  the ladder of checks, and the ways of POSTs that it leads to
`session`                               one session; all sessions of this process
`stateless`                             requests of 2026-07-28, which need no session
`reply_stream`                          the place where an answer goes: a JSON body, or a stream
`http_sse`                              the two addresses of HTTP+SSE of 2024-11-05
`own_routes`                            addresses of an author's own beside the endpoint: pages, health, metrics
`wsgi`                                  the endpoint without a socket: a plain call, and any WSGI engine
======================================  ====================================================================
"""
