"""The loggers of this package: named after its modules, and silent unless the application listens.

As a library the package prints nothing. Without any handler, `logging` itself would print warnings to standard
error, so a handler that does nothing stands at the top of the package's loggers; records still reach
whatever the application has set up. `logging` is loaded with the first record.

Where the process is ours (`Server.run`, `Server.run_http`, the command line and its workers) nobody else may be there
to set up `logging`, and a library that logs to nobody has said nothing. There `own_process` has records from WARNING
up written to standard error, as long as the application has set up nothing; see `mcp_ref.diagnostics.stderrlog`.
"""

import threading
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    import logging

    from .stderrlog import StderrHandler

_PACKAGE = __name__.rpartition(".diagnostics.")[0]
_lock = threading.Lock()
_owned = False
_shown: "Optional[StderrHandler]" = None


def get_logger(name: str) -> "logging.Logger":
    """The logger of a module, by its ``__name__``."""
    import logging

    top = logging.getLogger(_PACKAGE)
    if not top.handlers:
        top.addHandler(logging.NullHandler())
    if _owned and _shown is None:
        _show(top)
    return logging.getLogger(name)


def own_process(owned: bool = True) -> None:
    """Have records shown on standard error, if the application does not see to them; False: not any more.

    For who owns the process. It costs nothing before the first record.
    """
    global _owned, _shown
    with _lock:
        _owned, shown = owned, _shown
        if not owned:
            _shown = None
    if shown is not None and not owned:
        import logging

        logging.getLogger(_PACKAGE).removeHandler(shown)


def _show(top: "logging.Logger") -> None:
    global _shown
    from .stderrlog import StderrHandler

    with _lock:
        if _owned and _shown is None:
            _shown = StderrHandler()
            top.addHandler(_shown)


def settle(seconds: float) -> None:
    """Let records reach standard error before the process ends by other means than returning."""
    shown = _shown
    if shown is not None:
        shown.writer.settle(seconds)


def is_one_stream(first: int, second: int) -> bool:
    """Whether two descriptors are one pipe or socket, as ``2>&1`` makes them."""
    import os
    import stat

    try:
        one, other = os.fstat(first), os.fstat(second)
    except OSError:
        return False
    same = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    return same and (stat.S_ISFIFO(one.st_mode) or stat.S_ISSOCK(one.st_mode))
