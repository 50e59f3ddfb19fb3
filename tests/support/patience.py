"""Timeouts for tests that wait for a process or a thread: longer where the machine is busy.

A timeout that suits an idle machine is wrong on a busy one, where a program that starts in 0.1 s may need 3 s. Two
rules follow:

- Where a test expects something to happen, it passes WAIT, which is generous because it costs nothing in a green run.
- Where waiting out the time is the normal case (does a peer stay silent? is a request left unanswered?), it passes
  ``patience(seconds)`` with the seconds that an idle machine needs.

This module imports nothing of the project, so that the programs which tests start can use it, too.
"""
import time

WAIT = 120.0
"""Seconds to wait for what must happen."""
SAMPLE_SECONDS = 0.02
KEPT_SECONDS = 2.0

_last = (-KEPT_SECONDS, 1.0)  # when it was measured, and what


def slowness() -> float:
    """Return how much longer than on an idle core this thread takes for the same work: 1.0 or more.

    It works for SAMPLE_SECONDS of processor time and compares them with the clock. The result is kept for a moment.
    """
    global _last
    if time.monotonic() - _last[0] >= KEPT_SECONDS:
        start, end = time.monotonic(), time.thread_time() + SAMPLE_SECONDS
        while time.thread_time() < end:
            pass
        _last = time.monotonic(), max(1.0, (time.monotonic() - start) / SAMPLE_SECONDS)
    return _last[1]


def patience(seconds: float) -> float:
    """Return ``seconds`` as it is on an idle machine, and as many times more as this one is slower at the moment."""
    return seconds * slowness()
