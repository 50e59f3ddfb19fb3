"""No value that a peer may send makes a rule raise: each scene again, with each value replaced by one of another type.

The values at each place take turns, so that all of them come to all rules, and the test stays quick.
"""
import itertools

import pytest

from mcp_ref.checker import Checker
from mcp_ref.checker.rules import RULES, load
from mcp_ref.checker.scenes import traces
from mcp_ref.wiretrace import from_object, to_object

load()

HOSTILE = (None, True, 1.5, -7, "", "\ud800", "x" * 1000, [], [[]], [None, {}], {}, {"": {}}, {"_meta": 1}, 10 ** 40)


def places(value, path=()):
    """Every place in a JSON value, the value itself first."""
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from places(member, path + (name,))


def changed(value, path, new):
    """A copy of a JSON value with another value at a place."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


def can_be_read(event):
    """Would the reader of traces let it through?"""
    try:
        return from_object(to_object(event)) == event
    except ValueError:
        return False


def broken_events(events, turn):
    """The same events again and again, each time with another value somewhere."""
    for number, event in enumerate(events):
        for member in ("message", "more"):
            value = getattr(event, member)
            if not isinstance(value, (dict, list)) or not value:
                continue
            for path in places(value):
                if member == "more" and not path:
                    continue
                new = changed(value, path, next(turn))
                odd = event._replace(**{member: new})
                if can_be_read(odd):
                    yield events[:number] + [odd] + events[number + 1:]


@pytest.mark.parametrize("id", sorted(RULES))
def test_wrong_types_anywhere_do_not_raise(id):
    turn = itertools.cycle(HOSTILE)
    checker, runs = Checker(), 0
    for events in traces(RULES[id].scene):
        checker.feed(events[0])
        for broken in broken_events(events[1:], turn) if len(events) < 100 else ():
            for event in broken:  # each begins a connection, and ends the one before
                checker.feed(event)
            runs += 1
    checker.finish()
    assert runs > 5
    for finding in checker.findings:
        assert 0 < len(finding.evidence) <= 200 and finding.evidence.isprintable() and finding.key
