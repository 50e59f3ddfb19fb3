"""The sessions between programs of other makers: who talks to whom, how, and what is done. See `foreign`.

A step is a word of `foreign_client` (one in Python, one in JavaScript) and what it needs; the inspector has its own.
"""
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

Step = Sequence[Any]
Steps = List[Step]

NOTHING: Steps = []
LOOK: Steps = [["tools"], ["resources"], ["templates"], ["prompts"], ["ping"]]
EVERYTHING: Steps = [
    *LOOK, ["call", "echo", {"message": "h\u00e9llo"}], ["call", "get-sum", {"a": 2, "b": 3}],
    ["call", "get-structured-content", {"location": "New York"}], ["call", "get-tiny-image", {}],
    ["call", "get-resource-links", {"count": 2}],
    ["call", "get-annotated-message", {"messageType": "error", "includeImage": True}],
    ["call", "get-resource-reference", {"resourceType": "Text", "resourceId": 1}],
    ["call", "gzip-file-as-resource", {"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource"}],
    ["both", "get-sum", {"a": 1, "b": 1}], ["call", "echo", {}], ["call", "no-such-tool", {}],
    ["read", "demo://resource/dynamic/text/1"], ["read", "demo://resource/dynamic/blob/1"], ["read", "demo://nowhere"],
    ["prompt", "simple-prompt", {}], ["prompt", "args-prompt", {"city": "Paris"}], ["prompt", "args-prompt", {}],
    ["prompt", "no-such-prompt", {}], ["prompt", "resource-prompt", {"resourceType": "Text", "resourceId": "1"}],
    ["complete", "prompt", "completable-prompt", "department", "S"],
    ["complete", "resource", "demo://resource/dynamic/text/{resourceId}", "resourceId", "1"],
    ["complete", "prompt", "no-such-prompt", "department", "S"],
    ["progress", "trigger-long-running-operation", {"duration": 0.6, "steps": 3}],
    ["cancel", "trigger-long-running-operation", {"duration": 3, "steps": 6}],
]
EVERYTHING_ASKS: Steps = [
    ["tools"], ["call", "get-roots-list", {}],
    ["call", "trigger-sampling-request", {"prompt": "Which?", "maxTokens": 5}],
    ["call", "trigger-elicitation-request", {}],
    ["call", "trigger-url-elicitation", {"url": "https://example.com/pay"}],
    ["roots"], ["wait", 0.5],
]
EVERYTHING_TELLS: Steps = [
    ["level", "debug"], ["call", "toggle-simulated-logging", {}], ["wait", 0.3],
    ["subscribe", "demo://resource/dynamic/text/1"], ["call", "toggle-subscriber-updates", {}], ["wait", 0.3],
    ["call", "toggle-subscriber-updates", {}], ["unsubscribe", "demo://resource/dynamic/text/1"],
    ["call", "toggle-simulated-logging", {}], ["ping"],
]
EVERYTHING_TASKS: Steps = [
    ["wait", 0.5], ["tools"], ["task", "simulate-research-query", {"topic": "python"}],
    ["task", "simulate-research-query", {"topic": "python", "ambiguous": True}], ["task", "echo", {"message": "x"}],
    ["abandon", "simulate-research-query", {"topic": "python"}],
    ["plain", "simulate-research-query", {"topic": "python"}],
]
EVERYTHING_ASKS_FOR_TASKS: Steps = [
    ["wait", 0.5], ["tools"], ["call", "trigger-sampling-request-async", {"prompt": "Which?", "maxTokens": 5}],
    ["call", "trigger-elicitation-request-async", {}],
]
ALL_OF_IT: Steps = [*EVERYTHING, *EVERYTHING_ASKS, *EVERYTHING_TELLS]
FILES: Steps = [
    *LOOK, ["call", "list_allowed_directories", {}],
    ["call", "write_file", {"path": "{folder}/note.txt", "content": "h\u00e9llo\u2028"}],
    ["call", "read_text_file", {"path": "{folder}/note.txt"}], ["call", "read_text_file", {"path": "/etc/none"}],
    ["call", "directory_tree", {"path": "{folder}"}], ["call", "read_media_file", {"path": "{folder}/note.txt"}],
    ["call", "no_such_tool", {}], ["call", "read_text_file", {}], ["roots"], ["wait", 0.3],
]
TIME: Steps = [
    *LOOK, ["call", "get_current_time", {"timezone": "Etc/UTC"}],
    ["call", "get_current_time", {"timezone": "No/Where"}],
    ["call", "convert_time", {"source_timezone": "Etc/UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}],
    ["call", "convert_time", {}], ["call", "no_such_tool", {}], ["read", "nothing://here"], ["prompt", "none", {}],
]
GIT: Steps = [
    ["tools"], ["call", "git_status", {"repo_path": "{folder}"}], ["call", "git_log", {"repo_path": "{folder}"}],
    ["call", "git_show", {"repo_path": "{folder}", "revision": "HEAD"}], ["call", "git_status", {"repo_path": "/"}],
    ["call", "git_status", {}], ["both", "git_branch", {"repo_path": "{folder}", "branch_type": "local"}],
]
SQLITE: Steps = [
    *LOOK, ["call", "create_table", {"query": "create table places (name text)"}],
    ["call", "read_query", {"query": "select * from places"}], ["call", "read_query", {"query": "nonsense"}],
    ["call", "append_insight", {"insight": "Mountains differ."}], ["read", "memo://insights"],
    ["prompt", "mcp-demo", {"topic": "mountains"}], ["prompt", "none", {}], ["read", "nothing://here"],
]
MEMORY: Steps = [
    *LOOK, ["call", "create_entities", {"entities": [{"name": "Ada", "entityType": "person", "observations": ["x"]}]}],
    ["call", "read_graph", {}], ["call", "search_nodes", {"query": "x"}], ["call", "create_entities", {"entities": 3}],
    ["read", "memory://knowledge-graph"],
]
COMMON: Steps = [  # what the servers of the official SDKs and of fastmcp have
    ["tools"], ["resources"], ["templates"], ["prompts"], ["call", "echo", {"text": "h\u00e9llo"}],
    ["call", "add", {"a": 2, "b": 3}], ["call", "add", {"a": "x"}], ["call", "weather", {"city": "Bern"}],
    ["call", "fail", {}], ["call", "no_such_tool", {}], ["read", "config://app"], ["read", "city://Bern"],
    ["read", "nothing://here"], ["prompt", "review", {"code": "x"}], ["prompt", "review", {}], ["prompt", "none", {}],
    ["progress", "count", {"to": 3}], ["both", "echo", {"text": "x"}], ["cancel", "slow", {"seconds": 2}],
    ["call", "echo", {"text": "after"}], ["call", "log", {"text": "loud"}],
]
ASKING: Steps = [["call", "ask_name", {}], ["call", "ask_model", {"question": "6 times 7?"}],
                 ["call", "show_roots", {}]]
FAST: Steps = [*COMMON, ["ping"], *ASKING, ["level", "error"], ["call", "log", {"text": "x"}], ["wait", 0.2]]
OFFICIAL: Steps = [
    *COMMON, *ASKING, ["call", "interview", {}], ["call", "route", {"region": " caf\u00e9 "}],
    ["complete", "prompt", "travel", "start", "B"], ["complete", "resource", "city://{name}", "name", "L"],
]
SESSION: Steps = [*OFFICIAL, ["ping"], ["level", "warning"], ["call", "log", {"text": "x", "level": "info"}],
                  ["subscribe", "config://app"], ["call", "visit", {}], ["unsubscribe", "config://app"]]
STATELESS: Steps = [*OFFICIAL, ["prompt", "letter", {}], ["listen", "config://app", "visit"]]
SMALL: Steps = [
    ["tools"], ["call", "add", {"a": 1, "b": 2}], ["call", "add", {}], ["progress", "steps", {}], ["call", "ask", {}],
    ["both", "add", {"a": 1, "b": 2}], ["prompts"], ["read", "nothing://here"], ["ping"],
]
EVERYTHING_THEN: Steps = [  # the tools of server-everything in 2025
    *LOOK, ["call", "echo", {"message": "h\u00e9llo"}], ["call", "add", {"a": 2, "b": 3}], ["call", "add", {"a": "x"}],
    ["call", "getTinyImage", {}], ["call", "annotatedMessage", {"messageType": "error", "includeImage": True}],
    ["call", "getResourceReference", {"resourceId": 1}], ["call", "getResourceLinks", {"count": 2}],
    ["call", "structuredContent", {"location": "New York"}], ["call", "no-such-tool", {}],
    ["read", "test://static/resource/1"], ["read", "test://static/resource/2"], ["read", "test://nowhere"],
    ["prompt", "simple_prompt", {}], ["prompt", "complex_prompt", {"temperature": "1"}],
    ["prompt", "complex_prompt", {}], ["prompt", "none", {}], ["complete", "prompt", "complex_prompt", "style", "c"],
    ["complete", "resource", "test://static/resource/{id}", "resourceId", "1"],
    ["progress", "longRunningOperation", {"duration": 0.6, "steps": 3}],
    ["cancel", "longRunningOperation", {"duration": 2, "steps": 4}],
    ["call", "sampleLLM", {"prompt": "Which?", "maxTokens": 5}], ["call", "startElicitation", {}], ["roots"],
    ["level", "error"], ["subscribe", "test://static/resource/1"], ["unsubscribe", "test://static/resource/1"],
    ["ping"],
]
POLL: Steps = [*SMALL, ["progress", "poll", {}]]
INSPECTED: Dict[str, Tuple[str, ...]] = {
    "tools": ("tools/list",), "call": ("tools/call", "--tool-name", "echo", "--tool-arg", "message=hi"),
    "resources": ("resources/list",), "templates": ("resources/templates/list",), "prompts": ("prompts/list",),
    "prompt": ("prompts/get", "--prompt-name", "args-prompt", "--prompt-args", "city=Paris"),
    "read": ("resources/read", "--uri", "demo://resource/dynamic/text/1"),
    "level": ("logging/setLevel", "--log-level", "error"),
}
"""Options of the inspector after `--method`."""


class Session(NamedTuple):
    """One session: what is recorded and judged."""

    client: str
    """py1, py2, ts1, ts2 or inspector; one with a version, such as py1.9, has an earlier revision as its newest."""
    server: str
    """A name of `foreign.server_command`."""
    transport: str
    """stdio, http or sse."""
    steps: Any
    mode: str = ""
    """How a client of both eras connects: auto, legacy or a revision."""
    what: str = ""
    """Tells it from other sessions of the same pair."""
    answer: str = "accept"
    """The answer to a form."""
    end: str = ""
    """`delete`: the session is ended with DELETE, where the client leaves that to its caller."""
    tasks: str = ""
    """`1`: the client, version 1 of the TypeScript SDK, runs questions of the server as tasks."""

    @property
    def name(self) -> str:
        """The name in the fixture, unique."""
        return "-".join(filter(None, (self.client, self.mode, self.server, self.transport, self.what)))


NEW = "2026-07-28"
SESSIONS: List[Session] = [
    *(Session(client, "everything", transport, ALL_OF_IT, "legacy" if client.endswith("2") else "")
      for client in ("py1", "ts1", "py2", "ts2") for transport in ("http", "stdio")),
    *(Session(client, "everything", "sse", ALL_OF_IT) for client in ("py1", "ts1")),
    Session("py2", "everything", "stdio", EVERYTHING, "auto"), Session("ts2", "everything", "http", EVERYTHING, "auto"),
    Session("py2", "everything", "sse", LOOK, "legacy"),
    Session("ts1", "everything", "http", LOOK, "", "deleted", end="delete"),
    Session("ts1", "everything", "stdio", EVERYTHING_ASKS, "", "declined", answer="decline"),
    Session("py1", "everything", "http", NOTHING, "", "nothing"),
    *(Session("ts1", "everything", transport, EVERYTHING_TASKS, "", "tasks") for transport in ("stdio", "http")),
    *(Session("ts1", "everything", transport, EVERYTHING_ASKS_FOR_TASKS, "", "asks-for-tasks", tasks="1")
      for transport in ("stdio", "http")),
    *(Session(client, "filesystem", "stdio", FILES) for client in ("py1", "py2", "ts1", "ts2")),
    *(Session(client, "memory", "stdio", MEMORY) for client in ("py1", "ts2")),
    *(Session(client, "time", "stdio", TIME, mode) for client, mode in
      (("py1", ""), ("ts1", ""), ("py2", "auto"), ("py2", NEW), ("ts2", "auto"), ("ts2", NEW), ("ts2", "legacy"))),
    *(Session(client, "git", "stdio", GIT, mode) for client, mode in
      (("py1", ""), ("ts1", ""), ("py2", "auto"), ("ts2", NEW))),
    *(Session(client, "sqlite", "stdio", SQLITE, mode) for client, mode in
      (("py1", ""), ("ts1", ""), ("py2", "auto"), ("ts2", "auto"))),
    *(Session(client, "fastmcp", transport, FAST, mode) for client, mode in
      (("py1", ""), ("ts1", ""), ("py2", "auto"), ("ts2", "auto"), ("ts2", "legacy"))
      for transport in ("stdio", "http")),
    *(Session(client, "fastmcp", "sse", FAST) for client in ("py1", "ts1")),
    *(Session(client, server, transport, SESSION if mode in ("", "legacy") else STATELESS, mode)
      for server in ("python", "typescript") for transport in ("stdio", "http")
      for client, mode in (("py1", ""), ("ts1", ""), ("py2", "legacy"), ("py2", "auto"), ("py2", NEW),
                           ("ts2", "legacy"), ("ts2", "auto"), ("ts2", NEW))),
    *(Session(client, "%s_%s" % (maker, mode), "sse" if mode == "sse" else "http",
              POLL if mode == "resumable" else SMALL, "auto" if client.endswith("2") else "")
      for maker in ("mcp1", "mcp2") for mode in ("streamable", "json", "stateless", "resumable", "sse")
      for client in (("py1", "ts1") if mode == "sse" else ("py1", "py2", "ts1", "ts2") if mode == "resumable" else
                     ("py1", "ts2") if maker == "mcp1" else ("ts1", "py2"))),
    Session("py1.2", "time0", "stdio", TIME), Session("ts1.4", "time0", "stdio", TIME),
    Session("ts1.4", "everything3", "stdio", EVERYTHING_THEN), Session("ts1", "time0", "stdio", TIME),
    Session("py1.2", "py1.2", "sse", SMALL), Session("ts1.4", "py1.2", "sse", SMALL),
    Session("py1.9", "git0", "stdio", GIT), Session("ts1.12", "git0", "stdio", GIT),
    *(Session(client, "everything5", transport, EVERYTHING_THEN) for client in ("py1.9", "ts1.12")
      for transport in ("stdio", "sse", "http")),
    *(Session("ts1.12", "py1.9", "http", SMALL, "", mode) for mode in ("", "json", "stateless")),
    Session("py1.9", "py1.9", "http", SMALL), Session("ts1.12", "everything", "http", EVERYTHING),
    *(Session(client, "everything8", transport, EVERYTHING_THEN)  # py1.12 fails as it closes the other pipe
      for client, transport in (("py1.12", "http"), ("ts1.17", "http"), ("ts1.17", "stdio"))),
    *(Session("ts1.17", "py1.12", "http", SMALL, "", mode) for mode in ("", "json", "stateless")),
    Session("py1.12", "py1.12", "http", SMALL), Session("py1.12", "py1.12", "sse", SMALL),
    Session("py1.12", "everything", "http", EVERYTHING), Session("ts1.17", "time", "stdio", TIME),
    *(Session("inspector", "everything", transport, options, "", what) for what, options in INSPECTED.items()
      for transport in ("stdio", "http", "sse") if transport == "stdio" or what in ("tools", "call", "level")),
]
"""All of them."""
