"""The masks of a trace: digests instead of secrets, so that equality can still be judged and nothing be read.

A mask is ``***`` and eight hexadecimal digits of a digest with a key, which is made at random for each `Masker` and
kept nowhere. So equal secrets have equal masks, and nobody who has only the trace can try out what the secret was.

`mcp_ref.diagnostics.redaction` finds secrets by their looks and names. A trace also knows places: header fields, forms
and queries, of which everything is masked that is not known to be harmless (HARMLESS_FIELDS, HARMLESS_PARAMETERS); and
it remembers what was a credential in one of these (`Masker.learn`), to find it wherever it comes again.
"""

import hmac
import json
import os
import re
import threading
from base64 import b64decode, b64encode
from typing import Any, Callable, Dict, Iterable, List, Match, Optional, Sequence, Set, Tuple
from urllib.parse import quote, quote_plus, unquote_plus

from .redaction import CREDENTIALS, MASK, Hide, is_random, is_scheme, is_secret, kind_of_secret, redact, redact_text

HARMLESS_FIELDS = frozenset((
    "accept", "accept-charset", "accept-encoding", "accept-language", "accept-ranges",
    "access-control-allow-credentials", "access-control-allow-headers", "access-control-allow-methods",
    "access-control-allow-origin", "access-control-expose-headers", "access-control-max-age",
    "access-control-request-headers", "access-control-request-method", "age", "allow", "alt-svc", "cache-control",
    "connection", "content-encoding", "content-language", "content-length", "content-security-policy",
    "content-type", "date", "etag", "expect", "expires", "host", "if-match", "if-modified-since", "if-none-match",
    "keep-alive", "last-event-id", "last-modified", "mcp-method", "mcp-protocol-version", "origin", "pragma",
    "priority", "referrer-policy", "retry-after", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "server",
    "strict-transport-security", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "vary", "via",
    "warning", "x-accel-buffering", "x-content-type-options", "x-frame-options", "x-powered-by",
))
"""The header fields whose values are shown, but for what has the looks of a secret: User-Agent, Via and ETag name
programs and contents, and say who spoke. Those of the tables of `Masker.field` are shown in part."""

HARMLESS_PARAMETERS = frozenset((
    "audience", "client_assertion_type", "client_id", "client_name", "code_challenge_method", "error",
    "error_description", "error_uri", "expires_in", "grant_type", "iss", "logo_uri", "max_age", "prompt",
    "redirect_uri", "requested_token_type", "resource", "response_mode", "response_type", "scope",
    "subject_token_type", "token_type", "token_type_hint", "ui_locales",
))
"""The parameters of queries and forms whose values are shown."""

_CREDENTIALS = tuple(name.replace("_", "") for name in CREDENTIALS)
_CHALLENGE = re.compile(r'([A-Za-z0-9_-]{1,40})( ?= ?)("(?:[^"\\]|\\.)*"|[^\s,"]+)')
_HARMLESS_IN_CHALLENGES = ("error", "error_description", "error_uri", "scope", "realm", "resource_metadata", "algs")
_IS_MASK = re.compile(r"\*\*\*[0-9a-f]{8}!?|\*\*\*").fullmatch
_TOKEN68 = re.compile(r"((?:^|,)\s{0,9}([\w-]{1,40})\s{1,9})([\w.~+/-]+={0,9})(?=\s{0,9}(?:,|$))", re.ASCII)
"""A challenge whose only parameter has no name, as those of Negotiate and NTLM."""
_PATH_PARAMETER = re.compile(r";([^;/?#=]*)=([^;/?#]*)")
_SESSION_IDS = ("sessionid", "jsessionid", "phpsessid")
_SESSION = re.compile(r"(?i)([?&;](?:j?session_?|phpsess)id=)([^&;\s\"'#\\]+)")
_SEGMENT = re.compile(r"(?<=/)[\w~-]{20,}(?=[/;]|\Z)", re.ASCII)
_TARGET = re.compile("<([^<>]*)>")
_PART_NAME = re.compile(r"(?i)\bname=\"?([^\"\r\n;]*)")
_VISIBLE = re.compile(r"[!-~]*").fullmatch
_BASE64 = re.compile(r"=\?base64\?([A-Za-z0-9+/=_-]*)\?=").fullmatch
_NUMBER = re.compile(r"-?\d[\d.eE+-]*")
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*(?:"|(\\?\Z))|' + _NUMBER.pattern, re.DOTALL)
"""A string or a number in JSON; the group is the end of a string that is not closed, after which no other one is."""
_SHORTEST = 8
"""The characters of the shortest secret that is looked for everywhere: a shorter one may be a word of every text."""
_LONGEST = 16 * 1024
"""The characters of the longest credential that is looked for everywhere: a longer one fits in no header field."""
MOST_LEARNT = 200
"""The credentials that are looked for everywhere, each in all its spellings, besides those that were configured. Of
more the oldest are forgotten: they are masked in their own places still, but no more in texts."""
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]*|[A-Za-z-]{1,40}:(?: .*)?|-----END .*").fullmatch
_MOST_KEYS = 1000
"""The connections of whose server's stderr it is remembered that it is inside of a private key."""


class _Number(str):
    """The text of a number in JSON."""


class Masker:
    """Masks the secrets of one trace; see the module. ``secrets``: configured ones, masked wherever they are."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._key = os.urandom(16)
        self.forgot = False
        """True if more than MOST_LEARNT credentials were learnt."""
        self._configured: Dict[str, str] = {}
        self._learnt: Dict[str, Dict[str, str]] = {}
        self._keys: Dict[str, None] = {}
        self._known: List[Tuple[str, str]] = []
        self._lock = threading.Lock()
        self.configure(*secrets)

    def configure(self, *secrets: str) -> None:
        """Mask these secrets wherever they are, from now on. Raises ValueError for an empty one."""
        for secret in secrets:
            if not secret:
                raise ValueError("a secret to be masked has one character at least")
            with self._lock:
                self._configured.update(_spellings(secret, self.mask(secret)))
                self._list()

    def mask(self, secret: str) -> str:
        """Return the mask of a secret; a mask stays as it is."""
        if not secret or _IS_MASK(secret):
            return secret
        return MASK + hmac.new(self._key, secret.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:8]

    def learn(self, secret: str, mask: str = "") -> str:
        """Return the mask of a credential, and find it everywhere from now on."""
        mask = mask or self.mask(secret)
        if _SHORTEST <= len(secret) <= _LONGEST and secret != mask and secret not in self._learnt:
            with self._lock:
                while len(self._learnt) >= MOST_LEARNT:
                    self.forgot = True
                    del self._learnt[next(iter(self._learnt))]
                self._learnt[secret] = _spellings(secret, mask)
                self._list()
        return mask

    def _list(self) -> None:
        # the longest first: one may be the beginning of another
        known = {spelling: mask for spellings in (*self._learnt.values(), self._configured)
                 for spelling, mask in spellings.items()}
        self._known = sorted(known.items(), key=lambda pair: -len(pair[0]))

    def known(self, text: str) -> str:
        """Return a text without the secrets that were configured or learnt."""
        for secret, mask in self._known:  # the list is replaced, never changed
            if secret in text:
                text = text.replace(secret, mask)
        return text

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        if self._known:
            text = self.known(text)
        if "=" in text:
            text = _SESSION.sub(lambda found: found.group(1) + self.session(unquote_plus(found.group(2))), text)
        return redact_text(text, hide=self.mask)

    def session(self, id: str) -> str:
        """Return the mask of a session id; with an ``!`` at its end if it has characters outside of visible ASCII."""
        return self.learn(id, self.mask(id) + "!" * (not _VISIBLE(id) and not _IS_MASK(id)))

    def stderr(self, line: str, connection: str = "") -> str:
        """Return a line that a process wrote on standard error without secrets.

        A private key has several lines, which look like nothing: from its first line to its last all are masked, and a
        line that cannot be of a key ends it, too.
        """
        inside = connection in self._keys and _KEY_LINE(line.strip()) is not None
        begins = _KEY_BEGIN.search(line)
        if begins and "-----END " not in line[begins.end():] or inside and "-----END " not in line:
            if len(self._keys) < _MOST_KEYS:
                self._keys[connection] = None
        else:
            self._keys.pop(connection, None)
        return MASK if inside and line.strip() else self.text(line)

    # JSON

    def json(self, value: Any, hide: Optional[Hide] = None) -> Any:
        """Return a JSON value without secrets. ``hide``: the mask of what has the name of one."""
        value = redact(value, hide=hide or self.mask)
        return self._everywhere(value)

    def _everywhere(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.known(value) if not _SESSION.search(value) else self.text(value)
        if isinstance(value, dict):
            return {self.known(name) if isinstance(name, str) else name: self._everywhere(member)
                    for name, member in value.items()}
        return [self._everywhere(item) for item in value] if isinstance(value, list) else value

    def message(self, value: Any) -> Tuple[Any, Set[str]]:
        """Return a message without secrets, and the secrets that it had by their names."""
        found: Set[str] = set()

        def hide(secret: str) -> str:
            found.add(secret)
            return self.mask(secret)

        return self.json(value, hide), found

    def raw(self, text: str) -> str:
        """Return the text of bytes without secrets; if it is JSON of a sort, also by the names of its members."""
        found: Set[str] = set()

        def note(secret: str) -> str:
            found.add(secret)
            return MASK

        def pairs(given: List[Tuple[str, Any]]) -> Dict[str, Any]:
            for name, value in given:
                redact(value, secret=kind_of_secret(name), hide=note)
            redact(dict(given), hide=note)
            return dict(given)

        try:
            json.loads(text.lstrip("\ufeff"), object_pairs_hook=pairs, parse_int=_Number, parse_float=_Number)
        except (ValueError, RecursionError):
            pass  # what looks like a member is found by its looks

        def hidden(scalar: str) -> str:
            try:
                secret = str(json.loads(scalar, parse_int=str, parse_float=str))
            except ValueError:
                return scalar
            return '"%s"' % self.mask(secret) if secret in found else scalar

        def shown(scalar: "Match[str]") -> str:
            if scalar.lastindex is None:
                return hidden(scalar.group())
            return '"' + _NUMBER.sub(lambda number: hidden(number.group()), scalar.group()[1:])

        if found:
            text = _SCALAR.sub(shown, text)
        return self.text(self._multipart(text) if "form-data" in text else text)

    def _multipart(self, text: str) -> str:
        """Mask the values of a form whose parts are separated by a line, as `form` masks those of another one."""
        boundary = next((line for line in text.split("\n", 9)[:9] if line.startswith("--")), "").strip()
        if not boundary:
            return text
        before, *parts = text.split(boundary)
        for number, part in enumerate(parts):
            head, mark, value = part.replace("\r\n", "\n").partition("\n\n")
            name = _PART_NAME.search(head)
            if mark and name is not None:
                parts[number] = head + mark + self._parameter(name.group(1), value.rstrip("\n")) + "\n"
        return boundary.join([before, *parts])

    def base64(self, coded: str) -> str:
        """Return bytes that are no text, in base64, without the secrets that are known."""
        data = b64decode(coded)
        text = data.decode("utf-8", "surrogateescape")
        return b64encode(self.raw(text).encode("utf-8", "surrogateescape")).decode("ascii")

    def document(self, value: Any) -> Any:
        """Return a document of authorization without secrets, which are credentials all."""
        return self.json(value, self.learn)

    # HTTP

    def fields(self, fields: Iterable[Sequence[str]], also: Iterable[str] = ()) -> List[List[str]]:
        """Return header fields without secrets. ``also``: more secrets, which may be mirrored in a field."""
        return [[name, self.field(name, value, also)] for name, value in fields]

    def field(self, name: str, value: str, also: Iterable[str] = ()) -> str:
        """Return the value of a header field without secrets."""
        low = name.lower()
        special = _SPECIAL.get(low)
        if special is not None:
            return special(self, value)
        if low in HARMLESS_FIELDS:
            return self.text(value)
        if low == "mcp-name" or low.startswith("mcp-param-"):
            return self._mirrored(low, value, also)
        return self.learn(value) if is_secret(name) else self.mask(value)

    def _mirrored(self, name: str, value: str, also: Iterable[str]) -> str:
        """Mask a field that repeats a part of the message, so that both have the same mask."""
        found = _BASE64(value)
        try:
            plain = b64decode(found.group(1)).decode("utf-8") if found else value
        except ValueError:
            plain = value
        if is_secret(name):
            return self.learn(plain)
        if plain in also:
            return self.mask(plain)
        masked = self.text(plain)
        return value if masked == plain else masked

    def _credentials(self, value: str) -> str:
        """Mask the credentials of a field; the scheme stays."""
        scheme, *given = value.split(None, 1)[:2] or [""]
        if not given or not is_scheme(scheme):
            return self.learn(value.strip())
        rest = given[0].strip()
        if scheme.lower() == "basic":
            try:  # the secret of a client may come in a form, too
                self.learn(unquote_plus(b64decode(rest).decode("utf-8").partition(":")[2]))
            except ValueError:
                pass
        return scheme + " " + self.learn(rest)

    def _cookies(self, value: str) -> str:
        return "; ".join(self._cookie(part.strip()) for part in value.split(";"))

    def _set_cookie(self, value: str) -> str:
        first, mark, rest = value.partition(";")
        return self._cookie(first.strip()) + mark + self.text(rest)

    def _cookie(self, pair: str) -> str:
        name, mark, value = pair.partition("=")
        return name + "=" + self.learn(value) if mark else self.learn(pair)

    def _challenges(self, value: str) -> str:
        def shown(found: "Match[str]") -> str:
            name, mark, given = found.groups()
            if name.lower() in _HARMLESS_IN_CHALLENGES:
                return name + mark + self.text(given)
            quoted = given[:1] == '"'
            return "%s%s%s" % (name, mark, ('"%s"' if quoted else "%s") % self.mask(given.strip('"')))

        def bare(found: "Match[str]") -> str:
            known = is_scheme(found.group(2))
            return (found.group(1) if known else "") + self.mask(found.group(3) if known else found.group().strip(" ,"))

        if " " not in value.strip():
            return value if is_scheme(value.strip()) else self.mask(value)
        return self.known(_CHALLENGE.sub(shown, _TOKEN68.sub(bare, value)))

    def _link(self, value: str) -> str:
        return "".join("<%s>" % self.url(piece) if at % 2 else self.text(piece)
                       for at, piece in enumerate(_TARGET.split(value)))

    def url(self, url: str) -> str:
        """Return a URL, or a part of one, without secrets in its password, path, query and fragment.

        A segment of the path counts as one if it looks random: long, and with digits among letters of both cases.
        """
        url, mark, fragment = url.partition("#")
        path, question, query = url.partition("?")
        if ";" in path:
            path = _PATH_PARAMETER.sub(lambda found: ";%s=%s" % (
                found.group(1), self._parameter(found.group(1), found.group(2))), path)
        path = _SEGMENT.sub(
            lambda found: self.learn(found.group()) if is_random(found.group()) else found.group(), path)
        ending = self._query(fragment) if "=" in fragment else self.text(fragment)
        return self.text(path) + question + self._query(query) + mark + ending

    def _query(self, query: str) -> str:
        pairs = [part.partition("=") for part in query.split("&")]
        given = [(unquote_plus(name), unquote_plus(value)) for name, _, value in pairs]
        masked = self.form(given)
        return "&".join((name if plain[0] == shown[0] else shown[0]) + mark + (
            value if plain[1] == shown[1] else shown[1])
                        for (name, mark, value), plain, shown in zip(pairs, given, masked))

    def data(self, data: str) -> str:
        """Return the data of an SSE event that carries no message, most often the address of an endpoint."""
        return self.url(data) if _VISIBLE(data) and data[:1] not in ("{", "[", '"') else self.raw(data)

    def form(self, pairs: Sequence[Tuple[str, str]]) -> List[List[str]]:
        """Return the parameters of a form without secrets."""
        return [[self.raw(name), self._parameter(name, value)] for name, value in pairs]

    def _parameter(self, name: str, value: str) -> str:
        low = name.lower().replace("_", "").replace("-", "")
        if not value:
            return value
        if low in _SESSION_IDS:
            return self.session(value)
        if is_secret(name) or low in _CREDENTIALS:
            return self.learn(value)
        if name == "redirect_uri" and value != self.url(value):
            return self.url(value)
        if name.lower() in HARMLESS_PARAMETERS:
            return self.text(value)
        return self.mask(value)

    # Processes

    def command(self, words: Iterable[str]) -> List[str]:
        """Return the words of a command without the values of options that have the name of a secret."""
        shown: List[str] = []
        after = False
        for word in words:
            shown.append(self.learn(word) if after else self.text(word))
            after = word.startswith("-") and "=" not in word and is_secret(word)
        return shown


_SPECIAL: Dict[str, Callable[[Masker, str], str]] = {
    "authorization": Masker._credentials, "proxy-authorization": Masker._credentials, "cookie": Masker._cookies,
    "set-cookie": Masker._set_cookie, "mcp-session-id": Masker.session, "www-authenticate": Masker._challenges,
    "proxy-authenticate": Masker._challenges, "location": Masker.url, "content-location": Masker.url,
    "referer": Masker.url, "dpop": Masker.learn, "link": Masker._link,
}


def _spellings(secret: str, mask: str) -> Dict[str, str]:
    """Return the ways in which a secret is written in JSON and in URLs, with its mask."""
    data = secret.encode("utf-8", "surrogatepass")
    return {spelling: mask for spelling in (secret, json.dumps(secret)[1:-1], quote(data, safe=""), quote_plus(data))}
