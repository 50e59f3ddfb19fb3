"""A filter for any `logging` handler or logger that masks secrets in its records.

    handler.addFilter(RedactionFilter())

`mcp_ref.diagnostics.redaction` says what is masked.
"""

import logging
from typing import Any, Dict

from .redaction import redact, redact_text

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""The attributes that every record may have; all others came with ``extra=``."""


class RedactionFilter(logging.Filter):
    """A filter that masks secrets in a record: in its message, its exception and its ``extra=``. All records pass.

    The record itself is changed, so handlers that get it later see the mask too. ``name`` as for `logging.Filter`:
    records of other loggers are stopped.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record; see `logging.Filter.filter`. Never raises for the content of a record."""
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
    """Return the text of a record, also if its arguments do not fit the format."""
    try:
        return record.getMessage()
    except Exception:
        pass
    try:
        return "%s (does not fit its arguments: %r)" % (record.msg, record.args)
    except Exception:
        return "(no text: %s has none)" % type(record.msg).__name__


def extras_of(record: logging.LogRecord) -> Dict[str, Any]:
    """Return the attributes that came with ``extra=``."""
    return {name: value for name, value in vars(record).items() if name not in STANDARD}
