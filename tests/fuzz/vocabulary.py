"""Target: every message class of every revision, with values made from its own declaration and with faulty ones."""
from random import Random
from typing import Any, Dict, List, Literal, Tuple, Union

from mcp_ref import messages
from mcp_ref.codec import DecodeError, Model, Unrepresentable, decode, encode
from mcp_ref.model import alternatives, members
from mcp_ref.revisions import REVISIONS, Revision

from .engine import Broken, Target
from .inventing import mutated, name, text, value
from .wire import one_line

Case = Tuple[str, int, bool, Any]
"""A class, the rank of a revision, whether the value is in order, the value."""


def is_message(hint: Any) -> bool:
    """Whether a type is a message class."""
    return isinstance(hint, type) and issubclass(hint, Model)


def exists(hint: Any, revision: Revision) -> bool:
    """Whether a revision has this class, or one of the classes of this union."""
    parts = [part for part in alternatives(hint) if is_message(part)]
    return bool(parts) and any(revision.has(part.since, part.until) for part in parts)


def is_encodable(hint: Any) -> bool:
    """Whether it is a class or a union of classes: those are what `encode` takes."""
    return all(is_message(part) for part in alternatives(hint))


NAMES = sorted(each for each in messages.__all__ if is_encodable(getattr(messages, each)))
BY_RANK: List[List[str]] = [[each for each in NAMES if exists(getattr(messages, each), revision)]
                            for revision in REVISIONS]


def made(random: Random, hint: Any, revision: Revision, depth: int) -> Any:
    """A JSON value of this type that is in order in this revision."""
    origin, parts = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    if is_message(hint):
        return made_message(random, hint, revision, depth)
    if origin is Literal:
        return random.choice(parts)
    if origin is Union:
        fitting = [part for part in parts if not is_message(part) or revision.has(part.since, part.until)]
        return made(random, random.choice(fitting), revision, depth)
    if origin is list:
        return [made(random, parts[0], revision, depth - 1) for _ in range(random.randrange(3 if depth > 0 else 1))]
    if origin is dict:
        return {name(random): made(random, parts[1], revision, depth - 1)
                for _ in range(random.randrange(3 if depth > 0 else 1))}
    plain: Dict[Any, Any] = {str: text(random), bool: random.random() < 0.5, int: random.randrange(-5, 500),
                             float: random.choice((0.5, 1, -2.25, 1e10)), type(None): None}
    return plain[hint] if hint in plain else value(random, 1)


def made_message(random: Random, cls: Any, revision: Revision, depth: int) -> Dict[str, Any]:
    """An object of a message class: what is required, and some of what is not."""
    found: Dict[str, Any] = {}
    for m in members(cls):
        if not m.exists(revision) or not (m.required_in(revision) or (depth > 0 and random.random() < 0.5)):
            continue
        if m.constant:
            found[m.wire] = m.default
            continue
        shape = m.shape_in(revision)
        shaped = shape is not None and is_message(shape)
        found[m.wire] = made(random, shape if shaped else m.type_in(revision), revision, depth - 1)
    return found


def make_message(random: Random) -> Case:
    """A class, a revision, and an object that is in order or a step beside it."""
    rank = random.randrange(len(REVISIONS))
    chosen = random.choice(BY_RANK[rank])
    good = made(random, getattr(messages, chosen), REVISIONS[rank], 4)
    if random.random() < 0.3:
        return chosen, rank, True, good
    return chosen, rank, False, mutated(random, good, random.randrange(1, 4))


def check_message(case: Case) -> None:
    """In order: it is read, and written as it was. Otherwise: only DecodeError, or a message that stays what it is."""
    chosen, rank, good, tree = case
    cls, revision = getattr(messages, chosen), REVISIONS[rank]
    try:
        message = decode(cls, tree, revision)
    except DecodeError as error:
        one_line(str(error))
        if good:
            raise Broken("refused: %s" % error)
        return
    repr(message)
    try:
        written = encode(message, revision)
    except Unrepresentable as error:
        one_line(str(error))
        if good:
            raise Broken("not written: %s" % error)
        return
    if good and written != tree:
        raise Broken("written: %r" % (written,))
    again = decode(cls, written, revision)
    if encode(again, revision) != written:
        raise Broken("again: %r" % (encode(again, revision),))


TARGETS = (Target("codec", make_message, check_message),)
