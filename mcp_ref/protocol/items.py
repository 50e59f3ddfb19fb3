"""Rules for what servers offer: the names of tools, and the priorities in annotations.

Both are read when tools are registered or lists arrive, so this module imports nothing. The rules that are needed
less often are in `mcp_ref.protocol.content`.
"""

from typing import Any, Iterator

TOOL_NAMES = "2025-11-25.. server/tools §Tool Names"
"""The section that has the rule of names."""
MAX_LENGTH = 128

_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


def tool_name_fault(name: str) -> str:
    """Describe what is wrong with the name of a tool, with the rule and its page; "" for a good name.

    A name is 1 to 128 characters, each an ASCII letter, a digit, ``_``, ``-`` or ``.``; upper and lower case differ
    [2025-11-25.. server/tools §Tool Names]. All of this is a SHOULD, and older revisions have no rule, so a tool of a
    peer may have another name. For a tool of our own another name is worth a warning, because some clients refuse
    such tools; a strict server refuses it.

    >>> tool_name_fault("admin.tools.list"), tool_name_fault("DATA_EXPORT_v2")
    ('', '')
    >>> tool_name_fault("get user")
    "tool name 'get user' has ' ': only A-Z a-z 0-9 _ - . SHOULD be used [2025-11-25.. server/tools §Tool Names]"
    """
    if not 1 <= len(name) <= MAX_LENGTH:
        text = "has %d characters: there SHOULD be 1 to %d" % (len(name), MAX_LENGTH)
    elif not _ALLOWED.issuperset(name):
        strange = next(sign for sign in name if sign not in _ALLOWED)
        text = "has %s: only A-Z a-z 0-9 _ - . SHOULD be used" % ascii(strange)
    else:
        return ""
    shown = name if len(name) <= 40 else name[:37] + "..."
    return "tool name %s %s [%s]" % (ascii(shown), text, TOOL_NAMES)


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
