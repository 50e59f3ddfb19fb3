"""The contributor's map: folders, journeys, threads, where to add what, what the tests guard, and our own words.

`help(mcp_ref)` is the first page, for readers; this is the second, for those who change the package. Nothing imports
this module. To begin: ``make check`` runs the tests of the tree and the linters, ``make test`` everything.

The folders
===========

A module imports only from floors above its own in this table, also inside functions; modules of one floor do not
import each other. Inside a folder imports go either way, without circles. `tests/meta/test_layers.py` holds the floors
as data; a test compares this table with them.

=====  =================  ===========================================================================================
floor  name               what it has
=====  =================  ===========================================================================================
1      `revisions`        the five revisions, and what differs between them, as two tables
       `deadline`         time left across several steps, on a clock that tests can replace
       `records`          a base of dataclasses that are cheap to define
       `options`          refusals of misspelt options
       `urls`             URLs and their parts
2      `diagnostics`      log records, counts, redaction of secrets
3      `limits`           every limit, with its default and its reason
       `deprecations`     the registry of deprecated features
4      `errors`           the tree of exceptions, and the table of error codes
5      `jsontext`         bytes to JSON values and back
       `uritemplate`      URI templates: expand and match
       `jsonschema`       a validator for two dialects, with regular expressions in linear time
       `model`            the declaration of messages: dataclasses whose members know the revisions
       `threads`          the one place where threads start, the table of all, and the worker pool
6      `jsonrpc`          JSON values to frames (request, notification, result, error) and back
       `readers`          the reading half of the codec
7      `codec`            frames to messages and back, for a given revision
8      `messages`         the messages, one module for each page of the specification
9      `methods`          the table of all methods
10     `protocol`         rules without input or output: no sockets, threads or clocks
       `wiretrace`        the trace of everything that is sent and received
11     `transports`       the contracts of transports; pipes, sockets, memory
       `ladder`           recorded conversations as drawings
12     `http11`           HTTP/1.1, server and client; it knows nothing of MCP, and a test says so
13     `streamable`       MCP over HTTP: Streamable HTTP of both eras, and HTTP+SSE
14     `peer`             the conversation that both roles have: dispatcher, request table, workers, context
15     `server`           the server role; it does not import the client
       `client`           the client role; it does not import the server
       `auth`             OAuth for clients and for servers
16     `host`             several clients, consent, names, audit
       `crosscheck`       the comparison of `messages` with the official schemas
       `demo`             the demonstration of ``make demo``
17     `cli`              the command line
18     `__main__`         ``python3 -m mcp_ref``
       `contributing`     this page
=====  =================  ===========================================================================================

Four journeys
=============

One warm call of a tool ``add(a, b)``, and one `connect` that is refused with 401. Each line is the first function that
a thread enters in a module, in order, with the first sentence of its docstring. Left out are modules that every call
passes everywhere: errors, limits, the codec, JSON, JSON Schema.

.. journeys: written by tests/tools/journeys.py --write

Stdio server. A stdio server in a handshake session: a message comes down the pipe, its answer goes up.

::

    on the thread ``reader``
      transports.lines.framing.LineSplitter.feed     The messages which this chunk completes
      peer.dispatcher.Connection.feed                Take what the transport's reader has read, in order
      jsonrpc.parse                                  Return the frame in the bytes of one message
      peer.inflight.Inflight.begin                   Enter a request
      peer.stateless.stands_alone                    Whether this server takes a request as one that stands alone
      protocol.envelope.carries                      Return True if a request is one of the stateless era, by the mem...
      peer.jobs.Call.__init__                        A request to be answered by a worker
      peer.executors.Workers.submit                  Queue the jobs
      threads.WorkerPool._awaken                     Wake idle workers, those first that came last, and start new ones
      transports.lines.stream.LineTransport.read     See `Transport.read`
      transports.lines.fds.FdReader.read             Wait for bytes
    on the thread ``worker``
      threads.WorkerPool._next                       Return the next job, or None if there is none
      peer.executors.Workers._run                    Threads that run handlers, and one that watches whether they block
      peer.jobs.Call.run                             A request to be answered by a worker
      peer.dispatcher.Connection.perform             Run the handler of one request and send its answer
      peer.context.Context.rate                      How often who sent this request may do something
      server.tools.Tools.call_route.answer           Answers `tools/call`
      peer.params.params_reader.read                 The function that makes an instance of ``cls`` from params
      peer.sender.Sender.rate                        How often something may happen on this connection
      server.hints.validator.LazyValidator.validate  The violations of the schema, none where the value is valid
      server.hints.signature.Signature.bind          Keyword arguments for the function, from arguments that fit the...
      server.hints.members.Members.bind              The Python values of JSON values that fit the schema
      server.results.tool_result.result_of           The result of a call whose function returned this
      server.hints.values.to_json                    The JSON value of a Python value
      server.results.content.content_of              The blocks of a returned value
      jsonrpc.encode                                 Return the bytes of a frame or batch
      peer.inflight.Inflight.finish                  Take a request out
      peer.outbox.Outbox.put                         Append a message without writing it
      transports.lines.stream.LineTransport.write    See `Transport.write`
      transports.lines.framing.frame                 The bytes to send for these messages, in order, as few pieces as...
      transports.lines.fds.FdWriter.write            Write everything, waiting for the reader

HTTP server. An HTTP server in a handshake session: a POST comes, and its reply goes, on one kept connection.

::

    on the thread ``selector``
      http11.server.reactor.Reactor._readable             The selector thread's work, and what it works on
      http11.server.request_parser.RequestParser.missing  Bytes that the current body, or chunk, is known to want still
      http11.server.connection.Connection.receive         What has come, b"" for the end, None for nothing yet
      http11.server.head.Heads.read                       Read a head, given without the empty line at its end
      http11.server.body_budget.Bodies.check              Whether so many bytes more, of a body of this size, have ro...
      http11.server.exchange.HttpExchange.run             Call the handler
      http11.server.commands.Mailbox.take                 The next command and its arguments
      http11.server.leader.LeaderThread.can_run_inline    Whether handlers have been quick, so that `run_inline` is t...
      threads.attempt                                     Run a job
      server.serving.http_listener.HttpListener._handle   A server on HTTP, in the background
      streamable.server.http_sse.SseEndpoint.serves       Whether this path is one of ours
      streamable.server.endpoint.Endpoint.handle          Answer one request, now or later
      jsonrpc.parse                                       Return the frame in the bytes of one message
      protocol.streamable_http.era.HttpEras.judge         LEGACY or MODERN, or why it is refused before that matters
      protocol.envelope.carries                           Return True if a request is one of the stateless era, by th...
      streamable.server.session_table.SessionTable.get    The session of this id, if it has not ended
      streamable.server.post.post_in_session              Answer one POST of this session
      streamable.server.reply_stream.Stream.__init__      One stream, and the exchange that carries it now
      streamable.server.session.HttpSession.expect        The requests of a POST are about to be received
      peer.dispatcher.Connection.receive                  Take one message that came by another way than `Transport.r...
      transports.base.Transport.arrived                   The dispatcher was given this message by another way than `...
      peer.inflight.Inflight.begin                        Enter a request
      peer.stateless.stands_alone                         Whether this server takes a request as one that stands alone
      peer.jobs.Call.run                                  A request to be answered by a worker
      peer.executors.CallerRuns.lend                      Run the first job here, and leave the others to workers
      peer.context.Context.rate                           How often who sent this request may do something
      server.tools.Tools.call_route.answer                Answers `tools/call`
      peer.params.params_reader.read                      The function that makes an instance of ``cls`` from params
      peer.sender.Sender.rate                             How often something may happen on this connection
      server.hints.validator.LazyValidator.validate       The violations of the schema, none where the value is valid
      server.hints.signature.Signature.bind               Keyword arguments for the function, from arguments that fit...
      server.hints.members.Members.bind                   The Python values of JSON values that fit the schema
      server.results.tool_result.result_of                The result of a call whose function returned this
      server.hints.values.to_json                         The JSON value of a Python value
      server.results.content.content_of                   The blocks of a returned value
      peer.routing.RoutedOutbox.put                       See `Outbox.put`
      http11.server.responses.whole_reply                 Head and body of a reply

HTTP client. An HTTP client in a handshake session: `Client.call_tool`.

::

    on the thread ``caller``
      client.calls.Calls.call_tool                             The calls of a `Client`
      client.structured.ResultCheck.version                    Of the list of tools, now
      client.cache.store.Answers.version                       Another one after each change that was heard of
      client.requests.Asking._call                             Send a request of this client's user, and give what ``...
      client.handshake.Greeting._reader                        See `Asking`
      peer.sender.Sender.request                               Send a request and wait for its result object
      peer.executors.Executor.may_wait                         Return True if the current thread may wait for the peer
      peer.session.Session.check_sending                       Raise before anything is sent if we may not send this...
      peer.request_table.RequestTable.add                      Enter a new request
      jsonrpc.encode                                           Return the bytes of a frame or batch
      streamable.client.detect.HttpAuto.attend                 See `Transport.attend`
      streamable.client.base.HttpChannel.attend                See `Transport.attend`
      streamable.client.direct_send.Attended.attend            It is the one of this id
      peer.outbox.Outbox.send                                  Append and see to the writing
      transports.base.Transport.write_now                      `write`, but only if that certainly needs no waiting
      streamable.client.inbox.opening                          Id and method of a message of ours
      streamable.client.streamable.StreamableHttp._own_fields  A client's connection to an MCP endpoint
      http11.client.connect.Grip.hold                          This socket is used from now on
      threads.Wait.__enter__                                   The context of a wait for a peer
      http11.client.connection_pool.Crew.take_place            Take a place for a job that the calling thread does it...
      transports.lines.fds.wait_ready                          Wait until a socket has something to read, be it the e...
      http11.client.response.Reply.begin                       Read the head, after any interim ones
      streamable.client.auth_provider.Gate.answered            See `Authorizer.answered`
      protocol.streamable_http.header_values.media_type        The media type of a Content-Type, in lower case and wi...
      peer.dispatcher.Connection.take_answer                   See `Sender.take_answer`
      protocol.items.odd_priorities                            Describe each priority outside 0 to 1
      client.cache.caches.KeptList.named                       The items by their names, as last heard, the same obje...

401 to token. A client without a token: `connect` is refused with 401, gets a token, and is let in. Modules of OAuth
alone.

::

    on the thread ``caller``
      auth.client.oauth.OAuth.own_servers                      See `Grant.own_servers`
      auth.client.grant.Grant.authorizer                       See `Authorizing`
      auth.client.store.MemoryStore.__init__                   Keeps records until the program ends
      streamable.client.detect.HttpAuto.on_standstill          See `Transport.on_standstill`
      streamable.client.streamable.StreamableHttp._own_fields  A client's connection to an MCP endpoint
      streamable.client.base.HttpChannel.open                  See `Transport.open`
      streamable.client.auth_provider.Gate.__init__            What the requests of one client pass on their way out
      auth.client.authorizer.Engine.__init__                   Authorization of all requests to one MCP server by one...
      auth.urls.checked                                        The URL as it is, if it may be asked
      auth.discovery.addresses.Reach.trust                     Ask what is at these origins wherever it is
      auth.discovery.fetch.Fetcher.__init__                    Asks authorization servers, and MCP servers for their...
      auth.client.token_manager.Keeper.__init__                Keeps the token of one grant for the MCP server at ``u...
      streamable.client.headers.added                          The caller's header fields
      streamable.client.inbox.opening                          Id and method of a message of ours
      streamable.client.direct_send.Attended.attend            It is the one of this id
    on the thread ``reader``
      streamable.client.detect.HttpAuto.read                   See `Transport.read`
      streamable.client.base.HttpChannel.read                  See `Transport.read`
      streamable.client.inbox.Inbox.take                       Everything that has arrived
    on the thread ``request``
      streamable.client.base.HttpChannel._run_post             See a request through
      streamable.client.streamable.StreamableHttp._perform     A client's connection to an MCP endpoint
      streamable.client.auth_provider.Gate.fields              See `Authorizer.fields`
      auth.client.authorizer.Engine.fields                     See `Authorizer.fields`
      auth.client.token_manager.Keeper.load                    The token, at first the one that an earlier run of the...
      auth.client.store.MemoryStore.get                        See `TokenStore.get`
      streamable.client.inbox.offered                          The revision that a message offers, if it is an `initi...
      auth.urls.origin                                         Scheme, host and port of a URL
      auth.discovery.challenge.parse                           The challenges of these fields, in order
      auth.client.desk.Desk.__init__                           What a grant has at hand while it gets one token for o...
      auth.client.single_flight.Flight.board                   Join it
      streamable.client.headers.check                          Raise ValueError for a field that is not for others to...
    on the thread ``authorize``
      auth.client.single_flight.Flight._run                    Work that has been started
      auth.client.token_manager.Keeper.replace                 The token was refused, or there was none
      auth.discovery.discover.discover                         Find the authorization server of the MCP server at thi...
      auth.urls.checked                                        The URL as it is, if it may be asked
      auth.discovery.challenge.find                            The first value of this parameter in the challenges th...
      auth.discovery.fetch.Fetcher.get                         Ask for a document, following redirects within the origin
      auth.discovery.addresses.Reach.refusal                   Why this address must not be asked for ``url``
      auth.discovery.documents.ProtectedResource.of            Read a document
      auth.client.store.MemoryStore.get                        See `TokenStore.get`
      auth.client.scopes.choose                                What to ask for
      auth.client.oauth.OAuth.obtain                           See `Grant.obtain`
      auth.client.code_flow.check_pkce                         See that the authorization server takes S256
      auth.client.registration.choose                          The client that we are at this server, registered now...
      auth.tokens.issued.sayable                               What an authorization server has written, short and ha...
      auth.client.desk.Desk.asked                              What a callback of our user returns that asks a person...
      auth.client.authorizer._FlightDesk.person                See `Desk.person`
      auth.client.errand.Errand.wait                           Whether it has returned, within so long
      auth.client.token_endpoint.TokenEndpoint.request         Make one token request
    on the thread ``asking``
      auth.client.errand.Errand._run                           A callback that has been called with these arguments

.. end of journeys

A test records the journeys again and compares. When it fails, look whether the new way is what you meant, and run the
command in the line above.

Threads
=======

`mcp_ref.threads` has the table of all threads: the name, what the thread does, what it blocks on, and what frees it.
The second part of a name tells the client's threads (``mcp-ref:reader:...``, ``mcp-ref:request:...``) from the server's
(``mcp-ref:selector:...``, ``mcp-ref:listener:...``) in a stack dump.

To add something, touch these
=============================

==============  ================================================================================================
what            where
==============  ================================================================================================
a method        a row of `methods.METHODS`, its dataclasses in the page of `messages`, its module in `server` (what
                answers) or `client` (what asks), tests in ``tests/spec`` with the ids of the rows they check
a member        `model.member(since=..., until=...)` in its dataclass; a row of `messages.downgrade` if older
                revisions get something else; `python3 -m mcp_ref crosscheck` compares with the official schemas
a difference    a row of `revisions.FEATURES` or `revisions.VALUES`; code asks ``revision.name``, never for a date
of revisions
a limit         a field of `limits.Limits`, and its row in the table of the docstring
a transport     a subclass of `transports.base.Transport`; a maker of it in ``tests/transports/makers.py`` has the
                tests of the contract run on it
a command       `cli.HOMES`, and ``COMMANDS`` of the module that has it
an error code   `errors.CODES`; what revisions say of it, `server.results.failures`
a thread        `threads.start_thread`, and a row of the table there
an option       a parameter of a call that is decorated with `options.spelt`, and a sentence of its docstring
a module        the reading order in the docstring of its folder; a new folder: a floor in ``LAYERS``, and above
==============  ================================================================================================

What the tests of the tree guard
================================

========================  ======================================================================================
``tests/meta/test_...``   the rule
========================  ======================================================================================
``citations``             a citation names a page and a heading that each revision of its window has
``conftest``              the guards of the suite itself (leaks, time limits) see what they are there for
``contributing``          this page: its floors, its journeys, this table
``docstring_examples``    the examples in docstrings run as they stand
``features``              a revision has an attribute for each row of FEATURES and VALUES, and no others
``floor``                 the grammar of 3.8, the standard library alone, names, docstrings, lengths
``imports``               nothing is loaded before it is used; the copy works under any name
``layers``                imports go down the floors; no circles; no folder of more than 22 modules
``options``               each option is named in a signature, and a misspelt one is refused with the right word
``prose``                 a docstring begins with its subject or a verb
``public_names``          each public name of `Client`, `Server` and `Host` is shown to users
``readme``                the code blocks of README and of the pages in ``examples/`` run; README is short
``readme_deployment``     the units of systemd and the location of nginx on the page about deployment work
``requirements``          the requirement list and the markers ``spec`` agree, in both directions
``requirements_table``    the tests' table of revisions says what the requirement list says
``secrets``               what nobody may guess comes from `secrets` or `os.urandom`
``steady``                failures are tried again in one place only
``threads``               the table of threads has those that the package starts, and no others
``tree``                  what stands at the top of the checkout, and what no file may contain
========================  ======================================================================================

``tests/support`` says in its docstring what plays the client, the server and the rest in tests.

Words of our own
================

The words of the specification, of JSON-RPC, of HTTP and of OAuth mean here what they mean there. These few are ours:

==================  ===============================================================================================
word                meaning
==================  ===============================================================================================
era                 one of two groups of revisions: *handshake* (a connection opens with `initialize`, up to
                    2025-11-25) and *stateless* (each request carries its context, 2026-07-28). For users: ``legacy``
                    and ``modern``
window              a first and a last revision, both inclusive; ``2025-03-26..2025-11-25`` in citations
rank                the position of a revision, 0 for the oldest
Reading             a mark in a docstring: the specification leaves a choice here, and this was chosen
vocabulary          all messages of all revisions, as dataclasses: the folder `messages`
downgrade           the other form of something in a revision that lacks it
lenient, strict     whether real but careless peers are served or refused: ``Server(strict=...)``
conversation        everything that two peers send each other, on whichever transport; `peer.dispatcher.Connection`
                    is one side of it
session             the state of a client of the handshake era, over HTTP under a `Mcp-Session-Id`
sessionless         the handshake era over HTTP with ``sessions="none"``: each request stands alone
exchange            one HTTP request and its reply
outbox              the queue of messages that wait to be written to one peer
leader              the thread that serves the sockets of an HTTP server, and may run a quick handler itself
                    (Leader/Followers)
worker              a thread that runs handlers
single flight       one authorization for all threads that need the same token at the same time
rounds              the requests of one call in which the server asks for input first; MRTR in the specification
question            a request of the server to the user, the model or the roots of the client
held                bytes that a server keeps for a peer, counted against ``max_held_bytes``
finding             a line ``!!`` of a trace: something odd that a connection has counted
hop                 a function on the way of a call, see above
==================  ===============================================================================================
"""
