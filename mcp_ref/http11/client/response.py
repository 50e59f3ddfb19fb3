"""The reply to one HTTP request, read as it arrives.

`Reply` is `http.client.HTTPResponse`, which takes a body apart (chunks, lengths), with four changes: the head is
read without the parser for mail, which takes longer than all the rest together; a body that is cut off is an error
and never looks like its end; the whole body has a limit; and a body in gzip or deflate, which some servers send though
nobody asks for it, is read as what it was before.
"""

import socket
from http.client import HTTPException, HTTPResponse, IncompleteRead, LineTooLong, UnknownProtocol
from io import BytesIO
from typing import Any, List, Optional, Tuple

from ...errors import AnswerLost, TransportError
from ..message import Headers

_LONGEST_LINE = 65536
_MOST_FIELDS = 200
_PIECE = 65536
BROKEN = (OSError, HTTPException, ValueError)
"""The errors that reading from a server raises if something is wrong with the connection, or with the server."""


class Reply(HTTPResponse):
    """A reply on this socket. Call `begin`, then `piece` until it returns b"", or `whole`."""

    headers: Headers  # type: ignore[assignment]
    link: Any = None
    """The connection that it came by; see `connection_pool`."""
    target = ""
    """The target of its request; set for requests that `ConnectionPool.begin` has sent."""
    fields: Any = ()
    """The header fields of its request, all of them; set for requests that `ConnectionPool.begin` has sent."""
    given: Any = ()
    """The header fields by which its request was to be let in; see `mcp_ref.streamable.client.auth_provider`."""
    kept: Optional[bytes] = None
    """The body, where it was read and may be asked for again."""
    seen: Any = None
    """The object that is told of the body as it is read, by ``data`` and ``end``; None: there is none."""
    cut: Optional[str] = None
    """The reason why the body ended too early; None if it did not, "" if we have not waited for more."""

    _inflater: Any = None
    """The decompressor of a body in gzip or deflate."""
    _packed = False
    """True if some of it has come."""

    def __init__(self, sock: socket.socket, method: str) -> None:
        super().__init__(sock, method=method)

    def begin(self) -> None:
        """Read the head, after any interim ones [RFC 9110 §15.2]. Raises one of BROKEN."""
        status = 100
        while 100 <= status < 200:
            version, status, reason = self._read_status()  # type: ignore[attr-defined]
            headers = self._read_fields()
        if version != "HTTP/1.0" and not version.startswith("HTTP/1."):
            raise UnknownProtocol(version)
        self.version = 10 if version == "HTTP/1.0" else 11
        self.code = self.status = status
        self.reason = repr(reason.strip()[:200])[1:-1]  # a server's words, bound for error texts
        self.headers = self.msg = headers  # type: ignore[assignment]
        self.will_close = self._check_close()  # type: ignore[attr-defined]
        coding = headers.lower("transfer-encoding")
        if coding is not None and coding.strip().lower() != "chunked":
            raise HTTPException("Transfer-Encoding %.80r is not known" % coding)
        self.chunked = coding is not None
        if (headers.lower("content-encoding") or "").strip().lower() in ("gzip", "x-gzip", "deflate"):
            import zlib  # late: hardly any server does that

            self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)  # which tells the two apart
        self.chunk_left = None
        # The bytes of the body; None: not known beforehand [RFC 9112 §6.3].
        self.length: Optional[int] = None
        if status in (204, 304) or (self._method == "CONNECT" and status < 300):  # type: ignore[attr-defined]
            self.chunked, self.length = False, 0
        elif not self.chunked:
            lengths = {value.strip() for value in headers.get_all("content-length")}
            if len(lengths) > 1 or not all(value.isdigit() and value.isascii() for value in lengths):
                raise HTTPException("Content-Length is %.80r" % ", ".join(sorted(lengths)))
            if lengths:
                self.length = int(lengths.pop())
            else:
                self.will_close = True

    def _read_fields(self) -> Headers:
        fields: List[Tuple[str, str]] = []
        readline = self.fp.readline
        while True:
            line = readline(_LONGEST_LINE + 1)
            if line in (b"\r\n", b"\n"):
                return Headers(fields)
            if len(line) > _LONGEST_LINE or len(fields) >= _MOST_FIELDS:
                raise LineTooLong("header")
            if line[-1:] != b"\n":
                raise IncompleteRead(line)
            name, _, value = line.decode("iso-8859-1").partition(":")
            if name[:1] in " \t" and fields:  # a folded line, as old servers send [RFC 9112 §5.2]
                fields[-1] = (fields[-1][0], fields[-1][1] + " " + line.decode("iso-8859-1").strip())
            else:
                fields.append((name.strip(), value.strip()))

    def _read_next_chunk_size(self) -> int:
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        if size < 0:  # taken there, for ``int`` reads a sign
            raise ValueError("a chunk of %d bytes" % size)
        return size

    def piece(self) -> bytes:
        """Wait for a piece of the body and return it; b"" at the end. Raises `AnswerLost` if the body was cut off."""
        try:
            data = self._piece() if self._inflater is None else self._inflated()
        except BROKEN as error:
            raise self._broken(error) from error
        if self.seen is not None:
            self.seen.data(data)
        return data

    def _piece(self) -> bytes:
        data = self.read1(_PIECE)
        if not data and self.length:
            raise IncompleteRead(b"", self.length)
        return data

    def _inflated(self) -> bytes:
        """Return a piece of the body before it was compressed: at most so much at once, for it may be huge."""
        import zlib

        inflater = self._inflater
        while True:
            packed = (inflater.unused_data if inflater.eof else inflater.unconsumed_tail) or self._piece()
            if not packed and (inflater.eof or not self._packed):
                return b""  # the end, or no body at all
            if not packed:
                raise IncompleteRead(b"")
            if inflater.eof:  # another member follows [RFC 1952 §2.2]
                inflater = self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
            self._packed = True
            try:
                plain: bytes = inflater.decompress(packed, _PIECE)
            except zlib.error as error:
                raise ValueError("not what Content-Encoding says: %s" % error) from None
            if plain:
                return plain

    def whole(self, limit: int) -> bytes:
        """Return all of the body. Raises `AnswerLost`, and `TransportError` if it has more than ``limit`` bytes."""
        if self.kept is not None:
            return self.kept
        whole = BytesIO()  # pieces may be of two bytes, which take 43 in a list
        size = self.length or 0
        while size <= limit:
            if self.length is not None and self._inflater is None:
                try:
                    data = self.read()
                except BROKEN as error:
                    raise self._broken(error) from error
                if self.seen is not None:
                    self.seen.data(data)
                return data
            part = self.piece()
            if not part:
                return whole.getvalue()
            whole.write(part)
            size += len(part)
        raise TransportError("an answer of %s%d bytes exceeds max_message_bytes (%d)"
                             % ("" if self.length else "at least ", size, limit))

    def _broken(self, error: BaseException) -> AnswerLost:
        """Return the error of a broken body, and see that no request uses the connection again.

        `HTTPResponse` is at its end then, and looks as if another reply could follow.
        """
        self.will_close = True
        self.cut = "" if isinstance(error, socket.timeout) else failure_text(error)
        return AnswerLost("the answer was cut off: %s" % failure_text(error))

    def tell_end(self, given_up: bool) -> None:
        """Tell what has seen the body of its end; ``given_up``: we want no more of it."""
        if self.seen is not None:
            whole = self.cut is None and (self.fp is None or self.length == 0)
            ours = not whole and (given_up or not self.cut)
            self.seen.end("client" if ours else "server", whole, "" if ours else self.cut or "")

    @property
    def complete(self) -> bool:
        """True if the body was read to its end, and the connection stays open."""
        return not self.will_close and (self.fp is None or self.length == 0)


def failure_text(error: BaseException) -> str:
    """Return what went wrong, on one line."""
    if isinstance(error, IncompleteRead):
        return "the connection ended too early"
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return repr(text[:200])[1:-1]
