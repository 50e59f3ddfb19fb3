"""All targets, in the order of the layers."""
from . import conversations, languages, rules, vocabulary, wire

TARGETS = wire.TARGETS + vocabulary.TARGETS + languages.TARGETS + rules.TARGETS + conversations.TARGETS
