"""From values to the text of an expression [RFC 6570 §3.2]."""

from typing import Any, List, Mapping, Optional

from .syntax import HEX, Expression, Operator, Variable, encode

__all__ = ["expanded"]


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
