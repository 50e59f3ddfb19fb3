"""A mask for secrets in traces, and in the log messages that a server sends to its clients.

Log messages must not hold credentials [.. server/utilities/logging §Security] MUST NOT, and a trace is
passed on more easily than one thinks. No rule finds every secret: these find those that look like
one (RULES) or are called one (`is_secret`). The author has to keep out what they miss, and so
personal data and whatever helps an attacker.

Two measures: a trace has to show messages as they were, so there only sure finds are masked. A log
message is prose, and one masked word too many does little harm: with ``guess`` long runs of
random-looking characters go as well, and whatever follows ``password:``.

A mask is `MASK`, or what ``hide`` makes of the secret: in a trace that is a digest (`mcp_ref.diagnostics.masking`).

Each rule takes time in proportion to the text, whatever a peer puts there: no repetition without a
bound lies behind another one that takes the same characters.
"""

import re
from functools import lru_cache
from typing import Any, Callable, Dict, Iterator, Match, NamedTuple, Pattern, Tuple

MASK = "***"
Hide = Callable[[str], str]
"""A function from a secret to its mask."""


def star(secret: str) -> str:
    """Return the mask that says nothing of the secret."""
    return MASK


_NAMES = ("token", "secret", "password", "passwd", "pwd", "passphrase", "api_key", "private_key", "access_key",
          "secret_key", "signing_key", "authorization", "cookie", "credential", "credentials", "code_verifier",
          "client_assertion", "jwt", "request_state", "device_code", "user_code")
"""The ends of the names of secrets; case, ``_`` and ``-`` do not count. A request state holds answers that were masked
when they were given, and a client that has it may go on with the request."""
_SECRETS = tuple(name.replace("_", "") for name in _NAMES)
_NOT_SECRET = ("progresstoken", "pagetoken")
_SHORT = 64
"""Characters of a name that may be remembered with its answer: the same names come with each message."""


ALL, TEXTS = 1, 2
"""The values that are secret below a name: all, or texts alone."""
_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_SCHEMA = frozenset(("$ref", "anyOf", "oneOf", "allOf", "properties", "items", "enum", "const", "description", "title"))
"""The members of a JSON Schema by which one without a type is known."""


def kind_of_secret(name: str) -> int:
    """Return what is secret below a member of this name: ALL below ``token``, TEXTS below ``tokens``, else 0."""
    if is_secret(name):
        return ALL
    return TEXTS if name[-1:] in ("s", "S") and is_secret(name[:-1]) else 0


def is_secret(name: str) -> bool:
    """Return True if a member of this name holds a secret: token, client_secret, apiKey, x-authorization ..."""
    return _is_secret(name) if len(name) <= _SHORT else _is_secret.__wrapped__(name)


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    name = name.lower().replace("_", "").replace("-", "")
    return name.endswith(_SECRETS) and not name.endswith(_NOT_SECRET)


class SecretPattern(NamedTuple):
    """A row of RULES: one kind of secret inside text."""

    name: str
    words: Tuple[str, ...]
    """The words of which one is in the text (in lower case) wherever the pattern is; (): look always."""
    pattern: "Pattern[str]"
    guess: bool
    """True if it may hit text that is no secret; see the module."""
    example: str
    """A text with such a secret."""
    mask: "Callable[[Match[str], Hide], str]"
    """The replacement of what was found."""
    near: bool = False
    """True if each match begins with a name of which a word is the end: only there a long text is looked at."""
    sign: str = ""
    """A part of whatever the pattern matches: where it is not, the words are not looked for either."""

    def apply(self, text: str, hide: Hide) -> str:
        """Return the text with all such secrets masked."""
        if self.near and len(text) > _LONG:
            lowered = text.lower()
            if len(lowered) == len(text):  # so a place in one is the same place in the other
                return self._apply_near(text, lowered, hide)
        return self.pattern.sub(lambda found: self.mask(found, hide), text)

    def _apply_near(self, text: str, lowered: str, hide: Hide) -> str:
        """Look for the words first, which is fifty times as fast as the pattern, and holds up other threads less."""
        ends = sorted({at + len(word) for word in self.words for at in _places(lowered, word)})
        parts, done = [], 0
        for end in ends:
            start = end - 1  # the sign behind the name
            while start > done and end - start < _NAMED and (text[start - 1].isalnum() or text[start - 1] in "_-"):
                start -= 1
            found = self.pattern.match(text, start) if start >= done else None
            if found is not None:
                parts += [text[done:start], self.mask(found, hide)]
                done = found.end()
        return "".join(parts) + text[done:]


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


_LONG = 4096
"""Characters of a text that a pattern may search as a whole."""
_NAMED = 80
"""Characters of a name and the sign behind it, at most: 40, and the longest of _ENDS."""


def _all(found: "Match[str]", hide: Hide) -> str:
    return hide(found.group())


def _last(found: "Match[str]", hide: Hide) -> str:
    """Mask the last group."""
    group = found.re.groups
    return "%s%s%s" % (found.string[found.start():found.start(group)], hide(found.group(group)),
                       found.string[found.end(group):found.end()])


def _field(found: "Match[str]", hide: Hide) -> str:
    """Mask the value of a header field; a digest is that of the credentials without their scheme."""
    scheme, _, rest = found.group(2).partition(" ")
    hidden = hide(found.group(2))
    if hidden != MASK and rest.strip() and is_scheme(scheme):
        hidden = scheme + " " + hide(rest.strip())
    return "%s: %s" % (found.group(1), hidden)


def is_scheme(word: str) -> bool:
    """Return True if a word in front of credentials is the name of their scheme: "Bearer", "SCRAM-SHA-256".

    Of what is neither well known nor made of a few letters alone, nobody knows if it is a part of the secret.
    """
    return word.lower() in _SCHEMES or len(word) <= 16 and word.isascii() and word.replace("-", "").isalpha()


def _code(found: "Match[str]", hide: Hide) -> str:
    """Mask a value that looks random: one with digits among letters, or in mixed case."""
    value = found.group(1)
    random = value.upper() != value != value.lower() or any(map(str.isdigit, value)) and not value.isdigit()
    return _last(found, hide) if random else found.group()


def _control(found: "Match[str]", hide: Hide) -> str:
    """Mask the value of a control of an HTML form whose name is that of a secret."""
    name = _HTML_NAME.search(found.group())
    called = name.group(1).lower() if name else ""
    if not (is_secret(called) or called in CREDENTIALS):
        return found.group()
    return _HTML_VALUE.sub(lambda value: value.group(1) + hide(value.group(2)), found.group())


def _random(found: "Match[str]", hide: Hide) -> str:
    """Mask a long run of letters and digits, unless it is rather a path, an identifier or joined words."""
    return hide(found.group()) if is_random(found.group()) else found.group()


def is_random(run: str) -> bool:
    """Return True if a run of letters and digits is rather a key than a path, an identifier or joined words."""
    digits = sum(map(run.count, "0123456789"))
    joints = sum(map(run.count, "/_-+"))
    mixed = run != run.lower() and run != run.upper()
    return mixed and digits * 20 >= len(run) and joints * 10 <= len(run)


CREDENTIALS = ("code", "assertion", "code_challenge", "device_code", "state", "user_code")
"""The parameters of authorization that are credentials, beside those that `is_secret` names."""
_SCHEMES = ("aws4-hmac-sha256", "scram-sha-1", "scram-sha-256", "oauth2")
_HTML_NAME = re.compile(r"(?i)(?<![\w-])name\s{0,4}=\s{0,4}[\"']?([\w-]{1,40})")
_HTML_VALUE = re.compile(r"(?i)(?<![\w-])(value\s{0,4}=\s{0,4}[\"']?)([^\"'<>\s]+)")
_ENDS = tuple(sorted({name.replace("_", joint) for name in _NAMES for joint in ("", "_", "-")}))
_NAME = r"(?i)(?<![\w-])([\w-]{0,40}(?:" + "|".join(_ENDS) + ")"
_VALUE = r"[^&\s\"'#\\]+"
_HEADER = r"(?i)(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie|x-api-key) {0,2}: {0,2}([^\r\n]+)"
_KEY_BLOCK = r"(-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
_PREFIXES = (
    ("sk-", r"[\w-]{16,}"), ("sk_live_", r"\w{16,}"), ("rk_live_", r"\w{16,}"), ("github_pat_", r"\w{16,}"),
    ("ghp_", r"\w{16,}"), ("gho_", r"\w{16,}"), ("ghs_", r"\w{16,}"), ("ghu_", r"\w{16,}"), ("ghr_", r"\w{16,}"),
    ("glpat-", r"[\w-]{16,}"), ("xoxb-", r"[\w-]{16,}"), ("xoxp-", r"[\w-]{16,}"), ("AKIA", r"[A-Z0-9]{16}\b"),
    ("ASIA", r"[A-Z0-9]{16}\b"), ("AIza", r"[\w-]{30,}"),
)
"""The beginnings of the keys of well-known services, and the pattern that follows."""

RULES: Tuple[SecretPattern, ...] = (
    SecretPattern("private key", ("private key",),
                  re.compile(_KEY_BLOCK.replace("(BEGIN|END)", "BEGIN") + r".*?(?:" + _KEY_BLOCK.replace("(BEGIN|END)",
                                                                                                         "END")
                             + r"|\Z)", re.DOTALL),
                  False, "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", _all, sign="-----"),
    SecretPattern("header", ("authorization", "cookie", "x-api-key"), re.compile(_HEADER), False,
                  "Authorization: Bearer abc.def-ghi", _field, sign=":"),
    SecretPattern("scheme", ("bearer ", "basic ", "dpop "),
                  re.compile(r"(?i)\b(bearer|basic|dpop) {1,4}([\w.~+/=-]{6,})"),
                  False, "sent bearer abcdefgh", lambda found, hide: "%s %s" % (found.group(1), hide(found.group(2))),
                  sign=" "),
    SecretPattern("web token", ("eyj",), re.compile(r"eyJ(?<![\w-]eyJ)[\w-]+\.[\w-]+\.[\w-]*"), False,
                  "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", _all, sign="eyJ"),
    SecretPattern("service key", tuple(begin.lower() for begin, _ in _PREFIXES),
                  re.compile("|".join(r"%s(?<![\w-]%s)%s" % (begin, begin, rest) for begin, rest in _PREFIXES)), False,
                  "key sk-abcdefghijklmnopqrst", _all),
    SecretPattern("password in a URL", ("://",), re.compile(r"://[^\s/?#@:\"'\\]{0,64}:([^\s/?#\"'\\]{1,512})@"), False,
                  "postgres://app:hunter2@db.example/x", _last, sign="://"),
    SecretPattern("signature in a URL", ("signature=", "sig="),  # of Amazon, Google and Microsoft
                  re.compile(r"(?i)(?:[?&;]|\\u0026)(?:[\w-]{0,20}signature|sig)=([^&\s\"'#\\<>]+)"), False,
                  "https://files.example/a?se=2026&sig=q83vEjRWeJA%3D", _last, sign="="),
    SecretPattern("authorization code", ("code=", "assertion="),
                  re.compile(r"[?&#;](?:code|(?:device|user)_code|assertion)=([^&\s\"'#\\<>]+)"), False,
                  "GET /cb?code=abc123&state=xyz", _last, sign="="),
    SecretPattern("code or state", ("code=", "state="),
                  re.compile(r"(?<![\w-])(?:code|state)=[\"']?([\w~.+/%-]{16,}={0,2})"), False,
                  "exchanging code=SplxlOBeZQQYbYS6WxSbIA", _code, sign="="),
    SecretPattern("form in HTML", ("<input", "<button"), re.compile(r"(?i)<(?:input|button)(?=[\s/])[^<>]{0,4000}"),
                  False,
                  '<input type="hidden" name="state" value="af0ifjsldkj">', _control, sign="<"),
    SecretPattern("name=value", tuple(end + "=" for end in _ENDS), re.compile(_NAME + r"=[\"']?)(" + _VALUE + ")"),
                  False,
                  "./run DB_PASSWORD=hunter2", _last, True, "="),
    # JSON in text, its quotes perhaps escaped
    SecretPattern("member", tuple(end + quote for end in _ENDS for quote in "\"'\\"),
                  re.compile(_NAME + r"\\{0,3}[\"']\s{0,4}:\s{0,4}\\{0,3}[\"'])([^\"'\\]+)"), False,
                  '{"password": "hunter2"}', _last, True, ":"),
    SecretPattern("name: value", _ENDS, re.compile(_NAME + r"\s{0,2}(?::=|:|=)\s{0,2}[\"']?)(" + _VALUE + ")"), True,
                  "api_key: hunter2", _last),
    SecretPattern("long hexadecimal", (), re.compile(r"(?<!\w)(?:0x)?[0-9a-fA-F]{32,}(?!\w)"), True,
                  "digest 0123456789abcdef0123456789abcdef", _all),
    SecretPattern("long base64", (), re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{40,}={0,2}"), True,
                  "got q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=", _random),
)
"""The secrets that are masked inside text, in this order."""
_SURE = tuple(rule for rule in RULES if not rule.guess)


def redact_text(text: str, guess: bool = False, hide: Hide = star) -> str:
    """Return a text without the secrets that can be told by their looks: ``Bearer ...``, tokens, ``?code=...``."""
    lowered = text.lower()
    for rule in RULES if guess else _SURE:
        if rule.sign in text and (not rule.words or any(word in lowered for word in rule.words)):
            text = rule.apply(text, hide)
    return text


def redact(value: Any, guess: bool = False, secret: int = 0, hide: Hide = star) -> Any:
    """Return a JSON value without secrets: members named like one, with all that is below them, and texts like one.

    A number is not masked below a plural (``maxTokens`` is a count). An object that looks like a JSON Schema may be the
    schema of a secret, so in there names count again. ``secret``: what is secret of the value: 0, ALL or TEXTS.
    """
    if isinstance(value, dict):
        if secret and _is_schema(value):
            secret = 0
        called = value.get("name", value.get("key")) if "value" in value else None
        if isinstance(called, str):  # a header, a variable: {"name": "Authorization", "value": "..."}
            pair = kind_of_secret(called)
            return {name: redact(member, guess, secret or (
                pair if name == "value" else kind_of_secret(str(name))), hide) for name, member in value.items()}
        return {name: redact(member, guess, secret or kind_of_secret(str(name)), hide)
                for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(item, guess, secret, hide) for item in value]
    if isinstance(value, str):
        wanted = secret == ALL or secret and type(value) is str
        return hide(value) if wanted and value else redact_text(value, guess, hide)
    return hide(str(value)) if secret == ALL and type(value) in (int, float) else value


def _is_schema(value: Dict[Any, Any]) -> bool:
    kind = value.get("type")
    return "value" not in value and (isinstance(kind, list) or kind in _TYPES or not _SCHEMA.isdisjoint(value))
