"""What a tool may be called [2025-11-25.. server/tools §Tool Names].

A name is 1 to 128 characters, each an ASCII letter, a digit, ``_``, ``-`` or ``.``; upper and lower
case differ. All of this is a SHOULD, and older revisions say nothing of names, so a peer's tool of
another name is a tool all the same. A name of our own that is not so is worth a warning, because
some clients refuse such tools; a strict server refuses it.
"""

CITATION = "2025-11-25.. server/tools §Tool Names"
MAX_LENGTH = 128

_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


def fault(name: str) -> str:
    """What is wrong with a name, quoting the rule and its page; "" where nothing is.

    >>> fault("admin.tools.list"), fault("DATA_EXPORT_v2")
    ('', '')
    >>> fault("get user")
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
    return "tool name %s %s [%s]" % (ascii(shown), text, CITATION)
