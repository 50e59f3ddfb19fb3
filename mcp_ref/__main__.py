"""``python3 -m mcp_ref``: the command line."""

import _thread
import signal
import sys
import threading
import time
from typing import Any

_INTERRUPTED = 130
_SOON = 0.1


def main() -> int:
    """Run the command line as the program, and return the exit code.

    A Ctrl-C while modules load ends it without a traceback, because there is nothing to close.
    """
    sys.unraisablehook = _heed
    try:
        from .cli import main as run

        return run()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except RuntimeError as error:  # before 3.12 made of any exception while a class gives its members their names
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        return _INTERRUPTED


def _heed(unraisable: Any) -> None:
    """Deliver a Ctrl-C again that came in a finalizer or a callback of a weak reference, as imports have some.

    There the interpreter reports the KeyboardInterrupt, and goes on as if it had not come.
    """
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
        return
    again: Any = getattr(signal, "pthread_kill", lambda thread, number: signal.raise_signal(number))
    main_thread = threading.main_thread().ident

    def strike() -> None:
        time.sleep(_SOON)  # until this function has returned: what interrupts it would be lost again
        again(main_thread, signal.SIGINT)

    _thread.start_new_thread(strike, ())  # unlike `threading.Thread.start` it does not wait for the thread


if __name__ == "__main__":
    sys.exit(main())
