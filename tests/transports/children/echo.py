"""A server that gives back every message; ``{"do": NAME}`` does something first that servers should not, or may.

Arguments: names of things to do before the streams are taken. After the end of its input it gives the streams back
and prints ``given back``.
"""
import ctypes
import json
import logging
import os
import subprocess
import sys

from mcp_ref.transports.lines.stdio import StdioServer

WRITER = "import os; os.write(1, b'from a child\\n')"
READER = "import sys; sys.stderr.write('the child read %d bytes\\n' % len(sys.stdin.buffer.read()))"


def libc():
    return ctypes.CDLL(None)


def puts():
    libc().puts(b"puts from C")
    libc().fflush(None)


def read_input():
    try:
        input()
    except EOFError:
        print("input() ended at once")


def inheritable():
    listed = subprocess.run([sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))"],
                            close_fds=False, stdout=subprocess.PIPE).stdout.decode()
    print("a child has", listed)


def swap_stdout():
    import io

    sys.stdout = io.StringIO()


DEEDS = {
    "print": lambda: print("printed"),
    "print unflushed": lambda: print("printed and left in the buffer", end=""),
    "old stdout": lambda: sys.__stdout__.write("written to the stdout of before"),
    "emoji": lambda: print("\U0001F600 caf\xe9 \u2028"),
    "os.write": lambda: os.write(1, b"written to 1\n"),
    "C write": lambda: libc().write(1, b"from C\n", 7),
    "C puts": puts,
    "child writes": lambda: subprocess.check_call([sys.executable, "-c", WRITER]),
    "child reads": lambda: subprocess.check_call([sys.executable, "-c", READER]),
    "input": read_input,
    "inheritable": inheritable,
    "system": lambda: os.system("echo from a shell"),
    "flood": lambda: sys.stderr.write("f" * 10_000_000),
    "replace stdout": swap_stdout,
    "exit": lambda: os._exit(7),
    "log": logging.basicConfig,
    "end stdout": lambda: (os.close(1), os.close(0)),
}


def main():
    for name in sys.argv[1:]:
        DEEDS[name]()
    transport = StdioServer()
    transport.open()
    while True:
        items = transport.read()
        if items is None:
            break
        for item in items:
            try:
                deed = json.loads(item).get("do")
            except (ValueError, AttributeError, TypeError):
                deed = None
            if deed:
                DEEDS[deed]()
        transport.write([item for item in items if isinstance(item, bytes)])
    reason = transport.reason()
    transport.close()
    transport.close()
    print("given back", flush=True)
    print(reason, file=sys.stderr)


main()
