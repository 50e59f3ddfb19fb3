"""A transport around another one, of any of the three contracts, which passes on what it does not do itself."""

from typing import Any

from .base import Transport


class _Inside:
    """A member of a contract: that of the transport inside, to be called, read or set."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, outside: Any, owner: Any = None) -> Any:
        return self if outside is None else getattr(outside.inner, self._name)

    def __set__(self, outside: Any, value: Any) -> None:
        setattr(outside.inner, self._name, value)


class Forwarding(Transport):
    """A transport that passes every member of the contracts on to ``inner``, which a subclass sets, and may change.

    A subclass overrides what it does otherwise. What is not listed here is looked up in the transport inside.
    """

    inner: Any
    """The transport inside."""
    write_now = None  # so the outbox calls `ready` and `write`, and a subclass that overrides these sees everything

    # What `Transport` has
    open: Any = _Inside()
    read: Any = _Inside()
    write: Any = _Inside()
    close: Any = _Inside()
    name: Any = _Inside()
    contract: Any = _Inside()
    threadless: Any = _Inside()
    origin: Any = _Inside()
    address: Any = _Inside()
    session_id: Any = _Inside()
    same_machine: Any = _Inside()
    held: Any = _Inside()
    holder: Any = _Inside()
    tells_apart: Any = _Inside()
    finding: Any = _Inside()
    # What a client sets
    annotations: Any = _Inside()
    named: Any = _Inside()
    on_pause: Any = _Inside()

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # before it is set
            raise AttributeError(name)
        return getattr(self.inner, name)
