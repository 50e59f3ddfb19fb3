"""Which request this thread is answering, for what a handler calls that knows no context.

Such as a handler of `logging`. Only requests that stand alone: in a handshake session nothing has to know.
"""

from contextvars import ContextVar
from typing import Optional

from ..peer.context import Context

CURRENT: "ContextVar[Optional[Context]]" = ContextVar("the request that stands alone and is answered", default=None)
