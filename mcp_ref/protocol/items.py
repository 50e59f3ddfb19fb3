"""The rule for priorities in the annotations of what a peer sends.

It is asked for each list that arrives, so this module imports nothing. The rules for annotations of one's own are in
`mcp_ref.protocol.content`.
"""

from typing import Any, Iterator


def odd_priorities(path: str, items: Any) -> Iterator[str]:
    """Describe each priority outside 0 to 1 [2025-06-18.. server/resources §Annotations], for the record.

    ``items``: one item that a peer has sent, or a list of them, such as content blocks or resources; ``path``: what
    the text calls them. Reading: a priority out of range is still a hint, so its item is taken all the same.
    """
    for number, item in enumerate(items if isinstance(items, list) else [items]):
        priority = getattr(getattr(item, "annotations", None), "priority", None)
        if priority is not None and not 0 <= priority <= 1:
            yield "%s[%d].annotations.priority of %.40r" % (path, number, priority)
        if hasattr(item, "content"):  # a message, or the result of a tool in one
            yield from odd_priorities("%s[%d].content" % (path, number), item.content)
