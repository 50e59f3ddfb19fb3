"""What a million sessions need, computed from what was measured: ``python3 examples/deploy/capacity.py``.

The figures in `MEASURED` are of one machine with two cores, where all of it ran at once. Put in your own: the commands
that Redis counts (``INFO commandstats``), its memory (``INFO memory``), and the time of the processor of a worker.

==============================  ====================================================================================
assumption                      why
==============================  ====================================================================================
a session calls every 60 s      a person's assistant that is open all day; an agent at work calls more often
one session in 20 has a stream  a GET stream is open while its client is at work
a tool costs nothing            what it does itself comes on top
workers are half busy           so that two hosts carry the load of three
one Redis is half busy          the scripts of a Redis run one after the other, on one core
letters are polled              each process asks every 20 ms while a stream is open at it, whatever comes
==============================  ====================================================================================

What comes out::

    calls a second                                     16666.7
    processes for the calls                                9.6
    processes for the streams, of 128 threads            390.6
    hosts of 16 processes                                 24.4
    GiB of Redis                                           0.8
    commands of Redis a second                         36531.2
    Redis cores, half busy                                 2.3
    MB a second between hosts and Redis                    3.1

So the calls are cheap, and the streams decide: under gunicorn each holds a thread. Where `Server.run_http` serves, an
idle stream holds none, and the number of processes is that of the calls. One Redis is too little for this, half busy or
not: polling and calls need more than one core. Then give each group of hosts a Redis and a name of its own, and clients
one of the names; nothing is shared between groups.
"""
from typing import Dict

SESSIONS, EVERY, WITH_STREAM, BUSY = 1_000_000, 60.0, 1 / 20, 0.5
POLLS = 50
"""Polls for letters of a process in a second."""
MEASURED: Dict[str, float] = {
    "bytes a session": 866.0,           # 2000 sessions after their handshake
    "commands a call": 1.02,            # a small call that is answered by JSON; a stream writes each event besides
    "redis seconds a call": 53e-6,
    "redis bytes a call": 187.0,
    "redis seconds a poll": 13e-6,
    "worker seconds a call": 288e-6,    # in the process, without the engine and nginx
}
"""On a machine with two cores that was busy with other things, too; Redis 7.0 with ``appendfsync always``."""


def needs(measured: Dict[str, float]) -> Dict[str, float]:
    """What is needed: each step takes one assumption."""
    calls = SESSIONS / EVERY
    workers = calls * measured["worker seconds a call"] / BUSY
    threads = SESSIONS * WITH_STREAM / 128
    processes = max(workers, threads)
    commands = calls * measured["commands a call"] + processes * POLLS
    return {
        "calls a second": calls,
        "processes for the calls": workers,
        "processes for the streams, of 128 threads": threads,
        "hosts of 16 processes": processes / 16,
        "GiB of Redis": SESSIONS * measured["bytes a session"] / 2 ** 30,
        "commands of Redis a second": commands,
        "Redis cores, half busy": (calls * measured["redis seconds a call"] + processes * POLLS
                                   * measured["redis seconds a poll"]) / BUSY,
        "MB a second between hosts and Redis": calls * measured["redis bytes a call"] / 1e6,
    }


if __name__ == "__main__":
    for name, number in needs(MEASURED).items():
        print("%-45s %12.1f" % (name, number))
