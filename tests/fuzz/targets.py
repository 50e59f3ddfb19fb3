"""All targets, in the order of the layers."""
from . import (admission, authorization, conversations, granting, heads, languages, rules, standalone, statelessly,
               tokens, vocabulary, wire)

TARGETS = (wire.TARGETS + heads.TARGETS + vocabulary.TARGETS + languages.TARGETS + rules.TARGETS + standalone.TARGETS
           + authorization.TARGETS + tokens.TARGETS + granting.TARGETS + admission.TARGETS + conversations.TARGETS
           + statelessly.TARGETS)
