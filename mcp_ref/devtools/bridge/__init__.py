"""The bridge: a server behind another transport, and in other revisions, than it was written for.

::

    with Bridge(["python3", "server.py"]) as bridge:           # a program that speaks stdio
        bridge.run_http("127.0.0.1", 8000)                     # for clients over Streamable HTTP and HTTP+SSE

    with Bridge("https://mcp.example.com/mcp", token=token) as bridge:
        bridge.run()                                           # a server at a URL, for a host that starts programs

On the command line: ``python3 -m mcp_ref bridge --http 127.0.0.1:8000 -- python3 server.py``. A `Bridge` is a `Server`
and is served as any other, with the same options about access; it is a client of the server *behind* it. Each
session of a client has a server behind of its own: `mcp_ref.devtools.bridge.bridge` says who shares one.

The reading order: `bridge` (the server; sessions and their end), `session` (what goes on between the two sides of one
session), `link` (the client of one server behind), `parked` (questions of a server with a handshake as rounds of a
stateless client), `tasks` (those of one generation as those of the other), `translation` (messages of one revision as
those of another, and names of several servers behind one bridge).

A server of both eras is spoken to in the era of each client, so that nothing has to be translated. What each side gets,
where one has a handshake and the other is stateless (2026-07-28):

====================  ======================================  ========================================================
what                  stateless client, handshake behind      client with a handshake, stateless server behind
====================  ======================================  ========================================================
opening               `server/discover` tells what the        `initialize` tells what the server's discovery told
                      server's `initialize` told
lists, calls, pages   the same, members of the other          the same, members of the other revision left out;
                      revision left out                       content that the older lacks is written as text
questions             a round of the request; see `parked`    a request to the client; all rounds of one call
roots                 the same: no news of changes            the same: changes are not told
progress              the same                                the same
cancellation          the same, also between rounds           the same; a question that is open is withdrawn
name (`serverInfo`)   in discovery and each result            in `initialize`
log messages          by the level of each request            by the level of `logging/setLevel`, put in each request
lists that change     the streams of `subscriptions/listen`   a stream of the bridge's is opened for what is subscribed
resources that        the same; the bridge subscribes for     the same
change                the stream
ping                  there is none                           answered by the bridge
errors                code, message and data; codes that      the same; -32602 with a URI for a resource that is not
                      only the older era has are replaced     there is -32002, refusals of the new era are -32603
-32042                a failure, for there is no round any    there is none
(follow a link)       more that could carry the link
tasks                 see `mcp_ref.devtools.bridge.tasks`     the same
skills                their resources, as any others          the same; the methods of the extension are not declared
apps, extensions of   the same: resources, `_meta`, settings  the same
vendors
====================  ======================================  ========================================================

Between two sides of one revision messages pass as they came, and so do tasks, skills and methods of vendors. A question
that the older revision has no form for, such as a choice of several values for a client of 2025-06-18, is answered with
-32602, and the text says what has no form.

The name, version and title are those of the server behind, everywhere: a client sees the server that it has been
configured for. Where several are mounted they are the bridge's, ``Bridge(name=...)``.

Several servers behind one, in one program or on the command line (``mcp_ref bridge mcp.json``)::

    with Bridge(name="tools") as bridge:
        bridge.mount("files", ["python3", "files.py"])         # its tool `read` is `files__read`
        bridge.mount("own", server)                            # a `Server` of this process
        bridge.run_http("127.0.0.1", 8000)

Not passed on: batches (their requests go one by one), the `Mcp-Session-Id`, log messages of a server that has not
declared ``logging`` (they are in the log of the bridge), notifications that come while nothing can carry them (counted
in the session), and tokens of clients
[2026-07-28 basic/authorization/security-considerations §Access Token Privilege Restriction] MUST NOT.

One process serves a bridge: the servers behind, the calls that wait for an answer and the tasks are in its memory. A
client with a handshake whose session another process has begun is refused by an error that says so; stateless clients
need the same process for all rounds of one request, and for a task.

To record or judge one side, put ``trace`` there: ``mcp_ref bridge --trace=FILE`` for the clients' side, ``mcp_ref
bridge -- python3 -m mcp_ref trace --out FILE -- CMD`` for the other.
"""

from .bridge import Bridge

__all__ = ["Bridge"]
