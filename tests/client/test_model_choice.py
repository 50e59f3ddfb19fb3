"""Which model is chosen for which preferences."""
import doctest

import pytest

from mcp_ref.client import sampling
from mcp_ref.client.sampling import ModelCard, choose_model
from mcp_ref.messages.sampling import ModelHint, ModelPreferences

OPUS = ModelCard("claude-3-opus-20240229", cost=0.9, speed=0.2, intelligence=0.9)
SONNET = ModelCard("claude-3-5-sonnet-20241022", cost=0.4, speed=0.6, intelligence=0.8)
HAIKU = ModelCard("claude-3-haiku-20240307", cost=0.1, speed=0.9, intelligence=0.4)
GEMINI = ModelCard("gemini-1.5-pro", cost=0.3, speed=0.7, intelligence=0.7, aliases=("claude-3-sonnet", "gpt-4o"))
FLASH = ModelCard("gemini-1.5-flash", cost=0.0, speed=1.0, intelligence=0.3, aliases=("claude-3-haiku-20240307",))
ALL = [OPUS, SONNET, HAIKU, GEMINI, FLASH]
OTHERS = [GEMINI, FLASH]


def preferences(*hints, cost=None, speed=None, intelligence=None):
    """What a server prefers."""
    return ModelPreferences([ModelHint(hint) for hint in hints] or None, cost, speed, intelligence)


HINTS = [
    # a part of the name [.. client/sampling §Model Hints]
    (("claude-3-5-sonnet",), ALL, SONNET), (("sonnet",), ALL, SONNET), (("haiku",), ALL, HAIKU),
    (("-1.5-p",), ALL, GEMINI),
    (("claude-3-opus-20240229",), ALL, OPUS), (("20240307",), ALL, HAIKU), (("claude",), ALL, OPUS),
    # in order, the first match is taken
    (("sonnet", "haiku"), ALL, SONNET), (("haiku", "sonnet"), ALL, HAIKU), (("gpt-5", "llama", "flash"), ALL, FLASH),
    (("claude-3-5-sonnet", "claude"), [OPUS, HAIKU], OPUS), (("nothing", "none"), ALL, OPUS),
    (("gpt-5", "opus", "haiku"), ALL, OPUS),
    # upper and lower case are alike
    (("SONNET",), ALL, SONNET), (("Claude-3-Haiku",), ALL, HAIKU),
    # an equivalent of another provider
    (("sonnet",), OTHERS, GEMINI), (("claude-3-haiku",), OTHERS, FLASH), (("gpt-4o",), ALL, GEMINI),
    (("claude",), OTHERS, GEMINI),
    (("gpt-4o", "haiku"), ALL, GEMINI), (("haiku", "gpt-4o"), OTHERS, FLASH), (("flash", "sonnet"), OTHERS, FLASH),
    # hints that say nothing
    ((), ALL, OPUS), (("",), ALL, OPUS), ((None,), ALL, OPUS), (("", "haiku"), ALL, HAIKU),
    ((None, "haiku"), ALL, HAIKU),
]


@pytest.mark.spec("sampling.hint-substring", "sampling.hints-order", "sampling.map-hints")
@pytest.mark.parametrize("hints, models, chosen", HINTS, ids=lambda value: repr(value)[:40])
def test_the_first_hint_that_is_part_of_a_name_decides(hints, models, chosen):
    """[.. client/sampling §Model Hints] MUST"""
    assert choose_model(preferences(*hints), models) is chosen


PRIORITIES = [
    (dict(cost=1.0), FLASH), (dict(speed=1.0), FLASH), (dict(intelligence=1.0), OPUS),
    (dict(cost=0.3, intelligence=1.0), SONNET),
    (dict(cost=0.3, speed=0.8, intelligence=0.5), FLASH), (dict(speed=0.1, intelligence=0.9), OPUS),
    (dict(cost=0, speed=0, intelligence=0), OPUS),
    (dict(), OPUS),
]


@pytest.mark.parametrize("priorities, chosen", PRIORITIES, ids=repr)
def test_without_hints_the_priorities_decide(priorities, chosen):
    """[.. client/sampling §Capability Priorities]"""
    assert choose_model(preferences(**priorities), ALL) is chosen


@pytest.mark.spec("sampling.hints-over-priorities")
@pytest.mark.parametrize("hint, priorities, chosen", [
    ("claude", dict(cost=1.0), HAIKU), ("claude", dict(intelligence=1.0), OPUS),
    ("claude", dict(cost=0.3, intelligence=1.0), SONNET),
    ("opus", dict(cost=1.0), OPUS), ("gemini", dict(cost=1.0), FLASH), ("gemini", dict(intelligence=1), GEMINI),
    ("gpt-5", dict(cost=1.0), FLASH),
])
def test_hints_come_before_priorities_which_choose_between_several_matches(hint, priorities, chosen):
    """[.. client/sampling §Model Hints] SHOULD"""
    assert choose_model(preferences(hint, **priorities), ALL) is chosen


def test_among_equals_the_first_is_taken():
    """[.. client/sampling §Model Preferences]"""
    twins = [ModelCard("b", 0.2, 0.2, 0.2), ModelCard("a", 0.2, 0.2, 0.2)]
    for asked in (None, preferences(), preferences(cost=1.0, speed=0.5), preferences("nothing", intelligence=1.0)):
        assert choose_model(asked, twins) is twins[0] and choose_model(asked, twins[::-1]) is twins[1]


def test_without_models_there_is_nothing_to_choose():
    """[.. client/sampling §Model Preferences]"""
    assert choose_model(None, []) is None and choose_model(preferences("claude", cost=1.0), []) is None


@pytest.mark.parametrize("name", ["cost", "speed", "intelligence"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), 100])
def test_what_a_model_is_worth_goes_from_0_to_1(name, value):
    with pytest.raises(ValueError, match=name):
        ModelCard("m", **{name: value})


def test_the_examples_of_the_module_hold():
    assert doctest.testmod(sampling) == (0, 6)
