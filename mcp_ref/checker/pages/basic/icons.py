"""Requirements of icons [2025-11-25.. basic/index §icons]: they bind the party that shows them, out of sight."""

from typing import Dict

_UNSEEN = "what a client does with an icon leaves no message: it is fetched, if at all, over a connection of its own"
UNDECIDED: Dict[str, str] = {
    "icons.uri-scheme": _UNSEEN,
    "icons.reject-unsafe-schemes": _UNSEEN,
    "icons.same-origin": _UNSEEN,
    "icons.src-trusted-domain": _UNSEEN,
}
