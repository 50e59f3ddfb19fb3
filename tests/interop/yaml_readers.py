"""Our reader of YAML beside PyYAML, on random texts: what ours takes, theirs takes for the same value.

Ours refuses more, on purpose. The texts are those of its tests, with signs put in, taken out, and pieces of others.
"""
import json
import random
import sys
from typing import Any, List

import peers
from steps import Steps

from mcp_ref.yaml import read_yaml
from tests.host.yaml_texts import READ, REFUSED

TEXTS = 40_000
LEAST = 5_000
"""Texts among these that ours must take; else nothing was compared."""
PIECES = [*" \n:-#[]{},'\"|>&*!?%@~\\abn01.x\t", "\n  ", "\n- ", ": ", " #", "\n    ", "- ", "no", "a: "]


def changed(chance: random.Random, seeds: List[str]) -> str:
    """One of the texts with up to four changes."""
    text = chance.choice(seeds)
    for _ in range(chance.randint(0, 4)):
        at, kind = chance.randint(0, len(text)), chance.randrange(10)
        if kind < 5:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif kind < 8:
            text = text[:at] + text[at + 1:]
        else:
            text = text[:at] + chance.choice(seeds)[:8] + text[at:]
    return text


def walk() -> None:
    """Compare them."""
    steps = Steps("yaml-readers")
    sys.path.append(peers.pyyaml_folder())
    import yaml  # type: ignore[import-untyped,unused-ignore]

    seeds = [row[0] for row in (*READ, *REFUSED) if len(row[0]) < 200]
    seed = random.randrange(1 << 30)
    chance, taken, different = random.Random(seed), 0, []
    theirs: Any
    for _ in range(TEXTS):
        text = changed(chance, seeds)
        try:
            ours = read_yaml(text)
        except ValueError as error:
            assert str(error).startswith("line "), (text, error)
            continue
        taken += 1
        try:
            theirs = yaml.safe_load(text)
        except yaml.YAMLError as error:
            theirs = error
        if json.dumps(ours) != json.dumps(theirs, default=repr):
            different.append("%r: %r and %r" % (text, ours, theirs))
    assert not different, "seed %d: %s" % (seed, different[:5])
    assert taken >= LEAST, "%d texts of %d tell nothing" % (taken, TEXTS)
    steps.done("read as PyYAML reads them", texts=TEXTS, taken=taken, seed=seed)
