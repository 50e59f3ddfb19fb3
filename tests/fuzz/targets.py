"""All targets, in the order of the layers."""
from . import (authorization, conversations, granting, languages, rules, standalone, statelessly, tokens, vocabulary,
               wire)

TARGETS = (wire.TARGETS + vocabulary.TARGETS + languages.TARGETS + rules.TARGETS + standalone.TARGETS
           + authorization.TARGETS + tokens.TARGETS + granting.TARGETS + conversations.TARGETS + statelessly.TARGETS)
