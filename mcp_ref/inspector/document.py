"""The page: markup, style and scripts made one file, with a session inside.

What a browser may do with it stands in the page itself [CSP Level 3 §3.3 The meta element]: run the scripts and apply
the styles whose digests are named there, and nothing else. So a text of a peer that came to be markup would load
nothing and run nothing.
"""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from pkgutil import get_data
from typing import Any, Dict


SCRIPTS = ("json.js", "session.js", "ladder.js", "details.js", "page.js", "start.js")
"""The scripts, in the order in which they run."""
LIVE_SCRIPTS = ("json.js", "session.js", "ladder.js", "details.js", "page.js", "wire.js", "form.js", "panel.js",
                "calls.js", "questions.js", "compare.js", "live.js", "start.js")
"""The scripts of a page of a session that goes on; only that one can ask its server anything."""
_POLICY = ("default-src 'none'; script-src %s; style-src %s; img-src data:; connect-src %s; base-uri 'none'; "
           "form-action 'none'")
POLICY_OF_HEAD = "frame-ancestors 'none'"
"""The part of the policy that a page cannot say of itself [CSP Level 3 §3.3 The meta element]: nobody may show it
inside another page."""


def page(document: Dict[str, Any]) -> str:
    """Return the page of a session as text; ``document``: what `SessionRecord.document` returns.

    With a member ``live``, the names of what its server does for it, it is the page of a session that goes on.
    """
    live = "live" in document
    script = "\n".join(_asset(name) for name in (LIVE_SCRIPTS if live else SCRIPTS))
    style = _asset("page.css")
    # In a script element nothing is markup but "<" [HTML §4.12.1.3 Restrictions for contents of script elements].
    data = json.dumps(document).replace("<", "\\u003c")
    title = str(document["title"]).encode("utf-8", "replace").decode("utf-8")  # names of files may be no text
    parts = {"title": escape(title), "policy": _POLICY % (
        _digest(script), _digest(style), "'self'" if live else "'none'"),
             "style": style, "data": data, "script": script}
    text = _asset("page.html")
    pieces = text.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def _asset(name: str) -> str:
    """Return a file of this folder, also from an archive."""
    found = get_data(__package__ or __name__.rpartition(".")[0], name)
    if found is None:
        raise FileNotFoundError("%s is missing beside %s: the copy of the package is not whole" % (name, __name__))
    return found.decode("utf-8")


def _digest(text: str) -> str:
    """Return the source expression that allows an inline script or style [CSP Level 3 §2.3.1 Source Lists]."""
    return "'sha256-%s'" % b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")
