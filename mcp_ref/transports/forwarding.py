"""A transport around another one, of any of the three contracts, which passes on what it does not do itself."""

from typing import Any

from .base import Transport
from .exchanges import ExchangeTransport
from .replies import ReplyTransport


class _Passed:
    """A member of a contract: that of the transport inside, to be called, read or set."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, outside: Any, owner: Any = None) -> Any:
        return self if outside is None else getattr(outside.inner, self._name)

    def __set__(self, outside: Any, value: Any) -> None:
        setattr(outside.inner, self._name, value)


class Forwarding(Transport):
    """A transport that passes every member of the contracts on to ``inner``, which a subclass sets, and may change.

    A subclass overrides what it does otherwise. Attributes that no contract has are those of the transport inside.
    """

    inner: Any
    """The transport inside."""
    write_now = None  # so the outbox calls `ready` and `write`, and a subclass that overrides these sees everything

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # before it is set
            raise AttributeError(name)
        return getattr(self.inner, name)


for _contract in (Transport, ReplyTransport, ExchangeTransport):
    for _name in vars(_contract):
        if not (_name.startswith("_") or _name in vars(Forwarding)):
            setattr(Forwarding, _name, _Passed(_name))
