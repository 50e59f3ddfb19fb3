"""The blocks of an SSE stream as a trace tells them: each with the fields that it had [WHATWG HTML §9.2.6].

The transports read the same bytes by a parser of their own (`mcp_ref.protocol.streamable_http.header_values`), which
gives what a stream means: events with data, and a last id. A trace shows what was sent: which block had an id, a retry
time, or no data. So the judge's reading is not that of the code it judges.
"""

from typing import Any, Dict, List, NamedTuple, Optional

from ..limits import DEFAULT

_BOM = b"\xef\xbb\xbf"


class SseBlock(NamedTuple):
    """A block of a stream: what stands between two empty lines."""

    fields: Dict[str, Any]
    """Fields ``id``, ``event`` and ``retry``, each only if the block had it."""
    data: Optional[bytes]
    """The data, several lines of it joined by LF; None if there was none."""

    @property
    def is_message(self) -> bool:
        """True if the block carries a message of the protocol."""
        return bool(self.data) and (self.fields.get("event") or "message") == "message"


class SseSplitter:
    """Splits the bytes of a stream into blocks, without those of comments and unknown fields only.

    ``longest``: the bytes that a block may have; in place of a longer one there is None.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._block = bytearray()
        """The beginning of a block, without the LF that `_line_end` stands for."""
        self._size = 0
        self._line_end = self._cr = False
        self._first = True

    @property
    def rest(self) -> bytes:
        """The beginning of a block whose end has not come."""
        return bytes(self._block)

    def feed(self, data: bytes) -> List[Optional[SseBlock]]:
        """Take a part of the stream, and return the blocks that end in it."""
        if self._cr and data[:1] == b"\n":
            data = data[1:]
            self._cr = False
        if not data:
            return []
        if b"\r" in data:
            self._cr = data[-1:] == b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        else:
            self._cr = False
        *blocks, last = ((b"\n" if self._line_end else b"") + data).split(b"\n\n")
        found: List[Optional[SseBlock]] = []
        for block in blocks:
            self._keep(block)
            if self._size > self._longest:
                found.append(None)
            else:
                made = self._made()
                found += [made] if made is not None else []
            self._block, self._size, self._first = bytearray(), 0, False
        self._line_end = last[-1:] == b"\n"
        self._keep(last[:-1] if self._line_end else last)
        return found

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._longest:
            self._block += part
        else:
            self._block = bytearray()

    def _made(self) -> Optional[SseBlock]:
        block = bytes(self._block)
        if self._first and block.startswith(_BOM):
            block = block[len(_BOM):]
        fields: Dict[str, Any] = {}
        data: List[bytes] = []
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            value = value[1:] if value[:1] == b" " else value
            if name == b"data":
                data.append(value)
            elif name == b"event" or name == b"id" and b"\0" not in value:
                fields[name.decode("ascii")] = value.decode("utf-8", "replace")
            elif name == b"retry" and value.isdigit() and len(value) <= DEFAULT.max_number_digits:
                fields["retry"] = int(value)  # any number of digits is one; a longer one than that no trace could hold
        return SseBlock(fields, b"\n".join(data) if data else None) if fields or data else None
