"""Rules of the header fields that repeat what a message says [2025-06-18..2025-11-25 basic/transports §Protocol Version
Header], [2026-07-28 basic/transports/streamable-http §Request Metadata]."""

import re
from typing import Any, List, NamedTuple, Optional

from .....methods import NAMED, known_since
from .....revisions import NAMES
from ...course import ADDED
from ...httpfacts import decoded, is_plain, is_repeated, is_sentinel, is_streamable, mask_of
from ...observed import ERROR, META_REVISION, REQUEST, RESULT, Message, ObservedExchange
from ...rules import HEAD, KEPT, MESSAGE, RESPONSE, UNDECIDED, Broken, CannotTell, Verdict, rule
from .http_endpoint import (
    NO_HANDSHAKE, OTHER_ERA, Modern, facts_of_post, facts_of_response, is_get, is_modern, shows_modern,
)

UNDECIDED.update({
    "http.header-version-absent-assume": "which revision a server assumes stays inside it, and one that refuses may "
                                         "not have the revision that it assumed",
})
VERSION, METHOD, NAME = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


def asking(message: Message) -> Optional[ObservedExchange]:
    """Return the exchange of a request that the client posts; None for anything else."""
    exchange = message.exchange
    if exchange is None or message.sender != "client" or message.kind != REQUEST or not exchange.sent or (
            exchange.sent[0] is not message):
        return None
    return exchange if exchange.method == "POST" and is_streamable(exchange) else None


# After a handshake

def _version(exchange: ObservedExchange, opened: float) -> Verdict:
    """Judge the version of a request that comes after the handshake."""
    result = exchange.session.initialize_result
    if exchange.session.mixed:
        return CannotTell("which client sent the request: several share the connection")
    if result is None or opened <= result.time or result.result.get("protocolVersion") not in NAMES:
        return None  # before the handshake, or after one that agreed on no revision that there is
    return KEPT if exchange.header("mcp-protocol-version") is not None else Broken("a request without it", VERSION)


def _subject(subject: Any) -> Optional[ObservedExchange]:
    """Return the exchange of a later request of the client, by its GET or DELETE, or by its first message."""
    if isinstance(subject, ObservedExchange):
        asks = is_get(subject) or subject.method == "DELETE" and subject.is_mcp and is_streamable(subject)
        return subject if asks else None
    exchange: Optional[ObservedExchange] = subject.exchange
    if exchange is None or subject.sender != "client" or exchange.sent[0] is not subject or exchange.method != "POST":
        return None
    opens = subject.kind == REQUEST and subject.method == "initialize"
    return exchange if is_streamable(exchange) and not opens else None


@rule("http.header-version-after-init", on=(MESSAGE, HEAD), when="http client unposted", facts=facts_of_post,
      needs="http", scene="""
    on http 2025-06-18
  + C [3] #1 tools/list {}
  - C [3 MCP-Protocol-Version=] #1 tools/list {}
    S [3] #1 {"tools": []}
""")
def version_named(subject: Any) -> Verdict:
    """After the handshake each request of the client names the revision."""
    exchange = _subject(subject)
    return None if exchange is None else _version(exchange, exchange.opened)


@rule("http.header-version-negotiated", on=(MESSAGE, HEAD), when="http client unposted", facts=facts_of_post,
      needs="http", scene="""
    on http 2025-06-18
  + C [3] #1 tools/list {}
  - C [3 MCP-Protocol-Version=2025-03-26] #1 tools/list {}
    S [3] #1 {"tools": []}
""")
def version_negotiated(subject: Any) -> Verdict:
    """The revision that requests name is the one that was agreed on."""
    exchange = _subject(subject)
    value = exchange.header("mcp-protocol-version") if exchange is not None else None
    if exchange is None or value is None or exchange.session.initialize_result is None:
        return None
    agreed = exchange.session.revision
    if exchange.session.mixed:
        return CannotTell("which client sent the request: several share the connection")
    result = exchange.session.initialize_result
    if agreed is None or exchange.opened <= result.time or result.result.get("protocolVersion") not in NAMES:
        return None
    return KEPT if value == agreed.name else Broken("%s instead of %s" % (value[:40], agreed.name), VERSION)


def is_no_version(value: str) -> bool:
    """Return True for what cannot be the name of a revision: neither a date since there are any, nor a draft."""
    return value not in NAMES and "draft" not in value.lower() and (
        _DATE.match(value) is None or value < "2024")


@rule("http.header-version-invalid-400", on=RESPONSE, facts=facts_of_response, needs="http", follows="http.session-404",
      provoked="http.header-version-negotiated", scene="""
    on http 2025-06-18
    C [3 MCP-Protocol-Version=latest] #1 tools/list {}
  + S [3] 400
  + S [3] end
  - S [3] #1 {"tools": []}
""")
def version_refused(exchange: ObservedExchange) -> Verdict:
    """A request that names no revision that there is, is refused by 400."""
    value = exchange.header("mcp-protocol-version")
    if value is None or exchange.status is None or not exchange.sent or not is_streamable(exchange):
        return None
    if not is_no_version(value) or mask_of(value):
        return None
    if exchange.status == 400:
        return KEPT
    return Broken("%s was served" % value[:40], VERSION) if exchange.status // 100 == 2 else None


# Without a handshake: what the client sends

@rule("http.header-version-every-post", "http.header-metadata-required", on=REQUEST,
      when="http client", needs="http", scene="""
    on http 2026-07-28
  + C [3] #1 tools/list {}
  - C [3 MCP-Protocol-Version=] #1 tools/list {}
  - S [3] 400
  - S [3] end
""", reading="the page defines header fields of requests only, not of notifications")
def version_each_time(message: Message) -> Verdict:
    """Each request that is posted names the revision in its header."""
    exchange = asking(message)
    if exchange is None:
        return None
    return KEPT if exchange.header("mcp-protocol-version") is not None else Broken("a request without it", VERSION)


@rule("http.header-version-matches-meta", on=REQUEST, when="http client", needs="http", scene="""
    on http 2026-07-28
  + C [3] #1 tools/list {}
  - C [3 MCP-Protocol-Version=2025-11-25] #1 tools/list {}
  - S [3] 400
  - S [3] end
""")
def version_matches(message: Message) -> Verdict:
    """The revision in the header is that in `_meta`."""
    exchange, named = asking(message), message.meta.get(META_REVISION)
    value = exchange.header("mcp-protocol-version") if exchange is not None else None
    if value is None or not isinstance(named, str):
        return None
    return KEPT if value == named else Broken("%s, and %s in _meta" % (value[:40], named[:40]), VERSION)


@rule("http.header-standard-required", on=REQUEST, when="http client", needs="http", scene="""
    on http 2026-07-28
  + C [3] #1 tools/list {}
  - C [3 Mcp-Method=] #1 tools/list {}
  - S [3] 400
  - S [3] end
""")
def standard_fields(message: Message) -> Verdict:
    """A request has the method in its header, and the name or URI of what it is about."""
    exchange = asking(message)
    if exchange is None:
        return None
    lacking = [Broken("a request without it", name) for name in (METHOD, NAME)
               if _expected(message, name) is not None and exchange.header(name.lower()) is None]
    return [each for each in lacking] or KEPT


def _expected(message: Message, name: str) -> Optional[str]:
    """Return what a header field has to say; None if it is not needed."""
    value = message.method if name == METHOD else message.params.get(NAMED.get(message.method, ""))
    return value if isinstance(value, str) else None


class Fault(NamedTuple):
    """A header field that does not say what the body says."""

    header: str
    kind: str
    """``missing``, ``encoding`` or ``value``."""
    evidence: str


def standard_faults(message: Message) -> List[Fault]:
    """Return what is wrong with `Mcp-Method` and `Mcp-Name` of a request."""
    if "standard" not in message.notes:
        message.notes["standard"] = _standard_faults(message)
    known: List[Fault] = message.notes["standard"]
    return known


def _standard_faults(message: Message) -> List[Fault]:
    exchange = asking(message)
    if exchange is None:
        return []
    found = []
    for name in (METHOD, NAME):
        wanted, value = _expected(message, name), exchange.header(name.lower())
        if wanted is None or value == wanted and (name == METHOD or is_plain(wanted)):
            continue
        if mask_of(value) or mask_of(wanted):
            continue
        if value is None:
            found.append(Fault(name, "missing", "a request without it"))
            continue
        said = decoded(value) if name == NAME else value
        if name == NAME and not is_plain(wanted) and said != wanted and (
                said is None or not is_sentinel(value) or not value.startswith("=?base64?")):
            found.append(Fault(name, "encoding", "not encoded as it has to be"))
        elif name == NAME and not is_plain(wanted) and said == value:
            found.append(Fault(name, "encoding", "not encoded"))
        elif said != wanted:
            found.append(Fault(name, "value", "%s instead of %s" % (value[:60], ascii(wanted[:60]))))
    return found


@rule("http.header-standard-from-body", on=REQUEST, when="http client", needs="http", scene="""
    on http 2026-07-28
  + C [3] #1 tools/call {"name": "slow"}
  - C [3 Mcp-Name=fast] #1 tools/call {"name": "slow"}
  - S [3] 400
  - S [3] end
""")
def standard_values(message: Message) -> Verdict:
    """The header fields of a request say what its body says."""
    exchange = asking(message)
    if exchange is None or exchange.header("mcp-method") is None:
        return None
    wrong = [Broken(each.evidence, each.header) for each in standard_faults(message) if each.kind == "value"]
    return [each for each in wrong] or KEPT


@rule("http.header-name-encoding", on=REQUEST, when="http client", needs="http", scene="""
    on http 2026-07-28
  + C [3 Mcp-Name==?base64?w7xiZXI=?=] #1 tools/call {"name": "\u00fcber"}
  - C [3 Mcp-Name=\u00fcber] #1 tools/call {"name": "\u00fcber"}
  - S [3] 400
  - S [3] end
""")
def name_encoded(message: Message) -> Verdict:
    """A name that cannot stand in a header field is encoded there."""
    exchange, wanted = asking(message), _expected(message, NAME)
    if exchange is None or wanted is None or is_plain(wanted) or exchange.header("mcp-name") is None:
        return None
    wrong = [Broken(each.evidence, each.header) for each in standard_faults(message) if each.kind == "encoding"]
    return wrong[0] if wrong else KEPT


# Without a handshake: what the server makes of it

def served(message: Message) -> Optional[Message]:
    """Return the request that a server of this revision has served, with a result over Streamable HTTP."""
    asked = message.request
    if asked is None or message.sender != "server" or message.exchange is not asked.exchange or asking(asked) is None:
        return None
    return asked if message.kind == RESULT and (shows_modern(message) or is_modern(message.connection)) else None


def refused(message: Message) -> Optional[Message]:
    """Return the request that a server has refused, because header and body differ."""
    asked = message.request
    if asked is None or message.sender != "server" or asking(asked) is None:
        return None
    return asked if message.kind == ERROR and message.error.get("code") == HEADER_MISMATCH else None


def versions_differ(asked: Message) -> bool:
    """Return True if the header of a request names another revision than its body."""
    named = asked.meta.get(META_REVISION)
    value = asked.exchange.header("mcp-protocol-version") if asked.exchange is not None else None
    return value is not None and isinstance(named, str) and value != named


@rule("http.header-version-mismatch-rejected", on=(RESULT, ERROR),
      when="http server unlike", party="server", needs="http",
      provoked="http.header-version-matches-meta", scene="""
    on http 2026-07-28
    C [3 MCP-Protocol-Version=2025-11-25] #1 tools/list {}
  + S [3] 400 {"Content-Type": "application/json"}
  + S [3] #1 !-32020 "the header names another revision"
  - S [3] #1 {"tools": []}
""")
def version_mismatch(message: Message) -> Verdict:
    """A request whose header names another revision than its `_meta` is refused."""
    asked = served(message) or refused(message)
    if asked is None or not versions_differ(asked):
        return None
    return KEPT if message.kind == ERROR else Broken("it was served", VERSION)


@rule("http.header-version-unsupported-400", on=ERROR, party="server", needs="http", scene="""
    on http 2026-07-28
    C [3] #1 tools/list {}
  + S [3] 400 {"Content-Type": "application/json"}
  - S [3] 200 {"Content-Type": "application/json"}
    S [3] #1 !-32022 "unsupported" {"supported": ["2027-01-01"], "requested": "2026-07-28"}
""")
def unsupported(message: Message) -> Verdict:
    """A revision that the server does not have is refused by 400, and by an error that lists those that it has."""
    exchange, data = message.exchange, message.error.get("data")
    if message.error.get("code") != UNSUPPORTED_VERSION or message.sender != "server" or not is_streamable(exchange):
        return None
    if exchange is None or exchange.status is None:
        return None
    if exchange.status != 400:
        return "%d with the error %d" % (exchange.status, UNSUPPORTED_VERSION)
    listed = data.get("supported") if isinstance(data, dict) else None
    return KEPT if isinstance(listed, list) and listed else Broken("no supported revisions", "error.data.supported")


@rule("http.header-version-absent-reject", on=(RESULT, ERROR), when="http server unlike", party="server", needs="http",
      provoked="http.header-version-every-post", scene="""
    on http 2026-07-28
""" + NO_HANDSHAKE + """
    C [3 MCP-Protocol-Version=] #2 tools/list {}
  + S [3] 400 {"Content-Type": "application/json"}
  + S [3] #2 !-32020 "the header is missing"
  - S [3] #2 {"tools": []}
""")
def version_absent(message: Message) -> Verdict:
    """A server of this revision only refuses a request whose header names no revision."""
    asked = served(message) or refused(message)
    if asked is None or asked.exchange is None or asked.exchange.header("mcp-protocol-version") is not None:
        return None
    if message.kind == ERROR:
        return KEPT
    if not message.connection.state(Modern).only:
        return OTHER_ERA
    return Broken("it was served", VERSION)


@rule("http.header-mismatch-rejected", on=(RESULT, ERROR), when="http server unlike", party="server", needs="http",
      provoked="http.header-standard-from-body", scene="""
    on http 2026-07-28
    C [3 Mcp-Method=prompts/list] #1 tools/list {}
  + S [3] 400 {"Content-Type": "application/json"}
  + S [3] #1 !-32020 "the header has another method"
  - S [3] #1 {"tools": []}
""")
def mismatch_refused(message: Message) -> Verdict:
    """A request whose header fields are missing, or say something else than its body, is refused."""
    asked = served(message) or refused(message)
    faults = standard_faults(asked) if asked is not None else []
    if not faults:
        return None
    return KEPT if message.kind == ERROR else Broken("it was served", faults[0].header)


@rule("http.header-mismatch-error", on=ERROR, party="server", needs="http",
      provoked="http.header-standard-from-body", scene="""
    on http 2026-07-28
    C [3 Mcp-Method=prompts/list] #1 tools/list {}
  + S [3] 400 {"Content-Type": "application/json"}
  - S [3] 200 {"Content-Type": "application/json"}
    S [3] #1 !-32020 "the header has another method"
""")
def mismatch_status(message: Message) -> Verdict:
    """The error for header fields that do not fit comes with the status 400."""
    exchange = message.exchange
    if message.error.get("code") != HEADER_MISMATCH or message.sender != "server" or not is_streamable(exchange):
        return None
    if exchange is None or exchange.status is None:
        return None
    return KEPT if exchange.status == 400 else "%d with the error %d" % (exchange.status, HEADER_MISMATCH)


USUAL = (VERSION, METHOD, NAME)
"""The header fields that all requests have, as the page writes them."""


@rule("http.header-case-insensitive", on=(RESULT, ERROR),
      when="http server unlike", party="server", needs="http", scene="""
    on http 2026-07-28
    C [3] POST /mcp {"mcp-method": "tools/list", "Accept": "application/json, text/event-stream"}
    C [3] #1 tools/list {}
  + S [3] #1 {"tools": []}
  - S [3] 400 {"Content-Type": "application/json"}
  - S [3] #1 !-32020 "Mcp-Method is missing"
""")
def any_case(message: Message) -> Verdict:
    """The names of header fields count in any case: a request is not refused for it."""
    asked = served(message) or refused(message)
    if asked is None or asked.exchange is None or standard_faults(asked) or versions_differ(asked):
        return None
    names = [name for name, _ in asked.exchange.fields if name.lower() in ("mcp-method", "mcp-name")
             or name.lower() == VERSION.lower()]
    odd = [name for name in names if name not in USUAL]
    others = asked.method == "tools/call" or asked.method in ADDED or not known_since(asked.method) or (
        asked.method in NAMED and _expected(asked, NAME) is None)  # the body names nothing: what is refused is the body
    if not odd or asked.exchange.header("mcp-protocol-version") is None or others or any(
            is_repeated(asked.exchange, name) for name in names):
        return None  # a call, or a method of an extension, may have other fields that do not fit
    return KEPT if message.kind == RESULT else Broken("refused though %s fits" % odd[0], odd[0])
