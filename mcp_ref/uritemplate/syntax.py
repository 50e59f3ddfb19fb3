"""The syntax of a template, percent-encoding, and expansion [RFC 6570 §2, §3].

A server loads this at its start, so the classes are plain ones and the tables of encoding wait for their first use.
"""

from typing import Any, Dict, List, Mapping, Optional, Union

__all__ = ["Expression", "HEX", "Operator", "Part", "Variable", "encode", "expanded", "parse"]


class Operator:
    """A row of the table in [RFC 6570 Appendix A], and the characters that a value cannot hold when matching."""

    __slots__ = ("first", "separator", "named", "if_empty", "reserved", "stops")

    def __init__(self, first: str, separator: str, named: bool, if_empty: str, reserved: bool, stops: str) -> None:
        self.first = first
        self.separator = separator
        self.named = named
        self.if_empty = if_empty
        self.reserved = reserved
        self.stops = stops


_OPERATORS = {
    "": Operator("", ",", False, "", False, "/?#"),
    "+": Operator("", ",", False, "", True, ""),
    "#": Operator("#", ",", False, "", True, ""),
    ".": Operator(".", ".", False, "", False, "/?#"),
    "/": Operator("/", "/", False, "", False, "/?#"),
    ";": Operator(";", ";", True, "", False, "/?#"),
    "?": Operator("?", "&", True, "=", False, "#"),
    "&": Operator("&", "&", True, "=", False, "#"),
}
_RESERVED_OPERATORS = "=,!@|"
_NOT_LITERAL = frozenset("\"<>\\^`{|}")
HEX = frozenset("0123456789abcdefABCDEF")
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_RESERVED = b":/?#[]@!$&'()*+,;="
_encoded: Dict[bool, List[str]] = {}    # whether reserved characters stay -> what each byte becomes


class Variable:
    """`name`, `name:3` or `name*`; a prefix of 0 is all of the value."""

    __slots__ = ("name", "prefix", "explode")

    def __init__(self, name: str, prefix: int, explode: bool) -> None:
        self.name = name
        self.prefix = prefix
        self.explode = explode


class Expression:
    """An expression: the operator and the variables in braces."""

    __slots__ = ("operator", "variables")

    def __init__(self, operator: Operator, variables: List[Variable]) -> None:
        self.operator = operator
        self.variables = variables


Part = Union[str, Expression]


def _malformed(template: str, at: int, reason: str) -> ValueError:
    shown = template if len(template) <= 80 else template[:77] + "..."
    return ValueError("URI template %r at %d: %s" % (shown, at, reason))


def parse(template: str) -> List[Part]:
    """Return the parts: literals, encoded as they will stand in the URI, and expressions.

    Raises ValueError that says what is malformed and where.
    """
    parts: List[Part] = []
    at = 0
    while at < len(template):
        opened = template.find("{", at)
        end = opened if opened >= 0 else len(template)
        if end > at:
            parts.append(_literal(template, at, end))
        if opened < 0:
            break
        closed = template.find("}", opened)
        if closed < 0:
            raise _malformed(template, opened, "the expression is not closed")
        parts.append(_expression(template, opened + 1, closed))
        at = closed + 1
    return parts


def _literal(template: str, start: int, end: int) -> str:
    """Check literal text and return it encoded [RFC 6570 §2.1]. An apostrophe is allowed, too (erratum)."""
    text = template[start:end]
    for at, char in enumerate(text, start):
        if char in _NOT_LITERAL or char <= " " or "\x7f" <= char <= "\x9f":
            raise _malformed(template, at, "%r is not allowed outside an expression" % char)
        if char == "%" and not HEX.issuperset(template[at + 1:at + 3].ljust(2)):
            raise _malformed(template, at, "a percent sign needs two hexadecimal digits behind it")
        if "\ud800" <= char <= "\udfff":
            raise _malformed(template, at, "a lone surrogate is no character")
    return encode(text, True)


def _expression(template: str, start: int, end: int) -> Expression:
    """Return the expression in braces [RFC 6570 §2.2]."""
    symbol = template[start:start + 1]
    if symbol in _RESERVED_OPERATORS:
        raise _malformed(template, start, "the operator %r is reserved for later" % symbol)
    if symbol not in _OPERATORS:
        symbol = ""
    found: List[Variable] = []
    at = start + len(symbol)
    for text in template[at:end].split(","):
        found.append(_variable(template, at, text))
        at += len(text) + 1
    return Expression(_OPERATORS[symbol], found)


def _variable(template: str, at: int, text: str) -> Variable:
    """Return a variable with its modifier [RFC 6570 §2.3, §2.4]."""
    explode = text.endswith("*")
    name, colon, digits = (text[:-1], "", "") if explode else text.partition(":")
    if not _is_name(name):
        raise _malformed(template, at, "%r is no variable name" % name[:40])
    if colon and not (digits.isascii() and digits.isdigit() and len(digits) <= 4 and digits[0] != "0"):
        raise _malformed(template, at, "a prefix is a number from 1 to 9999, not %r" % digits[:40])
    return Variable(name, int(digits or 0), explode)


def _is_name(name: str) -> bool:
    """Return True for letters, digits, underscores and percent-encoded bytes, with dots between them."""
    for part in name.split("."):
        head, *encoded = part.split("%")
        words = [head] + [each[2:] for each in encoded]
        plain = "".join(words).replace("_", "")
        if not part or plain and not (plain.isascii() and plain.isalnum()):
            return False
        if not all(len(each) >= 2 and HEX.issuperset(each[:2]) for each in encoded):
            return False
    return True


def encode(text: str, reserved: bool) -> str:
    """Percent-encode as UTF-8; with `reserved`, keep reserved characters and what is percent-encoded already."""
    if text.isalnum() and text.isascii():
        return text
    if reserved and "%" in text:
        head, *rest = text.split("%")
        return encode(head, True) + "".join(
            "%" + each[:2] + encode(each[2:], True) if len(each) >= 2 and HEX.issuperset(each[:2])
            else "%25" + encode(each, True) for each in rest)
    if reserved not in _encoded:
        kept = _UNRESERVED + _RESERVED if reserved else _UNRESERVED
        _encoded[reserved] = [chr(byte) if byte in kept else "%%%02X" % byte for byte in range(256)]
    try:
        return "".join(map(_encoded[reserved].__getitem__, text.encode("utf-8")))
    except UnicodeEncodeError:
        raise ValueError("a lone surrogate has no place in a URI") from None


# Expansion [RFC 6570 §3.2]


def expanded(expression: Expression, values: Mapping[str, Any]) -> str:
    """Return the text of an expression [RFC 6570 §3.2.1]. Raises ValueError naming the variable that has none."""
    operator = expression.operator
    pieces: List[str] = []
    for variable in expression.variables:
        try:
            pieces += _pieces(operator, variable, values.get(variable.name))
        except ValueError as error:
            raise ValueError("variable %r: %s" % (variable.name, error)) from None
    return operator.first + operator.separator.join(pieces) if pieces else ""


def _pieces(operator: Operator, variable: Variable, value: Any) -> List[str]:
    """Return the parts of one variable, to be joined by the operator's separator; none if it is undefined."""
    if value is None:
        return []
    if not isinstance(value, (list, tuple, dict)):
        text = _prefix(_text(value), variable.prefix, operator.reserved)
        return [_named(operator, variable.name, encode(text, operator.reserved))]
    if variable.prefix:
        raise ValueError("a list or dictionary has no prefix")
    if isinstance(value, dict):
        pairs = [(encode(_text(key), operator.reserved), encode(_text(each), operator.reserved))
                 for key, each in value.items() if each is not None]
        if variable.explode:
            return [_named(operator, key, each) if operator.named else key + "=" + each for key, each in pairs]
        texts = [text for pair in pairs for text in pair]
    else:
        texts = [encode(_text(each), operator.reserved) for each in value if each is not None]
        if variable.explode:
            return [_named(operator, variable.name, text) for text in texts]
    return [_named(operator, variable.name, ",".join(texts))] if texts else []


def _named(operator: Operator, name: str, text: str) -> str:
    if not operator.named:
        return text
    return name + "=" + text if text else name + operator.if_empty


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise ValueError("%s cannot stand here" % type(value).__name__)


def _prefix(text: str, length: int, reserved: bool) -> str:
    """Return the first characters; a percent-encoded character that is kept as it is counts as one, and is not
    divided."""
    if not length or not reserved or "%" not in text:
        return text[:length] if length else text
    end = 0
    for _ in range(length):
        end += 1
        lead = _byte_at(text, end - 1)
        if lead is not None:
            end += 2
            more = 0 if lead < 0xC0 else 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
            while more and 0x80 <= (_byte_at(text, end) or 0) < 0xC0:
                end += 3
                more -= 1
    return text[:end]


def _byte_at(text: str, at: int) -> Optional[int]:
    """Return the byte that is percent-encoded at that place."""
    digits = text[at + 1:at + 3]
    return int(digits, 16) if text[at:at + 1] == "%" and len(digits) == 2 and HEX.issuperset(digits) else None
