"""What several tests use: peers that do as they are told, faults on demand, the official schemas.

====================  ==============================================================================================
module                what it plays
====================  ==============================================================================================
`asking`              a side of ours that asks a user, or is asked; the peer is scripted
`auth_server`         an authorization server and a protected server, on loopback
`authorized`          a client of ours, a protected server and its authorization server, on loopback
`by_hand`             a client of 2026-07-28 that goes through the rounds of a request by hand
`children`            processes that tests start, and the signals they hear
`clocks`              a clock that goes on when a test says so
`conversation`        a server or client of ours in a phase of its life; the peer is scripted
`faults`              transports that lose, delay and break
`hosting`             hosts, with scripted servers or ours, in memory
`http_exchange`       an HTTP exchange that a test reads, and a client of an `Endpoint` made of such; no sockets
`http_modern`         the same for 2026-07-28
`judged`              has the checker judge each connection and each HTTP endpoint of a test
`later_extension`     an extension in one module
`legacy_web`          the same client for HTTP+SSE
`official_schema`     frames judged by the official schemas
`outside`             the specification and the official test suites, which are not part of the project
`patience`            timeouts that suit a busy machine
`porting`             the pages about porting from other libraries, and one walk through two servers
`protected`           a protected server of ours, and a client that shows it tokens; no sockets
`questions`           a server of ours that asks, or a client of ours that is asked; the other is scripted
`requirements_table`  which revisions have a row of the requirement list
`rs256`               a signer for RS256
`scene`               a client of ours, and a server that answers each method as the test says
`schema_tap`          looks at everything that our side sends in any test
`scripted`            a peer that does what a test says, in memory
`scripted_grant`       what a grant is given, with answers from a list; no sockets
`scripted_http`       an HTTP server that does what a test says, byte by byte
`scripted_sse`        the same, for HTTP+SSE
`scripted_web`        a small web server that answers each path as the test says
`serving`             a server of ours and a scripted client, for one question after the other
`sides`               our side of a conversation, with handlers that a test gives; or both sides
`skill_folders`       folders of skills that are served
`tasks`               a server that answers calls by tasks, one state after the other
`threadless`          the steps that work without threads
====================  ==============================================================================================
"""
