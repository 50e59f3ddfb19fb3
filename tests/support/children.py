"""Processes that tests start: how they hear signals."""
import signal
import subprocess
from typing import Any

AGAIN_SECONDS = 5.0


def heed_interrupts() -> None:
    """For ``preexec_fn``: be interrupted by SIGINT also where this process ignores it, in the background of a shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(process: "subprocess.Popen[Any]") -> None:
    """Send SIGINT, and send it again if the process still runs after AGAIN_SECONDS, as a person would press Ctrl-C.

    CPython handles a signal that arrives just before a system call blocks only after that call has returned.
    """
    process.send_signal(signal.SIGINT)
    try:
        process.wait(AGAIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
