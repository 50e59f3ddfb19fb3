"""The judge in tests of a client or a server: a trace that is checked while the conversation goes on.

`checked` returns a `mcp_ref.wiretrace.Trace`, so whatever takes a trace can be judged: ``connect(..., trace=)`` puts it
around any transport, one of your own too, ``Server(..., trace=)`` and ``Host(..., trace=)`` around every connection,
``server.listen(..., trace=)`` and ``server.wsgi(trace=)`` around HTTP. Use it as a context manager. At its end it
raises `RulesBroken`, with the report, if a rule was broken::

    from mcp_ref import Server, connect
    from mcp_ref.devtools.checker import checked

    server = Server("demo")                                 # or the command or the URL of the server that you test

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    def test_my_server_keeps_the_rules():
        with checked() as trace:
            with connect(server, trace=trace) as client:
                client.call_tool("add", {"a": 1, "b": 2})

    test_my_server_keeps_the_rules()

``checked(party="server")`` asks about one side only: the other one may be a program of the test that lies. A test that
breaks a rule on purpose names it: ``checked("progress.increases")``. A rule that is named and is not broken is refused,
too, so that the name stays true. Without ``with``, ask for ``trace.findings``, or call ``trace.settle()``.
"""

import threading
from typing import Any, FrozenSet, List, Set

from ...options import strict_options
from ...wiretrace import CLIENT, SERVER, Event, Trace
from .checker import Checker
from .findings import VIOLATION, Finding
from .report import ORDER, Report
from .rules import load


class RulesBroken(AssertionError):
    """A checked conversation has broken rules, or has not broken those that were named; the text is the report."""


@strict_options
def checked(*broken: str, party: str = "", level: str = VIOLATION) -> "CheckedTrace":
    """Return a trace that is judged while it is written; see the module.

    ``broken``: ids of rules that are broken on purpose. ``party``: client or server, whose faults count; "" for both.
    ``level``: "violation" for rules that bind, "warning" for recommendations too. Raises ValueError for an id, a party
    or a level that there is not.
    """
    known = {name: row.id for row in load().values() for name in (row.id, *row.also)} if broken else {}
    unknown = [name for name in broken if name not in known]
    if unknown:
        raise ValueError("no rule of the checker is called %s; `python3 -m mcp_ref check --list` names them all"
                         % ", ".join(map(repr, unknown)))
    if party not in (CLIENT, SERVER, "") or level not in ORDER:
        raise ValueError("party is client, server or empty, not %r; level is %s, not %r"
                         % (party, " or ".join(ORDER), level))
    return CheckedTrace(frozenset(known[name] for name in broken), party, level)


class CheckedTrace(Trace):
    """A trace that is judged while it is written; `checked` makes them. Thread-safe."""

    def __init__(self, broken: FrozenSet[str], party: str, level: str) -> None:
        super().__init__(self.judge)
        self._named = broken
        self._parties = (party,) if party else (CLIENT, SERVER)
        self._levels = ORDER[:ORDER.index(level) + 1]
        self._checker = Checker(binding=level == VIOLATION)
        self._turn = threading.Lock()
        self._failed: List[Exception] = []
        self._finished = False

    def judge(self, event: Event) -> None:
        """Take an event. It can also be a sink of another trace."""
        with self._turn:
            if not self._finished and not self._failed:
                try:
                    self._checker.feed(event)
                except Exception as error:  # else it would be one more record of a log
                    self._failed.append(error)

    @property
    def findings(self) -> List[Finding]:
        """The faults so far that count, also those of rules that were named; none that follows from another."""
        with self._turn:
            return [each for each in self._checker.findings if self._counts(each)]

    def _counts(self, finding: Finding) -> bool:
        return finding.cause is None and finding.party in self._parties and finding.verdict in self._levels

    def finish(self) -> List[Finding]:
        """Judge what can only be judged at the end, once, and return all `findings`; later events do not count."""
        with self._turn:
            if not self._finished:
                self._finished = True
                self._checker.finish()
        return self.findings

    def settle(self) -> None:
        """Finish, and raise `RulesBroken` if other rules than those that were named were broken, or one was not.

        An exception of the checker itself is raised again.
        """
        broken: Set[str] = {each.rule.id for each in self.finish()}
        if self._failed:
            raise self._failed[0]
        said: List[str] = []
        if broken - self._named:
            report = Report(self._checker)
            report.groups = [group for group in report.groups
                             if self._counts(group.finding) and group.finding.rule.id not in self._named]
            said = report.lines()
        said += ["named, but not broken: " + name for name in sorted(self._named - broken)]
        if said:
            raise RulesBroken("\n".join(said))

    def __enter__(self) -> "CheckedTrace":
        return self

    def __exit__(self, *exception: Any) -> None:
        if exception[0] is None:
            self.settle()
