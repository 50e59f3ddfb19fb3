"""The subjects of letters, by which a process knows if a letter in a `Store` is for it.

======================================  ==============================================================================
letter                                  says
======================================  ==============================================================================
``["end"]``                             the session has ended
``["message"]``                         a message that waits for a stream
``["answer", id]``                      the answer to our request of this id; progress for it
``["progress", token]``
``["cancel", id]``                      the client cancels its request of this id
``["follow", stream, token, first]``    to the process that began the reply: end your connection of it, tell me of
                                        events. It is repeated now and then, and ``first`` is False
``["look", token, running]``            to the follower: there may be an event; is the request still being worked on?
``["gone", token]``                     to the follower: the client has resumed the stream elsewhere, end yours
``["taken", stream, place]``            to the process that has the stream of a GET: it was taken over
======================================  ==============================================================================
"""

from typing import Any, List, Optional, Union

from ...jsonrpc import Error, Malformed, Message, Notification, Result
from ...methods import CANCELLED, PROGRESS

END, MESSAGE = ["end"], ["message"]
"""The subjects of letters that concern a whole session."""
FOLLOW, LOOK, GONE, TAKEN = "follow", "look", "gone", "taken"
"""The first words of subjects that concern a stream."""
OF_STREAMS = frozenset((FOLLOW, LOOK, GONE, TAKEN))


def subject_of(item: Union[Message, Malformed], longest: int) -> Optional[List[Any]]:
    """Return the subject of a letter with this message; None if it concerns the session as a whole.

    Our ids are numbers, so a message about another id, or one of more than ``longest`` characters, is for no process:
    it is refused where it came.
    """
    if isinstance(item, (Result, Error)):
        return ["answer", item.id] if type(item.id) is int else None
    if isinstance(item, Notification) and isinstance(item.params, dict):
        if item.method == CANCELLED:
            id = item.params.get("requestId")
            return ["cancel", id] if type(id) is int or type(id) is str and len(id) <= longest else None
        if item.method == PROGRESS:
            token = item.params.get("progressToken")
            return ["progress", token] if type(token) is int else None
    return None
