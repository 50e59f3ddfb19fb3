"""Processes that tests start: how they hear signals."""
import signal


def heed_interrupts() -> None:
    """For ``preexec_fn``: be interrupted by SIGINT also where this process ignores it, in the background of a shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
