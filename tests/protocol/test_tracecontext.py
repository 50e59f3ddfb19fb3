"""The form of the three members of `_meta` that carry a trace context."""
import time

import pytest

from mcp_ref.protocol.metakeys import KEYS, trace_context, trace_fault

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GOOD = "00-%s-%s-01" % (TRACE, PARENT)


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("value", [
    GOOD, GOOD[:-2] + "00", GOOD[:-2] + "ff", "01" + GOOD[2:], "fe" + GOOD[2:], "cc" + GOOD[2:] + "-what-the-future",
    "cc" + GOOD[2:] + "-",
])
def test_a_traceparent_that_is_one(value):
    """W3C Trace Context §3.2."""
    assert trace_fault("traceparent", value) == "" and trace_context({"traceparent": value}) == {"traceparent": value}


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("value", [
    "", "x", GOOD.upper(), GOOD[:-1], GOOD + "0", GOOD + "-x", "ff" + GOOD[2:], GOOD[3:], " " + GOOD, GOOD + "\n",
    "00-%s-%s-01" % ("0" * 32, PARENT), "00-%s-%s-01" % (TRACE, "0" * 16), GOOD.replace("-", "_"),
    "cc" + GOOD[2:] + ".x",
    "00-%s-%s-01" % (TRACE[:-1] + "g", PARENT), "00-%s-%s-0x" % (TRACE, PARENT), "cc" + GOOD[2:] + "-" + "x" * 600,
    None, 1, True, ["x"], {"a": 1}, b"x",
])
def test_a_traceparent_that_is_none(value):
    """W3C Trace Context §3.2; with it the tracestate is dropped, and nothing else."""
    assert trace_fault("traceparent", value)
    meta = {"traceparent": value, "tracestate": "a=1", "baggage": "a=1", "more": 1}
    assert trace_context(meta) == {"baggage": "a=1"}


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("value", [
    "rojo=00f067aa0ba902b7", "rojo=1,congo=t61rcWkgMzE", "a=1 , b=2\t,c=3", "a=1,,b=2", "fw529a3039@dt=FfMBRJ6f",
    "0a@b=x", "a_-*/=!~", "a=" + "x" * 256, ",".join("k%d=v" % number for number in range(32)), "a" * 256 + "=1",
    "a=b c", "a= x",
])
def test_a_tracestate_that_is_one(value):
    """W3C Trace Context §3.3."""
    assert trace_fault("tracestate", value) == ""
    assert trace_context({"traceparent": GOOD, "tracestate": value})["tracestate"] == value
    assert trace_context({"tracestate": value}) == {}, "it means nothing without the other"


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("value", [
    "", ",", "a", "=1", "a=", "a= ", "A=1", "a=1,a=2", "a=1=2", "a=1\n", "a=\u00e9", "a b=1", "0a=1", "a@b@c=1", "@b=1",
    "a@=1", "a@%s=1" % ("b" * 15), "a=" + "x" * 257, ",".join("k%d=v" % number for number in range(33)),
    "a" * 257 + "=1",
    None, 1, [], "x" * 100000,
])
def test_a_tracestate_that_is_none(value):
    """W3C Trace Context §3.3; the traceparent stays."""
    assert trace_fault("tracestate", value)
    assert trace_context({"traceparent": GOOD, "tracestate": value}) == {"traceparent": GOOD}


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("value", [
    "userId=alice", "userId=alice,serverNode=DF%2028,isProduction=false", "a = 1 ; p ; q = 2 , b=2", "a=", "a=1=2",
    "!#$%&'*+-.^_`|~0=%21", ",".join("k%d=v" % number for number in range(180)),
])
def test_a_baggage_that_is_one(value):
    """W3C Baggage §3.3."""
    assert trace_fault("baggage", value) == "" and trace_context({"baggage": value}) == {"baggage": value}


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("value", [
    "", ",", "a", "=1", "a=1,", ",a=1", "a=1;", "a=1;;p", "a b=1", "a=b c", 'a="b"', "a=b\\c", "a=\u00e9", "a=1;p q",
    "(a)=1", "a=1\n", ",".join("k%d=v" % number for number in range(181)), "a=" + "x" * 8191, None, 1, {},
])
def test_a_baggage_that_is_none(value):
    """W3C Baggage §3.3."""
    assert trace_fault("baggage", value)
    assert trace_context({"baggage": value, "traceparent": GOOD}) == {"traceparent": GOOD}


def test_nothing_is_made_of_nothing():
    assert trace_context({}) == {} and set(KEYS) == {"traceparent", "tracestate", "baggage"}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("text", [
    "a" * 8000, "a=" * 4000, "a=1;" * 2000, " " * 8000, "a=1, " * 1600, "a@" * 4000, "0" * 500,
])
def test_hostile_texts_take_no_time(key, text):
    start = time.perf_counter()
    for tail in ("", "!", "\n", "=", ","):
        trace_fault(key, text + tail)
    assert time.perf_counter() - start < 1.0
