"""Resources: data that an application may read, by URI; one at a time, by a template, or a whole folder.

Tools are for the model to call, and resources for the application to read [2025-11-25 server/resources §User
Interaction Model]. A resource is listed with its URI; a template stands for all URIs of a form [2025-11-25
server/resources §Resource Templates]. Each of the contents names its URI, because one read may bring several
[2025-11-25 server/resources §Reading Resources].

Reading goes wrong where a path leads out of the folder. The server refuses that, whatever the URI looks like
[2025-11-25 server/resources §Security Considerations].
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.errors import PeerError  # noqa: E402
from mcp_ref.transports.memory import pair  # noqa: E402

server = Server("demo", version="1.0")
FOLDER = pathlib.Path(__file__).resolve().parent
server.directory(FOLDER)


@server.resource("config://app", mime_type="application/json")
def config() -> dict:  # type: ignore[type-arg]
    """The settings."""
    return {"colour": "green"}


@server.resource("user://{name}/age")
def age(name: str) -> str:
    """How old somebody is."""
    return "%s is 36" % name


def main() -> None:
    """List and read, and try to get out of the folder."""
    near, far = pair()
    server.connect(far)
    with Session() as session, connect(near, trace=session) as client:
        uris = [resource.uri for resource in client.resources()]
        settings = client.read_resource("config://app")
        ada = client.read_resource("user://ada/age")
        this = client.read_resource(pathlib.Path(__file__).resolve().as_uri())
        try:
            client.read_resource(FOLDER.as_uri() + "/../README.md")
        except PeerError as error:
            print("refused:", error)
        else:
            raise SystemExit("that file is not in the folder")
    if "config://app" not in uris or settings.text != '{"colour":"green"}' or ada.text != "ada is 36":
        raise SystemExit("wrong contents: %s %s %s" % (uris, settings, ada))
    if "whole folder" not in this.text:
        raise SystemExit("that is another file")


if __name__ == "__main__":
    main()
