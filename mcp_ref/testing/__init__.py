"""Tests of servers, with any test framework: a client in memory, each revision in turn, the wire of a failure.

::

    from mcp_ref.testing import connected, each_revision
    from server import server

    def test_add():
        with connected(server) as client:
            assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"

    @pytest.mark.parametrize("connecting", each_revision(server), ids=str)
    def test_add_for_each_client(connecting):
        with connecting as client:
            assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"

In memory the principal is None, and nobody is asked who they are. Members with ``visible=`` are tested over HTTP, on a
port that the system chooses, with a function that names the client::

    with server.listen("http://127.0.0.1:0/mcp", authenticate=lambda headers: headers.get("x-user")) as listener:
        with connect(listener.address, headers={"X-User": "ada"}) as client:
            assert [tool.name for tool in client.tools()] == ["add", "close_all"]   # close_all: visible=is_ada

There is no process and no socket, so a test takes milliseconds, and a debugger stops in the handlers. When the body of
``with`` raises, everything that was sent stands on standard error, which pytest shows with the failure;
secrets are masked. A judge that cites the specification, for tests of a client or a server of another library, is
`mcp_ref.devtools.checker.checked`.
"""

import io
import sys
from typing import TYPE_CHECKING, Any, List, Optional

from ..client import Client, connect
from ..errors import LocalProtocolError
from ..wiretrace import to_text

if TYPE_CHECKING:
    from ..server import Server

__all__ = ["Connected", "connected", "each_revision"]
WIDTH = 400
"""The characters of each message that are shown when a test has failed."""


class Connected:
    """A context manager that connects to a server in memory, returns the `Client`, and closes it; see `connected`.

    It can be used again, each time with a new client. Its text is the revision, or the name of the server.
    """

    def __init__(self, server: "Server", **options: Any) -> None:
        self.server, self.options = server, options
        self._client: Optional[Client] = None
        self._wire = io.StringIO()

    def __enter__(self) -> Client:
        if self._client is not None:
            raise LocalProtocolError("%s is connected already: make another one for a second client" % self)
        self._wire = io.StringIO()
        options = dict(self.options)
        if options.get("trace") is None:
            options["trace"] = to_text(self._wire, WIDTH)
        try:
            self._client = connect(self.server, **options)
        except BaseException:
            self._show()
            raise
        return self._client

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()
        if kind is not None:
            self._show()

    def _show(self) -> None:
        wire = self._wire.getvalue()
        if wire and sys.stderr is not None:
            sys.stderr.write("What was sent before the test failed (%s):\n%s" % (self, wire))

    def __str__(self) -> str:
        return str(self.options.get("era") or self.server.identity[0])


def connected(server: "Server", **options: Any) -> Connected:
    """Return a context manager with a client of a server in this process; options as those of `mcp_ref.connect`.

    ``era`` is the name of a revision or of a family of them; by default the newest that both speak. If the body raises,
    the messages are written to standard error, unless the option ``trace`` has them.
    """
    return Connected(server, **options)


def each_revision(server: "Server", **options: Any) -> List[Connected]:
    """Return what `connected` returns for each revision that the server speaks, oldest first; for loops and for pytest.

    Raises `LocalProtocolError` for the options ``era`` and ``revisions``, since each client has its own.
    """
    if "era" in options or "revisions" in options:
        raise LocalProtocolError("each_revision chooses the revision of each client: leave out era and revisions")
    return [Connected(server, era=revision.name, **options) for revision in server.revisions]
