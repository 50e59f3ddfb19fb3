"""Calls to several servers at the same time, each with an outcome of its own."""

from typing import Any, Callable, Collection, Dict, Mapping, Tuple

from ..deadline import Deadline
from ..errors import RequestTimeout
from ..threads import start_thread


class CallOutcome:
    """The outcome of one of the calls: ``value``, or the ``error`` it raised."""

    value: Any = None
    error: Any = None


def in_parallel(
    what: str, calls: Mapping[str, Callable[[], Any]], seconds: float, quick: Collection[str] = ()
) -> Dict[str, CallOutcome]:
    """Make these calls at the same time, each on a thread, and wait until all are over. Returns the outcomes by name.

    A call that takes longer than ``seconds`` has a `RequestTimeout`, and goes on without its outcome being used. A
    single call is made on the calling thread, and so is each that is ``quick``, or that no thread can be started for as
    the interpreter is going down.
    """
    outcomes = {name: CallOutcome() for name in calls}
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
            late = outcomes[name] = CallOutcome()
            late.error = RequestTimeout("%s: %s took longer than %g seconds" % (name, what, seconds))
    return outcomes


def _run(call: Callable[[], Any], outcome: CallOutcome) -> None:
    try:
        outcome.value = call()
    except BaseException as error:
        outcome.error = error


def values(outcomes: Mapping[str, CallOutcome]) -> Tuple[Dict[str, Any], Dict[str, BaseException]]:
    """Return the values of those that succeeded and the errors of the others, by name."""
    good = {name: outcome.value for name, outcome in outcomes.items() if outcome.error is None}
    return good, {name: outcome.error for name, outcome in outcomes.items() if outcome.error is not None}
