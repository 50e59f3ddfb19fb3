"""A server that other machines may reach, and one secret that lets programs in: a line on each side.

A client sends its token in `Authorization` with every request, also in the same session, and never in the address
[2025-11-25 basic/authorization §Token Requirements]. A request without one, or with a wrong one, is answered by the
status 401 [2025-11-25 basic/authorization §Error Handling].

This is the smallest protection: one secret that both sides know, compared in constant time. It says nothing of users;
the next chapter does.
"""
import pathlib
import secrets
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.errors import HttpStatus  # noqa: E402

server = Server("vault", version="1.0")


@server.tool
def combination() -> str:
    """What opens the vault."""
    return "12-34-56"


def main() -> None:
    """Let one client in and two not."""
    secret = secrets.token_urlsafe(32)  # from your environment, rather: os.environ["VAULT_TOKEN"]
    with server.listen("http://127.0.0.1:0/mcp", token=secret) as listener:
        with Session() as session, connect(listener.address, token=secret, trace=session) as client:
            found = client.call_tool("combination").text
        refused = []
        for token in (None, "guessed"):
            try:
                connect(listener.address, token=token).close()
            except HttpStatus as error:
                refused.append("%s %s" % (error, error.challenges))
    print("with the token: %s" % found)
    for why in refused:
        print("without: %s" % why)
    if found != "12-34-56" or len(refused) != 2 or " 401 " not in refused[1]:
        raise SystemExit("the vault is open")


if __name__ == "__main__":
    main()
