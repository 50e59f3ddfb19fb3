"""The oracle: judges a recorded or live conversation, and says which rule was broken, by whom, at which message.

::

    from mcp_ref.devtools.checker import check

    for finding in check("session.jsonl"):
        print(finding.party, finding.rule.id, finding.evidence)

`checker` takes the events, `course` follows the conversation, `observed` is what is known of it, `rules` says what a
rule is, `pages` has the rules, `findings` asks them and finds causes, `scenes` makes traces of short texts, `report`
and `formats` tell what was found. `watching` follows a conversation without judging it. `live` is for tests of a client
or a server: ``with checked() as trace`` fails if one of them breaks a rule.
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
