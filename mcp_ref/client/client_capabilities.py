"""The features that a client has for its servers: roots, sampling and elicitation, as far as its user gives them.

Each is an object of its own module, which is loaded when it is given. A capability is declared exactly for each that
was given [..2025-11-25 basic/lifecycle §Capability Negotiation], and only those are answered.
"""

import threading
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Union

from ..messages.lifecycle import ClientCapabilities, Settings
from ..methods import lookup
from ..peer.context import Context, Route
from ..peer.dispatcher import Connection
from ..revisions import Revision

if TYPE_CHECKING:
    from typing import Protocol

    from . import elicitation, roots, sampling
    from .client import Client

    class Offer(Protocol):
        """An object that answers requests of a server: `Roots`, `Sampling`, `Elicitation`, or one of your own."""

        def capability(self) -> Any:
            """Return the capability that is declared."""

        def route(self, client: Client, revision: Revision) -> Route:
            """Return how a request is answered."""

    GivenRoots = Union[None, Offer, roots.Place, Iterable[roots.Place]]
    GivenSampling = Union[None, Offer, sampling.Callback]
    GivenElicitation = Union[None, Offer, elicitation.FormCallback]

OFFERS: Dict[str, str] = {"roots": "Roots", "sampling": "Sampling", "elicitation": "Elicitation"}
"""A module of this package, which is also a capability and an option of `Client` -> its class."""

REQUESTS: Dict[str, str] = {
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}
"""A request of a server -> the offer that answers it."""

TASKED = ("sampling", "elicitation")
"""The offers whose requests may be tasks [2025-11-25 basic/utilities/tasks §Client Capabilities]."""

Heard = Callable[[Connection, Dict[str, Any]], None]
"""A function that takes a notification: the connection it came on, and its params."""


class Offers:
    """The offers of one client.

    ``given``: name -> an object of the class, or the argument of its constructor (paths for roots, a function for
    the others), or None. ``tasks``: True if what a server asks of them may be a task; see
    `mcp_ref.ext.tasks.client.receiver`.
    """

    def __init__(self, given: Dict[str, Any], tasks: bool = False) -> None:
        self._made = {name: _made(name, value) for name, value in given.items() if value is not None}
        self._tasks = tuple(name for name in TASKED if tasks and name in self._made)
        """The offers that answer by tasks."""
        self._lock = threading.Lock()
        self._attached: List[Any] = []
        self.notifications: Dict[str, Heard] = {}
        for offer in self._made.values():
            self.notifications.update(getattr(offer, "notifications", {}))

    def declare(
        self, base: Optional[ClientCapabilities], experimental: Optional[Dict[str, Settings]], offered: Revision
    ) -> ClientCapabilities:
        """Return the capabilities: those of the offers, and those of ``base``, which the client answers by itself.

        Elicitation by links alone is not declared where revision ``offered`` knows forms only, for the server would
        take it for forms.
        """
        declared = ClientCapabilities() if base is None else copy(base)
        if experimental is not None:
            declared.experimental = experimental
        for name, offer in self._made.items():
            capability = offer.capability()
            links_alone = name == "elicitation" and capability.url is not None and capability.form is None
            if offered.elicitation_modes or not links_alone:
                setattr(declared, name, capability)
        if self._tasks:
            from ..ext.tasks.client.receiver import capability as tasks_capability

            declared.tasks = tasks_capability(self._tasks)
        return declared

    def route(self, client: "Client", method: str, revision: Revision) -> Optional[Route]:
        """Return how a request of the server is answered; None, and with it -32601, if it is not offered
        [..2025-11-25 client/roots §Error Handling] SHOULD."""
        name = REQUESTS.get(method, "")
        offer = self._made.get(name)
        if lookup(method, revision) is None or offer is None and not self._tasks:
            return None
        if offer is None:
            from ..ext.tasks.client import receiver

            return receiver.route(method)
        route: Route = offer.route(client, revision)
        if not revision.tasks:
            return route
        route = _answers_naming_task(route)
        if name not in self._tasks:
            return route
        from ..ext.tasks.client.receiver import augmented

        return augmented(route)

    def attach(self, client: "Client", connection: Connection) -> None:
        """Let the offers announce changes from now on: the connection is operating."""
        for offer in self._made.values():
            if hasattr(offer, "attach"):
                offer.attach(client)
        with self._lock:
            self._attached = list(self._made.values())
        if connection.closed:  # it ended before `_attached` was set, so that `detach` has found nothing
            self.detach(client)

    def detach(self, client: "Client") -> None:
        """Let the offers announce nothing more: the connection has ended. It acts once for each `attach`."""
        with self._lock:
            attached, self._attached = self._attached, []
        for offer in attached:
            if hasattr(offer, "detach"):
                offer.detach(client)


def _answers_naming_task(route: Route) -> Route:
    """Return a route whose results name the task that the request has named.

    [2025-11-25 basic/utilities/tasks §Associating Task-Related Messages] MUST
    """
    from ..messages.tasks import RELATED_TASK
    from ..protocol.extensions import naming_task

    def call(context: Context, params: Dict[str, Any]) -> Any:
        result = route.call(context, params)
        related = context.meta.get(RELATED_TASK)
        if isinstance(related, dict) and isinstance(related.get("taskId"), str) and isinstance(result, dict):
            result = naming_task(result, related["taskId"])
        return result

    return route.calling(call)


def _made(name: str, value: Any) -> Any:
    """Return the offer. An object with a ``capability`` is taken as it is: so users can write their own."""
    if hasattr(value, "capability"):
        return value
    return getattr(import_module("." + name, __package__), OFFERS[name])(value)
