"""Rules of subscriptions [2026-07-28 basic/patterns/subscriptions]."""

from typing import Any, List, Mapping, Optional

from .....methods import TASK_NOTICE
from ...bounds import Forgetful
from ...observed import META_SUBSCRIPTION, NOTIFICATION, REQUEST, RESULT, Message, id_key
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import items, members, short

UNDECIDED.update({
    "subscribe.client-checks-ack": "a comparison inside the client, which may end a subscription at any time anyhow",
    "subscribe.stdio-correlate": "how a client sorts what it receives leaves no message",
    "subscribe.stdio-resubscribe": "a client that does not subscribe again may have lost its interest",
})

LISTEN, ACKNOWLEDGED = "subscriptions/listen", "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
_FILTERS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    UPDATED: "resourceSubscriptions",
    TASK_NOTICE: "taskIds",
}
"""The notifications that need a subscription, and the member of the filter that asks for them; the last is of the
extension for tasks."""
_NAMING = {UPDATED: "uri", TASK_NOTICE: "taskId"}
"""The notifications whose filter is a list -> the param that has one of its entries."""
_ALL = (ACKNOWLEDGED, *_FILTERS)
_MOST = 256
"""Subscriptions of one session that are remembered: notifications without an id are compared with each."""


class SubscriptionState:
    """A subscription: its request, and what became of it."""

    __slots__ = ("request", "filter", "acknowledged", "ended")

    def __init__(self, request: Message) -> None:
        self.request = request
        self.filter: Mapping[str, Any] = members(request.params.get("notifications"))
        self.acknowledged: Optional[Message] = None
        self.ended = False

    def asked_for(self, name: str) -> bool:
        """Return whether the client has asked for a kind of notification."""
        value = self.filter.get(name)
        return value is True or (isinstance(value, list) and bool(value))

    @property
    def over(self) -> bool:
        """True after it was answered or cancelled, or its stream has ended."""
        exchange = self.request.exchange
        return bool(self.ended or self.request.answer or self.request.cancelled is not None
                    or (exchange is not None and exchange.ended is not None))


class SubscriptionStates:
    """The subscriptions of a session by the id of their request."""

    def __init__(self) -> None:
        self.known: "Forgetful[Any, SubscriptionState]" = Forgetful(_MOST)

    def active(self) -> List[SubscriptionState]:
        """Return those that are not over; the number that a client has at once is small."""
        return [each for each in self.known.values() if not each.over]


def subscription_of(message: Message) -> Optional[SubscriptionState]:
    """Return the subscription that a notification names, or on whose stream it comes."""
    known = message.session.state(SubscriptionStates).known
    found: Optional[SubscriptionState] = None
    own = message.exchange.request if message.exchange is not None else None
    if own is not None and "subscription" in own.notes and id_key(own.id) == id_key(
            message.meta.get(META_SUBSCRIPTION, own.id)):
        return own.notes["subscription"]  # type: ignore[no-any-return]
    if META_SUBSCRIPTION in message.meta:
        found = known.get(id_key(message.meta[META_SUBSCRIPTION]))
    elif message.exchange is not None:
        asked = message.exchange.request
        found = known.get(id_key(asked.id)) if asked is not None and asked.method == LISTEN else None
    return found


def _unknown(message: Message) -> Optional[CannotTell]:
    """Return that the subscriptions are not all known, or None."""
    known = message.session.state(SubscriptionStates).known
    if not message.session.from_start or known.forgot:
        return CannotTell("the subscriptions before")
    return None


_OPENED = """
    on stdio 2026-07-28
    C #1 subscriptions/listen {"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]}}
"""
_ACKNOWLEDGED = _OPENED + """
    S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, \
        "notifications": {"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]}}
"""


@rule("subscribe.only-requested", on=NOTIFICATION, method=tuple(_FILTERS), scene=_ACKNOWLEDGED + """
  + S notifications/tools/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
  - S notifications/prompts/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
""")
def only_requested(message: Message) -> Verdict:
    """A server sends only the kinds of notifications that the client has asked for, about the resources it has named.
    """
    name, found = _FILTERS[message.method], subscription_of(message)
    candidates = [found] if found is not None else []
    if META_SUBSCRIPTION not in message.meta and found is None:
        candidates = message.session.state(SubscriptionStates).known.values()
    elif found is None:
        return None
    asked = [each for each in candidates if each.asked_for(name)]
    if not asked:
        return _unknown(message) or Broken("%s was not asked for" % name, "method")
    member = _NAMING.get(message.method, "")
    value = message.params.get(member)
    if isinstance(value, str) and not any(_covers(each, name, value) for each in asked):
        return Broken("no subscription to %s" % short(value), "params." + member)
    return KEPT


def _covers(subscription: SubscriptionState, name: str, value: str) -> bool:
    """Return whether a URI is one that was subscribed to, or one below it; or whether an id is among those of a filter.
    """
    return any(isinstance(each, str) and ("***" in each or (
        value == each if name == "taskIds" else value.startswith(each.rstrip("/"))))
               for each in items(subscription.filter.get(name)))


@rule("subscribe.ack-first", "subscribe.nothing-before-ack", on=(NOTIFICATION, RESULT), method=(*_ALL, LISTEN),
      scene=_OPENED + """
  + S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, \
        "notifications": {"toolsListChanged": true}}
  - S notifications/tools/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
""")
def acknowledged_first(message: Message) -> Verdict:
    """The first message about a subscription is its acknowledgement."""
    found = subscription_of(message)
    if found is None or found.acknowledged is not None or (
            message.kind == RESULT and META_SUBSCRIPTION not in message.meta):
        return None
    if message.method == ACKNOWLEDGED:
        return KEPT
    return Broken("%s before the acknowledgement" % (message.method if message.kind == NOTIFICATION else "the result"))


@rule("subscribe.id-in-notifications", on=NOTIFICATION, method=_ALL, scene=_ACKNOWLEDGED + """
  + S notifications/tools/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
  - S notifications/tools/list_changed {}
""")
def named(message: Message) -> Verdict:
    """A notification of a subscription names it by the id of its request."""
    where = "params._meta." + META_SUBSCRIPTION
    asked = message.exchange.request if message.exchange is not None else None
    if asked is not None and asked.method != LISTEN:
        return None  # on the stream of another request
    if META_SUBSCRIPTION not in message.meta:
        found, name = subscription_of(message), _FILTERS.get(message.method, "")
        if found is not None or message.method == ACKNOWLEDGED or any(
                each.asked_for(name) for each in message.session.state(SubscriptionStates).active()):
            return Broken("the notification does not name its subscription", where)
        return None
    if subscription_of(message) is not None:
        return KEPT
    return _unknown(message) or Broken(
        "no subscription has the id %s" % short(message.meta[META_SUBSCRIPTION]), where)


@observe(on=REQUEST, method=LISTEN)
def subscribe(message: Message) -> None:
    """Note a subscription."""
    made = message.notes["subscription"] = SubscriptionState(message)
    message.session.state(SubscriptionStates).known[id_key(message.id)] = made


@observe(on=NOTIFICATION, method=_ALL)
def acknowledge(message: Message) -> None:
    """Note that the first message about a subscription has come."""
    found = subscription_of(message)
    if found is not None and found.acknowledged is None:
        found.acknowledged = message
