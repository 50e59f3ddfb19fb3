"""Nesting is counted before anything recurses: on each interpreter, with 1 MiB of stack, whatever its recursion limit.

0.5.0 died of the first line of each of these, with a segmentation fault.
"""
import json
import pathlib
import random
import subprocess
import sys
import threading

import pytest

from mcp_ref.jsontext import JsonError, dumps, is_deep, loads
from mcp_ref.limits import Limits
from mcp_ref.server.hints.values import to_json
from tests.support.patience import WAIT
from tests.tools import interpreters

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHILD = ROOT / "tests" / "transports" / "children" / "deep.py"
SIGNS = [b"[", b"]", b"{", b"}", b'"', b"\\", b"\\\\", b'\\"', b'""', b",", b":", b"1", b"[]", b'["]",', b"\xc3\xa9"]


@pytest.fixture(params=[(3, 8), (3, 11), (3, 13)], ids="{0[0]}.{0[1]}".format)
def python(request):
    found = interpreters.find(request.param)
    if found is None:
        pytest.skip("NOT RUN: no CPython %d.%d on this machine" % request.param)
    return found.path


def test_a_server_on_stdin_answers_and_lives(python):
    lines = [b"[" * 100_000, b'{"a":' * 100_000,
             b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 100_000,
             b'{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
             b'"capabilities":{},"clientInfo":{"name":"x","version":"0"}}}',
             b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
             b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"endless","arguments":{}}}']
    done = subprocess.run([python, str(CHILD), str(ROOT), "serve"], input=b"\n".join(lines) + b"\n", timeout=WAIT,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["error"]["code"] for answer in answers[:3]] == [-32700] * 3
    assert all("max_depth (128)" in answer["error"]["message"] for answer in answers[:3])
    assert answers[3]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[4]["id"] == 3 and "contains itself" in json.dumps(answers[4])


def test_servers_and_clients_outlive_it(python):
    """Over HTTP, and clients of a child and of a web server; also what is written, and what a schema asks for."""
    done = subprocess.run([python, str(CHILD), str(ROOT), "both"], stdin=subprocess.DEVNULL, timeout=WAIT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = done.stdout.decode().splitlines()
    assert done.returncode == 0, said[-20:]
    assert [line for line in said if line.startswith(("http server: lives", "client", "values", "schemas"))] == [
        "http server: lives", "client: what a child writes", "client: what it would send",
        "client: what a web server replies", "values: refused", "values: written", "schemas: nested",
        "schemas: references"]


def depth_of(value):
    return 1 + max(map(depth_of, value.values() if isinstance(value, dict) else value), default=0) \
        if isinstance(value, (dict, list)) else 0


def test_what_is_counted_in_the_bytes_is_what_the_decoder_finds():
    """All that is JSON is judged by its true depth, wherever its brackets and quotes are, and blocks end."""
    from mcp_ref import jsontext

    rng = random.Random(1)

    def value(room):
        kind = rng.randrange(7 if room else 4)
        if kind < 4:
            return "".join(rng.choice('[]{}"\\x\u00e9\n') for _ in range(rng.randrange(9)))
        size = range(rng.randrange(1, 4))
        return [value(room - 1) for _ in size] if kind < 6 else {"%s%d" % (value(0), n): value(room - 1) for n in size}

    seen = set()
    for number in range(700):
        made = value(rng.randrange(9))
        data = json.dumps(made, ensure_ascii=number % 2 == 0).encode("utf-8")
        depth = depth_of(made)
        seen.add(depth)
        for block in (1, 2, 3, 7, 65536):
            jsontext._BLOCK, before = block, jsontext._BLOCK
            try:
                assert not jsontext._nests_deeper(data, depth), data
                assert depth == 0 or jsontext._nests_deeper(data, depth - 1), data
            finally:
                jsontext._BLOCK = before
        assert is_deep(made, max(1, depth)) is False
        assert depth < 2 or is_deep(made, depth - 1) is True
    assert len(seen) > 7, "deep and flat ones"


def test_nonsense_reaches_the_decoder_only_when_it_is_flat_up_to_its_first_fault():
    """The decoder goes no deeper than was counted, whatever comes behind that is no JSON any more."""
    rng = random.Random(2)
    limits = Limits(max_depth=5)
    decoded = 0
    for _ in range(1500):
        data = b"".join(rng.choice(SIGNS) for _ in range(rng.randrange(40)))
        data = b"[" * rng.randrange(7) + data
        deepest = _decoder_depth(data)
        try:
            loads(data, limits)
        except JsonError as error:
            if "max_depth" in str(error):
                continue
        decoded += 1
        assert deepest <= 5, data
    assert decoded > 300


def _decoder_depth(data):
    """How deep a decoder by hand gets in this text before it stops: brackets outside of strings, until one is odd."""
    depth = deepest = at = 0
    while at < len(data):
        sign = data[at:at + 1]
        if sign in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in b"]}":
            depth -= 1
            if depth < 0:
                break
        elif sign == b'"':
            at += 1
            while at < len(data) and data[at:at + 1] != b'"':
                at += 2 if data[at:at + 1] == b"\\" else 1
        elif sign == b"\\":
            break
        at += 1
    return deepest


@pytest.mark.parametrize("unit", [b"[]", b'"["', b'\\"', b"\\\\", b"]", b"[", b'"]', b'""', b'{"a":[]},', b"[],"])
def test_counting_takes_little_memory_whatever_comes(unit, tracemalloc):
    """Its time is that of a few passes; its memory is that of a block."""
    from mcp_ref import jsontext

    data = b"[" + b"[]," * 200 + unit * (2_000_000 // len(unit))
    tracemalloc.start()
    try:
        jsontext._nests_deeper(data, 128)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000


def test_what_is_written_is_bounded_and_named():
    value = []
    value.append(value)
    with pytest.raises(JsonError, match=r"\$\[0\] contains itself"):
        dumps(value)
    deep = flat = json.loads("[" * 11 + "]" * 11)
    with pytest.raises(JsonError, match=r"max_depth \(10\)"):
        dumps(deep, Limits(max_depth=10))
    assert dumps(flat, Limits(max_depth=11)) == "[" * 11 + "]" * 11
    wide = [[[1]]] * 300
    assert dumps(wide).count("1") == 300, "one part many times is no deeper"
    tower = []
    for _ in range(30):
        tower = [tower, tower, {"a": tower}]
    assert is_deep(tower, 128) is False and is_deep(tower, 29) is True, "3 to the 30th parts, looked at once each"

    class Own(dict):
        pass

    own = Own()
    own["me"] = (own,)
    with pytest.raises(JsonError, match="contains itself"):
        dumps({"a": own})
    with pytest.raises(ValueError, match=r"max_depth \(128\)"):
        to_json({"a": own})


def test_a_value_that_another_thread_changes_is_written():
    """The encoder takes a copy of the members of each object; what looks at the depth must not mind either."""
    shared = {"n%d" % number: [number] for number in range(50)}
    ended = threading.Event()

    def change():
        number = 50
        while not ended.is_set():
            shared["n%d" % number] = [number]
            del shared["n%d" % (number - 40)]
            number += 1
            if number == 200_000:
                return

    thread = threading.Thread(target=change)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(300):
            assert is_deep(shared, 128) is False
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(interval)
