"""No value that a peer may send makes a rule raise: each scene again, with each value replaced by one of another type.

Each place of a scene gets one of the values, and which one goes on from rule to rule, so that each of them comes
everywhere. What many scenes have in common, the handshake and the head of a request, is replaced in some of them only:
so the test stays quick.
"""
import itertools
from collections import Counter

import pytest

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.rules import RULES, load
from mcp_ref.devtools.checker.scenes import trace, traces
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


def text(event):
    """What an event says, whenever it says it."""
    return repr((event.direction, event.kind, event.message, event.text, event.exchange, event.more))


SCENES = {id: [events for events in traces(rule.scene) if len(events) < 100] for id, rule in sorted(RULES.items())}
COMMON = Counter(each for id in SCENES for each in {text(event) for events in SCENES[id] for event in events})
OFTEN = 2
"""Scenes that have an event: where there are more, not each of them replaces all of its places."""
LONG = 8
"""Events of a scene: where there are more, not all of its places are replaced."""


def broken_events(events, known, number_of_rule):
    """The same events again and again, each time with another value somewhere; not in the events that are known."""
    turn = itertools.count(number_of_rule)
    for number, event in enumerate(events):
        said = text(event)
        if said in known:
            continue
        known.add(said)
        every = max(1, COMMON[said] // OFTEN, len(events) // LONG)
        for member in ("message", "more"):
            value = getattr(event, member)
            if not isinstance(value, (dict, list)) or not value:
                continue
            for place, path in enumerate(places(value)):
                if (member == "more" and not path) or (place + number_of_rule) % every:
                    continue
                new = changed(value, path, HOSTILE[next(turn) % len(HOSTILE)])
                odd = event._replace(**{member: new})
                if can_be_read(odd):
                    yield events[:number] + [odd] + events[number + 1:]


def odd_scenes(id):
    """The scenes of a rule with one odd value, each scene without what is there to begin a trace."""
    known = set()
    for events in SCENES[id]:
        yield from broken_events(events[1:], known, NUMBERS[id])


NUMBERS = {id: number for number, id in enumerate(SCENES)}


@pytest.mark.parametrize("id", SCENES)
def test_wrong_types_anywhere_do_not_raise(id):
    checker = Checker()
    checker.feed(trace("on stdio 2026-07-28", "+")[0])
    for broken in odd_scenes(id):
        for event in broken:  # each begins a connection, and ends the one before
            checker.feed(event)
    checker.finish()
    for finding in checker.findings:
        assert 0 < len(finding.evidence) <= 200 and finding.evidence.isprintable() and finding.key


def test_most_scenes_have_many_odd_values():
    runs = [sum(1 for _ in odd_scenes(id)) for id in SCENES]
    assert sum(runs) > 8000 and sum(1 for each in runs if each < 5) < 20
