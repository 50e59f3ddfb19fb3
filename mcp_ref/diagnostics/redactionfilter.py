"""A filter for any `logging` handler or logger that masks secrets in its records.

    handler.addFilter(RedactionFilter())

What is masked is told in `mcp_ref.diagnostics.redaction`.
"""

import logging
from typing import Any, Dict

from .redaction import redact, redact_text

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes that every record may have; all others came with ``extra=``."""


class RedactionFilter(logging.Filter):
    """Masks secrets in the message of a record, its exception and what came with ``extra=``; lets every record pass.

    The record itself is changed, so handlers that get it later see the mask too. ``name`` as for `logging.Filter`:
    records of other loggers are stopped.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """See `logging.Filter.filter`; never raises for what is in a record."""
        if not super().filter(record):
            return False
        if isinstance(record.msg, (dict, list)) and not record.args:
            record.msg = redact(record.msg, guess=True)
        else:
            record.msg, record.args = redact_text(message_of(record), guess=True), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        for name in ("exc_text", "stack_info"):
            text = getattr(record, name)
            if text:
                setattr(record, name, redact_text(text, guess=True))
        vars(record).update(redact(extras_of(record), guess=True))
        return True


def message_of(record: logging.LogRecord) -> str:
    """The text of a record, also where its arguments do not fit the format."""
    try:
        return record.getMessage()
    except Exception:
        pass
    try:
        return "%s (does not fit its arguments: %r)" % (record.msg, record.args)
    except Exception:
        return "(no text: %s has none)" % type(record.msg).__name__


def extras_of(record: logging.LogRecord) -> Dict[str, Any]:
    """What came with ``extra=``."""
    return {name: value for name, value in vars(record).items() if name not in STANDARD}
