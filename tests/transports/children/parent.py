"""A client program in trouble; it has a server. Arguments: what happens, and a path that the server connects to."""
import os
import signal
import sys

from mcp_ref.errors import ConnectionLost
from mcp_ref.limits import Limits
from mcp_ref.transports.lines import process
from mcp_ref.transports.lines.child import StdioChild

HERE = os.path.dirname(os.path.abspath(__file__))


def server(*words):
    transport = StdioChild([sys.executable, os.path.join(HERE, "stubborn.py"), *words])
    transport.open()
    return transport


def killed(path):
    """Ends without being asked: the test kills this process."""
    server("connect", path, "say", "{}", "wait").read()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    signal.pause()


def forgetful(path):
    """Leaves without closing; the server is not in a hurry."""
    process.DEFAULT = Limits(shutdown_grace=0.1, terminate_grace=0.1)
    global kept
    kept = [server("connect", path, "say", "{}", "wait", "stay"), server("deaf", "connect", path, "say", "{}", "stay")]
    for transport in kept:
        transport.read()


def sigpipe(path):
    """Would be ended by a broken pipe, had it not been taken care of."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    transport = server("connect", path, "exit", "0")
    if transport.read() is not None:
        raise SystemExit("it said something")
    for _ in range(3):
        try:
            transport.write([b"{}"])
        except ConnectionLost:
            pass
    transport.close()
    if signal.pthread_sigmask(signal.SIG_BLOCK, []) or signal.sigpending():
        raise SystemExit("the signal is still blocked or pending")


def forks(path):
    """A forked copy of this process must not keep the server's stdin open, nor end the server."""
    transport = server("connect", path, "say", "{}", "wait", "exit", "3")
    transport.read()
    waiting, done = os.pipe()
    copy = os.fork()
    if copy == 0:
        os.close(done)
        transport.close()
        os.write(1, b"copied\n")
        os.read(waiting, 1)
        os._exit(0)
    reader, started = os.pipe()
    transport.write([b"{}"])
    transport.close()
    if transport._child.process.returncode != 3:
        raise SystemExit("the server had to be killed: %r" % transport._child.process.returncode)
    os.close(done)
    os.waitpid(copy, 0)


def no_streams(path):
    """Has no standard streams itself; what it prints must not get into the server's."""
    for number in (0, 1, 2):
        os.close(number)
    transport = server("connect", path, "echo")
    for number in (1, 2):
        try:
            os.write(number, b"stray\n")
        except OSError:
            pass
    transport.write([b'{"clean": 1}'])
    items = transport.read()
    transport.close()
    os._exit(0 if items == [b'{"clean": 1}'] and not transport.counters()["noise"] else 1)


globals()[sys.argv[1]](sys.argv[2])
