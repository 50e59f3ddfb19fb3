"""`mcp_ref.records`: dataclasses whose ``__init__`` is written when it is needed are like any others."""
import copy
import dataclasses
import inspect
import pickle
import threading
from typing import Any, List

import pytest

import mcp_ref.messages
from mcp_ref import Limits
from mcp_ref.limits import DEFAULT
from mcp_ref.records import LateInit, Record, dataclass
from tests.support.patience import WAIT


@dataclass(eq=False, repr=False)
class Base(Record):
    first: int
    names: List[str] = dataclasses.field(default_factory=list)
    kind: str = dataclasses.field(init=False, default="base")


@dataclass(eq=False, repr=False)
class Derived(Base):
    last: str = "z"

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("first %d" % self.first)


def fresh() -> Any:
    """Return a class of which no instance was made."""
    @dataclass(eq=False, repr=False)
    class Fresh(Record):
        x: int
        y: int = 2

    return Fresh


def test_it_is_written_when_the_first_instance_is_made_and_stays() -> None:
    made = fresh()
    assert isinstance(vars(made)["__init__"], LateInit)
    assert made(1) == made(x=1, y=2)
    assert inspect.isfunction(vars(made)["__init__"])


def test_it_is_written_when_it_is_looked_at() -> None:
    made = fresh()
    assert str(inspect.signature(made)) == "(x: int, y: int = 2) -> None"
    assert inspect.isfunction(vars(made)["__init__"]) and made.__init__ is vars(made)["__init__"]


@pytest.mark.parametrize("arguments, options, text", [
    ((), {}, "missing 1 required positional argument: 'x'"),
    ((1, 2, 3), {}, "takes from 2 to 3 positional arguments but 4 were given"),
    ((1,), {"z": 3}, "unexpected keyword argument 'z'"),
])
def test_wrong_arguments_are_refused_by_the_first_call(arguments: Any, options: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        fresh()(*arguments, **options)


def test_defaults_factories_constants_and_bases_are_as_declared() -> None:
    one, other = Derived(1), Derived(1, ["a"], last="b")
    one.names.append("mine")
    assert (one.names, other.names, Derived(1).names) == (["mine"], ["a"], [])
    assert (one.kind, one.last, other.last) == ("base", "z", "b")
    with pytest.raises(TypeError):
        Derived(1, kind="other")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="first -1"):
        Derived(-1)
    assert Base(-1).first == -1


def test_an_instance_of_a_subclass_writes_that_of_the_class_that_has_it() -> None:
    made = fresh()

    class Sub(made):  # type: ignore[misc]
        pass

    assert Sub(1).y == 2
    assert "__init__" not in vars(Sub) and inspect.isfunction(vars(made)["__init__"])


def test_it_can_be_copied_pickled_and_replaced() -> None:
    one = Derived(1, ["a"])
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert dataclasses.replace(one, first=2) == Derived(2, ["a"])
    assert dataclasses.is_dataclass(Derived) and [field.name for field in dataclasses.fields(Derived)] == [
        "first", "names", "kind", "last"]


@pytest.mark.race
def test_threads_that_make_the_first_instances_at_once_all_get_one() -> None:
    for _ in range(50):
        made, begin, found = fresh(), threading.Barrier(4), []

        def make() -> None:
            begin.wait(WAIT)
            found.append(made(1))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        assert found == [made(1)] * 4


@pytest.mark.parametrize("name", sorted(
    name for name in dir(mcp_ref.messages) if dataclasses.is_dataclass(getattr(mcp_ref.messages, name))))
def test_every_message_takes_its_members_in_order_with_their_defaults(name: str) -> None:
    kind = getattr(mcp_ref.messages, name)
    members = [field for field in dataclasses.fields(kind) if field.init]
    taken = list(inspect.signature(kind).parameters.values())
    assert [each.name for each in taken] == [each.name for each in members]
    for each, member in zip(taken, members):
        if member.default is not dataclasses.MISSING:
            assert each.default is member.default
        else:
            assert (each.default is inspect.Parameter.empty) == (member.default_factory is dataclasses.MISSING)


def test_the_limits_that_hold_by_default_are_those_of_the_class() -> None:
    assert DEFAULT == Limits() and repr(DEFAULT) == "Limits()"
    assert dataclasses.replace(DEFAULT, max_inflight=3) == Limits(max_inflight=3)
    assert copy.deepcopy(DEFAULT) == pickle.loads(pickle.dumps(DEFAULT)) == DEFAULT
