"""Priorities in annotations that a peer has sent [2025-06-18.. server/resources §Annotations]: from 0 to 1.

In a module of its own, as every client looks at them. What may be sent is checked in `mcp_ref.protocol.content`.
"""

from typing import Any, Iterator


def odd_priorities(path: str, items: Any) -> Iterator[str]:
    """The priorities that are out of range in one item or several, such as content and resources; for the record.

    Reading: a priority out of range is still a hint, so what has it is taken all the same.
    """
    for number, item in enumerate(items if isinstance(items, list) else [items]):
        priority = getattr(getattr(item, "annotations", None), "priority", None)
        if priority is not None and not 0 <= priority <= 1:
            yield "%s[%d].annotations.priority of %.40r" % (path, number, priority)
        if hasattr(item, "content"):  # a message, or the result of a tool in one
            yield from odd_priorities("%s[%d].content" % (path, number), item.content)
