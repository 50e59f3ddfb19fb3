"""The outbox: order, one write for many messages, nobody waits who may not."""
import threading
import time

import pytest

from mcp_ref.errors import ConnectionLost
from mcp_ref.peer.outbox import CHUNK, Outbox
from mcp_ref.transports.base import Transport
from tests.support.patience import WAIT


class Gate(Transport):
    """A transport whose writes wait for a gate and are recorded."""

    name = "gate"

    def __init__(self, is_ready=False):
        self.writes = []
        self.threads = []
        self.opened = threading.Event()
        self.opened.set()
        self.entered = threading.Semaphore(0)
        self.is_ready = is_ready
        self.broken = False

    def write(self, messages):
        self.entered.release()
        assert self.opened.wait(WAIT)
        if self.broken:
            raise ConnectionLost("broken")
        self.threads.append(threading.current_thread())
        self.writes.append(list(messages))

    def ready(self, size):
        return self.is_ready

    def close(self):
        self.opened.set()

    @property
    def messages(self):
        return [message for write in self.writes for message in write]


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def outbox(gate):
    made = Outbox(gate, "test", 1000)
    yield made
    gate.opened.set()
    made.close()


def test_waiting_messages_go_out_in_order_with_one_write(gate, outbox):
    for number in range(5):
        outbox.put(b"%d" % number)
    assert gate.writes == []
    outbox.flush()
    assert gate.writes == [[b"0", b"1", b"2", b"3", b"4"]]


def test_writes_are_bounded_but_a_large_message_goes_alone(gate):
    outbox = Outbox(gate, "test", 10 * CHUNK)
    big = b"x" * (CHUNK + 1)
    for message in (b"a", big, b"b", b"c"):
        outbox.put(message)
    outbox.flush()
    assert gate.writes == [[b"a"], [big], [b"b", b"c"]]


def test_what_others_put_during_a_write_is_taken_along(gate, outbox):
    gate.opened.clear()
    outbox.put(b"first")
    writer = threading.Thread(target=outbox.flush)
    writer.start()
    assert gate.entered.acquire(timeout=WAIT)
    outbox.put(b"second")
    outbox.flush()  # returns at once: somebody is writing
    outbox.put(b"third")
    gate.opened.set()
    writer.join(WAIT)
    assert gate.messages == [b"first", b"second", b"third"]
    assert set(gate.threads) == {writer}


def test_a_thread_that_may_not_wait_leaves_the_writing_to_another(gate, outbox):
    gate.opened.clear()
    outbox.send(b"x")  # would hang here otherwise
    assert gate.entered.acquire(timeout=WAIT)
    gate.opened.set()
    outbox.send(b"y")
    assert gate.entered.acquire(timeout=WAIT)
    outbox.close()
    assert gate.messages == [b"x", b"y"]
    assert threading.current_thread() not in gate.threads


def test_one_who_sends_without_a_pause_does_not_keep_the_writer_from_its_turn(gate, outbox):
    tick = threading.Event()

    def not_ready(size):
        tick.wait(0.001)  # whoever only tries to write comes in vain meanwhile
        return False

    gate.ready = not_ready
    sent, end = 0, time.monotonic() + 5
    while not gate.writes and time.monotonic() < end:
        outbox.send(b"%d" % sent)
        sent += 1
    assert gate.writes, "nothing was written while %d messages were sent" % sent
    outbox.flush_within(10)
    assert gate.messages == [b"%d" % number for number in range(sent)]


def test_a_thread_that_may_not_wait_writes_itself_where_the_transport_promises(outbox, gate):
    gate.is_ready = True
    outbox.send(b"x")
    assert gate.messages == [b"x"] and gate.threads == [threading.current_thread()]


def test_a_full_outbox_makes_senders_wait_until_there_is_room(gate, outbox):
    outbox.put(b"x" * 1001)
    done = threading.Event()

    def sender():
        outbox.put(b"y")
        done.set()

    thread = threading.Thread(target=sender)
    thread.start()
    assert not done.wait(0.05)
    outbox.put(b"z", wait=False)  # the reader never waits
    outbox.flush()
    assert done.wait(WAIT)
    thread.join(WAIT)
    outbox.flush()
    assert gate.messages == [b"x" * 1001, b"z", b"y"]


def test_closing_frees_senders_and_drops_the_rest(gate, outbox):
    outbox.put(b"x" * 1001)
    thread = threading.Thread(target=outbox.put, args=(b"y",))
    thread.start()
    outbox.close()
    thread.join(WAIT)
    assert not thread.is_alive()
    outbox.put(b"z")
    outbox.flush()
    assert gate.messages == []


def test_a_broken_peer_is_reported_once_and_ends_the_outbox(gate, outbox):
    reports = []
    outbox.on_failure = reports.append
    gate.broken = True
    outbox.put(b"x")
    outbox.flush()
    outbox.send(b"y")
    outbox.flush()
    assert [str(error) for error in reports] == ["broken"]


@pytest.mark.race
def test_many_senders_lose_nothing_and_keep_their_own_order(gate):
    gate.is_ready = True
    outbox = Outbox(gate, "test", 10**9)

    def sender(name):
        for number in range(200):
            outbox.put(b"%d:%d" % (name, number))
            if number % 3:
                outbox.flush()
            else:
                outbox.flush_soon()

    threads = [threading.Thread(target=sender, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    outbox.flush()
    outbox.close()
    for name in range(6):
        mine = [message for message in gate.messages if message.startswith(b"%d:" % name)]
        assert mine == [b"%d:%d" % (name, number) for number in range(200)]
