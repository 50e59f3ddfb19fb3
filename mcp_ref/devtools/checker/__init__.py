"""The oracle: judges a recorded or live conversation, and says which rule was broken, by whom, at which message.

::

    from mcp_ref.devtools.checker import check

    for finding in check("session.jsonl"):
        print(finding.party, finding.rule.id, finding.evidence)

===========  ========================================================================================================
module       what it has
===========  ========================================================================================================
`checker`    takes the events; a `Watcher` does so, too, and judges nothing
`course`     follows the conversation: revisions, and what an extension adds
`observed`   what is known of it: messages, exchanges, sessions, connections
`bounds`     how much of that is kept in memory
`rules`      what a rule is
`pages`      the rules
`listed`     for rules: the lists of a server, page by page
`rounds`     for rules: the questions of servers and their answers
`values`     for rules: questions to single values
`httpfacts`  for rules: header fields
`findings`   asks the rules, and finds causes
`scenes`     makes traces of short texts
`report`     tells what was found, in several formats
`live`       for tests of a client or a server: ``with checked() as trace`` fails if one of them breaks a rule
===========  ========================================================================================================
"""

from typing import Any, Iterable, List, Union

from ...wiretrace import Event, read
from .bounds import Bounds
from .checker import Checker
from .findings import Finding
from .live import CheckedTrace, RulesBroken, checked
from .rules import KEPT, Broken, CannotTell, Rule

__all__ = [
    "Bounds", "Broken", "CannotTell", "CheckedTrace", "Checker", "Finding", "KEPT", "Rule", "RulesBroken", "check",
    "checked",
]


def check(trace: Union[str, Iterable[Event], Any], bounds: Bounds = Bounds()) -> List[Finding]:
    """Return the findings about a trace: a path of a file in the format of `mcp_ref.wiretrace`, or events.

    Raises `mcp_ref.wiretrace.TraceError` for a line that is no event, OSError for a file that cannot be read.
    """
    events = read(trace) if isinstance(trace, (str, bytes)) or hasattr(trace, "__fspath__") else trace
    return Checker(bounds).check(events)
