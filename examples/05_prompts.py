"""Prompts, and completion of their arguments while the user is typing.

A prompt is a template of messages that the user chooses, as a command for example [2025-11-25 server/prompts §User
Interaction Model]. Its arguments are strings; those that are required have to be there.

While the user types, the client may ask what an argument could become [2025-11-25 server/utilities/completion
§Requesting Completions]. What was chosen before goes along as context, so that the second city is another one than the
first. A completion has a hundred values at most.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0")
CITIES = ("Berlin", "Bern", "Lima", "Lisbon")


@server.prompt
def travel(start: str, goal: str) -> str:
    """Ask how to get from one city to another."""
    return "How do I get from %s to %s?" % (start, goal)


@server.completion("travel", "start")
def starts(value: str) -> list:  # type: ignore[type-arg]
    """Cities that begin so."""
    return [city for city in CITIES if city.startswith(value)]


@server.completion("travel", "goal")
def goals(value: str, arguments: dict) -> list:  # type: ignore[type-arg]
    """The same, but for where one is already; `arguments` has what the user chose before."""
    return [city for city in starts(value) if city != arguments.get("start")]


def main() -> None:
    """Complete both arguments, then get the prompt."""
    near, far = pair()
    server.connect(far)
    with Session() as session, connect(near, trace=session) as client:
        start = client.complete("travel", "start", "Ber").completion.values
        goal = client.complete("travel", "goal", "Ber", {"start": "Bern"}).completion.values
        prompt = client.get_prompt("travel", {"start": "Bern", "goal": "Lima"})
    if start != ["Berlin", "Bern"] or goal != ["Berlin"]:
        raise SystemExit("wrong suggestions: %s %s" % (start, goal))
    if prompt.messages[0].text != "How do I get from Bern to Lima?":
        raise SystemExit("wrong prompt: %s" % prompt)


if __name__ == "__main__":
    main()
