"""The contributor's map: folders, journeys, threads, where to add what, what the tests guard, and our own words.

`help(mcp_ref)` is the first page, for readers; this is the second, for those who change the package. Nothing imports
this module. To begin: ``make check`` runs the tests of the tree and the linters, ``make test`` all tests, and ``make
ci`` all that a change has to pass; its steps are a table in ``tests/tools/ci.py``. Tests that read the specification
run if the variable MCP_REF_SPEC names a folder with a copy of it (``tests/support/outside.py``).

The folders
===========

A module imports only from floors above its own in this table, also inside functions; modules of one floor do not
import each other. Inside a folder imports go either way, without circles. `tests/meta/test_layers.py` holds the floors
as data; a test compares this table with them.

=====  =================  ===========================================================================================
floor  name               what it has
=====  =================  ===========================================================================================
1      `version`          the version of the package
       `revisions`        the five revisions, and what differs between them, as two tables
       `deadline`         time left across several steps, and rates, on a clock that tests can replace
       `records`          a base of dataclasses that are cheap to define
       `urls`             URLs and their parts
       `sqlitefile`       a file of SQLite that processes share
2      `diagnostics`      log records, counts, redaction of secrets
       `options`          refusals of misspelt options
       `requirements`     the table of the requirements of the specification, without its sentences
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
       `forgiving`        what careless peers send, mended
8      `messages`         the messages, one module for each page of the specification
9      `methods`          the table of all methods
10     `protocol`         rules without input or output: no sockets, threads or clocks
       `wiretrace`        the trace of everything that is sent and received
11     `transports`       the contracts of transports; pipes, sockets, memory
       `ladder`           recorded conversations as a structure and as drawings
       `stores`           what processes share: sessions and tasks, in SQLite or in a store of an author's
12     `http11`           HTTP/1.1, server and client; it knows nothing of MCP, and a test says so
13     `streamable`       MCP over HTTP: Streamable HTTP of both eras, and HTTP+SSE
       `recorder`         recordings of the conversations of others: a shim, a proxy, files of other tools
14     `peer`             the conversation that both roles have: dispatcher, request table, workers, context
15     `server`           the server role; it does not import the client
       `client`           the client role; it does not import the server
       `auth`             OAuth for clients and for servers
       `checker`          the judge of sessions: rules as rows; imports frames, vocabulary, tables and the trace only
16     `host`             several clients, consent, names, audit
       `bridge`           a server behind another transport, or in another revision, than it has
       `crosscheck`       the comparison of `messages` with the official schemas
       `testing`          tests of servers: a client in memory, each revision in turn
       `examiner`         examinations of servers: legal and illegal messages, in each revision
       `inspector`        the page that shows a session: markup, style, scripts, and a session as they read it
17     `playback`         recordings played again as either party, and compared by meaning
18     `cli`              the command line
19     `__main__`         ``python3 -m mcp_ref``
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
      transports.lines.stream.LineSplitter.feed    Return the messages which this chunk completes
      peer.dispatcher.Connection.feed              Take what the transport's reader has read, in order
      jsonrpc.parse                                Return the frame in the bytes of one message
      peer.inflight.Inflight.begin                 Enter a request
      peer.jobs.Call.__init__                      A request of the peer's, from the moment it is read until its answ...
      peer.executors.Workers.submit                Queue the jobs
      threads.WorkerPool._awaken                   Wake idle workers, those first that came last, and start new ones
      transports.lines.fds.FdReader.read           Wait for bytes and return them, b"" at the end
    on the thread ``worker``
      peer.jobs.Call.run                           Run the handler and send its answer
      peer.context.RequestTally.on.call            Return a route whose requests are counted
      server.tools.Tools.call_route.answer         Return the route of `tools/call`
      server.hints.signature.Signature.bind        Return keyword arguments for the function from arguments that fit...
      server.hints.members.Members.bind            Return the Python values of JSON values that fit the schema
      server.results.result_of                     Return the result of a call whose function returned this value
      server.hints.values.to_json                  Return the JSON value of a Python value
      jsonrpc.encode                               Return the bytes of a frame or batch
      peer.inflight.Inflight.finish                Take a request out
      peer.outbox.Outbox.put                       Append a message without writing it
      peer.executors.Workers._park                 Threads that run handlers, and one that watches whether they block
      transports.lines.stream.LineTransport.write  Write messages
      transports.lines.fds.FdWriter.write          Write everything, waiting for the reader
      threads.WorkerPool._park                     Sleep until there is work

HTTP server. An HTTP server in a handshake session: a POST comes, and its reply goes, on one kept connection.

::

    on the thread ``selector``
      http11.server.reactor.Reactor._readable              The work of the selector thread, and its data
      http11.server.connection.ClientConnection.receive    Return the bytes that have come, b"" at the end, None if t...
      http11.server.request_parser.RequestParser.feed      Take bytes that arrived
      http11.server.body_budget.BodyBudget.add             Count so many bytes more of a body of this size
      http11.server.acceptor.CommandQueue.take             Return the next command and its arguments, or ()
      http11.server.leader.LeaderThread.can_run_inline     Return True if handlers have been quick, so that the next...
      threads.attempt                                      Run a job
      server.serving.http_listener.HttpListener._handle    A server on HTTP in the background
      streamable.server.endpoint.Endpoint.handle           Answer one request, now or later
      streamable.server.post.walk                          Walk the ladder of a way, and answer
      jsonrpc.parse                                        Return the frame in the bytes of one message
      protocol.streamable_http.refusals.HttpEras.judge     Return LEGACY or MODERN, or the error of a message that be...
      streamable.server.session_table.SessionTable.get     Return the session of this id, None if it has ended
      streamable.server.reply_stream.ReplyStream.conclude  End the reply as `answer` does
      streamable.server.session.HttpSession.expect         Note the reply to the requests of a POST, which are receiv...
      peer.dispatcher.Connection.receive                   Take one message that came by another way than `Transport....
      peer.inflight.Inflight.begin                         Enter a request
      peer.jobs.Call.run                                   Run the handler and send its answer
      peer.executors.CallerRuns.run_or_submit              Run the first job here, and leave the others to workers
      peer.context.RequestTally.on.call                    Return a route whose requests are counted
      server.tools.Tools.call_route.answer                 Return the route of `tools/call`
      server.hints.signature.Signature.bind                Return keyword arguments for the function from arguments t...
      server.hints.members.Members.bind                    Return the Python values of JSON values that fit the schema
      server.results.result_of                             Return the result of a call whose function returned this v...
      server.hints.values.to_json                          Return the JSON value of a Python value
      peer.routing.ReplyOutbox.put                         Post a message at once
      http11.server.responses.whole_reply                  Return head and body of a reply

HTTP client. An HTTP client in a handshake session: `Client.call_tool`.

::

    on the thread ``caller``
      client.calls.Calls.call_tool                               The calls of a `Client`
      client.cached_calls.CachedCalls.result_check               Return the check of results of this server's tools
      client.cache.MethodCache.version                           A value that is another one after each change that w...
      client.requests.Requests.call                              Send a request, wait, and return what ``read`` makes...
      peer.sender.Sender.request                                 Send a request and wait for its result object
      peer.executors.Executor.may_wait                           Return True if the current thread may wait for the peer
      peer.session.Session.check_sending                         Raise before anything is sent if we may not send thi...
      peer.request_table.RequestTable.add                        Enter a new request
      jsonrpc.encode                                             Return the bytes of a frame or batch
      peer.routing.ExchangeOutbox.outgoing                       Return the message with what its bytes say
      transports.exchanges.Outgoing.__init__                     A message of ours
      threads.Wait.__enter__                                     The context of a wait for a peer
      streamable.client.detect.HttpAuto.send_and_wait            Send a request by the transport in use, and wait for...
      streamable.client.streamable.StreamableHttp.send_and_wait  Send a small request on the calling thread and wait...
      http11.client.connection_pool.RequestPool.acquire_slot     Take a place for a job that the calling thread does...
      streamable.client.posts.wait_for_whole_reply               Wait until a reply begins to come, at most until then
      http11.client.connect.CancelScope.attach                   Attach a socket, which the thread uses from now on
      streamable.client.base.HttpChannel._fields                 Return the header fields of a request
      transports.lines.fds.wait_ready                            Wait until a socket has something to read, be it the...
      http11.client.response.Reply.begin                         Read the head, after any interim ones
      protocol.streamable_http.header_values.media_type          Return the media type of a Content-Type, in lower ca...
      streamable.client.inbox.Inbox.quiet                        True if all that came has been read, and the reader...
      peer.dispatcher.Connection.take_answer                     Take the answer to our request of this id
      protocol.items.odd_priorities                              Describe each priority outside 0 to 1
      client.structured.ResultCheck.__call__                     Return the result, if nothing is wrong with it

401 to token. A client without a token: `connect` is refused with 401, gets a token, and is let in. Modules of OAuth
alone.

::

    on the thread ``caller``
      auth.client.oauth.OAuth.own_servers                        The ``issuer``, if the user has passed one
      auth.client.grant.Grant.authorizer                         Return the session with the server at ``url``
      auth.client.store.MemoryStore.__init__                     Keeps records until the program ends
      streamable.client.detect.HttpAuto.send_and_wait            Send a request by the transport in use, and wait for...
      streamable.client.streamable.StreamableHttp.send_and_wait  Send a small request on the calling thread and wait...
      streamable.client.base.HttpChannel.open                    Make a first connection, and send nothing on it
      streamable.client.auth_provider.AuthBoundary.__init__      The `Authorizer` of one client, and a bound on how o...
      auth.client.oauth_session.TokenManager.__init__            Keeps the token of one grant for the MCP server at `...
      auth.urls.checked                                          Return the URL as it is, if it may be asked
      auth.fetch.Reach.trust                                     Allow these origins at any address
      streamable.client.headers.added                            Return the caller's header fields
      streamable.client.inbox.Inbox.__init__                     A queue of what has arrived and was not read yet, bo...
      streamable.client.posts.Post.__init__                      A request on its way
    on the thread ``reader``
      streamable.client.detect.HttpAuto.read                     Return the messages that have come
      streamable.client.base.HttpChannel.read                    Return the messages that have come
      streamable.client.inbox.Inbox.take                         Wait for something to arrive and return everything
    on the thread ``request``
      streamable.client.base.HttpChannel._run_post               Send a request, unless that was ``begun``, and proce...
      streamable.client.streamable.StreamableHttp._perform       A client's connection to an MCP endpoint
      streamable.client.auth_provider.AuthBoundary.fields        Return the header fields of `Authorizer.fields`, che...
      auth.client.oauth_session.OAuthSession.fields              Return the header fields that carry the token
      auth.client.store.MemoryStore.get                          Return a copy of the record
      auth.urls.origin                                           Return scheme, host and port of a URL
      auth.challenge.parse                                       Return the challenges of these fields, in order
      auth.client.single_flight.SingleFlight.join                Take part
      streamable.client.headers.check                            Raise ValueError for a field that is not for others...
      streamable.client.inbox.Inbox.put                          Add these items, as soon as there is room
    on the thread ``authorize``
      auth.client.single_flight.SingleFlight._run                Work that is shared by the threads that want it
      auth.client.oauth_session.OAuthSession._share.run          Do the work, or wait for work that is already under way
      auth.discover.discover                                     Find the authorization server of the MCP server at t...
      auth.urls.checked                                          Return the URL as it is, if it may be asked
      auth.challenge.find                                        Return the first value of this parameter in the chal...
      auth.fetch.Fetcher.get                                     Ask for a document, following redirects within the o...
      auth.client.store.MemoryStore.get                          Return a copy of the record
      auth.client.oauth.OAuth.obtain                             Ask the person for consent, and get a token for it
      auth.client.code_flow.check_pkce                           Check that the authorization server takes S256
      auth.client.registration.choose                            Return the client that we are at this server, regist...
      auth.client.token_endpoint.sayable                         Return a text of an authorization server in a short...
    on the thread ``asking``
      auth.client.single_flight._call                            Single-flight

.. end of journeys

A test records the journeys again and compares. When it fails, look whether the new way is what you meant, and run the
command ``python3 tests/tools/journeys.py --write``.

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
a method        a row of `methods.METHODS`, its dataclasses in the page of `messages`; where a server answers it, its
                module in `server` and a row of ``ROUTES`` in `server.server`; where a client asks it, a call in
                `client.calls`; an example and its words in `cli.learn`; tests in ``tests/spec`` with the ids of the
                rows that they check. One that repeats a parameter in a header: `protocol.streamable_http.mirrored`
a member        `model.member(since=..., until=...)` in its dataclass; a row of `messages.downgrade` if older
                revisions get something else; `python3 -m mcp_ref crosscheck` compares with the official schemas
a difference    a row of `revisions.FEATURES` or `revisions.VALUES`; code asks ``revision.name``, never for a date
of revisions
a limit         a field of `limits.Limits`, and its row in the table of the docstring
a transport     a subclass of `transports.base.Transport`; a maker of it in ``tests/transports/makers.py`` has the
                tests of the contract run on it
a host's file   `host.dialects` reads its entries, `cli.hosts.config.HOSTS` says how to write them
a command       `cli.HOMES`, and ``COMMANDS`` of the module that has it
an error code   `errors.CODES`; what revisions say of it, `server.failures`
a thread        `threads.start_thread`, and a row of the table there
an option       a parameter of a call that is decorated with `options.spelt`, and a sentence of its docstring
a library       that others come from: a page in ``examples/porting``, its tables in ``tests/support/porting.py``, a
                pairing in ``tests/interop/porting.py``
a module        the reading order in the docstring of its folder; a new folder: a floor in ``LAYERS``, and above
==============  ================================================================================================

What the tests of the tree guard
================================

========================  ======================================================================================
``tests/meta/test_...``   the rule
========================  ======================================================================================
``ci``                    the table of CI's steps holds; a step that fails keeps no other from running
``citations``             a citation names a page and a heading that each revision of its window has
``conftest``              the guards of the suite itself (leaks, limits) see what they are there for
``contributing``          this page: its floors, its journeys, this table
``docstring_examples``    the examples in docstrings run as they stand
``environments``          what was installed is found again; what asks a registry is tried again
``features``              a revision has an attribute for each row of FEATURES and VALUES, and no others
``floor``                 the grammar of 3.8, the standard library alone, names, docstrings, lengths
``from_outside``          what tests know of the inside of the package is counted, folder by folder, and only falls
``imports``               nothing is loaded before it is used; the copy works under any name
``inspecting``            each feature of the table in `examples/inspecting.md` has a test
``judging``               the checker is told of each kind of connection of the tests
``layers``                imports go down the floors; no circles; no folder of more than 22 modules; a module with one
                          importer has a reason to be one
``options``               each option is named in a signature, and a misspelt one is refused with the right word
``patterns``              each regular expression takes time in proportion to the text, however hostile that is
``prose``                 a docstring begins with its subject or a verb
``public_names``          each public name of `Client`, `Server` and `Host` is shown to users
``readme``                the code blocks of README and of the pages in ``examples/`` run; README is short
``readme_deployment``     the units of systemd and the location of nginx on the page about deployment work
``requirements``          the requirement list and the markers ``spec`` agree, in both directions
``requirements_table``    the tests' table of revisions says what the requirement list says
``secrets``               what nobody may guess comes from `secrets` or `os.urandom`
``steady``                a test that ends its process takes no other with it; failures are tried again in CI only
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
hop                 a function on the way of a call, as the journeys of this page list them
==================  ===============================================================================================
"""
