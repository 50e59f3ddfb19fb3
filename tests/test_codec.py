"""The codec on small classes of its own: declaring, reading, refusing, writing, revisions."""
import copy
import dataclasses
import doctest
import pickle
from dataclasses import field
from typing import Any, Dict, List, Literal, Optional, Union

import pytest

from mcp_ref import codec, messages, model
from mcp_ref.codec import (
    ABSENT, NULL, DecodeError, Mark, Model, Unrepresentable, attribute_name, decode, decoder, encode, encoder, member,
    members, message, tell_apart, wire_name,
)
from mcp_ref.revisions import LATEST, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28, REVISIONS, revision

OLDEST = REVISIONS[0]


@message
class Dot(Model):
    kind: str = field(init=False, default="dot")
    size: int


@message
class Line(Model):
    since = R2025_06_18

    kind: str = field(init=False, default="line")
    ends: List[Dot]


@message
class Left(Model):
    left: str


@message
class Right(Model):
    right: str
    left: Optional[str] = member(default=None)


tell_apart(Mark(Right, "right"), Mark(Left, "left"))


@message
class Everything(Model):
    """A member of each type that a message may have."""

    text: str
    whole: Optional[int] = member(default=None)
    real: Optional[float] = member(default=None)
    flag: Optional[bool] = member(default=None)
    word: Optional[Literal["red", "green"]] = member(default=None)
    only: Optional[Literal["red"]] = member(default=None)
    names: Optional[List[str]] = member(default=None)
    anything_list: Optional[List[Any]] = member(default=None)
    free: Optional[Dict[str, Any]] = member(default=None)
    numbers: Optional[Dict[str, int]] = member(default=None)
    token: Optional[Union[str, int]] = member(default=None)
    dot: Optional[Dot] = member(default=None)
    drawing: Optional[Union[Dot, Line]] = member(default=None)
    drawings: Optional[List[Union[Dot, Line]]] = member(default=None)
    one_or_many: Optional[Union[Dot, Line, List[Union[Dot, Line]]]] = member(default=None)
    by_name: Optional[Dict[str, Dot]] = member(default=None)
    side: Optional[Union[Left, Right]] = member(default=None)
    whatever: Any = member(default=None)
    checked: Optional[Dict[str, Any]] = member(default=None, shape=Dot)
    meta: Optional[Dict[str, Any]] = member(default=None)


@message
class Ages(Model):
    """Members that come, go, change and are required for a while."""

    always: Any
    nullable: Optional[int]
    newer: Optional[str] = member(default=None, since=R2025_06_18)
    older: Optional[str] = member(default=None, until=R2025_03_26)
    for_a_while: Optional[int] = member(default=None, required=((None, R2025_03_26), (R2026_07_28, None)))
    filled: str = member(default="yes", since=R2026_07_28, required=((None, None),), assume=True)
    wider: Any = member(default=None, was=((R2025_03_26, str), (R2025_11_25, Dict[str, Any])))
    later: "Optional[LateClass]" = member(default=None)


@message
class LateClass(Model):
    """Defined after the annotation that names it."""

    x: int


# -- Reading and writing -----------------------------------------------------------------------

FULL: Dict[str, Any] = {
    "text": "t", "whole": 3, "real": 2.5, "flag": False, "word": "green", "only": "red", "names": ["a", "b"],
    "anythingList": [1, None], "free": {"a": [None]}, "numbers": {"n": 1}, "token": 7,
    "dot": {"kind": "dot", "size": 1},
    "drawing": {"kind": "line", "ends": [{"kind": "dot", "size": 2}]},
    "drawings": [{"kind": "dot", "size": 1}, {"kind": "line", "ends": []}],
    "oneOrMany": [{"kind": "dot", "size": 1}], "byName": {"d": {"kind": "dot", "size": 4}}, "side": {"right": "r"},
    "whatever": None, "checked": {"kind": "dot", "size": 1}, "_meta": {"a/b": 1},
}


def test_every_type_survives_a_round_trip() -> None:
    made = decode(Everything, FULL, LATEST)
    assert made.drawings == [Dot(1), Line([])]
    assert made.one_or_many == [Dot(1)]
    assert made.side == Right("r")
    assert made.checked == {"kind": "dot", "size": 1}, "a shape is checked, not converted"
    assert made.meta == {"a/b": 1}
    assert encode(made, LATEST) == FULL
    assert list(encode(made, LATEST)) == list(FULL), "members stand in the order of declaration"


@pytest.mark.parametrize("attr", [m.attr for m in members(Everything) if m.attr != "text"])
def test_what_is_absent_is_absent_and_not_null(attr: str) -> None:
    made = decode(Everything, {"text": "t"}, LATEST)
    assert getattr(made, attr) is None
    assert encode(made, LATEST) == encode(Everything("t"), LATEST) == {"text": "t"}


def test_null_is_a_value_where_any_json_value_is_allowed() -> None:
    made = decode(Everything, {"text": "t", "whatever": None}, LATEST)
    assert made.whatever is NULL and encode(made, LATEST) == {"text": "t", "whatever": None}
    assert decode(Everything, {"text": "t"}, LATEST).whatever is None


def test_null_is_a_value_of_a_required_optional() -> None:
    value = {"always": None, "nullable": None}
    made = decode(Ages, value, revision(R2025_06_18))
    assert made.always is None and made.nullable is None
    assert encode(made, revision(R2025_06_18)) == value


def test_unknown_members_survive_a_round_trip() -> None:
    value = {"size": 1, "kind": "dot", "x-new": {"deep": [1, None]}, "extra": 2, "since": 3}
    made = decode(Dot, value, LATEST)
    assert made.extra == {"x-new": {"deep": [1, None]}, "extra": 2, "since": 3}
    assert encode(made, LATEST) == value
    assert Dot(1).extra == {}, "what arrived in one message is not in others"


@pytest.mark.parametrize("value, expected", [(3.0, 3), (-0.0, 0), (1e3, 1000), (2 ** 70, 2 ** 70)])
def test_an_integer_may_be_written_with_a_fraction_of_zero(value: Any, expected: int) -> None:
    made = decode(Everything, {"text": "", "whole": value, "token": value}, LATEST)
    assert (made.whole, type(made.whole)) == (expected, int)
    assert (made.token, type(made.token)) == (expected, int)


def test_a_number_stays_as_it_was_written() -> None:
    assert type(decode(Everything, {"text": "", "real": 3}, LATEST).real) is int
    assert type(decode(Everything, {"text": "", "real": 3.0}, LATEST).real) is float


# -- Refusing ----------------------------------------------------------------------------------

REFUSALS = [
    (Everything, [], "params: expected object, got array"),
    (Everything, None, "params: expected object, got null"),
    (Everything, {}, "params.text: expected string, got nothing"),
    (Everything, {"text": None}, "params.text: expected string, got null"),
    (Everything, {"text": "", "whole": True}, "params.whole: expected integer, got boolean"),
    (Everything, {"text": "", "whole": 1.5}, "params.whole: expected integer, got number"),
    (Everything, {"text": "", "whole": float("inf")}, "params.whole: expected integer, got number"),
    (Everything, {"text": "", "whole": float("nan")}, "params.whole: expected integer, got number"),
    (Everything, {"text": "", "whole": "1"}, "params.whole: expected integer, got string"),
    (Everything, {"text": "", "whole": None}, "params.whole: expected integer, got null"),
    (Everything, {"text": "", "real": False}, "params.real: expected number, got boolean"),
    (Everything, {"text": "", "flag": 0}, "params.flag: expected boolean, got integer"),
    (Everything, {"text": "", "word": "blue"}, 'params.word: expected one of red, green, got "blue"'),
    (Everything, {"text": "", "word": ["red"]}, "params.word: expected one of red, green, got array"),
    (Everything, {"text": "", "only": "green"}, 'params.only: expected "red", got "green"'),
    (Everything, {"text": "", "names": "a"}, "params.names: expected array, got string"),
    (Everything, {"text": "", "names": ["a", 1]}, "params.names[1]: expected string, got integer"),
    (Everything, {"text": "", "free": []}, "params.free: expected object, got array"),
    (Everything, {"text": "", "numbers": {"a b": "1"}}, 'params.numbers["a b"]: expected integer, got string'),
    (Everything, {"text": "", "token": True}, "params.token: expected string or integer, got boolean"),
    (Everything, {"text": "", "token": 1.5}, "params.token: expected integer, got number"),
    (Everything, {"text": "", "dot": {"size": 1}}, 'params.dot.kind: expected "dot", got nothing'),
    (Everything, {"text": "", "dot": {"kind": "dot"}}, "params.dot.size: expected integer, got nothing"),
    (Everything, {"text": "", "drawing": {"kind": "arc"}}, 'params.drawing.kind: expected one of dot, line, got "arc"'),
    (Everything, {"text": "", "drawing": {}}, "params.drawing.kind: expected one of dot, line, got nothing"),
    (Everything, {"text": "", "drawing": {"kind": [1]}}, "params.drawing.kind: expected one of dot, line, got array"),
    (Everything, {"text": "", "drawing": {"kind": {}}}, "params.drawing.kind: expected one of dot, line, got object"),
    (Everything, {"text": "", "drawing": 5}, "params.drawing: expected object, got integer"),
    (Everything, {"text": "", "drawings": [{"kind": "dot", "size": 1}, {"kind": "line", "ends": [{}]}]},
     'params.drawings[1].ends[0].kind: expected "dot", got nothing'),
    (Everything, {"text": "", "oneOrMany": "x"}, "params.oneOrMany: expected array or object, got string"),
    (Everything, {"text": "", "oneOrMany": [3]}, "params.oneOrMany[0]: expected object, got integer"),
    (Everything, {"text": "", "byName": {"d": 1}}, "params.byName.d: expected object, got integer"),
    (Everything, {"text": "", "side": {}}, "params.side: expected one of right, left, got none of them"),
    (Everything, {"text": "", "checked": {"kind": "dot", "size": "1"}},
     "params.checked.size: expected integer, got string"),
    (Everything, {"text": "", "_meta": 1}, "params._meta: expected object, got integer"),
    (Dot, {"kind": "x" * 100, "size": 1}, 'params.kind: expected "dot", got "%s..."' % ("x" * 37)),
    (Everything, {"text": "", "numbers": {"x" * 100: "1"}},
     'params.numbers["%s..."]: expected integer, got string' % ("x" * 37)),
    (Everything, {"text": "", "numbers": {"a\nb\ud800": "1"}},
     'params.numbers["a\\nb\\ud800"]: expected integer, got string'),
    (Everything, {"text": "", "word": "a\nb"}, 'params.word: expected one of red, green, got "a\\nb"'),
    (Dot, {"kind": "dot", "size": (1,)}, "params.size: expected integer, got tuple"),
    (Union[Dot, Line], {"kind": "arc"}, 'params.kind: expected one of dot, line, got "arc"'),
    (Union[Dot, Line], [], "params: expected object, got array"),
]


@pytest.mark.parametrize("cls, value, text", REFUSALS, ids=[row[2][:60] for row in REFUSALS])
def test_a_refusal_names_the_path(cls: Any, value: Any, text: str) -> None:
    for _ in range(2):  # the second time everything is compiled
        with pytest.raises(DecodeError) as caught:
            decode(cls, value, LATEST)
        assert str(caught.value) == text


def test_the_path_starts_with_the_name_that_the_caller_gives() -> None:
    with pytest.raises(DecodeError) as caught:
        decoder(Everything, LATEST)({"text": "", "names": [1]}, "result")
    assert caught.value.location == ("result", "names", 0)
    assert (caught.value.path, caught.value.expected, caught.value.got) == ("result.names[0]", "string", "integer")


def test_a_refused_value_leaves_nothing_behind() -> None:
    with pytest.raises(DecodeError):
        decode(Everything, {"text": "", "word": "blue"}, LATEST)
    assert decode(Everything, {"text": "", "word": "red"}, LATEST).word == "red"


def test_a_type_that_no_message_may_use_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="member of type"):
        decode(bytes, b"", LATEST)
    with pytest.raises(TypeError, match="nothing tells these classes apart: Left, LateClass"):
        decode(Union[Left, LateClass], {}, LATEST)


# -- Revisions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("when", REVISIONS, ids=str)
def test_members_that_a_revision_lacks_are_kept_when_they_come_and_dropped_when_sending(when: Any) -> None:
    value = {"always": 1, "nullable": 2, "newer": "n", "older": "o", "forAWhile": 3}
    made = decode(Ages, value, when)
    assert (made.newer, made.older) == ("n", "o")
    sent = encode(made, when)
    assert ("newer" in sent) == when.has(R2025_06_18, None)
    assert ("older" in sent) == when.has(None, R2025_03_26)
    assert ("filled" in sent) == when.has(R2026_07_28, None)


def test_a_member_of_another_revision_that_does_not_fit_is_an_unknown_member_and_is_never_sent() -> None:
    made = decode(Ages, {"always": 1, "nullable": 2, "forAWhile": 1, "newer": ["other", "meaning"]}, OLDEST)
    assert made.newer is None and made.extra == {"newer": ["other", "meaning"]}
    for when in REVISIONS:
        assert "newer" not in encode(made, when)


@pytest.mark.parametrize("when", REVISIONS, ids=str)
def test_required_follows_the_windows_in_both_directions(when: Any) -> None:
    needed = not when.has(R2025_06_18, R2025_11_25)
    value = {"always": 1, "nullable": 2}
    if not needed:
        assert encode(decode(Ages, value, when), when)["always"] == 1
        return
    with pytest.raises(DecodeError, match="params.forAWhile: expected integer, got nothing"):
        decode(Ages, value, when)
    with pytest.raises(Unrepresentable, match="Ages.for_a_while cannot be sent in revision %s: it is required" % when):
        encode(Ages(1, 2), when)


def test_what_may_be_assumed_is_assumed_when_receiving_and_always_sent() -> None:
    made = decode(Ages, {"always": 1, "nullable": 2, "forAWhile": 3}, LATEST)
    assert made.filled == "yes" and encode(made, LATEST)["filled"] == "yes"


@pytest.mark.parametrize("when, fits, misfit, text", [
    (REVISIONS[0], "word", {"a": 1}, "params.wider: expected string, got object"),
    (REVISIONS[1], "word", [1], "params.wider: expected string, got array"),
    (REVISIONS[2], {"a": 1}, "word", "params.wider: expected object, got string"),
    (REVISIONS[3], {"a": 1}, [1], "params.wider: expected object, got array"),
], ids=str)
def test_a_member_whose_type_was_narrower(when: Any, fits: Any, misfit: Any, text: str) -> None:
    value = {"always": 1, "nullable": 2, "forAWhile": 3, "wider": fits}
    made = decode(Ages, value, when)
    assert made.wider == fits and encode(made, when)["wider"] == fits
    with pytest.raises(DecodeError) as caught:
        decode(Ages, dict(value, wider=misfit), when)
    assert str(caught.value) == text
    made.wider = misfit
    with pytest.raises(Unrepresentable, match="Ages.wider cannot be sent in revision %s" % when):
        encode(made, when)
    assert encode(made, LATEST)["wider"] == misfit


def test_a_class_that_a_revision_lacks_is_read_but_not_sent() -> None:
    made = decode(Everything, {"text": "", "drawing": {"kind": "line", "ends": []}}, OLDEST)
    assert made.drawing == Line([])
    with pytest.raises(Unrepresentable, match="Line cannot be sent in revision 2024-11-05"):
        encode(made, OLDEST)


def test_an_annotation_may_name_a_class_that_comes_later() -> None:
    made = decode(Ages, {"always": 1, "nullable": 2, "later": {"x": 5}}, revision(R2025_06_18))
    assert made.later == LateClass(5)
    assert encode(made, revision(R2025_06_18))["later"] == {"x": 5}


# -- Writing -----------------------------------------------------------------------------------


def test_a_dict_in_place_of_a_message_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError, match="a message was expected, not an object of type dict"):
        encode(Everything("t", dot={"kind": "dot", "size": 1}), LATEST)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not an object of type str"):
        encode(Everything("t", drawings=["x"]), LATEST)  # type: ignore[list-item]
    with pytest.raises(TypeError):
        encode({"text": "t"}, LATEST)


def test_a_tuple_is_as_good_as_a_list() -> None:
    made = Everything("t", drawings=(Dot(1),), one_or_many=(Dot(2),))  # type: ignore[arg-type]
    sent = encode(made, LATEST)
    assert sent["drawings"] == [{"kind": "dot", "size": 1}] and sent["oneOrMany"] == [{"kind": "dot", "size": 2}]


def test_functions_are_compiled_once_for_each_class_and_revision() -> None:
    assert decoder(Dot, LATEST) is decoder(Dot, LATEST) is not decoder(Dot, OLDEST)
    assert encoder(Dot, LATEST) is encoder(Dot, LATEST) is not encoder(Dot, OLDEST)
    assert decoder(Union[Dot, Line], LATEST) is decoder(Union[Dot, Line], LATEST)


def test_instances_of_a_subclass_are_sent_with_their_own_members() -> None:
    @message
    class BigDot(Dot):
        colour: Optional[str] = member(default=None)

    assert encode(Everything("t", dot=BigDot(1, "red")), LATEST)["dot"] == {"kind": "dot", "size": 1, "colour": "red"}


# -- What a message is -------------------------------------------------------------------------


def test_a_message_shows_what_is_set() -> None:
    made = Everything("t", flag=False, drawings=[Dot(1)])
    assert repr(made) == "Everything(text='t', flag=False, drawings=[Dot(size=1)])"
    assert repr(decode(Dot, {"kind": "dot", "size": 1, "x": 2}, LATEST)) == "Dot(size=1, extra={'x': 2})"


def test_equality_counts_members_class_and_what_is_unknown() -> None:
    @message
    class OtherDot(Dot):
        pass

    dot = decode(Dot, {"kind": "dot", "size": 1}, LATEST)
    assert dot == Dot(1) and dot != Dot(2) and dot != OtherDot(1) and dot != 1
    assert dot != decode(Dot, {"kind": "dot", "size": 1, "x": 2}, LATEST)
    with pytest.raises(TypeError):
        hash(dot)


def test_messages_can_be_copied_replaced_and_pickled() -> None:
    made = decode(Everything, dict(FULL, x=1), LATEST)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), dataclasses.replace(made)):
        assert other == made and other.extra == {"x": 1}
    assert dataclasses.replace(Everything("t", extra={"x": 1}), flag=True) == Everything("t", flag=True, extra={"x": 1})
    assert copy.deepcopy(ABSENT) is ABSENT is pickle.loads(pickle.dumps(ABSENT))
    assert not ABSENT and repr(ABSENT) == "ABSENT"


@pytest.mark.parametrize("attr, wire", [
    ("name", "name"), ("mime_type", "mimeType"), ("ttl_ms", "ttlMs"), ("for_a_while", "forAWhile"), ("meta", "_meta"),
    ("dialect", "$schema"),
])
def test_names_follow_one_rule_with_its_exceptions_in_one_table(attr: str, wire: str) -> None:
    assert wire_name(attr) == wire and attribute_name(wire) == attr


def test_every_exception_of_the_table_is_used_by_a_class() -> None:
    from mcp_ref.devtools.crosscheck import all_classes
    used = {m.attr for cls in all_classes() for m in members(cls)}
    used |= {"%s.%s" % (cls.__name__, m.attr) for cls in all_classes() for m in members(cls)}
    assert set(model.WIRE_NAMES) <= used


@pytest.mark.parametrize("module", [codec, model], ids=["codec", "model"])
def test_the_examples_in_the_docstrings_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def test_revisions_are_only_consulted_through_their_windows() -> None:
    for when in REVISIONS:
        assert [m.attr for m in members(Ages) if not m.exists(when)] == [
            attr for attr, since, until in (
                ("newer", R2025_06_18, None), ("older", None, R2025_03_26), ("filled", R2026_07_28, None))
            if not when.has(since, until)]


@pytest.mark.parametrize("cls, fits, wrong", [
    (messages.JSONObject, {"a": 1}, []), (messages.JSONArray, [1], {}), (messages.Cursor, "x", 1),
    (messages.ProgressToken, 1, None), (messages.LoggingLevel, "debug", "loud"), (messages.InputRequests, {}, []),
])
def test_aliases_are_decoded_too(cls, fits, wrong):
    assert decode(cls, fits, LATEST) == fits
    with pytest.raises(DecodeError, match="^params: expected "):
        decode(cls, wrong, LATEST)
