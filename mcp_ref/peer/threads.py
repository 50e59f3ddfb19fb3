"""How this package starts threads: daemons with a name, and a report of what escapes them."""

import threading
from typing import Any, Callable


def start_thread(name: str, function: Callable[..., Any], *arguments: Any) -> threading.Thread:
    """Start a named daemon thread. A daemon, because no thread of ours may keep a process alive."""
    thread = threading.Thread(target=function, args=arguments, name=name, daemon=True)
    thread.start()
    return thread
