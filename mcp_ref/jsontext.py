"""Strict JSON: bytes to values and back, with one documented answer for each oddity.

Python's `json` accepts more than RFC 8259 and has no limits. This module uses it (it is fast) and
adds the missing checks:

==========================================  =========================================================
input                                       answer of `loads`
==========================================  =========================================================
broken or overlong UTF-8                    refused: not valid UTF-8, byte position
a byte order mark in front                  refused: not JSON, names it
``NaN``, ``Infinity``, ``-Infinity``        refused: not JSON
``1e400`` (parses to infinity)              refused: number out of range
an integer of more than 4,300 digits        refused, names ``max_number_digits``
any other integer                           kept exactly, however large
two equal keys in one object                refused, names the key
a lone surrogate (``"\\ud800"``)             refused: not a Unicode string
nesting deeper than ``max_depth``           refused before parsing, names the limit
more values than ``max_nodes``              refused before parsing, names the limit
==========================================  =========================================================

All refusals are `JsonError`, a ValueError. `dumps` refuses the same things on the way out and
names the place: ``$.stats.mean is NaN``. What it writes is one line of ASCII, so that no
intermediary can split or garble it.

The decoder and the encoder of `json` recurse in C. A limit of the interpreter stops them, which does not depend on
the thread's stack: where threads have 1 MiB of it (Alpine), or where a program has raised its recursion limit,
100 KB of ``[`` end the process. So depth is counted before either of them begins, and all other code that recurses over
a value relies on it: what comes from a peer has at most ``max_depth`` levels.

Cost: the key hook is a microsecond for each small object. Number hooks would make large arrays of
numbers three times slower, so where a message may hold many values (`_MANY`) one scan of the bytes
decides whether any number needs a second look. Depth is counted in the bytes only where there are more brackets than
``max_depth``: about a nanosecond for each byte, and 30 for each bracket.
"""

import json
from itertools import accumulate, islice
from typing import Any, Callable, Dict, Iterable, Iterator, List, Tuple

from .limits import DEFAULT, Limits

_MANY = 256
"""Above this many values a message is scanned for odd numbers instead of hooking every number."""

_LONG = 4096
"""Bytes above which looking for rare signs one by one beats counting them."""

_BLOCK = 64 * 1024
"""Bytes that are searched for brackets at a time: what is made of them stays in the processor's cache."""
_STEPS = bytes.maketrans(b"[{]}", b"\1\1\xff\xff")
"""Brackets as signed bytes: one level down, one level up."""
_NO_SIGN = bytes(code for code in range(256) if code not in b'[{]}"')

_BOM = "\ufeff"
_ATOMS = frozenset((str, int, float, bool, type(None)))
_NESTING = (dict, list, tuple)


class JsonError(ValueError):
    """The text is not JSON as this package accepts it, or the value cannot be written as JSON."""


def loads(data: bytes, limits: Limits = DEFAULT) -> Any:
    """Return the value of a JSON text in UTF-8. Raises `JsonError`; see the table above [RFC 8259 §8.1]."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError("not valid UTF-8 at byte %d" % error.start) from None
    brackets = nodes = 0
    if len(data) > limits.max_depth:  # a shorter message cannot hold anything excessive
        brackets = _count(data, b"[") + _count(data, b"{")
        if len(data) > min(4 * _MANY, limits.max_nodes):  # nor a short one many values
            nodes = _count(data, b",") + brackets
    if nodes > limits.max_nodes:
        raise JsonError("message of about %d values exceeds max_nodes (%d)" % (nodes, limits.max_nodes))
    if brackets > limits.max_depth and _nests_deeper(data, limits.max_depth):
        raise JsonError(_too_deep(limits))
    plain = nodes > _MANY and limits.max_number_digits >= 309 and not _odd_number(data)
    # a text that is no longer than a number may be needs no look at its integers
    decoder = _PLAIN if plain else _SHORT if len(data) <= limits.max_number_digits else _careful(limits)
    try:
        value, end = decoder.raw_decode(text) if text[:1] == "{" else (None, -1)
        if end != len(text):  # white space, or what is refused: `decode` looks for both, at a fifth of its cost
            value = decoder.decode(text)
    except JsonError:
        raise
    except RecursionError:
        raise JsonError(_too_deep(limits)) from None
    except ValueError as error:
        what = "it begins with a byte order mark (BOM)" if text[:1] == _BOM else error
        raise JsonError("not JSON: %s" % what) from None
    escape = data.find(b"\\")
    if escape >= 0 and (data.find(b"\\ud", escape) >= 0 or data.find(b"\\uD", escape) >= 0):
        _check_surrogates(value)
    return value


def glimpse(data: bytes, limits: Limits = DEFAULT) -> Tuple[Any, bool]:
    """Return what `loads` has refused as far as it can be read, for its id, and True if it keeps the grammar of JSON.

    None for what is too deep, has too many values or a name twice. NaN, half characters, bytes that are no UTF-8 and
    very long numbers are read as something.
    """
    faults: List[str] = []
    text = data.decode("utf-8", "replace").lstrip(_BOM)
    nodes = sum(map(data.count, (b"[", b"{", b",")))
    try:
        if nodes > limits.max_nodes or _nests_deeper(data, limits.max_depth):
            return None, False
        value = json.loads(text, object_pairs_hook=_object, parse_constant=faults.append,
                           parse_int=lambda digits: int(digits) if len(digits) < 1000 else None)
    except (ValueError, RecursionError):
        return None, False
    return value, not faults and text.encode("utf-8", "replace") == data


def null_for_nan(data: bytes) -> bytes:
    """Return a JSON text with null in place of NaN and the infinities, as JavaScript would have written it."""
    import re  # only for what `loads` has refused

    # A string that does not end is matched up to the end of the data: else each quote in it begins another search.
    return re.sub(rb'(?s)"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|-?\b(?:NaN|Infinity)\b',
                  lambda found: found.group() if found.group()[:1] == b'"' else b"null", data)


def dumps(value: Any, limits: Limits = DEFAULT, above: int = 0) -> str:
    """Return a value as one line of ASCII JSON. Raises `JsonError` naming the member that JSON cannot hold.

    ``above`` is the number of levels that the value is going to have above it.
    """
    if type(value) not in _ATOMS and is_deep(value, limits.max_depth - above):
        raise JsonError(next(_faults(value, limits)))
    try:
        text = "".join(_ENCODE(value, 0))
    except (ValueError, TypeError, RecursionError) as error:
        raise JsonError(next(_faults(value, limits), "cannot be written as JSON: %s" % error)) from None
    if "\\" in text and "\\ud" in text:
        for fault in _faults(value, limits):
            raise JsonError(fault)
    return text


def is_deep(value: Any, most: int) -> bool:
    """Return True if arrays and objects nest in a Python value deeper than ``most`` levels, as a value does that
    contains itself.

    The function does not recurse. Nearly every value holds fewer arrays and objects than ``most``, and so has fewer
    levels.
    """
    waiting = [value]
    atoms = _ATOMS
    try:
        for part in islice(waiting, most):  # which grows meanwhile
            kind = type(part)
            if kind is dict:
                for member in part.values():
                    if type(member) not in atoms:
                        waiting.append(member)
            elif isinstance(part, (list, tuple)):
                for member in part:
                    if type(member) not in atoms:
                        waiting.append(member)
            elif isinstance(part, dict):
                return _is_deep_exactly(value, most)
    except RuntimeError:  # another thread changes a dict: the encoder works with copies of its members
        return _is_deep_exactly(value, most)
    return len(waiting) > most and _is_deep_exactly(value, most)


def _is_deep_exactly(value: Any, most: int) -> bool:
    """Compute `is_deep` level by level.

    A part that occurs several times is visited once: a value that contains itself twice has twice as many of them on
    each level.
    """
    level: List[Any] = [value]
    atoms = _ATOMS
    for _ in range(most):
        below: Dict[int, Any] = {}
        for part in level:
            for member in list(part.values() if isinstance(part, dict) else part):
                if type(member) not in atoms and isinstance(member, _NESTING):
                    below[id(member)] = member
        if not below:
            return False
        level = list(below.values())
    return True


def _count(data: bytes, sign: bytes) -> int:
    """Count like `bytes.count`, but at the speed of a search if a long message has few of the signs."""
    if len(data) > _LONG:
        found, at = 0, data.find(sign)
        while at >= 0 and found < _MANY:
            found, at = found + 1, data.find(sign, at + 1)
        if at < 0:
            return found
    return data.count(sign)


def _refuse_constant(name: str) -> Any:
    raise JsonError("not JSON: %s" % name)


def _object(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Return the object of these members; refuse a repeated key, because peers disagree on which one counts."""
    value = dict(pairs)
    if len(value) != len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError("duplicate key %s" % json.dumps(key)[:80])
            seen.add(key)
    return value


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise JsonError("number out of range: %s" % text[:40])
    return value


_PLAIN = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)
_SHORT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite)
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def _encode_function() -> Callable[[Any, int], Iterable[str]]:
    """Return the function that `json.JSONEncoder.encode` makes anew in each call: a third of the cost of a small
    message.

    It has no dict of the objects on the way down, so a value that contains itself ends in a RecursionError.
    """
    make: Any = getattr(json.encoder, "c_make_encoder", None)  # PyPy has none
    if make is None:
        return lambda value, level: _ENCODER.iterencode(value)
    return make(  # type: ignore[no-any-return]
        None, _ENCODER.default, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False
    )


_ENCODE = _encode_function()
_careful_decoders: Dict[int, json.JSONDecoder] = {}


def _careful(limits: Limits) -> json.JSONDecoder:
    """Return the decoder that checks every number, for these limits."""
    digits = limits.max_number_digits
    decoder = _careful_decoders.get(digits)
    if decoder is None:

        def integer(text: str) -> int:
            if len(text) > digits:
                raise JsonError("integer of %d digits exceeds max_number_digits (%d)" % (len(text), digits))
            return int(text)

        decoder = _careful_decoders[digits] = json.JSONDecoder(
            object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite, parse_int=integer
        )
    return decoder


def _odd_number(data: bytes) -> bool:
    """Return True if a number might be out of range: one with a three-digit exponent, or with 309 digits in a row."""
    import re  # only large messages come here

    return re.search(rb"[0-9][eE]\+?[0-9]{3}|[0-9]{309}", data) is not None


def _too_deep(limits: Limits) -> str:
    return "nesting exceeds max_depth (%d)" % limits.max_depth


def _nests_deeper(data: bytes, most: int) -> bool:
    """Return True if arrays and objects nest in this text deeper than ``most`` levels, before it ceases to be JSON.

    Strings are told from the rest by counting quotes: of a run of quotes only an odd one changes what follows it.
    """
    depth, inside, rest = 0, False, b""
    for start in range(0, len(data), _BLOCK):
        block, rest = rest + data[start:start + _BLOCK], b""
        if b"\\" in block:
            if (len(block) - len(block.rstrip(b"\\"))) % 2:  # what it escapes is in the next block
                block, rest = block[:-1], b"\\"
            block = block.replace(b"\\\\", b"").replace(b'\\"', b"")
        signs = block.translate(_STEPS, _NO_SIGN).replace(b'""', b"")
        if b'"' in signs or inside:
            parts = signs.split(b'"')
            signs = b"".join(parts[inside::2])
            inside ^= len(parts) % 2 == 0
        down = signs.count(b"\1")
        if depth + down > most and max(accumulate(memoryview(signs).cast("b"), initial=depth)) > most:
            return True
        depth += 2 * down - len(signs)
        if depth < 0:  # more brackets are closed than were opened: the decoder will not come further
            return False
    return False


def _check_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise JsonError("a string holds a lone surrogate, which is not Unicode") from None
    except RecursionError:
        raise JsonError("nesting too deep") from None


def _faults(value: Any, limits: Limits) -> Iterator[str]:
    """Yield the members of a value that `json` cannot write, each with its path."""
    stack: List[Tuple[str, Any, Tuple[int, ...]]] = [("$", value, ())]
    while stack:
        path, item, above = stack.pop()
        if isinstance(item, (dict, list, tuple)):
            if id(item) in above:
                yield "%s contains itself" % path
                continue
            if len(above) == limits.max_depth:
                yield _too_deep(limits)
                continue
            inside = above + (id(item),)
            members = item.items() if isinstance(item, dict) else enumerate(item)
            form = "%s.%s" if isinstance(item, dict) else "%s[%s]"
            stack.extend((form % (path, key), member, inside) for key, member in members)
            if isinstance(item, dict):
                stack.extend((path + " (a key)", key, inside) for key in item if isinstance(key, (str, float)))
        elif isinstance(item, float):
            if item - item != 0.0:
                yield "%s is %s" % (path, "NaN" if item != item else "Infinity" if item > 0 else "-Infinity")
        elif isinstance(item, str):
            try:
                item.encode("utf-8")
            except UnicodeEncodeError:
                yield "%s has a lone surrogate" % path
        elif not (item is None or isinstance(item, int)):
            kind = "of type %s" % type(item).__name__
            yield "%s is %s, which JSON cannot hold" % ("the value" if path == "$" else path, kind)
