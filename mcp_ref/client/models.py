"""Which model a sampling request is for [.. client/sampling §Model Preferences].

A server cannot know what models a client has. It gives hints, parts of names, in the order of its preference, and says
how much cost, speed and intelligence matter; the client decides:

>>> cards = [ModelCard("claude-3-opus-20240229", cost=0.9, speed=0.3, intelligence=0.9),
...          ModelCard("claude-3-haiku-20240307", cost=0.1, speed=0.9, intelligence=0.4),
...          ModelCard("gemini-1.5-pro", cost=0.4, speed=0.6, intelligence=0.8, aliases=("claude-3-sonnet",))]
>>> def best(*hints, **priorities):
...     return choose_model(ModelPreferences([ModelHint(hint) for hint in hints], **priorities), cards).name
>>> best("haiku", "opus")
'claude-3-haiku-20240307'
>>> best("sonnet")
'gemini-1.5-pro'
>>> best("claude-3", cost_priority=1.0)
'claude-3-haiku-20240307'
>>> best(intelligence_priority=0.9, speed_priority=0.2)
'claude-3-opus-20240229'
"""

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from ..messages.sampling import ModelHint, ModelPreferences
from ..options import spelt
from ..records import Record

__all__ = ["ModelCard", "ModelHint", "ModelPreferences", "choose_model"]


@spelt
@dataclass(eq=False, repr=False)
class ModelCard(Record):
    """A model that the client has, and what it is worth, each from 0 to 1."""

    name: str
    cost: float = 0.5
    """0 is cheap, 1 is dear."""
    speed: float = 0.5
    """0 is slow, 1 is fast."""
    intelligence: float = 0.5
    aliases: Tuple[str, ...] = ()
    """Names of models of other providers that it can stand for [.. client/sampling §Model Hints] MAY."""

    def __post_init__(self) -> None:
        """Raise ValueError for a number out of range."""
        for name in ("cost", "speed", "intelligence"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError("%s: %s goes from 0 to 1, not %r" % (self.name, name, getattr(self, name)))


def choose_model(preferences: Optional[ModelPreferences], models: Sequence[ModelCard]) -> Optional[ModelCard]:
    """The model that these preferences mean; None only if there are no models.

    The first hint that matches any model decides, and priorities only between several that it matches
    [.. client/sampling §Model Hints]. Without a match the priorities decide between all models. Among equals the
    first of ``models`` is taken, so put the one you like best in front.
    """
    if not models:
        return None
    candidates: Sequence[ModelCard] = models
    for hint in (preferences.hints if preferences is not None else None) or ():
        matching = _matching(hint.name, models)
        if matching:
            candidates = matching
            break
    return max(candidates, key=lambda card: _worth(card, preferences))  # the first of several that are equal


def _matching(hint: Optional[str], models: Sequence[ModelCard]) -> List[ModelCard]:
    """The models whose name has this hint as a part; failing that, those that can stand for one whose name has.

    Reading: upper and lower case are alike, as the page calls the match flexible. An empty hint says nothing.
    """
    if not hint:
        return []
    part = hint.lower()
    return [card for card in models if part in card.name.lower()] or [
        card for card in models if any(part in alias.lower() for alias in card.aliases)
    ]


def _worth(card: ModelCard, preferences: Optional[ModelPreferences]) -> float:
    """How well a model fits the priorities [.. client/sampling §Capability Priorities]; 0 where there are none."""
    if preferences is None:
        return 0.0
    return (
        (preferences.cost_priority or 0.0) * (1.0 - card.cost)
        + (preferences.speed_priority or 0.0) * card.speed
        + (preferences.intelligence_priority or 0.0) * card.intelligence
    )
