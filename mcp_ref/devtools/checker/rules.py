"""The rules as rows: what a rule is, what it may answer, and how the pages declare theirs.

A rule is a function with a row around it::

    @rule("progress.increases", on=NOTIFICATION, method=methods.PROGRESS, scene='''
        on stdio 2025-06-18
        C #1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}
        S notifications/progress {"progressToken": "p", "progress": 1}
      + S notifications/progress {"progressToken": "p", "progress": 2}
      - S notifications/progress {"progressToken": "p", "progress": 1}
        S #1 {"content": []}
    ''')
    def increases(message: Message) -> Verdict:
        "The progress of a token rises with each notification."
        ...

The docstring is the rule in our own words. Level, revisions, party and citation are those of the requirement of this id
(`mcp_ref.requirements`). The scene is two traces in one (`mcp_ref.devtools.checker.scenes`): the lines that begin with
``+`` are in the one that keeps the rule, those with ``-`` in the one that breaks it. Both are the rule's tests and its
page in `explain`.

What the function is called with depends on the moment:

============================================  =====================================================================
moments                                       subject
============================================  =====================================================================
REQUEST, NOTIFICATION, RESULT, ERROR          the `Message`; ``method`` narrows them, of responses by the request's
MESSAGE                                       each `Message` that is a JSON object, of whatever kind
ASKED                                         the `Message` with a question of the server: a request of it, or a result
                                              that wants input
ANSWERED                                      the `Message` with an answer of the client: a response of it, or a request
                                              that goes on with a result that wants input
OUTCOME                                       the `Message` that responds to such a request
TASKED                                        the `Message` about a task: it asks for one, names or reports one,
                                              responds to such a message, or is progress, perhaps that of a task
ODD, NOISE                                    the `Message`: an object that is none of the four; bytes that are no JSON
BATCH                                         the `ObservedBatch`, a list of its `Message` objects, after each of them
HEAD, RESPONSE, END                           the `ObservedExchange`: the head of its request or response, or its end
SSE_EVENT                                     the `ObservedEvent`, after its message was judged
PROCESS, STDERR                               the `Happening`
FINISH                                        the `ObservedConnection`: it is closed, or the trace is over
============================================  =====================================================================

What it returns:

====================  ==========================================================================================
None                  nothing of the kind was seen, the rule says nothing
``KEPT``              the rule was kept here
a string, `Broken`    the rule was broken: the evidence, shortened, perhaps with the party and the member
`CannotTell`          it depends on what was not recorded, or was forgotten
====================  ==========================================================================================

A page also adds to the table UNDECIDED: the ids of binding requirements that nobody who only observes can decide, each
with its reason.

Most rules have nothing to say about most messages. ``when`` names circumstances (CIRCUMSTANCES) without which a rule
returns None, so that it need not be asked: what is asked is looked up in one table.

Most rules answer what they have answered before. ``facts`` is a function that returns all that a rule looks at, as a
value to compare: while it is equal to the one before, and no rule that has it was broken, none is asked again.

An observer (`observe`) judges nothing: it notes what rules need later. Observers run after the rules of the same
moment.
"""

from functools import lru_cache
from importlib import import_module
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Tuple, Union

from ...requirements import Requirement, requirements
from ...wiretrace import CLIENT, SERVER, Event
from .observed import (
    ERROR, META_CAPABILITIES, NOISE, NOTIFICATION, ODD, REQUEST, RESULT, Message, ObservedConnection, ObservedExchange,
    ObservedHead, ObservedSession,
)

ASKED, ANSWERED, OUTCOME, TASKED = "asked", "answered", "outcome", "tasked"
MESSAGE, BATCH, HEAD, RESPONSE, END = "message", "batch", "head", "response", "end"
SSE_EVENT, PROCESS, STDERR, FINISH = "event", "process", "stderr", "finish"
_OF_MESSAGES = frozenset((
    REQUEST, NOTIFICATION, RESULT, ERROR, MESSAGE, ASKED, ANSWERED, OUTCOME, TASKED, ODD, NOISE, BATCH))
OF_METHODS = frozenset((REQUEST, NOTIFICATION, RESULT, ERROR, ASKED, ANSWERED, OUTCOME, TASKED))
"""The moments that are narrowed by a method."""
MOMENTS = (*_OF_MESSAGES, HEAD, RESPONSE, END, SSE_EVENT, PROCESS, STDERR, FINISH)

CIRCUMSTANCES: Dict[str, int] = {name: 1 << place for place, name in enumerate((
    "http", "pipe", "client", "server", "meta", "progress", "task", "brings", "cancelled", "unlike",
    "notice", "extends", "fetched",
    "refused", "token", "unposted", "guarded", "origin", "cursor", "stream", "unasked", "unserved",
    "outdated", "views", "needy", "fallback", "left", "early", "noise"))}
"""The names for ``when``, with a bit each. What does not apply to a subject is true.

===============  ================================================================================================
of a `Message`   what is true
===============  ================================================================================================
``http``         it or its request is of an HTTP exchange
``pipe``         the transport is stdio
``client``       the client has sent it
``server``       the server has sent it
``meta``         it has a ``_meta`` with something in it
``progress``     it has a progress token in ``_meta``, or is a notification
``task``         it is no result, or one that may be a task, list tasks, or say that one was made
``brings``       it is no request, or one with answers to what the server has asked
``cancelled``    a notification of the connection has cancelled something, or tried to
``unlike``       it is no response, or the header fields of its request are more than a plain copy of the body
``notice``       it is a notification, or a request whose method has the name of one
``extends``      it is no request, or one that opens a session or declares extensions of the client
``fetched``      an HTTP exchange by GET carries it
===============  ================================================================================================

==================  =============================================================================================
of an exchange      what is true
==================  =============================================================================================
``refused``         the status is 401 or 403, or there is a challenge
``token``           the request has the field Authorization
``unposted``        its method is not POST
``guarded``         it carries no message of the client in a POST, or something of authorization was seen in the
                    trace: a field Authorization, a challenge, a status 401 or 403, a query, or a body that is no
                    message
``origin``          the request has the field Origin
``cursor``          the request has the field Last-Event-ID
``stream``          the response is a stream of events
``unasked``         it carries no request of the client
``unserved``        its method is not POST, or its status is not one of success
==================  =============================================================================================

==============  =================================================================================================
of the trace    what was noted in it before (`noted`), for a `Message` and an `ObservedExchange`
==============  =================================================================================================
``outdated``    a version was refused
``views``       a tool that has a UI was listed
``needy``       a tool that only runs as a task was listed
``fallback``    a request was refused as servers without handshake do it
``left``        a session was deleted, or is not known any more
``early``       the server has closed a stream before its responses
``noise``       bytes that are no message were seen
==============  =================================================================================================
"""
(_HTTP, _PIPE, _CLIENT, _SERVER, _META, _PROGRESS, _TASK, _BRINGS, _CANCELLED, _UNLIKE, _NOTICE, _EXTENDS, _FETCHED,
 _REFUSED, _TOKEN, _UNPOSTED, _GUARDED, _ORIGIN, _CURSOR, _STREAM, _UNASKED, _UNSERVED, _OUTDATED,
 *_) = CIRCUMSTANCES.values()
_OF_EXCHANGE = _REFUSED - 1
_OF_MESSAGE = _OUTDATED - _REFUSED
_NOT_OF_KIND = {
    REQUEST: _TASK | _UNLIKE, NOTIFICATION: _PROGRESS | _TASK | _BRINGS | _UNLIKE | _NOTICE | _EXTENDS,
    RESULT: _BRINGS | _EXTENDS, ERROR: _TASK | _BRINGS | _EXTENDS, ODD: _TASK | _BRINGS | _UNLIKE | _EXTENDS,
    NOISE: _TASK | _BRINGS | _UNLIKE | _EXTENDS}
"""The bits that are true of a message for its kind alone, because they do not apply."""
_OF_KIND = {kind: bits | _OF_MESSAGE for kind, bits in _NOT_OF_KIND.items()}
_OF_PARTY = {CLIENT: _CLIENT, SERVER: _SERVER}

SENDER = "sender"
"""The party of a rule that binds both: the sender of the message."""


class Broken(NamedTuple):
    """A verdict: the rule was broken."""

    evidence: str
    """The observation, in one short sentence without secrets."""
    where: str = ""
    """The member or the header field, such as ``params.progressToken`` or ``Mcp-Name``."""
    party: str = ""
    """The party at fault, if it is not the rule's: client, server, recorder, proxy or environment."""
    at: Any = None
    """The `Message` or `ObservedExchange` at fault, if it is not the subject."""


class CannotTell(NamedTuple):
    """A verdict: it cannot be told."""

    missing: str
    """The information that would be needed."""


class Kept:
    """A verdict: the rule was kept. The only instance is KEPT."""


KEPT = Kept()
Verdict = Union[None, Kept, str, Broken, CannotTell, List[Union[str, Broken]]]


class Happening(NamedTuple):
    """An event of a process."""

    event: Event
    connection: ObservedConnection

    @property
    def session(self) -> ObservedSession:
        """The session that was in force."""
        return self.connection.default


Facts = Callable[[Any], Any]


class Rule(NamedTuple):
    """A row."""

    id: str
    also: Tuple[str, ...]
    """Other requirements that say the same: a finding names them too."""
    requirement: Requirement
    on: Tuple[str, ...]
    methods: Optional[Tuple[str, ...]]
    party: str
    """client, server, or SENDER."""
    decide: Callable[[Any], Verdict]
    text: str
    """The rule in our own words."""
    scene: str
    follows: Tuple[str, ...]
    """Ids of rules, or ``area.*``: a violation of one of them at the same message, its request or its exchange is the
    cause of this one. With ``session:`` before it, a violation anywhere in the session; with ``same:``, one of the same
    party anywhere in it about the same member; with ``here:``, one at the same message only, about the same member or
    one in or around it. ``here:*`` is any rule that is not itself content with any cause at its message."""
    needs: FrozenSet[str]
    """Names of `wiretrace.RECORDED` without which the rule cannot tell."""
    ranks: FrozenSet[int]
    reading: str
    """The reading that is applied where the page leaves a choice; "" if it leaves none."""
    disagree: str
    """Both places, if page and schema disagree; "" if they do not."""
    always: bool
    """True if it is asked whatever the revision: what it judges may be said in another one."""
    provoked: Tuple[str, ...]
    """Ids of rules, or ``area.*``, that the other party breaks in both traces of the scene: only a faulty peer shows
    this one."""
    beside: bool
    """True if it is only asked about exchanges beside the protocol's endpoint: documents, requests for tokens."""
    spoils: bool
    """True if nobody knows what a message is that breaks it: whatever else is wrong with it, with its response or its
    exchange follows from that, unless it is about another member."""
    when: int
    """The bits of CIRCUMSTANCES without which it says nothing."""
    facts: Optional[Facts]
    """A function of the subject: where what it returns is the same, the rule says the same."""

    @property
    def binds(self) -> bool:
        """True if it is a MUST, and page and schema agree."""
        return not self.disagree and any(
            "MUST" in each.level for each in (self.requirement, *(requirements()[one] for one in self.also)))


class Observer(NamedTuple):
    """A function that notes what rules need."""

    on: Tuple[str, ...]
    methods: Optional[Tuple[str, ...]]
    note: Callable[[Any], None]
    when: int
    """The bits of CIRCUMSTANCES without which it notes nothing."""


RULES: Dict[str, Rule] = {}
"""All rules by id; `load` fills it."""
OBSERVERS: List[Observer] = []
UNDECIDED: Dict[str, str] = {}
"""The binding requirements that no observer can decide, with the reason; the pages fill it."""
OWN: Dict[str, Requirement] = {}
"""The rows of rules that are no requirement of the list: definitions of a schema."""

Decide = Callable[[Any], Verdict]
Note = Callable[[Any], None]


def rule(
    id: str, *also: str, on: Union[str, Tuple[str, ...]], scene: str,
    method: Union[None, str, Tuple[str, ...]] = None, party: str = "", follows: Union[str, Tuple[str, ...]] = (),
    needs: str = "", reading: str = "", disagree: str = "", row: Optional[Requirement] = None,
    always: bool = False, provoked: Union[str, Tuple[str, ...]] = (), beside: bool = False, spoils: bool = False,
    when: str = "", facts: Optional[Facts] = None,
) -> Callable[[Decide], Decide]:
    """Declare the decorated function as the rule of a requirement; see the module.

    ``also``: ids of requirements that say the same. ``party``: client or server, if the requirement binds both and the
    subject is no message, or if the role is the author of one. ``needs``: names of `wiretrace.RECORDED`, with blanks
    between. ``row``: the requirement, if the id is not in the list. ``always``: ask it in all revisions, as for a
    client that falls back from one to another. ``provoked``: what the other party breaks in both traces of the scene.
    ``beside``: ask it only about HTTP beside the endpoint. ``spoils``: what else is wrong with such a message follows
    from it. ``when``: names of CIRCUMSTANCES, with blanks between. ``facts``: see the module. Raises
    ValueError for an id that is not in the list or was declared before, for an unknown moment, and if no party can be
    told.
    """
    requirement = row or requirements().get(id)
    if requirement is None or any(each not in requirements() for each in also):
        raise ValueError("rule %s: no such requirement among %r" % (id, (id, *also)))
    if id in RULES:
        raise ValueError("rule %s is declared twice" % id)
    moments = (on,) if isinstance(on, str) else on
    if not set(moments) <= set(MOMENTS):
        raise ValueError("rule %s: on is among %s" % (id, ", ".join(MOMENTS)))
    fallback = {"client": "client", "server": "server", "host": "client", "author": "server"}.get(requirement.role, "")
    messages = set(moments) <= _OF_MESSAGES
    bound = party or fallback or (SENDER if messages else "")
    if not bound:
        raise ValueError("rule %s: party is needed" % id)
    bits = _bits(when)
    ranks = requirement.ranks().union(*(requirements()[each].ranks() for each in also))

    def declare(decide: Decide) -> Decide:
        text = " ".join((decide.__doc__ or "").split())
        if not text:
            raise ValueError("rule %s: its docstring is the rule in our own words" % id)
        if row is not None:
            OWN[id] = row
        RULES[id] = Rule(
            id, also, requirement, moments, (method,) if isinstance(method, str) else method, bound, decide, text,
            scene, (follows,) if isinstance(follows, str) else follows, frozenset(needs.split()), ranks, reading,
            disagree, always, (provoked,) if isinstance(provoked, str) else provoked, beside, spoils, bits, facts)
        return decide

    return declare


def observe(
    on: Union[str, Tuple[str, ...]], method: Union[None, str, Tuple[str, ...]] = None, when: str = "",
) -> Callable[[Note], Note]:
    """Declare the decorated function as an observer; see the module and `rule`."""
    moments, names = (on,) if isinstance(on, str) else on, (method,) if isinstance(method, str) else method

    def declare(note: Note) -> Note:
        OBSERVERS.append(Observer(moments, names, note, _bits(when)))
        return note

    return declare


def load() -> Dict[str, Rule]:
    """Import the pages, and return all rules by id."""
    _import_pages()
    return RULES


@lru_cache(maxsize=None)
def _import_pages() -> None:
    from . import pages

    for name in pages.NAMES:
        import_module("%s.%s" % (pages.__name__, name))


def matching(rows: Iterable[Any], moment: str, method: str, rank: Optional[int], beside: bool = True,
             seen: int = -1) -> List[Any]:
    """Return the rules or observers for a moment, a method and the rank of a revision (None: not known).

    ``beside``: with those for HTTP beside the endpoint. ``seen``: the bits of the circumstances.
    """
    return [row for row in rows if moment in row.on and (row.methods is None or method in row.methods)
            and row.when & ~seen == 0 and (not isinstance(row, Rule) or (beside or not row.beside) and (
                row.always or (len(row.ranks) == 5 if rank is None else rank in row.ranks)))]


def noted(connection: ObservedConnection, name: str) -> None:
    """Note one of the CIRCUMSTANCES of a trace: it is true from the next message or exchange on, to the end."""
    connection.trace.noted |= CIRCUMSTANCES[name]


def _bits(when: str) -> int:
    return sum(CIRCUMSTANCES[name] for name in when.split())


def circumstances(subject: Any) -> int:
    """Return the bits of CIRCUMSTANCES that are true of a subject."""
    of = _OF.get(type(subject))
    return of(subject) if of is not None else -1


def _of_message(message: Message) -> int:
    request, connection, exchange = message.request, message.connection, message.exchange
    seen = _OF_KIND[message.kind] | connection.trace.noted | _OF_PARTY.get(message.sender, 0)
    if connection.transport == "stdio":
        seen |= _PIPE
    if exchange is not None:
        seen |= _HTTP | _FETCHED if exchange.method == "GET" else _HTTP
    elif request is not None and request.exchange is not None:
        seen |= _HTTP
    if message.meta:
        seen |= _META | _PROGRESS if "progressToken" in message.meta else _META
    if connection.cancelled:
        seen |= _CANCELLED
    if message.kind == REQUEST:
        if "inputResponses" in message.params:
            seen |= _BRINGS
        if message.method.startswith("notifications/"):
            seen |= _NOTICE
        declared = message.meta.get(META_CAPABILITIES)
        if message.method == "initialize" or isinstance(declared, dict) and "extensions" in declared:
            seen |= _EXTENDS
    elif request is None or request.unlike:
        seen |= _UNLIKE
    if message.kind == RESULT and ("taskId" in message.result or "task" in message.result or (
            "tasks" in message.result or message.result.get("resultType", "complete") != "complete")):
        seen |= _TASK
    return seen


def _of_exchange(exchange: ObservedExchange) -> int:
    head, trace, status = exchange.head, exchange.connection.trace, exchange.status
    seen = (head.marks if head.marks >= 0 else _of_head(head)) | trace.noted
    if status is None or status // 100 != 2:
        seen |= _UNSERVED
    if exchange.stream:
        seen |= _STREAM
    if exchange.request is None:
        seen |= _UNASKED
    if exchange.refused:
        seen |= _REFUSED
    if seen & (_TOKEN | _REFUSED) or exchange.query or exchange.sent_body is not None:
        trace.guarded = True
    return seen | _GUARDED if trace.guarded or not exchange.sent else seen


def _of_head(head: ObservedHead) -> int:
    head.marks = _OF_EXCHANGE | (0 if head.method == "POST" else _UNPOSTED | _UNSERVED | _GUARDED) | (
        0 if head.header("origin") is None else _ORIGIN) | (
        0 if head.header("last-event-id") is None else _CURSOR) | (
        0 if head.header("authorization") is None else _TOKEN)
    return head.marks


_OF: Dict[type, Callable[[Any], int]] = {Message: _of_message, ObservedExchange: _of_exchange}
