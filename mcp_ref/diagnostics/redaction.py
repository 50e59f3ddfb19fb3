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
from typing import Any, Callable, Match, NamedTuple, Pattern, Tuple

MASK = "***"
Hide = Callable[[str], str]
"""A function from a secret to its mask."""


def star(secret: str) -> str:
    """Return the mask that says nothing of the secret."""
    return MASK


_NAMES = ("token", "secret", "password", "passwd", "pwd", "passphrase", "api_key", "private_key", "access_key",
          "secret_key", "signing_key", "authorization", "cookie", "credential", "credentials", "code_verifier",
          "client_assertion", "jwt", "request_state")
"""The ends of the names of secrets; case, ``_`` and ``-`` do not count. A request state holds answers that were masked
when they were given, and a client that has it may go on with the request."""
_SECRETS = tuple(name.replace("_", "") for name in _NAMES)
_NOT_SECRET = ("progresstoken", "pagetoken")


def is_secret(name: str) -> bool:
    """Return True if a member of this name holds a secret: token, client_secret, apiKey, x-authorization ..."""
    name = name.lower().replace("_", "").replace("-", "")
    return name.endswith(_SECRETS) and not name.endswith(_NOT_SECRET)


class Rule(NamedTuple):
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

    def apply(self, text: str, hide: Hide) -> str:
        """Return the text with all such secrets masked."""
        return self.pattern.sub(lambda found: self.mask(found, hide), text)


def _all(found: "Match[str]", hide: Hide) -> str:
    return hide(found.group())


def _last(found: "Match[str]", hide: Hide) -> str:
    """Mask the last group."""
    group = found.re.groups
    return "%s%s%s" % (found.string[found.start():found.start(group)], hide(found.group(group)),
                       found.string[found.end(group):found.end()])


def _field(found: "Match[str]", hide: Hide) -> str:
    """Mask the value of a header field; a digest is that of the credentials without their scheme."""
    scheme, blank, rest = found.group(2).partition(" ")
    hidden = hide(found.group(2))
    if hidden != MASK and rest.strip() and scheme.isalnum():
        hidden = scheme + " " + hide(rest.strip())
    return "%s: %s" % (found.group(1), hidden)


def _random(found: "Match[str]", hide: Hide) -> str:
    """Mask a long run of letters and digits, unless it is rather a path, an identifier or joined words."""
    run = found.group()
    digits = sum(map(run.count, "0123456789"))
    joints = sum(map(run.count, "/_-+"))
    mixed = run != run.lower() and run != run.upper()
    return hide(run) if mixed and digits * 20 >= len(run) and joints * 10 <= len(run) else run


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

RULES: Tuple[Rule, ...] = (
    Rule("private key", ("private key",),
         re.compile(_KEY_BLOCK.replace("(BEGIN|END)", "BEGIN") + r".*?(?:" + _KEY_BLOCK.replace("(BEGIN|END)", "END")
                    + r"|\Z)", re.DOTALL),
         False, "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", _all),
    Rule("header", ("authorization", "cookie", "x-api-key"), re.compile(_HEADER), False,
         "Authorization: Bearer abc.def-ghi", _field),
    Rule("scheme", ("bearer ", "basic ", "dpop "), re.compile(r"(?i)\b(bearer|basic|dpop) {1,4}([\w.~+/=-]{6,})"),
         False, "sent bearer abcdefgh", lambda found, hide: "%s %s" % (found.group(1), hide(found.group(2)))),
    Rule("web token", ("eyj",), re.compile(r"eyJ(?<![\w-]eyJ)[\w-]+\.[\w-]+\.[\w-]*"), False,
         "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", _all),
    Rule("service key", tuple(begin.lower() for begin, _ in _PREFIXES),
         re.compile("|".join(r"%s(?<![\w-]%s)%s" % (begin, begin, rest) for begin, rest in _PREFIXES)), False,
         "key sk-abcdefghijklmnopqrst", _all),
    Rule("password in a URL", ("://",), re.compile(r"://[^\s/?#@:\"'\\]{0,64}:([^\s/?#\"'\\]{1,512})@"), False,
         "postgres://app:hunter2@db.example/x", _last),
    Rule("authorization code", ("code=", "assertion="), re.compile(r"[?&#](?:code|assertion)=([^&\s\"'#\\]+)"), False,
         "GET /cb?code=abc123&state=xyz", _last),
    Rule("name=value", tuple(end + "=" for end in _ENDS), re.compile(_NAME + r"=[\"']?)(" + _VALUE + ")"), False,
         "./run DB_PASSWORD=hunter2", _last),
    Rule("member", tuple(end + quote for end in _ENDS for quote in "\"'\\"),  # JSON in text, its quotes perhaps escaped
         re.compile(_NAME + r"\\{0,3}[\"']\s{0,4}:\s{0,4}\\{0,3}[\"'])([^\"'\\]+)"), False,
         '{"password": "hunter2"}', _last),
    Rule("name: value", _ENDS, re.compile(_NAME + r"\s{0,2}(?::=|:|=)\s{0,2}[\"']?)(" + _VALUE + ")"), True,
         "api_key: hunter2", _last),
    Rule("long hexadecimal", (), re.compile(r"(?<!\w)(?:0x)?[0-9a-fA-F]{32,}(?!\w)"), True,
         "digest 0123456789abcdef0123456789abcdef", _all),
    Rule("long base64", (), re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{40,}={0,2}"), True,
         "got q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=", _random),
)
"""The secrets that are masked inside text, in this order."""


def redact_text(text: str, guess: bool = False, hide: Hide = star) -> str:
    """Return a text without the secrets that can be told by their looks: ``Bearer ...``, tokens, ``?code=...``."""
    lowered = text.lower()
    for rule in RULES:
        if (guess or not rule.guess) and (not rule.words or any(word in lowered for word in rule.words)):
            text = rule.apply(text, hide)
    return text


def redact(value: Any, guess: bool = False, secret: bool = False, hide: Hide = star) -> Any:
    """Return a JSON value without secrets: members named like one (strings, numbers, arrays of these), texts like one.

    An object under such a name may be the schema of a secret, so in there names count again. ``secret``: the value is
    one by its name.
    """
    if isinstance(value, dict):
        return {name: redact(member, guess, is_secret(str(name)), hide) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(item, guess, secret, hide) for item in value]
    if isinstance(value, str):
        return hide(value) if secret and value else redact_text(value, guess, hide)
    return hide(str(value)) if secret and type(value) in (int, float) else value
