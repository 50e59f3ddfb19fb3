"""Doing one thing with several servers at once, for a bounded time."""

from typing import Any, Callable, Collection, Dict, Mapping, Tuple

from ..deadline import Deadline
from ..errors import RequestTimeout
from ..threads import start_thread


class Outcome:
    """What became of one of the calls: ``value``, or the ``error`` it raised."""

    value: Any = None
    error: Any = None


def in_parallel(
    what: str, calls: Mapping[str, Callable[[], Any]], seconds: float, quick: Collection[str] = ()
) -> Dict[str, Outcome]:
    """Make these calls at the same time, each on a thread, and wait until all are over; by the same names.

    A call that takes longer than ``seconds`` has a `RequestTimeout`, and goes on behind our back. A single call is made
    here, and so is each that is ``quick``, or that no thread can be started for as the interpreter is going down.
    """
    outcomes = {name: Outcome() for name in calls}
    threads = {}
    for name, call in calls.items():
        if len(calls) == 1 or name in quick:
            _run(call, outcomes[name])
            continue
        try:
            threads[name] = start_thread("mcp-ref:host:%s:%s" % (what, name), _run, call, outcomes[name])
        except RuntimeError:
            _run(call, outcomes[name])
    end = Deadline(seconds)
    for name, thread in threads.items():
        thread.join(end.left())
        if thread.is_alive():
            late = outcomes[name] = Outcome()
            late.error = RequestTimeout("%s: %s took longer than %g seconds" % (name, what, seconds))
    return outcomes


def _run(call: Callable[[], Any], outcome: Outcome) -> None:
    try:
        outcome.value = call()
    except BaseException as error:
        outcome.error = error


def values(outcomes: Mapping[str, Outcome]) -> Tuple[Dict[str, Any], Dict[str, BaseException]]:
    """The values of those that succeeded and the errors of the others, by name."""
    good = {name: outcome.value for name, outcome in outcomes.items() if outcome.error is None}
    return good, {name: outcome.error for name, outcome in outcomes.items() if outcome.error is not None}
