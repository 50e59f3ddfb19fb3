"""The process that a client of stdio starts: it carries bytes between its standard streams and the examiner.

    python3 stub.py PORT

It is run by its path and imports nothing of the package, so that it starts at once. It makes two connections to the
loopback port of the examiner. The first line of each says what it is for; by the one for control come the settings, a
line of JSON, and by it is told what happens to the process.

==========  ========================================================================================================
setting     meaning
==========  ========================================================================================================
``stderr``  a text that is written to standard error at the beginning, in ISO 8859-1
``noise``   a line that is written to standard output at the beginning, though it is no message
``exits``   True: it ends at once
``mute``    True: it closes its standard output at the first message that it gets, and reads on
``stays``   True: it goes on when its input has ended, until a signal comes
``deaf``    True: it goes on when SIGTERM has come, too
==========  ========================================================================================================
"""

import json
import os
import signal
import socket
import sys
import threading
from typing import Any, Dict

_SIZE = 65536
_LONGEST_STAY = 60.0
"""Seconds after which a process that stays ends by itself."""
_SEEN = 0.2
"""Seconds in which the end of the input is seen."""


def _connected(port: int, first: bytes) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), 20.0)
    sock.settimeout(None)
    sock.sendall(first + b"\n")
    return sock


def run(port: int) -> None:
    """Carry bytes until the examiner ends the connection, or standard input has ended."""
    control = _connected(port, b"control")
    with control.makefile("rb") as lines:
        settings: Dict[str, Any] = json.loads(lines.readline() or b"{}")
    signalled, ended = threading.Event(), threading.Event()

    def tell(event: Dict[str, Any]) -> None:
        try:
            control.sendall(json.dumps(event).encode("ascii") + b"\n")
        except OSError:
            pass  # the examiner has ended

    def on_signal(number: int, frame: Any) -> None:
        ended.wait(_SEEN)  # the end of the input that came before the signal is told before it
        tell({"did": "signal", "signal": "TERM"})
        if not settings.get("deaf"):
            signalled.set()

    signal.signal(signal.SIGTERM, on_signal)
    if settings.get("exits"):
        tell({"did": "exit"})
        os._exit(0)
    sys.stderr.buffer.write(settings.get("stderr", "").encode("latin-1"))
    sys.stderr.flush()
    if settings.get("noise"):
        os.write(1, settings["noise"].encode("utf-8") + b"\n")
    data = _connected(port, b"data")

    def outwards() -> None:
        while True:
            got = data.recv(_SIZE)
            if not got:
                tell({"did": "exit"})
                os._exit(0)
            os.write(1, got)

    def inwards() -> None:
        while True:
            got = os.read(0, _SIZE)
            if not got:
                break
            if not settings.get("mute"):
                data.sendall(got)
            elif settings.pop("open", True):
                os.close(1)
        tell({"did": "stdin-closed"})
        ended.set()
        if not settings.get("stays"):
            signalled.set()

    threading.Thread(target=outwards, daemon=True).start()
    threading.Thread(target=inwards, daemon=True).start()
    signalled.wait(None if not settings.get("stays") and not settings.get("deaf") else _LONGEST_STAY)
    tell({"did": "exit"})
    os._exit(0)


if __name__ == "__main__":
    run(int(sys.argv[1]))
