"""Sampling: a tool lets the client's model think, and the user has the last word.

The server has no key of a model and needs none: it asks the client for a sample [2025-11-25 client/sampling §Creating
Messages]. It may say what kind of model it would like; the client chooses [2025-11-25 client/sampling §Model
Preferences].

The user sees the request before the model does, and the answer before the server does [2025-11-25 client/sampling §User
Interaction Model]. One that the user refuses is answered by an error [2025-11-25 client/sampling §Error Handling].
"""
import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Context, Server, connect  # noqa: E402
from mcp_ref.client.sampling import Sampling  # noqa: E402
from mcp_ref.errors import PeerError  # noqa: E402
from mcp_ref.messages.sampling import CreateMessageRequestParams  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0")


@server.tool
def summarize(text: str, ctx: Context) -> str:
    """Sum up a text."""
    try:
        answer = ctx.sample("Sum this up: %s" % text, max_tokens=50, hints=["small"])
    except PeerError as error:
        return "the user said no (%d)" % error.code
    return answer.text


def model(params: CreateMessageRequestParams, context: Any) -> str:
    """The model behind the client; a real one would be asked here."""
    return "in short: %s" % params.messages[-1].text[-10:]


def approve(params: CreateMessageRequestParams, context: Any) -> bool:
    """The user sees each request before the model does."""
    return "secret" not in params.messages[-1].text


def main() -> None:
    """Twice, once with something the user does not let through."""
    near, far = pair()
    server.connect(far)
    sampling = Sampling(model, model="small-model-1", approve_request=approve)
    # In a session; without one a server hears answers only, so the no of a user ends the call on this side.
    with Session() as session, connect(near, trace=session, sampling=sampling, era="legacy") as client:
        first = client.call_tool("summarize", {"text": "a long story"}).text
        second = client.call_tool("summarize", {"text": "a secret"}).text
    if first != "in short: long story" or second != "the user said no (-1)":
        raise SystemExit("wrong answers: %s / %s" % (first, second))


if __name__ == "__main__":
    main()
