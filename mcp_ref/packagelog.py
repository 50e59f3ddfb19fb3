"""The loggers of this package: named after its modules, and silent unless the application listens.

The package prints nothing. Without any handler, `logging` itself would print warnings to standard
error, so a handler that does nothing stands at the top of the package's loggers; records still reach
whatever the application has set up. `logging` is loaded with the first record.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

_PACKAGE = __name__.rpartition(".")[0]


def get_logger(name: str) -> "logging.Logger":
    """The logger of a module, by its ``__name__``."""
    import logging

    top = logging.getLogger(_PACKAGE)
    if not top.handlers:
        top.addHandler(logging.NullHandler())
    return logging.getLogger(name)
