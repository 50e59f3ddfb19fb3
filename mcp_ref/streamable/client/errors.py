"""The errors that a client makes of replies that refuse a request; they tell the server's words from ours."""

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from ...errors import HttpStatus, McpError, PeerError
from ...http11.client.connection_pool import Fields
from ...http11.client.response import Reply
from ...jsontext import JsonError, loads

if TYPE_CHECKING:
    from .base import Post

_AUTHORIZATION = "it wants authorization: pass token=..., auth=... or headers={...}"


def refused(reply: Reply, body: bytes, where: str, sent: Fields, post: "Optional[Post]" = None) -> McpError:
    """Return `PeerError` if the body is a JSON-RPC error that may be the answer to ``post``, else `HttpStatus`.

    ``where``: the server, for people. ``sent``: the header fields of the request; a token among them is not repeated.
    """
    challenges = reply.headers.get_all("www-authenticate")
    id, error = _json_error(body)
    if error is not None:
        error["message"] = _hidden(error["message"], sent)
    if post is not None and error is not None and reply.status not in (401, 403) and post.may_have(id):
        answer = PeerError(error["code"], error["message"], error.get("data"), post.method, post.id)
        answer.status = reply.status
        return answer
    text = _hidden("%s answered %d %s" % (where, reply.status, reply.reason), sent)
    line = error["message"] if error is not None else _first_line(_hidden(body.decode("utf-8", "replace"), sent))
    if reply.status == 401 and not any(name.lower() == "authorization" for name, _ in sent):
        line = (line and line + "; ") + _AUTHORIZATION
    return HttpStatus(repr(text + (line and ": " + line))[1:-1], reply.status, challenges)


def _json_error(body: bytes) -> Tuple[Any, Optional[Dict[str, Any]]]:
    """Return the id and the error of a body that is a JSON-RPC error response; None and None if it is none."""
    try:
        value = loads(body)
    except JsonError:
        return None, None
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str):
        return value.get("id"), error
    return None, None


def _hidden(text: str, sent: Fields) -> str:
    """Return a server's words without the token that it was sent, which some repeat."""
    for name, value in sent:
        if name.lower() == "authorization":
            for secret in (value, value.partition(" ")[2]):
                text = text.replace(secret, "***") if len(secret) > 3 else text
    return text


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0].strip()[:200] if lines else ""
