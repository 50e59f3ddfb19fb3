"""All targets, in the order of the layers."""
from . import conversations, languages, rules, standalone, statelessly, vocabulary, wire

TARGETS = (wire.TARGETS + vocabulary.TARGETS + languages.TARGETS + rules.TARGETS + standalone.TARGETS
           + conversations.TARGETS + statelessly.TARGETS)
