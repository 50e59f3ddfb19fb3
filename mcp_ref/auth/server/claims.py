"""What the claims of a token mean, whoever verified it: who, for whom, what for, and until when.

The members are those of a JWT [RFC 7519 §4.1] [RFC 9068 §2.2], and the same of the answer of an introspection
[RFC 7662 §2.2]. One that is null counts as absent.

Reading: the client is ``client_id``, or else ``azp``; the scopes are ``scope``, one text with spaces [RFC 8693 §4.2],
or else ``scp``, and either may be a list: authorization servers differ.
"""

from typing import Any, Callable, Dict, List, Mapping, Optional

from ...errors import Unauthorized
from .access import AccessToken

_LATEST = 1e14
"""Seconds; a later time is none, and might be an integer that no arithmetic with fractions takes."""


def access_of(claims: Dict[str, Any]) -> AccessToken:
    """What claims say, in the words of `AccessToken`. Raises `Unauthorized` where one is not of its type."""
    return AccessToken(
        subject=_text(claims, "sub"),
        client_id=_text(claims, "client_id") or _text(claims, "azp"),
        issuer=_text(claims, "iss"),
        audience=_texts(claims, "aud", lambda text: [text]) or [],
        scopes=_scopes(claims),
        expires_at=_time(claims, "exp"),
        claims=claims,
    )


def check_times(claims: Mapping[str, Any], now: float, leeway: float) -> None:
    """That a token is valid now, as far as it says when it is. Raises `Unauthorized`."""
    until, since = _time(claims, "exp"), _time(claims, "nbf")
    if until is not None and now >= until + leeway:
        raise Unauthorized("the token has expired")
    if since is not None and now < since - leeway:
        raise Unauthorized("the token is not valid yet")


def check_audience(access: AccessToken, audience: Optional[str]) -> None:
    """That a token is meant for this audience, if there is one. Raises `Unauthorized`."""
    if audience is not None and audience not in access.audience:
        raise Unauthorized("the token is not meant for this server")


def _text(claims: Mapping[str, Any], name: str) -> Optional[str]:
    found = claims.get(name)
    if found is not None and not isinstance(found, str):
        raise Unauthorized("the token's %s is not a string" % name)
    return found


def _texts(claims: Mapping[str, Any], name: str, of_text: Callable[[str], List[str]]) -> Optional[List[str]]:
    """A claim that is a list of strings, or one string from which ``of_text`` makes one."""
    found = claims.get(name)
    if isinstance(found, str):
        return of_text(found)
    if found is not None and not (isinstance(found, list) and all(isinstance(item, str) for item in found)):
        raise Unauthorized("the token's %s is neither a string nor a list of strings" % name)
    return found


def _scopes(claims: Mapping[str, Any]) -> List[str]:
    found = _texts(claims, "scope", str.split)
    return (_texts(claims, "scp", str.split) or []) if found is None else found


def _time(claims: Mapping[str, Any], name: str) -> Optional[float]:
    found = claims.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not abs(found) < _LATEST:
        raise Unauthorized("the token's %s is no time [RFC 7519 §2]" % name)
    return float(found)
