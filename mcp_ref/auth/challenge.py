"""The field WWW-Authenticate, by which a server says what it wants, read and written [RFC 9110 §11.6.1].

A field holds one challenge or several, and a reply may have several such fields; each challenge is a scheme and
either parameters or one word (a *token68*). Reading never fails: what cannot be read is left out, and the rest counts.
It takes two things that servers do though they should not: values such as URLs without quotes, and blanks in place of
the comma after a quoted one
[2025-06-18 basic/authorization §Authorization Server Location]
[2025-11-25 basic/authorization §Protected Resource Metadata Discovery Requirements]
[2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements]
MUST.

>>> parse(['Bearer realm="a, \\"b\\"", scope="x y", Negotiate YWJj'])[0].scopes
['x', 'y']
>>> format_challenge("Bearer", [("error", "invalid_token"), ("scope", "x y")])
'Bearer error="invalid_token", scope="x y"'
"""

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..urls import TOKEN, is_token

_WORD = re.compile(TOKEN)
_TOKEN68 = re.compile(r"([A-Za-z0-9\-._~+/]+=*)[ \t]*(?=,|\Z)")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NEXT = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"?)*', re.DOTALL)
"""The text up to the next comma that is not inside quotes; a quotation without an end goes to the end."""
_PLAIN = re.compile(r'[^ \t",]+')
_BLANKS = re.compile(r"[ \t,]*")
_END = re.compile(r"[ \t]*(?=,|\Z)")
_END_OF_QUOTED = re.compile(r"(?=[ \t,]|\Z)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PRINTABLE = re.compile(r"[\x20-\x7e]*\Z")
SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")
"""One scope [RFC 6749 §3.3]."""
OFFLINE = "offline_access"
"""A scope that asks an authorization server for a refresh token, which is no business of a resource
[2026-07-28 basic/authorization/index §Refresh Tokens] SHOULD NOT."""

TOKEN_SCHEMES = ("bearer", "dpop")
"""Schemes that ask for an access token, always by parameters [RFC 6750 §3] [RFC 9449 §7.1]."""


class Challenge(NamedTuple):
    """One challenge. ``scheme`` and the names of ``params`` are in lower case; ``token`` is the word of schemes that
    have one instead of parameters, such as Negotiate."""

    scheme: str
    params: Dict[str, str]
    token: Optional[str] = None

    def get(self, name: str) -> Optional[str]:
        """Return the value of a parameter; None if there is none."""
        return self.params.get(name.lower())

    @property
    def scopes(self) -> Optional[List[str]]:
        """The scopes that the server wants, in its order; None if it names none [RFC 6750 §3]."""
        return scope_list(self.params.get("scope"))


def scope_list(text: Optional[str]) -> Optional[List[str]]:
    """Return the scopes of a text, each once; words that cannot be one are left out. Returns None if none is left."""
    found = [word for word in (text or "").split(" ") if SCOPE.match(word)]
    return list(dict.fromkeys(found)) or None


def parse(values: Sequence[str]) -> List[Challenge]:
    """Return the challenges of these fields, in order. Never raises; of a parameter that comes twice the first one
    counts."""
    return [challenge for value in values for challenge in _read(value)]


def find(challenges: Sequence[Challenge], name: str) -> Optional[str]:
    """Return the first value of this parameter in the challenges that ask for an access token; None if there is none.
    """
    for challenge in challenges:
        value = challenge.get(name)
        if value is not None and challenge.scheme in TOKEN_SCHEMES:
            return value
    return None


def scopes_wanted(challenges: Sequence[Challenge]) -> Optional[List[str]]:
    """Return the scopes that the server wants of an access token; None if it names none."""
    return scope_list(find(challenges, "scope"))


def _read(text: str) -> List[Challenge]:
    found: List[Challenge] = []
    at = 0
    while True:
        at = _skip(_BLANKS, text, at)
        if at == len(text):
            return found
        word = _WORD.match(text, at)
        equals = _EQUALS.match(text, word.end()) if word else None
        if word is None:
            at = _skip(_NEXT, text, at)
        elif equals is None:
            at = _scheme(text, word, found)
        else:
            at = _parameter(text, word.group().lower(), equals.end(), found)


def _skip(pattern: "re.Pattern[str]", text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _scheme(text: str, word: "re.Match[str]", found: List[Challenge]) -> int:
    """Take the scheme of the challenge that begins here, and its word if it has one. Returns the place to go on."""
    scheme, at = word.group().lower(), word.end()
    blank = text[at:at + 1]
    wordy = blank == " " and scheme not in TOKEN_SCHEMES
    token = _TOKEN68.match(text, _skip(_BLANKS, text, at)) if wordy else None
    found.append(Challenge(scheme, {}, token.group(1) if token else None))
    if token is not None:
        return token.end()
    return at if blank in (" ", "\t", ",", "") else _skip(_NEXT, text, at)


def _parameter(text: str, name: str, at: int, found: List[Challenge]) -> int:
    """Keep the value of a parameter, if it can be read. Returns the place to go on."""
    quoted = _QUOTED.match(text, at)
    match = quoted or _PLAIN.match(text, at)
    if match is None or (_END_OF_QUOTED if quoted else _END).match(text, match.end()) is None:
        return _skip(_NEXT, text, at)
    value = _ESCAPED.sub(r"\1", quoted.group(1)) if quoted else match.group()
    if found and found[-1].token is None:
        found[-1].params.setdefault(name, value)
    return match.end()


def format_challenge(scheme: str, params: Sequence[Tuple[str, str]] = ()) -> str:
    """Return one challenge as the value of a field.

    Raises ValueError for text that such a field cannot carry: line ends, other control characters, and beyond ASCII.
    """
    for name in [scheme] + [name for name, _ in params]:
        if not is_token(name):
            raise ValueError("%.80r cannot be a name in a challenge" % name)
    for name, value in params:
        if not _PRINTABLE.match(value):
            raise ValueError("the %s of a challenge can have printable ASCII characters only" % name)
    pairs = ('%s="%s"' % (name, re.sub(r'(["\\])', r"\\\1", value)) for name, value in params)
    return (scheme + " " + ", ".join(pairs)).rstrip()
