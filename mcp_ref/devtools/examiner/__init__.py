"""The examiner: puts a server or a client through the revisions it speaks, on the transport where it is reached.

The checker (`mcp_ref.devtools.checker`) judges what it is shown. The examiner talks: it sends what is legal and what is
not, in each revision, and lets the checker judge what comes back; what only the sender can tell, because it knows what
it has sent, the scenes decide themselves::

    from mcp_ref.devtools.examiner import examine
    from mcp_ref.devtools.examiner.report import ExaminationReport

    print("\\n".join(ExaminationReport(examine("python3 server.py")).lines()))

On the command line: ``python3 -m mcp_ref examine "python3 server.py"``. Nothing is destroyed: tools are called only if
their annotations say that they only read, or if they are allowed by name.

===============  ===================================================================================================
module           what it has
===============  ===================================================================================================
`wire`           bytes to a server and back: pipes, sockets, Streamable HTTP, HTTP+SSE
`talk`           a legal conversation in one revision; processes that are started before a scene needs them
`scenes`         a scene as a row: the requirements it decides and provokes, and what it may say
`stage`          what a scene is given: conversations, what the server offers, and arguments for its tools
`pages`          the scenes
`causes`         faults, and which of them have one cause
`hostile`        malformed, random and too much input, if it is asked for
`examination`    all scenes in all revisions, and what came of each requirement
`report`         the report, for people and for programs
`clients`        the same for clients
===============  ===================================================================================================

Clients are examined by `clients`: a scripted server, which each scene has depart from what is legal.

Not examined yet is what the report calls "no scene shows it". Of a server that lets in nobody without a token only that
is examined, unless a header field has one.
"""

import os
from typing import Callable, Iterable, List, Mapping, Optional, Sequence, Union

from ...options import strict_options
from ...revisions import REVISIONS, Revision
from ...transports.lines.child import StdioChild
from ...transports.lines.sockets import connect_socket
from ...urls import scheme_of
from ...wiretrace import Trace
from .examination import PATIENCE, Chapter, Examination
from .talk import Wire
from .wire import Fields, Pipe, Sse, Web, serves_sse

__all__ = ["Chapter", "Examination", "examine", "wire_to"]
Folder = Union[str, "os.PathLike[str]", None]


@strict_options
def examine(
    server: Union[str, Sequence[str]], revisions: Iterable[Revision] = REVISIONS, allowed: Iterable[str] = (),
    patience: float = PATIENCE, env: Optional[Mapping[str, str]] = None, cwd: Folder = None,
    headers: Optional[Mapping[str, str]] = None, cafile: Optional[str] = None,
) -> List[Chapter]:
    """Examine a server; return what came of each revision, for `report.ExaminationReport`.

    ``server``: a command (a string that is split as a shell does it, or a list of words), or an address at http://,
    https://, tcp:// or unix://. ``allowed``: the names of tools that may be called although they do not say that they
    only read; ``"*"`` is all. ``patience``: the seconds for which an answer is waited for. ``env``, ``cwd``: for a
    command. ``headers``, ``cafile``: for HTTP. Raises `ConnectFailed` for a command that cannot be started, and for an
    address that is none.
    """
    fields = list((headers or {}).items())
    return Examination(wire_to(server, env, None, cwd, fields, cafile), revisions, allowed, patience=patience).run()


def wire_to(
    server: Union[str, Sequence[str]], env: Optional[Mapping[str, str]] = None, inherit_env: Optional[bool] = None,
    cwd: Folder = None, fields: Fields = (), cafile: Optional[str] = None,
) -> Callable[[Trace], Wire]:
    """Return a function that makes a wire to a server, not open yet; see `examine`.

    ``inherit_env``: that of `StdioChild`. ``fields``: header fields of every HTTP request.
    """
    scheme = scheme_of(server)
    if scheme in ("http", "https"):
        return _FoundOut(str(server), fields, cafile)
    if scheme in ("tcp", "unix"):
        return lambda trace: Pipe(connect_socket(str(server)), trace)
    return lambda trace: Pipe(StdioChild(server, env, inherit_env, cwd), trace)


class _FoundOut:
    """Makes wires to an address of HTTP; the first time it is found out which of the two transports is there."""

    def __init__(self, url: str, fields: Fields, cafile: Optional[str]) -> None:
        self._arguments = url, fields, cafile
        self._sse: Optional[bool] = None

    def __call__(self, trace: Trace) -> Wire:
        url, fields, cafile = self._arguments
        if self._sse is None:
            self._sse = serves_sse(url, fields, cafile)
        return Sse(url, trace, fields, cafile) if self._sse else Web(url, trace, fields, cafile)
