"""A tool that runs as a task: begun, asked about, answered, fetched; in both generations of tasks, side by side.

In 2025-11-25 the client asks for a task, and the server's question is a request of its own [2025-11-25
basic/utilities/tasks §Creating Tasks]. In 2026-07-28 tasks are an extension: the server answers the call by a task, and
its question is part of what the client sees when it looks [2026-07-28 extensions/tasks/tasks].

A task begins as working, may want input, and ends as completed, failed or cancelled, for good [2025-11-25
basic/utilities/tasks §Task Status Lifecycle]. The client polls no faster than the task suggests. The tool and the
client are written once.
"""
import pathlib
import sys
from typing import Any, Dict, List, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Context, Server, connect  # noqa: E402
from mcp_ref.devtools.ladder import Rung, beside, rungs  # noqa: E402
from mcp_ref.server import Tasks  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("studio", version="1.0", tasks=Tasks(ttl=600, poll=0.2))  # seconds: kept so long, looked at so often
drawn: List[str] = []


@server.tool(task="optional")
def render(scene: str, ctx: Context) -> str:
    """Draw a scene, and save it where the user wants it."""
    frames = ctx.once("frames", lambda: draw(scene))  # the tool runs again after the answer, and draws no second time
    ctx.progress(frames, frames, "drawn")
    folder = ctx.elicit("Save %s where?" % scene, {"folder": str})["folder"]
    return "%s/%s.mp4, %d frames" % (folder, scene, frames)


def draw(scene: str) -> int:
    """What takes its time."""
    drawn.append(scene)
    return 24


def choose(params: Any, context: Any) -> Dict[str, str]:
    """The user, in front of the question."""
    return {"folder": "films"}


def conversation(revision: str) -> Tuple[str, List[Rung]]:
    """Run the tool as a task by one revision: what it said, and the ladder."""
    near, far = pair()
    server.connect(far)
    session = Session(revision, quiet=True)
    with session, connect(near, trace=session, era=revision, elicitation=choose) as client:
        task = client.start_tool("render", {"scene": "sea"})
        before = task.status  # a program may end here, and take the task up again by client.task(task.id)
        said = task.result(timeout=10).text
        if (before, task.status) != ("working", "completed"):
            raise SystemExit("a task was %s, and then %s" % (before, task.status))
    return said, rungs(session.events)


def main() -> None:
    """Show both."""
    made = {revision: conversation(revision) for revision in ("2025-11-25", "2026-07-28")}
    print(beside({revision: ladder for revision, (_, ladder) in made.items()}), end="")
    said = [text for text, _ in made.values()]
    if said != ["films/sea.mp4, 24 frames"] * 2 or drawn != ["sea"] * 2:
        raise SystemExit("wrong films: %s, drawn %s" % (said, drawn))


if __name__ == "__main__":
    main()
