"""A client for `examine --client` that does everything that it can with a server: its last argument is where that is.

    python3 -m mcp_ref examine --client "python3 tests/examiner/everything_client.py"

It lists, calls, reads, gets, completes, subscribes; it answers what the server asks; it gives up a tool named `slow`.
"""

import http.client
import os
import pathlib
import sys
from contextlib import closing
from typing import Any, Callable, Dict, List, Mapping
from urllib.parse import urlsplit

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))  # so that it runs from a checkout

from mcp_ref import Client, Limits, connect  # noqa: E402
from mcp_ref.auth import OAuth  # noqa: E402
from mcp_ref.client import Elicitation, Sampling  # noqa: E402
from mcp_ref.devtools.examiner.stage import valid  # noqa: E402
from mcp_ref.errors import McpError  # noqa: E402
from mcp_ref.revisions import HANDSHAKE_REVISIONS  # noqa: E402
from tests.support.patience import WAIT, patience  # noqa: E402

GRACE = 0.3
"""The seconds in which a server is to end by itself, on an idle machine."""
SOON = 0.3
"""The seconds after which the tool `slow` is given up."""


def fill(params: Any, context: Any) -> Any:
    """What the user does with a form: fills it in."""
    return {name: "example" for name in params.requested_schema.required or ()}


def browser(url: str) -> str:
    """What the browser of the user does: asks for the page; return where it is sent."""
    parts = urlsplit(url)
    with closing(http.client.HTTPConnection(parts.netloc, timeout=WAIT)) as made:
        made.request("GET", "%s?%s" % (parts.path, parts.query))
        answer = made.getresponse()
        answer.close()
    return answer.headers["Location"]


def consent(request: Any, context: Any) -> bool:
    """What the user does with a link: opens it by hand."""
    return True


def answer(params: Any, context: Any) -> str:
    """What the model says."""
    return "Yes."


OFFERS: Dict[str, Any] = {"elicitation": Elicitation(form=fill, url=consent),
                          "sampling": Sampling(answer, model="none"), "roots": [pathlib.Path(__file__).parent]}


def tried(call: Callable[[], Any]) -> Any:
    """Do something that the server may refuse."""
    try:
        return call()
    except McpError as error:
        print("refused: %s" % error, file=sys.stderr)
        return None


def call(client: Client, tool: Any) -> Any:
    """Call a tool with arguments that its schema allows."""
    arguments = valid(tool.input_schema)
    timeout = SOON if tool.name == "slow" else WAIT
    return client.call_tool(tool.name, arguments or {}, timeout=timeout)


def everything(client: Client) -> None:
    """Do what can be done with a server, and listen to its changes meanwhile, where that is asked for."""
    listening = tried(lambda: client.listen("tools")) if client.revision.stateless else None
    each_feature(client)
    if listening:
        listening.close()


def each_feature(client: Client) -> None:
    """List, call, read, get, complete."""
    declared = client.server_capabilities
    for tool in tried(lambda: list(client.tools())) or [] if "tools" in declared else []:
        tried(lambda: call(client, tool))
    if "resources" in declared:
        for resource in tried(lambda: list(client.resources())) or []:
            tried(lambda: client.read_resource(resource.uri))
        tried(lambda: list(client.resource_templates()))
    for prompt in tried(lambda: list(client.prompts())) or [] if "prompts" in declared else []:
        tried(lambda: client.get_prompt(prompt.name, {each.name: "x" for each in prompt.arguments or ()}))
        if "completions" in declared:
            tried(lambda: client.complete(prompt.name, "code", "o"))


def revisions(name: str, scene: str) -> List[str]:
    """What to speak with a server of this revision: where there is a handshake the older ones too; and any, in the
    scene whose server is of another era than that."""
    names = [revision.name for revision in HANDSHAKE_REVISIONS]
    if scene == "legacy-server":
        return [*names, name]
    return names[:names.index(name) + 1] if name in names else [name]


def run(server: str, env: Mapping[str, str]) -> None:
    """Connect, and do everything. Raises what `connect` raises."""
    grace = patience(GRACE)
    limits = Limits(request_timeout=WAIT, shutdown_grace=grace, terminate_grace=grace)
    given: Dict[str, Any] = {**OFFERS, "limits": limits, "era": "auto",
                             "revisions": revisions(env["MCP_EXAMINER_REVISION"], env["MCP_EXAMINER_SCENE"])}
    if env["MCP_CONFORMANCE_SCENARIO"].startswith("auth/"):
        given["auth"] = OAuth(authorize=browser, client_name="everything")
    with connect(server, **given) as client:
        everything(client)


if __name__ == "__main__":
    try:
        run(sys.argv[-1], os.environ)
    except McpError as error:
        sys.exit("not connected: %s" % error)
