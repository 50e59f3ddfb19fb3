"""Random JSON values, texts and bytes, and small changes to good ones: most faults hide a step beside the right way."""
import copy
import json
from random import Random
from typing import Any, Dict, List, Sequence, Tuple, Union

NAMES = ("name", "type", "id", "method", "params", "result", "error", "code", "data", "_meta", "uri", "text", "content",
         "jsonrpc", "progressToken", "cursor", "mode", "enum", "items", "properties", "required", "", "__proto__",
         "a/b", "$ref", "\U0001f600", "na\u00efve", "x" * 50, "0", "extra", "self", "fields", "__dict__")
TEXTS = ("", "a", "0", "true", "null", "\u0000", "\u2028", "\U0001f600", "e\u0301", "text", "object", "form", "url",
         "2.0", "http://x/y?z=1#f", "file:///etc/passwd", "{a}", "%zz", "..", "/", "\\", "\"", "\n", "\t", "\x7f",
         "A" * 300, "ref/prompt", "user", "2025-06-18", "-1", "1e999", "..\\..", "\ufeff", "\u202e")
NUMBERS = (0, 1, -1, 2, 100, 2 ** 31, 2 ** 53, 2 ** 64, -2 ** 63, 10 ** 40, 0.5, -0.0, 1.0, 1e308, 5e-324, 3.14)


def text(random: Random) -> str:
    """A text that somebody might send."""
    pick = random.random()
    if pick < 0.6:
        return random.choice(TEXTS)
    return "".join(chr(random.choice((random.randrange(32, 127), random.randrange(0x80, 0xd800), random.randrange(32))))
                   for _ in range(random.randrange(12)))


def value(random: Random, depth: int = 3) -> Any:
    """A JSON value."""
    pick = random.randrange(9 if depth > 0 else 6)
    if pick == 0:
        return None
    if pick == 1:
        return random.random() < 0.5
    if pick in (2, 3):
        return random.choice(NUMBERS)
    if pick in (4, 5):
        return text(random)
    if pick == 6:
        return [value(random, depth - 1) for _ in range(random.randrange(4))]
    return {name(random): value(random, depth - 1) for _ in range(random.randrange(4))}


def name(random: Random) -> str:
    """The name of a member."""
    return random.choice(NAMES) if random.random() < 0.8 else text(random)


Path = Tuple[Union[str, int], ...]


def places(tree: Any, above: Path = ()) -> List[Path]:
    """The path of every value in a value, its own, (), first."""
    found = [above]
    inside: Sequence[Any] = list(tree.items()) if isinstance(tree, dict) else (
        list(enumerate(tree)) if isinstance(tree, list) else [])
    for step, item in inside:
        found += places(item, above + (step,))
    return found


def mutated(random: Random, tree: Any, steps: int = 1) -> Any:
    """A value with some places changed: replaced, removed, renamed, repeated, wrapped, or moved from elsewhere."""
    tree = copy.deepcopy(tree)
    for _ in range(steps):
        known = places(tree)
        path = random.choice(known)
        if not path:
            if random.random() < 0.2:
                return value(random)
            continue
        parent = _at(tree, path[:-1])
        _change(random, tree, known, parent, path[-1])
    return tree


def _change(random: Random, tree: Any, known: List[Path], parent: Any, step: Any) -> None:
    pick = random.randrange(8)
    if pick == 0:
        del parent[step]
    elif pick == 1 and isinstance(parent, dict):
        parent[name(random)] = parent.pop(step)
    elif pick == 1:
        parent.append(copy.deepcopy(parent[step]))
    elif pick == 2:
        parent[step] = [parent[step]] if random.random() < 0.5 else {name(random): parent[step]}
    elif pick == 3:
        parent[step] = copy.deepcopy(_at(tree, random.choice(known)))
    elif pick == 4 and isinstance(parent, dict):
        parent[name(random)] = value(random)
    elif pick == 5:
        parent[step] = text(random)
    elif pick == 6:
        parent[step] = random.choice((None, True, False, 0, 1.0, -1, [], {}))
    else:
        parent[step] = value(random)


def _at(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


MARKS = (b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xc0\x80",
         b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"NaN", b"-Infinity", b"1e999", b"1" * 400, b"-", b"0x1",
         b"\xef\xbb\xbf", b"'", b"//", b"[" * 200, b'{"a":' * 50, b"null", b"true", b" " * 20, b"\xe2\x80\xa8",
         b'"a":1,"a":2')


def mutated_bytes(random: Random, data: bytes, steps: int = 2) -> bytes:
    """Bytes with some cut out, doubled, flipped or put in."""
    for _ in range(steps):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.randrange(1, 9))
        pick = random.randrange(5)
        if pick == 0:
            data = data[:start] + data[end:]
        elif pick == 1:
            data = data[:end] + data[start:]
        elif pick == 2 and start < len(data):
            data = data[:start] + bytes([data[start] ^ (1 << random.randrange(8))]) + data[start + 1:]
        else:
            data = data[:start] + random.choice(MARKS) + data[start:]
    return data


def as_bytes(tree: Any) -> bytes:
    """A value as JSON."""
    return json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass")


def merged(*parts: Dict[str, Any]) -> Dict[str, Any]:
    """One object of several."""
    whole: Dict[str, Any] = {}
    for part in parts:
        whole.update(part)
    return whole
