"""What the walks of our client share: the steps they print, and how they read results."""
import json
import time
from typing import Any, List

from tests.support.patience import WAIT

SECONDS = WAIT


class Steps:
    """Prints the steps of one walk and the seconds each took."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.started = time.monotonic()

    def done(self, step: str, **seen: Any) -> None:
        """End a step."""
        now = time.monotonic()
        print(json.dumps(dict(server=self.server, step=step, seconds=round(now - self.started, 3), **seen)), flush=True)
        self.started = now


def texts(result: Any) -> List[str]:
    """The text blocks of a tool's result."""
    return [block.text for block in result.content if getattr(block, "text", None) is not None]


def names(items: Any) -> List[str]:
    """The names of listed things."""
    return [item.name for item in items]
