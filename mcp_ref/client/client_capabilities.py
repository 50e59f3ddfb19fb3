"""What a client offers to a server: roots, sampling and elicitation, as far as its user gives them.

Each is an object of its own module, loaded when it is given. A capability is declared exactly for what is there
[..2025-11-25 basic/lifecycle §Capability Negotiation], and only what is there is answered.
"""

import threading
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Union

from ..messages.lifecycle import ClientCapabilities, Settings
from ..methods import lookup
from ..peer.context import Route
from ..peer.dispatcher import Connection
from ..revisions import Revision

if TYPE_CHECKING:
    from typing import Protocol

    from . import elicitation, roots, sampling
    from .client import Client

    class Offer(Protocol):
        """What answers requests of a server: `Roots`, `Sampling`, `Elicitation`, or an object like these."""

        def capability(self) -> Any:
            """What is declared."""

        def route(self, client: Client, revision: Revision) -> Route:
            """How a request is answered."""

    GivenRoots = Union[None, Offer, roots.Place, Iterable[roots.Place]]
    GivenSampling = Union[None, Offer, sampling.Callback]
    GivenElicitation = Union[None, Offer, elicitation.FormCallback]

OFFERS: Dict[str, str] = {"roots": "Roots", "sampling": "Sampling", "elicitation": "Elicitation"}
"""Module of this package (and capability, and option of `Client`) -> its class."""

REQUESTS: Dict[str, str] = {
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}
"""What a server may ask, and which offer answers it."""

Heard = Callable[[Connection, Dict[str, Any]], None]
"""Takes a notification: the connection it came on, and its params."""


class Offers:
    """The offers of one client.

    ``given``: name -> an object of the class, or what its constructor makes one of (paths for roots, a function for
    the others), or None.
    """

    def __init__(self, given: Dict[str, Any]) -> None:
        self._made = {name: _made(name, value) for name, value in given.items() if value is not None}
        self._lock = threading.Lock()
        self._attached: List[Any] = []
        self.notifications: Dict[str, Heard] = {}
        for offer in self._made.values():
            self.notifications.update(getattr(offer, "notifications", {}))

    def declare(
        self, base: Optional[ClientCapabilities], experimental: Optional[Dict[str, Settings]], offered: Revision
    ) -> ClientCapabilities:
        """The capabilities: those of the offers, and those of ``base``, which the client answers by itself.

        Elicitation by links alone is not declared where ``offered`` knows forms only and would read it as such.
        """
        declared = ClientCapabilities() if base is None else copy(base)
        if experimental is not None:
            declared.experimental = experimental
        for name, offer in self._made.items():
            capability = offer.capability()
            links_alone = name == "elicitation" and capability.url is not None and capability.form is None
            if offered.elicitation_modes or not links_alone:
                setattr(declared, name, capability)
        return declared

    def route(self, client: "Client", method: str, revision: Revision) -> Optional[Route]:
        """How a request of the server is answered; None: it is not offered."""
        offer = self._made.get(REQUESTS.get(method, ""))
        if offer is None or lookup(method, revision) is None:
            return None
        route: Route = offer.route(client, revision)
        return route

    def attach(self, client: "Client", connection: Connection) -> None:
        """The connection is operating; offers that announce something may do so from now on."""
        for offer in self._made.values():
            if hasattr(offer, "attach"):
                offer.attach(client)
        with self._lock:
            self._attached = list(self._made.values())
        if connection.closed:  # it ended meanwhile, and `detach` found nothing
            self.detach(client)

    def detach(self, client: "Client") -> None:
        """The connection has ended; once for each `attach`."""
        with self._lock:
            attached, self._attached = self._attached, []
        for offer in attached:
            if hasattr(offer, "detach"):
                offer.detach(client)


def _made(name: str, value: Any) -> Any:
    """The offer itself. What has a ``capability`` is taken as it is, so that others can be written."""
    if hasattr(value, "capability"):
        return value
    return getattr(import_module("." + name, __package__), OFFERS[name])(value)
