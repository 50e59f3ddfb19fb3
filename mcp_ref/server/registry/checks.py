"""What an author says in plain words: names and texts, of a server and of what it offers.

Checked where they are written, because a client refuses the whole list in which one title is no text.
What has more to it than words (icons, annotations, `_meta`) is checked by `mcp_ref.protocol.content`,
which is loaded only where there is such a thing.
"""

from typing import TYPE_CHECKING, Any, FrozenSet, List, NamedTuple, Optional, Sequence

from ...options import closest

if TYPE_CHECKING:
    from ...messages.base import Icon


def name_of(kind: str, function: Any, name: Optional[str]) -> str:
    """What a tool or a prompt is called: the name that was given, or the function's own.

    Raises TypeError for what cannot be called, and ValueError where there is no name.
    """
    if not callable(function):
        text = "@server.%s is for a function, not %.80r; a name goes in as @server.%s(name=...)"
        raise TypeError(text % (kind, function, kind))
    name = name or getattr(function, "__name__", None) or ""
    if not name or name == "<lambda>":
        raise ValueError("a %s needs a name: pass name=..." % kind)
    return name


def check_texts(where: str, **texts: Any) -> None:
    """Raise TypeError for a text, by the name of its option, that is none; None is no text, and allowed."""
    for option, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise TypeError("%s: %s is a str, got %.80r" % (where, option, text))


class Paging(NamedTuple):
    """How a server shows its lists. ``size``: items in a page; None: all. ``by_name``: in the order of their keys."""

    size: Optional[int] = None
    by_name: bool = False


def paging_of(page_size: Optional[int], order: str) -> Paging:
    """The pages of a server's lists. Raises ValueError for a page that would hold nothing, and an unknown order."""
    if page_size is not None and page_size < 1:
        raise ValueError("page_size must be at least 1, got %r" % (page_size,))
    if order not in ("registration", "name"):
        raise ValueError('order, of lists, is "registration" or "name", not %r' % (order,))
    return Paging(page_size, order == "name")


FEATURES = ("tools", "resources", "prompts", "completions", "logging")
"""What a server may declare before anything of it is registered."""


def check_features(features: Sequence[str]) -> FrozenSet[str]:
    """The features that a server declares in any case. Raises TypeError or ValueError for what names none."""
    if isinstance(features, str):
        raise TypeError("features is a list of names, such as [%r], not a str" % features)
    for name in features:
        if name not in FEATURES:
            close = closest(name, FEATURES) if isinstance(name, str) else ""
            raise ValueError("%r is no feature of a server%s (features: %s)" % (
                name, "; did you mean %r?" % close if close else "", ", ".join(FEATURES)))
    return frozenset(features)


def check_cache(where: str, cache: Any) -> None:
    """Raise TypeError for what says nothing of being kept; None is nothing, and allowed."""
    if cache is not None:
        from .caching import check_hint

        check_hint(where, cache)


def check_introduction(website_url: Optional[str], icons: "Optional[List[Icon]]", experimental: Any) -> None:
    """What a server says of itself beside its texts. Raises TypeError or ValueError."""
    if website_url is not None or icons is not None:
        from ...protocol.content import check_item, check_uri

        check_item("Server", icons=icons)
        if website_url is not None:
            check_uri("Server.website_url", website_url)
    if experimental is None:
        return
    if not isinstance(experimental, dict) or not all(isinstance(value, dict) for value in experimental.values()):
        raise TypeError("experimental is a dict of dicts: capability -> settings, got %.80r" % (experimental,))


def check_socket(auth: Any, address: str) -> None:
    """Refuse to serve a protected server on a socket that anybody can connect to, for nobody shows a token there.

    Raises ValueError. A Unix socket can be opened by its owner only, so there it is logged.
    """
    if auth is None:
        return
    if not address.startswith("unix:"):
        raise ValueError("this server has auth, and on %s nobody could show a token: listen on http://, or on unix://, "
                         "whose file only its owner can open" % address)
    from ...diagnostics.packagelog import get_logger

    get_logger(__name__).warning("auth is for HTTP: on %s nobody has to show a token", address)
