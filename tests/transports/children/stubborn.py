"""A server of somebody else's, in plain Python, that behaves as its arguments say, in order.

    say TEXT        a line on stdout                    err TEXT     a line on stderr
    flood N         N bytes on stderr, no newline       connect PATH tell the listener on PATH that we live, and hold on
    stay            do not leave at the end of stdin    deaf         take no notice of SIGTERM
    grandchild PATH start a process that connects to PATH, keeps our streams and stays
    chatty PATH     the same, and it says a lot on stdout and stderr as long as anybody listens
    echo            give back the lines of stdin        exit N       leave with this code
    close           close stdout                        die N        end by this signal
    on-term TEXT    at SIGTERM: TEXT to the listener    wait         for the end of stdin
"""
import os
import signal
import socket
import subprocess
import sys
import threading

HELD = []


def line(number, text):
    os.write(number, text.encode() + b"\n")


def connect(path):
    held = socket.socket(socket.AF_UNIX)
    held.connect(path)
    held.send(b"%d\n" % os.getpid())
    HELD.append(held)


def grandchild(path):
    subprocess.Popen([sys.executable, __file__, "connect", path, "stay"])


def chatty(path):
    subprocess.Popen([sys.executable, __file__, "connect", path, "chatter"])


def chatter():
    for _ in range(1000000):
        os.write(1, b'{}\n{}\n')
        os.write(2, b'chatter\n')


def flood(size):
    data = memoryview(b"f" * int(size))
    while data:
        data = data[os.write(2, data):]


def echo():
    for text in sys.stdin.buffer:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()


def on_term(text):
    def handler(number, frame):
        HELD[0].send(text.encode())
        os._exit(0)

    signal.signal(signal.SIGTERM, handler)


DEEDS = {  # name: (number of arguments, function)
    "say": (1, lambda text: line(1, text)), "err": (1, lambda text: line(2, text)), "flood": (1, flood),
    "connect": (1, connect), "stay": (0, lambda: threading.Event().wait(60)),
    "deaf": (0, lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)), "grandchild": (1, grandchild),
    "chatty": (1, chatty), "chatter": (0, chatter),
    "echo": (0, echo), "exit": (1, lambda code: os._exit(int(code))), "close": (0, lambda: os.close(1)),
    "die": (1, lambda number: os.kill(os.getpid(), int(number))), "on-term": (1, on_term),
    "wait": (0, sys.stdin.buffer.read),
}

words = sys.argv[1:]
while words:
    count, deed = DEEDS[words.pop(0)]
    deed(*words[:count])
    del words[:count]
