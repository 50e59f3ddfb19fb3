"""What the client of one server offers it, each offer in a module of its own, loaded where it is given."""

from typing import Any, Dict

from .desk import Desk


def offers(desk: Desk, server: str, roots: Any = None) -> Dict[str, Any]:
    """Options of `Client` for this server; ``roots`` take the place of the host's."""
    made: Dict[str, Any] = {}
    given = desk.roots if roots is None else roots
    if given is not None:
        from .roots import HostRoots

        made["roots"] = HostRoots(desk, server, given)
    if desk.sampling is not None:
        from .sampling import HostSampling

        made["sampling"] = HostSampling(desk, server)
    if desk.elicitation is not None or desk.elicitation_url is not None:
        from .elicitation import HostElicitation

        made["elicitation"] = HostElicitation(desk, server)
    return made
