"""Requirements of icons [2025-11-25.. basic/index §icons]: they bind the party that shows them, out of sight."""

from ...rules import UNDECIDED

_UNSEEN = "what a client does with an icon leaves no message: it is fetched, if at all, over a connection of its own"
UNDECIDED.update({
    "icons.uri-scheme": _UNSEEN,
    "icons.reject-unsafe-schemes": _UNSEEN,
    "icons.same-origin": _UNSEEN,
    "icons.src-trusted-domain": _UNSEEN,
})
