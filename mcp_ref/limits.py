"""The table of all limits: sizes, depths, counts, times and rates, each with its reason.

A limit that is reached always says its name: ``message of 70000000 bytes exceeds max_message_bytes
(67108864)``. Make another `Limits` to change some: ``Server("demo", limits=Limits(max_workers=8))``.

What peers can make a process hold in memory, on either side, is bounded for all of them and for each. Where only a
bound for each stands, that for all is it times the number of connections (``max_http_connections``,
``max_connections``), of sessions (``max_sessions``), or of servers that a client has connected to.

==================================  =========================================  =======================================
what                                for the process                            for each peer
==================================  =========================================  =======================================
**a server**
bodies of HTTP requests, and the    max_body_bytes_total                       max_message_bytes, max_nodes
values that they become
heads, requests sent ahead          64 KiB a connection each                   max_header_bytes, max_header_fields
messages over TCP, Unix sockets:    max_held_bytes                             max_held_bytes_per_peer, line_timeout
lines without an end
the same: large requests that run   max_held_bytes                             max_held_bytes_per_peer; smaller ones:
                                                                               max_inflight of 64 KiB
the same: what waits to be read     max_held_bytes                             max_held_bytes_per_peer, max_outbox_bytes
replies that are not read (HTTP)    max_held_bytes                             max_held_bytes_per_peer, min_read_rate,
                                                                               http_write_timeout, max_stream_bytes
events that may be sent again       half of max_held_bytes                     max_replay_events, max_replay_bytes,
                                                                               replay_seconds
messages that wait for a stream     half of max_held_bytes, with the above     max_waiting_messages, max_waiting_bytes,
                                                                               max_early_messages
URIs of subscriptions               max_held_bytes, max_listeners              max_subscribed_bytes, max_subscriptions,
                                                                               max_uri_length
what a client says of itself        max_held_bytes                             max_introduction_bytes
sessions                            max_sessions                               max_session_share, session_idle
notifications that wait to be       as for each                                max_inflight, max_unheard_bytes
heard
buckets of rates                    10,000 a connection                        one for each rate
links to be shown                   as for each                                max_pending_elicitations
tokens, proofs of possession        max_cached_tokens, max_proofs              max_token_bytes, max_proofs_per_key
answers to a batch                  as for each                                max_batch_answer_bytes
handlers that wait for a peer       max_waiting                                max_questions, max_session_share
what waits in a shared store        max_store_bytes                            max_store_letters,
                                                                               max_store_letter_bytes
tasks: requests, answers, results   max_tasks, max_tasks_bytes                 max_tasks_per_principal, max_task_bytes,
                                                                               max_task_ttl
**a client**
what has arrived and was not read   as for each                                1 MiB and one message
an event, a JSON answer             max_http_requests at a time                max_message_bytes
an event's id, a head               as for each                                4 KiB; 200 fields of 64 KiB
notifications that wait for         as for each                                max_inflight, max_unheard_bytes
callbacks
progress that waits for a callback  max_pending requests                       max_inflight, one long message
requests of the server that run     as for each                                max_inflight, max_held_bytes
the same, as tasks; their results   as for each                                max_tasks_per_principal, max_task_bytes,
                                                                               max_tasks_bytes, max_task_ttl
lists                               as for each                                max_cached_items, max_pages
resources, completions              as for each                                max_cached_resource_bytes,
                                                                               max_cached_completions
a child's stderr                    as for each                                stderr_tail_bytes, max_stderr_line_bytes
what an authorization server says   as for each                                max_auth_response_bytes
==================================  =========================================  =======================================
"""

from dataclasses import dataclass, fields

from .options import strict_options


@strict_options
@dataclass
class Limits:
    """Limits of one client, server or host. Sizes are bytes, times are seconds. Not to be changed once in use.

    ===========================  ===========  ====================================================================
    limit                        in           what it bounds
    ===========================  ===========  ====================================================================
    max_message_bytes            bytes        one message on the wire, without its line end
    max_depth                    levels       nested arrays and objects in one message
    max_nodes                    values       in one message, by its commas and brackets
    max_number_digits            digits       of one integer
    max_batch                    messages     in one batch (2025-03-26)
    max_batch_answer_bytes       bytes        of all answers to one batch together
    max_pages                    pages        of one list that a client asks for
    max_id_length                characters   of a request id that is a text
    max_uri_length               characters   of a resource's URI
    max_icon_bytes               bytes        of an icon in a ``data:`` URI
    max_workers                  threads      that run handlers, for each connection but those of HTTP
    max_waiting                  handlers     that wait for a peer, in the process
    max_questions                questions    of handlers that one client, or one of its sessions, has open
    max_inflight                 requests     of one peer that run or wait; also what waits for callbacks
    max_pending                  requests     of ours that wait for an answer
    max_outbox_bytes             bytes        that wait to be written to one peer over stdio or a socket
    max_subscriptions            URIs         that one session or stream is subscribed to
    max_listeners                streams      of `subscriptions/listen`, of all clients
    max_completion_values        values       in one answer to `completion/complete`
    max_cached_completions       answers      to completions that a client keeps
    max_cached_items             items        of one list that a client keeps; a KiB counts as one, too
    max_cached_resource_bytes    bytes        of what was read of resources and a client keeps
    max_pending_elicitations     links        that a client was asked to show and that are not completed
    max_tool_iterations          rounds       in which a model uses tools
    max_input_rounds             rounds       of one request in which a server asks for input
    max_state_bytes              bytes        of a ``requestState``
    max_spent_states             states       that a server remembers as used
    max_restarts                 restarts     in a row of a server that ended by itself
    promote_after                seconds      without a handler that ends, after which more workers wake up
    request_timeout              seconds      of silence, after which a request of ours is given up
    request_ceiling              seconds      that a request may take at most, and all pages of a list
    poll_interval                seconds      between two looks at a task, where its server wishes none
    min_poll_interval            seconds      between two looks at a task, whatever its server wishes
    initialize_timeout           seconds      for the handshake
    probe_timeout                seconds      for a server to say whether it needs a handshake
    restart_delay                seconds      before the second restart in a row; doubles
    restart_healthy              seconds      after which a server counts as healthy
    cached_completion_seconds    seconds      for which a client keeps an answer to a completion
    drain                        seconds      in which one more handler has to end after the peer left
    shutdown_grace               seconds      for handlers, or a child, to end by themselves
    serve_grace                  seconds      for requests over HTTP or a socket to finish after SIGTERM
    terminate_grace              seconds      for a child to end after SIGTERM
    max_tool_calls_per_second    a second     tool calls of one client
    max_completions_per_second   a second     completions, of one client or server
    max_log_messages_per_second  a second     log messages to one client
    max_samplings_per_second     a second     sampling requests of one server
    max_elicitations_per_second  a second     questions of one server
    max_unheard_bytes            bytes        of notifications of one peer that wait for callbacks
    max_subscribed_bytes         characters   of all URIs that one session or stream is subscribed to
    max_introduction_bytes       bytes        of capabilities and clientInfo in `initialize`
    max_held_bytes               bytes        that all peers together make a server hold
    max_held_bytes_per_peer      bytes        that one of them does
    max_connections              connections  over TCP and Unix sockets
    line_timeout                 seconds      for a message over a socket to come whole, and one more for each KiB
    max_progress_per_second      a second     progress notifications of one request
    max_progress_burst           messages     of progress that may come faster than that
    stderr_tail_bytes            bytes        of a child's stderr that are kept for error messages
    max_stderr_line_bytes        bytes        of one line of a child's stderr that are shown
    max_http_connections         connections  of an HTTP server, streams among them
    max_request_line_bytes       bytes        of the first line of an HTTP request
    max_header_bytes             bytes        of the header fields of an HTTP request
    max_header_fields            fields       in one HTTP request
    max_body_bytes_total         bytes        of request bodies, and what they become, that an HTTP server holds
    max_stream_bytes             bytes        that wait on one HTTP stream for a slow reader
    http_idle_timeout            seconds      for which a kept HTTP connection may be silent
    http_header_timeout          seconds      for the head of an HTTP request
    http_body_timeout            seconds      for its body, and one more for each KiB
    http_write_timeout           seconds      for which a client may read nothing
    min_read_rate                bytes/s      that a client has to read after that
    connect_timeout              seconds      for each step of connecting
    max_http_requests            requests     that an HTTP client has open at a time
    http_keep_alive              seconds      for which an HTTP client keeps an idle connection
    min_reconnect_delay          seconds      before an HTTP client asks again for a stream, at least
    max_reconnect_delay          seconds      the same at most, unless the server wants more
    tls_handshake_timeout        seconds      for a TLS handshake
    max_sessions                 sessions     that are open at a time
    max_session_share            share        of ``max_sessions`` that one client may have
    max_bridge_sessions          sessions     of a bridge, each with a server behind of its own
    session_idle                 seconds      without use, after which a session ends
    max_session_streams          streams      opened by GET in one session
    question_grace               seconds      for a client without connection to come back to a question
    max_waiting_messages         messages     that wait for a stream of one session
    max_early_messages           messages     the same before its first stream
    max_waiting_bytes            bytes        of messages that wait for a stream of one session
    max_store_letters            messages     of one session that wait in a store for another process
    max_store_letter_bytes       bytes        of such messages
    max_store_bytes              bytes        of them over all sessions, for each of five kinds
    max_replay_events            events       of one session that are kept to be sent again
    max_replay_bytes             bytes        of such events
    replay_seconds               seconds      for which an event is kept
    stream_retry                 seconds      that a client is told to wait before it comes back
    stream_keepalive             seconds      of silence on a stream, after which it gets a comment
    max_auth_response_bytes      bytes        of an answer of an authorization server
    auth_timeout                 seconds      for one request to an authorization server
    authorization_patience       seconds      for a person to allow access
    max_authorizations           attempts     for one request that is refused again and again
    max_token_bytes              bytes        of one token
    max_cached_tokens            tokens       that a server remembers as verified, and as bad
    max_proofs                   proofs       of possession that a server remembers, so that none is good twice
    max_proofs_per_key           proofs       the same of one key
    max_running_tasks            threads      that run tasks; further tasks are queued
    max_tasks                    tasks        in a store
    max_tasks_per_principal      tasks        of one principal, finished ones among them
    max_task_bytes               bytes        of one task: its request, answers and result
    max_tasks_bytes              bytes        of all tasks in a store, after which none is created
    max_task_ttl                 seconds      from its creation for which a task may be kept
    max_task_requests_per_second a second     requests of one peer about tasks
    ===========================  ===========  ====================================================================

    Why each is as it is, and what happens when it is reached, stands at its field in the source.
    """

    # Messages
    max_message_bytes: int = 64 * 1024 * 1024 + 64 * 1024
    """One message on the wire, counted the same however its bytes are split. 64 MiB of payload and its frame."""
    max_depth: int = 128
    """Nested arrays and objects in one message, in both directions. Real messages stay under 20. All that recurses over
    a value relies on it, and a level costs up to 2 KB of a thread's stack: 1 MiB, which some have, is enough for the
    default. What a handler returns as Python values, and what a host calls a tool with, has that of the default."""
    max_nodes: int = 2_000_000
    """Values in one message, estimated by its commas and brackets before parsing: 15 MB of ``{},`` cost 390 MB."""
    max_number_digits: int = 4300
    """Digits of one integer. Parsing is quadratic; newer interpreters refuse more than this by themselves."""
    max_batch: int = 1000
    """Messages in one batch [2025-03-26 basic/index §Batching]."""
    max_batch_answer_bytes: int = 64 * 1024 * 1024 + 64 * 1024
    """The answers to one batch, which are one message: what ``max_message_bytes`` lets through by default. What does
    not fit is answered with an error, and handlers that have not begun by then do not run."""
    max_pages: int = 10_000
    """Pages of one list that a client asks for; a server whose list never ends is an error."""
    max_id_length: int = 1024
    """Characters of a string request id; ids are kept in tables and logs."""
    max_uri_length: int = 8192
    """Characters of a resource's URI; servers of the web take about as many."""
    max_icon_bytes: int = 64 * 1024
    """An icon that comes whole in a ``data:`` URI; a large PNG icon has 20 KB."""

    # Work
    max_workers: int = 128
    """Threads that run handlers, for each connection; more work waits in the queue. Handlers that wait for a peer,
    their own or another one, do not count. Over HTTP a handler runs on the thread of its connection, of which there are
    ``max_http_connections``; only batches (2025-03-26) have further ones, so many for each server."""
    max_waiting: int = 4096
    """Handlers that wait for a peer, in the whole process. Each keeps a thread, of some 23 KB; the next one that wants
    to ask its own peer something raises `Busy`."""
    max_questions: int = 128
    """Requests that handlers have sent over HTTP and that wait for an answer: of one authenticated subject, or where
    nobody has to show who they are, of one session. The next one raises `Busy`. A person answers one at a time."""
    max_inflight: int = 1024
    """Requests of one peer that are running or queued; the next is refused with an error. Over HTTP without sessions
    a peer is a principal, and those that need not show who they are share ``max_http_connections``. As many
    notifications may wait for callbacks, and as many steps of progress for one request; those above it are dropped and
    counted."""
    max_pending: int = 65536
    """Our own requests that wait for an answer; the next one raises `Busy`."""
    max_outbox_bytes: int = 256 * 1024 * 1024
    """Bytes waiting to be written to a peer that does not read; a handler that sends more waits."""
    max_subscriptions: int = 10_000
    """Resources that one client may be subscribed to."""
    max_listeners: int = 10_000
    """Streams of `subscriptions/listen` that a server keeps open at once, over all its connections."""
    max_completion_values: int = 100
    """Suggestions in one answer [.. server/utilities/completion §Completion Results]; more are counted, not sent."""
    max_cached_completions: int = 256
    """Answers to completions that a client keeps, of up to 64 KiB each, oldest dropped first."""
    max_cached_items: int = 100_000
    """Items of one list that a client keeps, and KiB of it; it asks for a longer list each time, and uses no schema of
    it."""
    max_cached_resource_bytes: int = 16 * 1024 * 1024
    """Contents of resources that a client keeps, oldest dropped first; and those that clients share."""
    max_pending_elicitations: int = 1000
    """Links that a client was asked to show and that are not completed; the oldest is forgotten first."""
    max_tool_iterations: int = 10
    """Rounds of a loop in which a model uses tools [2025-11-25.. client/sampling §Security Considerations]."""
    max_input_rounds: int = 25
    """Rounds of one request in which the server asks for input first; one more is an error. A server of this package
    needs one for each question that a handler asks by itself."""
    max_state_bytes: int = 256 * 1024
    """A ``requestState``, in which the answers and other values travel that earlier rounds of a request came to."""
    max_spent_states: int = 100_000
    """States that a server with ``consume_state`` remembers until they expire; above it all states are refused."""
    max_restarts: int = 5
    """Restarts of a server that ended by itself, without one of its lives as long as ``restart_healthy``."""
    promote_after: float = 0.001
    """While work is queued and no handler has finished for this long, more workers wake up."""

    # Times
    request_timeout: float = 60.0
    """Idle time after which our request is given up and cancelled; None in a call: no idle limit."""
    request_ceiling: float = 3600.0
    """Longest life of a request, which progress cannot extend."""
    poll_interval: float = 1.0
    """Time between two looks of a client at a task whose server does not say what it wishes."""
    min_poll_interval: float = 0.1
    """Time between two looks of a client at a task at least, also if its server wishes less."""
    question_grace: float = 30.0
    """Time for which a question over HTTP stays open while its session has no connection and sends nothing: clients
    come
    back to a stream that broke within ``max_reconnect_delay`` at most."""
    initialize_timeout: float = 30.0
    """The handshake, which cannot be cancelled."""
    probe_timeout: float = 5.0
    """Time in which a server has to answer whether it needs no handshake, before it is offered one as well."""
    restart_delay: float = 0.25
    """The wait before the second restart in a row of a server that ended by itself; it doubles with each further."""
    restart_healthy: float = 30.0
    """A server that lived for so long is restarted as if for the first time."""
    cached_completion_seconds: float = 60.0
    """Time for which a client keeps the answer to a completion; servers do not announce new suggestions."""
    drain: float = 0.5
    """Time for handlers to end by themselves after the peer has gone; each that ends gives the others as long
    again, up to ``shutdown_grace``. Then they are cancelled."""
    shutdown_grace: float = 2.0
    """Time for running handlers to end after the connection ended, and for a child after its stdin closed."""
    serve_grace: float = 30.0
    """Time for running requests to finish after SIGTERM, where clients come over HTTP or a socket. Then they are
    cancelled. A server over stdio has one client, which waits for it: there ``shutdown_grace`` holds."""
    terminate_grace: float = 2.0
    """Time for a child to end after SIGTERM, before SIGKILL."""

    # Rates: for each connection, in the long run; as many as come in a second may come at once
    max_tool_calls_per_second: float = 100_000.0
    """Tool calls of one client [.. server/tools §Security Considerations] MUST. The default stops nothing but a
    runaway: lower it to what your tools can bear, or give a tool a ``rate`` of its own."""
    max_completions_per_second: float = 1000.0
    """Completions, that a server answers and that a client asks for."""
    max_log_messages_per_second: float = 1000.0
    """Log messages to one client; those above it are left out and counted."""
    max_samplings_per_second: float = 10.0
    """Sampling requests of one server: each costs money, and somebody's attention."""
    max_elicitations_per_second: float = 10.0
    """Questions of one server to the user."""

    # What peers make a server hold; see `mcp_ref.transports.held`
    max_held_bytes: int = 256 * 1024 * 1024
    """All of it together: events kept for streams that break, messages that wait, replies that nobody reads,
    subscriptions. By default it is three of the largest messages, as ``max_body_bytes_total``."""
    max_held_bytes_per_peer: int = 128 * 1024 * 1024
    """The part that one principal, session or connection may have of it; or one thing that is larger."""
    max_unheard_bytes: int = 16 * 1024 * 1024
    """Notifications of one peer that wait for callbacks; those above it are dropped and counted. See ``max_inflight``
    for their number."""
    max_subscribed_bytes: int = 4 * 1024 * 1024
    """URIs that one session or stream is subscribed to, in characters: ten thousand of 400."""
    max_introduction_bytes: int = 256 * 1024
    """Identity and capabilities of a client in `initialize`, icons included, which are kept with its session."""

    # Connections
    max_connections: int = 256
    """Open socket connections; the next one is closed with a log line."""
    line_timeout: float = 30.0
    """Time for a message over TCP or a Unix socket from its first byte to its line end, and one second more
    for each KiB that has come. Then the connection is closed."""
    max_progress_per_second: float = 100.0
    """Progress notifications of one request, in the long run; the last one always goes out."""
    max_progress_burst: int = 50
    """Progress notifications of one request that may come faster than that."""
    stderr_tail_bytes: int = 64 * 1024
    """The last bytes of a child's stderr, which are kept for error messages."""
    max_stderr_line_bytes: int = 4000
    """One line of a child's stderr that is shown or traced; the rest of a longer one is left out, which is said. A pipe
    that has room takes so much at once."""

    # HTTP
    max_http_connections: int = 4096
    """Open connections of an HTTP server, streams among them. The next one takes the place of one that is idle, or that
    is slow to send its request; else it is answered 503 and closed. Each is a socket and some 4 KB, and has a thread
    while its client sends or its handler runs."""
    max_request_line_bytes: int = 8192
    """Method, target and version of an HTTP request; RFC 9112 §3 wants at least 8000. Longer: 414."""
    max_header_bytes: int = 64 * 1024
    """The header fields of an HTTP request; tokens may have 48 KB. And what surrounds the data of a chunked one, beside
    a quarter of the data: a chunk of one byte costs as much as hundreds of bytes. More: 431."""
    max_header_fields: int = 100
    """Header fields of one HTTP request, as in `http.server`. More: 431."""
    max_body_bytes_total: int = 256 * 1024 * 1024
    """Bodies of requests that an HTTP server holds at a time, over all its connections; a quarter of it is for those of
    up to 16 KiB. What has no room now is answered 503, what never fits 413. By default it is three of the largest."""
    max_stream_bytes: int = 4 * 1024 * 1024
    """Bytes that may wait on an open HTTP stream for a client that reads slowly; then the stream is closed. One
    message may be larger, if nothing waits before it."""
    http_idle_timeout: float = 120.0
    """Time for which a kept HTTP connection may be silent; longer than the 60 s after which common proxies close."""
    http_header_timeout: float = 15.0
    """Time for the head of an HTTP request from its first byte on, and for a new client to send one. Then 408."""
    http_body_timeout: float = 30.0
    """Time for a body, and one second more for each KiB that has come. Then 408."""
    http_write_timeout: float = 60.0
    """Time for which a client may read nothing of what waits for it, and for which it may read less than
    ``min_read_rate``."""
    min_read_rate: float = 1024.0
    """Bytes a second that a client has to read of what waits for it, once ``http_write_timeout`` has passed; the
    slowest links have more. While three quarters of ``max_held_bytes`` are held, no reply may wait longer than that."""
    connect_timeout: float = 10.0
    """Time for each step of an HTTP client's connecting: an address of the host, a proxy, the handshake."""
    max_http_requests: int = 256
    """Requests that an HTTP client has open at a time, each with a connection and a thread; more wait."""
    http_keep_alive: float = 4.0
    """Time for which an HTTP client keeps an idle connection, unless the server names its own; common ones keep it 5
    s."""
    min_reconnect_delay: float = 0.1
    """Shortest wait before an HTTP client asks again for a stream, whatever the server wants. It doubles, up to a
    second, while the server ends streams at once and says nothing on them."""
    max_reconnect_delay: float = 30.0
    """Longest wait before an HTTP client asks again for a stream that broke, unless the server wants a longer one."""
    tls_handshake_timeout: float = 10.0
    """Time for a TLS handshake; it costs no thread."""

    # HTTP sessions
    max_sessions: int = 10_000
    """Sessions that are open at a time. The next one takes the place of one whose handshake was never finished, or of
    an idle one of the subject that has most of them; else `initialize` is answered 503. An idle one has some 10 KB."""
    max_session_share: float = 0.5
    """The part of ``max_sessions`` that one authenticated subject may have, or without authentication, one
    address (of IPv6 its first 64 bits); the same part of ``max_waiting`` may wait for its answers. 1.0: all. Behind a
    proxy all clients have its address: see the option ``trusted_proxies``."""
    max_bridge_sessions: int = 256
    """Sessions of a bridge, each with a child process or a connection of its own; the next client is told to come back
    later."""
    session_idle: float = 1800.0
    """Time for which a session may be without a request that comes or runs and without an open stream; then it ends."""
    max_session_streams: int = 16
    """Open GET streams of one session; a further one takes the place of the oldest."""
    max_waiting_messages: int = 1000
    """Messages that wait for a session to open a stream for them; the oldest are dropped."""
    max_early_messages: int = 32
    """Messages that wait for the first stream of a session; many sessions never open one."""
    max_waiting_bytes: int = 1024 * 1024
    """Bytes of the messages that wait for a session to open a stream."""
    max_store_letters: int = 256
    """Messages of one session that a process has put into a `Store` for another one: answers of its client, and as many
    notes (progress, cancellations). They are taken within milliseconds; more are dropped and counted."""
    max_store_letter_bytes: int = 1024 * 1024
    """Bytes of these messages; an answer may have more, if no other one waits. The process that waits takes it at
    once."""
    max_store_bytes: int = 256 * 1024 * 1024
    """Bytes that wait in a `Store` for other processes, over all sessions, for each of five kinds: answers, notes,
    messages that wait for a stream, notes about streams, and events that may be sent again. More is dropped and
    counted, so that the disk, or memory, is not filled."""
    max_replay_events: int = 1000
    """Events of one session that are kept, in case a connection broke before they arrived; the oldest are dropped."""
    max_replay_bytes: int = 4 * 1024 * 1024
    """Bytes of the events of one session that are kept; the newest event is kept even if it alone has more."""
    replay_seconds: float = 300.0
    """Time for which an event is kept. A client that comes back later gets 400, and no answer to what it asked."""
    stream_retry: float = 1.0
    """The wait that a client is asked for before it comes back to a stream that the server closed."""
    stream_keepalive: float = 15.0
    """A stream on which nothing was sent for so long gets a comment, so that no proxy takes it for dead."""

    # Authorization
    max_auth_response_bytes: int = 1024 * 1024
    """The answer of an authorization server: documents, keys and tokens have a few KB."""
    auth_timeout: float = 30.0
    """Time for one request to an authorization server, all in all."""
    authorization_patience: float = 300.0
    """Time for a person to allow access in a browser; the request that waits for it does not age meanwhile."""
    max_authorizations: int = 3
    """Authorizations for one request that is refused again and again
    [2025-11-25 basic/authorization §Step-Up Authorization Flow] SHOULD."""
    max_token_bytes: int = 48 * 1024
    """One token: what ``max_header_bytes`` has room for. Real ones have 1 KB."""
    max_cached_tokens: int = 1000
    """Verified tokens that a server remembers until they expire, and as many of those that were none."""
    max_proofs: int = 200_000
    """Proofs of DPoP that a server remembers for a minute or two, so that none is used twice; some 250 bytes each.
    Further requests with a proof are answered 503."""
    max_proofs_per_key: int = 20_000
    """Proofs of one key, which is more than 160 requests a second."""

    # Tasks
    max_running_tasks: int = 32
    """Tasks whose handlers run, in one server, or whose callbacks run, on one connection of a client. Each keeps a
    thread; more tasks are queued, and a task of a server that waits for input has none."""
    max_tasks: int = 20_000
    """Tasks in a store, until they expire; one more is refused."""
    max_tasks_per_principal: int = 2000
    """Tasks of one principal, running or not; clients that need not show who they are count as one, and so does each
    connection of a client that runs tasks for its server. A further one is refused until an older one has expired
    [2025-11-25 basic/utilities/tasks §Resource Management] SHOULD."""
    max_task_bytes: int = 4 * 1024 * 1024
    """One task with its request, the answers to its questions and its result. A longer result fails the task."""
    max_tasks_bytes: int = 256 * 1024 * 1024
    """All tasks in a store, or of one connection of a client; above it none is created."""
    max_task_ttl: float = 86_400.0
    """Time for which a task is kept, whatever its requestor asks for [2025-11-25 basic/utilities/tasks §Resource
    Management] SHOULD."""
    max_task_requests_per_second: float = 200.0
    """Requests of one peer about its tasks: more is no polling, but guessing of ids
    [2025-11-25 basic/utilities/tasks §Task Isolation and Access Control] SHOULD."""

    def __repr__(self) -> str:
        changed = [(field.name, getattr(self, field.name)) for field in fields(self)
                   if getattr(self, field.name) != field.default]
        return "Limits(%s)" % ", ".join("%s=%r" % pair for pair in changed)


DEFAULT = Limits.__new__(Limits)  # its values are those of the class; writing ``__init__`` would take a millisecond
