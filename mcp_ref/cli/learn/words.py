"""A paragraph for each method and feature, and the words by which learners look for something.

`METHODS` and `FEATURES` have a text for each row of the tables. The official extensions stand apart, in
`EXTENSION_METHODS`: the tables of the revisions have none of them, so that `diff` compares revisions alone. A `Topic`
is a word that is no name of the tables: ``session``, ``401``, ``PKCE``. It has synonyms, a text, what to explain next,
and a page. Tests check that everything named here exists.
"""

from typing import Any, Dict, NamedTuple, Optional, Tuple

TYPES: Dict[str, Tuple[str, ...]] = {
    "extensions.tasks": (
        "TaskState", "TaskCreated", "WorkingTask", "InputRequiredTask", "CompletedTask", "FailedTask", "CancelledTask",
        "DetailedTask", "TaskParams", "UpdateTaskParams", "TaskSubscriptionFilter",
    ),
    "extensions.skills": (
        "SkillResource", "SkillFrontmatter", "Skill", "ListSkillsResult", "GetSkillParams", "GetSkillResult",
        "ReadDirectoryParams", "ReadDirectoryResult",
    ),
}
"""The modules below `mcp_ref.messages` that have the types of extensions, with their names."""

EXTENSION_METHODS: Dict[str, str] = {
    "tasks/update":
        "The client answers questions of a task of the extension (inputRequests), by their keys. It may answer some of "
        "them now and others later. The answer is an empty result; whether the task goes on shows in tasks/get.",
    "notifications/tasks":
        "The server tells the state of a task, with all that tasks/get would say, to a client that has named the task "
        "in taskIds of subscriptions/listen.",
    "skills/list":
        "The client asks for the skills of a server, page by page: of each the URI of its SKILL.md, the frontmatter, "
        "and its files with their digests.",
    "skills/get": "The client asks for the entry of one skill, by the URI of its SKILL.md.",
    "resources/directory/read":
        "The client asks for the files and directories that are directly below a directory of a skill, page by page. A "
        "server offers it by the setting directoryRead of the extension for skills.",
}
"""Method -> a paragraph; `tasks/get` and `tasks/cancel` have theirs in `words`."""

_STATE: Dict[str, Any] = {
    "taskId": "t-1", "status": "working", "statusMessage": "40 %", "createdAt": "2026-11-22T10:30:00Z",
    "lastUpdatedAt": "2026-11-22T10:30:05Z", "ttlMs": 60000, "pollIntervalMs": 5000}
PARAMS: Dict[str, Dict[str, Any]] = {
    "tasks/update": {"taskId": "t-1", "inputResponses": {"seat": {"action": "accept", "content": {"seat": "12A"}}}},
    "notifications/tasks": _STATE,
    "skills/list": {},
    "skills/get": {"uri": "skill://review/SKILL.md"},
    "resources/directory/read": {"uri": "skill://review/examples"},
}
"""Method -> the params of its example."""

_APP = {"name": "clock", "inputSchema": {"type": "object"}, "_meta": {"ui": {
    "resourceUri": "ui://clock/app.html", "visibility": ["model", "app"]}}}
_PAGE = {"uri": "ui://clock/app.html", "mimeType": "text/html;profile=mcp-app", "text": "<!doctype html>...",
         "_meta": {"ui": {"csp": {"connectDomains": ["https://api.example.com"]}, "prefersBorder": True}}}
_SKILL = {"uri": "skill://review/SKILL.md", "frontmatter": {"name": "review", "description": "How to review code."},
          "resources": "dynamic"}
_TASK_QUESTION = {"seat": {"method": "elicitation/create", "params": {
    "mode": "form", "message": "Which seat?", "requestedSchema": {
        "type": "object", "properties": {"seat": {"type": "string"}}}}}}
EXAMPLES: Dict[str, Tuple[str, Dict[str, Any]]] = {
    "tasks extension": ("tools/call", dict(_STATE, resultType="task")),
    "task questions": ("tasks/get", dict(
        _STATE, resultType="complete", status="input_required", inputRequests=_TASK_QUESTION)),
    "skills extension": ("skills/list", {
        "resultType": "complete", "skills": [_SKILL], "ttlMs": 60000, "cacheScope": "public"}),
    "mcp apps": ("tools/list", {"resultType": "complete", "tools": [_APP], "ttlMs": 60000, "cacheScope": "public"}),
    "ui://": ("resources/read", {
        "resultType": "complete", "contents": [_PAGE], "ttlMs": 60000, "cacheScope": "public"}),
}
"""Topic -> the method of a request, and the result that shows it."""
VIEW = "ui/initialize"
VIEW_EXAMPLE = ('{"jsonrpc": "2.0", "id": 1, "method": "ui/initialize", "params": {"protocolVersion": "2026-01-26",\n'
                ' "appInfo": {"name": "clock", "version": "1.0"}, "appCapabilities": {}}}')
"""The first message of a view to its host; it goes through the browser (postMessage), not to the server."""

HEADINGS: Dict[str, Tuple[str, ...]] = {
    "extensions/tasks/tasks": (
        "Extension Identifier", "Task Status", "Example Message Flow", "Error Handling", "Reservations",
        "Implementation Considerations", "Backwards Compatibility",
    ),
    "extensions/skills/skills": (
        "Skills", "Extension Identifier", "Protocol Revision", "Examples", "Skill Entries", "Request",
        "Relative References",
        "Integrity and Verification", "Reading Directories", "Directory Resources", "Example Message Flow",
        "Reservations",
    ),
    "extensions/apps/apps": (
        "Abstract", "Motivation", "Specification", "Extension Identifier", "Overview", "Resource Discovery",
        "Benefits:", "Communication Protocol", "Transport Layer", "Standard MCP Messages", "Host Capabilities",
        "Container Dimensions", "Dimension Modes", "View Behavior", "Display Modes", "Declaring Support",
        "Requesting Changes", "Notifying Changes", "Theming", "Current Standardized Variables", "Custom Fonts",
        "MCP Apps Specific Messages", "Reserved Messages (Sandbox Proxy)", "Lifecycle", "1. Connection & Discovery",
        "2. UI Initialization (Desktop/Native Hosts)", "3. Interactive Phase", "4. Cleanup",
        "Key Differences from Pre-SEP MCP-UI:", "Data Passing",
        "1. Tool Input (via ui/notifications/tool-input notification)",
        "2. Tool Result (via ui/notifications/tool-result notification)", "3. Interactive Updates",
        "Client<>Server Capability Negotiation", "Extensibility", "Rationale", "Design Decisions",
        "1. Predeclared Resources vs. Inline Embedding", "2. Host communication via MCP Transport",
        "3. Support Raw HTML Content Type", "4. Host Theming via CSS Variables", "5. Tool Visibility via Metadata",
        "Backward Compatibility", "Reference Implementation", "Security Implications", "Threat Model", "Mitigations",
        "2. Auditable Communication", "3. Predeclared Resource Review", "Other risks", "Reservations in MCP",
    ),
}
"""Page -> the headings that no requirement names."""


METHODS: Dict[str, str] = {
    "initialize":
        "The first request of a session. The client names the newest revision that it speaks, its capabilities and "
        "itself; the server answers with the revision that both will use, its capabilities and itself. The client ends "
        "the handshake with notifications/initialized. Since 2026-07-28 there is no handshake: see server/discover.",
    "notifications/initialized":
        "The client has read the answer to initialize and is ready. Before that a client sends nothing but pings, and "
        "a server nothing but pings and log messages.",
    "server/discover":
        "The client asks a server which revisions it speaks, what it can do and who it is. It takes the place of "
        "initialize where there is no handshake, and may be left out: each request says of itself what the server has "
        "to know.",
    "ping": "Either side asks whether the other one is still there. The answer is an empty result, at once.",
    "notifications/cancelled":
        "The sender no longer wants the answer to a request of its own that is still in flight. The receiver stops the "
        "work and sends no answer. An answer that was on its way is ignored. Over Streamable HTTP without a handshake "
        "the client closes the stream of the request instead.",
    "notifications/progress":
        "How far a request is. It is sent only if the request asked for it with a progressToken in its _meta, and only "
        "while the request is in flight. progress grows with each notification; total may be unknown.",
    "tools/list":
        "The client asks for the tools that the server offers: name, description and JSON Schema of the arguments, "
        "page by page where there are many.",
    "tools/call":
        "The client has the server run a tool. What goes wrong inside of the tool is a result with isError, so that "
        "the model can read it; an unknown tool is an error of the protocol. Since 2026-07-28 the answer may be "
        "questions (input_required), and the client calls again with the answers.",
    "notifications/tools/list_changed": "The list of tools has changed; a client that keeps it asks for it again.",
    "resources/list":
        "The client asks for the resources that the server offers: data with a URI, such as files or rows.",
    "resources/templates/list":
        "The client asks for URI templates (RFC 6570) of resources that cannot be listed one by one.",
    "resources/read":
        "The client asks for the contents of a resource, as text or as base64. A URI that names a container may give "
        "several parts.",
    "resources/subscribe":
        "The client wants to hear when a resource changes, by notifications/resources/updated. Since 2026-07-28 "
        "subscriptions/listen takes its place.",
    "resources/unsubscribe": "The client no longer wants to hear of changes of a resource.",
    "notifications/resources/list_changed": "The list of resources has changed; a client that keeps it asks again.",
    "notifications/resources/updated":
        "A resource that the client has subscribed to has changed and may be read again. The URI may be a part of what "
        "was subscribed to.",
    "prompts/list":
        "The client asks for the prompts that the server offers: templates of messages that a user chooses, each with "
        "its arguments.",
    "prompts/get": "The client asks for the messages of a prompt, with the arguments filled in.",
    "notifications/prompts/list_changed": "The list of prompts has changed; a client that keeps it asks for it again.",
    "completion/complete":
        "The client asks for suggestions while the user types an argument of a prompt or of a resource template. The "
        "answer has at most 100 values.",
    "logging/setLevel":
        "The client says from which level up it wants log messages. Since 2026-07-28 each request says so in its "
        "_meta.",
    "notifications/message":
        "A log message of the server: level, name of the logger, and any JSON as data. Secrets and personal data do "
        "not belong in it.",
    "subscriptions/listen":
        "The client opens a stream of notifications and says which it wants: changes of lists, updates of resources. "
        "The request stays open; its result comes when the stream ends.",
    "notifications/subscriptions/acknowledged":
        "The first message of a stream of subscriptions/listen: it says which of the notifications the server will "
        "send.",
    "roots/list":
        "The server asks which folders or files it may work in. They are file:// URIs. Since 2026-07-28 the question "
        "comes inside of a result (input_required).",
    "notifications/roots/list_changed": "The client's roots have changed; a server that needs them asks again.",
    "sampling/createMessage":
        "The server asks the client's model for a message. The user may look at and change both request and answer. "
        "Since 2026-07-28 the question comes inside of a result (input_required).",
    "elicitation/create":
        "The server asks the user something: in form mode for the fields of a flat schema, in URL mode to open a page. "
        "The user accepts, declines or cancels. Since 2026-07-28 the question comes inside of a result.",
    "notifications/elicitation/complete":
        "The user is done at a page of URL mode; the client may repeat the request that needed it.",
    "tasks/get":
        "The requestor asks for the state of a task: working, input_required, completed, failed or cancelled. In the "
        "extension of 2026-07-28 the state of a task that has ended has its result or its error, too.",
    "tasks/result": "The requestor asks for the result of a task, and waits for it.",
    "tasks/list": "The requestor asks for its tasks, page by page.",
    "tasks/cancel": "The requestor has a task cancelled that has not ended.",
    "notifications/tasks/status":
        "The receiver reports the new state of a task. Requestors do not rely on it: they poll.",
}
"""Method -> a paragraph."""

FEATURES: Dict[str, str] = {
    "handshake": "A connection opens with initialize, and what was agreed there holds for the whole session.",
    "stateless":
        "Each request stands alone: revision, capabilities and identity are in its _meta, and a server keeps nothing "
        "between two requests.",
    "peer_requests":
        "Servers send requests, too: roots/list, sampling/createMessage, elicitation/create, ping. Later a server asks "
        "by a result of type input_required.",
    "batching": "Several messages may be sent in one JSON array.",
    "errors_may_omit_id": "The answer to what could not be read has no id; in earlier revisions the id is null.",
    "result_type": "Each result has a resultType: complete, or input_required for a result that asks the client.",
    "version_header": "Each HTTP request after the first names the revision in the header field MCP-Protocol-Version.",
    "ids_unique_per_session": "A requestor uses each request id once in a session.",
    "meta_key_rules":
        "Names in _meta have a form: a prefix of labels before a slash, which may be left out, and a name.",
    "trace_context": "_meta carries the trace that a request belongs to: traceparent, tracestate, baggage.",
    "negotiated_only": "To use only what was negotiated is a MUST; before, a SHOULD.",
    "audio_content": "Content may be audio, as base64 with a MIME type, beside text and images.",
    "resource_links": "A tool's result may name a resource that the client can read, without its contents.",
    "structured_content":
        "A tool may declare an outputSchema, and its results then have structuredContent that fits it, beside the "
        "text.",
    "structured_content_any": "structuredContent may be any JSON value; before it was an object.",
    "tool_annotations":
        "A tool may describe how it behaves: readOnlyHint, destructiveHint, idempotentHint, openWorldHint. They are "
        "hints: a client does not trust those of a server that it does not trust.",
    "tool_input_errors_are_results":
        "Arguments that do not fit a tool's schema give a result with isError, which the model can read and correct; "
        "before, they gave an error of the protocol.",
    "titles": "Tools, resources, prompts and their arguments may have a title for people beside the name for programs.",
    "icons": "Servers, tools, resources and prompts may have icons, as https: or data: URIs.",
    "stream_polling":
        "A server may close a stream before its answer is there; the client comes back with Last-Event-ID after the "
        "time that the stream said.",
    "progress_message": "A progress notification may say in words what is being done.",
    "client_progress": "Clients, too, report progress on the requests of servers.",
    "completions_capability": "A server declares completions if it answers completion/complete.",
    "completion_context": "completion/complete may name arguments that were already filled in.",
    "caching_hints": "Results say how long they may be kept (ttlMs) and whether users may share them (cacheScope).",
    "elicitation": "A server may ask the user for the fields of a form.",
    "elicitation_modes": "The user is asked by a form, or sent to a page (url) for what a client must not see.",
    "elicitation_ids": "A request in URL mode has an elicitationId, by which the server reports that the user is done.",
    "elicitation_enum_schemas": "Choices in forms may have titles, and several values may be chosen.",
    "sampling_arrays": "The content of a message in sampling may be several blocks.",
    "sampling_tools": "A sampling request may offer tools to the model.",
    "sampling_context_capability": "includeContext other than none needs the capability sampling.context.",
    "tasks": "A request may run as a task: its answer is a task, whose state and result are asked for later. Since "
        "2026-07-28 an extension takes its place: io.modelcontextprotocol/tasks.",
    "pkce_announced":
        "A client asks an authorization server for a code only if its metadata announce PKCE "
        "(code_challenge_methods_supported).",
    "resource_not_found_code": "The error code for a resource that is not there.",
    "schema_dialect": "The dialect of JSON Schema in which the published schema of the revision is written.",
    "fallback_statuses":
        "The HTTP statuses to a first POST that tell a client to try the older HTTP+SSE transport with a GET.",
}
"""Feature, also a row of `revisions.VALUES` -> a paragraph."""

VALUE_PAGES: Dict[str, str] = {
    "resource_not_found_code": "server/resources", "schema_dialect": "schema.json",
    "fallback_statuses": "basic/transports",
}
"""Row of `revisions.VALUES`, which name no page -> the page that says it."""


class Topic(NamedTuple):
    """A thing that a learner looks for and that is no name of the tables."""

    word: str
    text: str
    page: str
    heading: str = ""
    also: Tuple[str, ...] = ()
    """The other words for the same thing."""
    see: Tuple[str, ...] = ()
    """The names to explain next: methods, types, features, codes."""


_HTTP = "basic/transports/streamable-http"
_OLD_HTTP = "basic/transports"
_AUTH = "basic/authorization/index"
_TASKS, _SKILLS, _APPS = "extensions/tasks/tasks", "extensions/skills/skills", "extensions/apps/apps"

TOPICS: Tuple[Topic, ...] = (
    # The conversation
    Topic("session", "What lies between initialize and the end of the connection. Over Streamable HTTP the server may "
          "give it an id, which each further request repeats in Mcp-Session-Id. Since 2026-07-28 there are no "
          "sessions.",
          _OLD_HTTP, "Session Management", ("sessions", "session id", "mcp-session-id"), ("initialize", "handshake")),
    Topic("capabilities", "What each side declares that it can do. A side uses nothing that was not declared. They are "
          "agreed in initialize; since 2026-07-28 each request carries those of the client in its _meta, and "
          "server/discover tells those of the server.", "basic/versioning", "",
          ("capability", "capability negotiation"), ("ClientCapabilities", "ServerCapabilities", "initialize")),
    Topic("version negotiation", "How both sides find a revision that they speak. In initialize the client offers one "
          "and the server answers with that or another. Since 2026-07-28 each request names its revision, and a server "
          "that does not speak it answers with -32022 and the list of those that it does.", "basic/versioning",
          "Protocol Version Negotiation",
          ("negotiation", "protocolversion", "protocol version", "revision", "revisions", "version", "versions",
           "versioning", "unsupported version"),
          ("initialize", "server/discover", "-32022")),
    Topic("shutdown", "How a connection ends. Over stdio the client closes the server's standard input, waits, and "
          "ends the process if it does not end by itself. Over HTTP the connection is closed.", "basic/lifecycle",
          "Shutdown",
          ("close", "exit", "sigterm"), ("lifecycle",)),
    Topic("timeout", "The time after which a sender no longer waits for an answer. It then cancels the request. "
          "Progress may start the time again, but there is a longest time in any case.",
          "basic/patterns/cancellation", "",
          ("timeouts", "request timeout"), ("notifications/cancelled", "notifications/progress")),
    Topic("cancellation", METHODS["notifications/cancelled"], "basic/patterns/cancellation", "",
          ("cancel", "cancelled", "canceled", "abort"), ("notifications/cancelled",)),
    Topic("progress", METHODS["notifications/progress"], "basic/patterns/progress", "",
          ("progresstoken", "progress token"), ("notifications/progress", "progress_message", "client_progress")),
    Topic("initialized", METHODS["notifications/initialized"], "basic/lifecycle", "Initialization", (),
          ("notifications/initialized", "initialize")),
    Topic("json-rpc", "The form of all messages: a request has an id and a method, a result or an error repeats the "
          "id, a notification has no id and gets no answer.", "basic/index", "Messages",
          ("jsonrpc", "message", "messages", "request", "requests", "response", "responses", "request id", "id"),
          ("notification", "-32700", "-32600", "errors_may_omit_id")),
    Topic("notification", "A message without an id, which gets no answer, not even an error. Over HTTP the server "
          "takes it with 202. Their methods begin with notifications/: explain --list has all.",
          "basic/index", "Notifications",
          ("notifications", "one-way message"),
          ("notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/message",
           "notifications/tools/list_changed", "subscriptions/listen")),
    Topic("batch", "Several messages in one JSON array: only in 2025-03-26.", "basic/index", "", ("batches",),
          ("batching",)),
    Topic("error", "An error of the protocol has a code, a message and perhaps data. What goes wrong inside of a tool "
          "is no error but a result with isError.", "basic/index", "Error Responses",
          ("errors", "error code", "error codes", "error response"),
          ("-32700", "-32600", "-32601", "-32602", "-32603", "CallToolResult")),
    Topic("-32000", "The first of the codes down to -32019, to which implementations gave meanings of their own: no "
          "receiver relies on one, but for -32002, and no new ones are added. Those from -32020 to -32099 are the "
          "specification's. Codes of your own lie outside of -32768 to -32000.", "basic/index", "Error Codes",
          ("server error", *("-320%02d" % number for number in range(1, 20) if number != 2)),
          ("error", "-32002", "-32020", "-32021", "-32022")),
    Topic("_meta", "A member of params, results and many objects, for what the protocol itself adds (progressToken, "
          "revision, capabilities, trace) and for what programs add under prefixes of their own.", "basic/index",
          "_meta",
          ("meta",), ("meta_key_rules", "RequestMetaObject", "trace_context")),
    Topic("extension", "What two sides agree on beyond the specification, under a name with a prefix, in capabilities. "
          "Other methods, too, need a prefix of their own.", "basic/versioning", "Extension Negotiation",
          ("extensions", "experimental", "vendor"),
          ("ClientCapabilities", "ServerCapabilities", "tasks extension", "skills extension", "mcp apps")),
    Topic("host", "The program of the user: it starts clients, keeps servers apart, and asks the user before a server "
          "gets or does something.", "architecture/index", "", ("architecture", "consent"), ("lifecycle",)),
    Topic("server", "A program that offers tools, resources and prompts to clients. It runs as a child process of the "
          "client (stdio), or somewhere at a URL (HTTP). It does not see the user's conversation, nor other servers.",
          "architecture/index", "", ("servers", "mcp server"),
          ("client", "host", "ServerCapabilities", "tool", "resource", "prompt")),
    Topic("client", "The part of a program (host) that speaks with one server, and answers its questions: roots, "
          "sampling, elicitation. A host has one for each server.", "architecture/index", "",
          ("clients", "mcp client"),
          ("server", "host", "ClientCapabilities", "roots", "sampling", "elicitation/create")),
    Topic("cursor", "A text that says where the next page of a list begins. It means something only to the server. A "
          "result without nextCursor is the last page.", "server/utilities/pagination", "",
          ("pagination", "paging", "nextcursor", "page"), ("tools/list", "resources/list", "-32602")),
    Topic("json schema", "The language that describes arguments and results of tools. Without $schema it is 2020-12.",
          "basic/index", "", ("inputschema", "input schema", "outputschema", "output schema", "$schema", "schema"),
          ("Tool", "schema_dialect", "structured_content")),
    Topic("caching", "Results of lists and of reading say how long they may be kept, in milliseconds (ttlMs), and "
          "whether one user's answer may be given to another (cacheScope).", "server/utilities/caching", "",
          ("cache", "ttl", "ttlms", "cachescope"), ("caching_hints", "CacheableResult")),
    # What a server offers
    Topic("tool", "A function that a server offers to the model. The model chooses, the user allows.", "server/tools",
          "",
          ("tools", "function", "function calling"), ("tools/list", "tools/call", "Tool", "tool_annotations")),
    Topic("tool annotations", FEATURES["tool_annotations"], "server/tools", "",
          ("annotations of tools", "readonlyhint", "destructivehint", "idempotenthint", "openworldhint", "hints"),
          ("ToolAnnotations", "tool_annotations")),
    Topic("annotations", "Hints of a server for those who show or choose content and resources: audience (user, "
          "assistant), priority from 0 to 1, lastModified. Those of tools are others: tool annotations.",
          "server/resources", "Annotations", ("annotation", "priority", "lastmodified"),
          ("Annotations", "tool annotations")),
    Topic("structured content", FEATURES["structured_content"], "server/tools", "Structured Content",
          ("structuredcontent",), ("structured_content", "CallToolResult", "Tool")),
    Topic("iserror", "A member of a tool's result: what the text says went wrong, and the model may try again.",
          "server/tools", "Error Handling", ("tool error", "toolerror"), ("CallToolResult", "tools/call")),
    Topic("content", "What tools return and prompts contain: text, image, audio, a link to a resource, or a resource.",
          "server/tools", "", ("content block", "image", "audio", "text", "embedded resource", "resource link"),
          ("ContentBlock", "TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource")),
    Topic("resource", "Data with a URI that a server offers to read. The program chooses which of it the model sees.",
          "server/resources", "", ("resources", "uri"),
          ("resources/list", "resources/read", "Resource", "ResourceTemplate")),
    Topic("resource template", METHODS["resources/templates/list"], "server/resources", "",
          ("template", "templates", "uri template", "uritemplate"), ("resources/templates/list", "ResourceTemplate")),
    Topic("subscription", "The client hears when something changes: by resources/subscribe in a session, by "
          "subscriptions/listen since 2026-07-28.", "basic/patterns/subscriptions", "",
          ("subscriptions", "subscribe", "unsubscribe", "listen"),
          ("subscriptions/listen", "resources/subscribe", "notifications/resources/updated")),
    Topic("listchanged", "A capability: the server announces that a list of tools, resources or prompts has changed.",
          "server/tools", "List Changed Notification", ("list_changed", "list changed"),
          ("notifications/tools/list_changed", "notifications/resources/list_changed",
           "notifications/prompts/list_changed", "subscriptions/listen")),
    Topic("prompt", "A template of messages that a server offers and a user chooses, for example as a command.",
          "server/prompts", "", ("prompts",), ("prompts/list", "prompts/get", "Prompt")),
    Topic("completion", METHODS["completion/complete"], "server/utilities/completion", "",
          ("completions", "autocomplete", "autocompletion", "suggestions", "complete"),
          ("completion/complete", "completions_capability", "completion_context")),
    Topic("logging", METHODS["notifications/message"], "server/utilities/logging", "",
          ("log", "logs", "log level", "loglevel"),
          ("notifications/message", "logging/setLevel", "LoggingLevel")),
    Topic("instructions", "A text in which a server tells the model how it is to be used.", "server/discover", "", (),
          ("InitializeResult", "DiscoverResult")),
    Topic("icon", FEATURES["icons"], "basic/index", "", (), ("icons", "Icon")),
    # What a server asks of a client
    Topic("roots", METHODS["roots/list"], "client/roots", "", ("root",), ("roots/list", "Root", "deprecated")),
    Topic("sampling", METHODS["sampling/createMessage"], "client/sampling", "",
          ("createmessage", "model preferences", "modelpreferences", "includecontext"),
          ("sampling/createMessage", "CreateMessageRequestParams", "ModelPreferences", "sampling_tools", "deprecated")),
    Topic("form mode", "The user fills in the fields of a form. The schema is flat: texts, numbers, yes or no, "
          "choices. Nothing secret is asked in a form.", "client/elicitation", "", ("form", "requestedschema"),
          ("elicitation/create", "ElicitRequestFormParams", "elicitation")),
    Topic("url mode", "The user opens a page, for what must not pass through the client: passwords, payments, consent. "
          "In 2025-11-25 an error -32042 may ask for it.", "client/elicitation", "",
          ("url elicitation", "elicitationid"),
          ("elicitation/create", "ElicitRequestURLParams", "elicitation_modes", "-32042")),
    Topic("mrtr", "Multi round-trip requests: where a server sends no requests it answers with questions (resultType "
          "input_required), and the client sends the request again with the answers.", "basic/patterns/mrtr", "",
          ("multi round-trip", "multi round-trip requests", "input_required", "inputrequests", "inputresponses",
           "inputrequired"), ("InputRequiredResult", "result_type", "tools/call")),
    Topic("requeststate", "What a server gives the client to bring back with the answers, so that it has to remember "
          "nothing. The client does not look into it; the server protects it against changes.", "basic/patterns/mrtr",
          "",
          ("request state",), ("InputRequiredResult",)),
    Topic("task", FEATURES["tasks"], "basic/utilities/tasks", "", ("task id", "taskid"),
          ("tasks", "tasks/get", "tasks/result", "Task", "tasks extension")),
    # Transports
    Topic("stdio", "The client starts the server and writes to its standard input; the server answers on its standard "
          "output. One message of JSON a line, in UTF-8. Standard error is for logs.", "basic/transports/stdio", "",
          ("stdin", "stdout", "stderr", "pipe", "newline"), ("lifecycle",)),
    Topic("streamable http", "One URL. The client POSTs each message; the server answers with JSON or with a stream of "
          "events.", _HTTP, "", ("http", "transport", "transports", "post", "accept", "content-type"),
          ("version_header", "stream_polling")),
    Topic("custom transport", "A transport that the specification does not describe: any channel that carries the "
          "messages both ways. This package has tcp:// and unix:// and none for WebSocket; "
          "examples/10_custom_transport.py makes one.", "basic/transports/index", "Custom Transports",
          ("custom transports", "websocket", "websockets", "tcp", "unix socket"), ("stdio", "streamable http")),
    Topic("sse", "Server-sent events: the form of a stream in Streamable HTTP (text/event-stream), and the older "
          "transport HTTP+SSE of 2024-11-05, which is deprecated.", _HTTP, "",
          ("server-sent events", "event stream", "text/event-stream", "eventsource", "http+sse", "endpoint event"),
          ("stream_polling", "fallback_statuses", "deprecated")),
    Topic("last-event-id", "The header field with which a client takes up a stream that was cut: the server sends what "
          "came after that event. Since 2026-07-28 streams are not resumed.", _OLD_HTTP, "Resumability and Redelivery",
          ("resumability", "resume", "redelivery", "event id", "reconnect", "retry"), ("stream_polling",)),
    Topic("mcp-protocol-version", FEATURES["version_header"], _HTTP, "", ("version header",), ("version_header",)),
    Topic("x-mcp-header", "A tool's schema may have an argument repeated in a header field (Mcp-Param-...), so that "
          "proxies can route by it. Method and name are repeated in Mcp-Method and Mcp-Name.", "server/tools",
          "x-mcp-header",
          ("mcp-method", "mcp-name", "mcp-param", "header", "headers", "custom headers"), ("-32020", "Tool")),
    Topic("origin", "The header field that tells from which web page a request comes. A server refuses pages that it "
          "does not know (403), or any page could use a server on the user's machine.", _HTTP, "Security & Endpoint",
          ("cors", "dns rebinding", "localhost"), ("403",)),
    Topic("202", "The server has taken what was POSTed, a notification or a response, and there is nothing to answer: "
          "no body.", _HTTP, "", ("accepted",), ("notification", "streamable http")),
    Topic("400", "The request is malformed, lacks its session id, or names a revision that is not spoken.", _HTTP, "",
          ("bad request",), ("version_header", "-32600", "-32020")),
    Topic("401", "The request needs a token, or the one that it has is not good any more. WWW-Authenticate says where "
          "the client finds the authorization server.", _AUTH, "", ("unauthorized", "www-authenticate"), ()),
    Topic("403", "The token is good but does not allow this (insufficient_scope: the client may ask for more), or the "
          "web page (Origin) is not allowed.", _AUTH, "", ("forbidden", "insufficient_scope"), ()),
    Topic("404", "The session has ended: the client opens a new one with initialize. Without sessions: there is no MCP "
          "server at this path, or no such method.", _OLD_HTTP, "Session Management", ("not found",),
          ("initialize", "-32601")),
    Topic("405", "The server does not offer this at its URL: no stream for a GET, no end of a session by a DELETE.",
          _HTTP,
          "", ("method not allowed", "get", "delete"), ("fallback_statuses",)),
    # Authorization
    Topic("oauth", "How a client gets a token for an HTTP server: 401, metadata of the resource, metadata of its "
          "authorization server, registration, the user's consent in a browser, a code, a token.", _AUTH, "",
          ("authorization", "auth", "oauth 2.1", "authentication", "login", "authorization server"),
          ("pkce_announced",)),
    Topic("token", "What a client shows with each HTTP request, as Authorization: Bearer. It was made for this server "
          "(audience) and is passed on to no other.", _AUTH, "",
          ("tokens", "access token", "bearer", "bearer token", "audience", "refresh token", "token passthrough"), ()),
    Topic("dpop", "A token that is of no use to a thief: each request proves that its sender holds the key that the "
          "token names (RFC 9449). The specification does not ask for it. Here it is the option dpop= on both sides: "
          "help(mcp_ref.auth).", _AUTH, "", ("rfc 9449", "proof of possession", "dpop nonce"), ("token",)),
    Topic("pkce", "A code is of no use to whoever steals it: only the client knows the secret (code_verifier) whose "
          "hash (S256) it sent with the question.", "basic/authorization/security-considerations",
          "Authorization Code Protection", ("code_verifier", "code_challenge", "s256"), ("pkce_announced",)),
    Topic("protected resource metadata", "The document in which an MCP server names its authorization servers and "
          "scopes (RFC 9728).", "basic/authorization/authorization-server-discovery", "",
          ("resource metadata", ".well-known", "well-known", "discovery", "rfc 9728", "rfc 8414", "server metadata"),
          ()),
    Topic("registration", "How a client gets an id from an authorization server: registered before, by a document at a "
          "URL of its own, or by asking (dynamic client registration, deprecated).",
          "basic/authorization/client-registration", "",
          ("dynamic client registration", "dcr", "cimd", "client id metadata document", "client id"), ("deprecated",)),
    Topic("scope", "What a token allows. A server names in a 401 or 403 which scopes it needs.", _AUTH, "",
          ("scopes", "step-up"), ()),
    Topic("resource indicator", "The parameter resource (RFC 8707): the client names the MCP server that a token is "
          "for.",
          _AUTH, "", ("rfc 8707", "canonical uri"), ()),
    Topic("issuer", "The name of an authorization server; answers that come from another one are refused.", _AUTH, "",
          ("iss", "mix-up"), ()),
    # Extensions
    Topic("tasks extension", "io.modelcontextprotocol/tasks, of 2026-07-28: a server answers a call of a tool by a "
          "task in place of the result (resultType task), if the client has declared the extension in that request. "
          "The client asks for the state (tasks/get), answers questions (tasks/update), or ends it (tasks/cancel).",
          _TASKS, "",
          ("io.modelcontextprotocol/tasks", "tasks", "tasks-ext", "ext-tasks", "resulttype task", "createtask",
           "taskcreatedresult", "tasksextensioncapability", "asynchronous", "long-running", "polling", "poll"),
          ("tasks/get", "tasks/update", "tasks/cancel", "notifications/tasks", "TaskCreated", "DetailedTask")),
    Topic("task status", "working, input_required, and one of three that are final: completed (the result is in the "
          "state, also that of a tool that has failed), failed (the request ended in a JSON-RPC error, which is in the "
          "state), cancelled.", _TASKS, "Task Status",
          ("working", "completed", "failed", "statusmessage", "terminal", "task state"),
          ("tasks/get", "TaskState", "tasks extension")),
    Topic("task questions", "A task that wants input has its open questions in its state (inputRequests), each under a "
          "key that stands for it as long as the task lives; the client answers by tasks/update (inputResponses).",
          _TASKS, "Task Update Requests",
          ("task inputrequests", "task inputresponses", "updatetaskrequest", "updatetaskresult", "task input"),
          ("tasks/update", "tasks/get", "UpdateTaskParams", "InputRequiredTask", "mrtr")),
    Topic("task notifications", EXTENSION_METHODS["notifications/tasks"], _TASKS, "Task Status Notifications",
          ("taskids", "taskstatusnotification", "tasksubscriptionnotifications",
           "tasksubscriptionacknowledgednotifications"),
          ("notifications/tasks", "subscriptions/listen", "TaskSubscriptionFilter")),
    Topic("skills extension", "io.modelcontextprotocol/skills, of 2026-07-28: a server offers skills, folders of "
          "instructions for a model, as resources. A client lists them, lets the model see name and description, and "
          "reads SKILL.md and other files when the skill is used.", _SKILLS, "",
          ("io.modelcontextprotocol/skills", "skills", "skill", "ext-skills", "agent skills"),
          ("skills/list", "skills/get", "resources/directory/read", "skill://", "skill.md", "Skill")),
    Topic("skill://", "The scheme of the URIs of skills: skill://NAME/SKILL.md is the file that a skill begins with, "
          "and its other files are below the same directory. Other schemes may be used, too.", _SKILLS, "",
          ("skill uri", "skill uris"), ("skills extension", "resources/read")),
    Topic("skill.md", "The file that a skill begins with: frontmatter in YAML (name, description, perhaps license and "
          "metadata), and instructions in Markdown. The directory has the name of the skill.", _SKILLS, "Frontmatter",
          ("frontmatter", "front matter", "skill file", "license", "metadata of a skill"),
          ("SkillFrontmatter", "skills/get", "skills extension")),
    Topic("digest", "sha256: and 64 hexadecimal digits, over the bytes of a file of a skill. A host that has read a "
          "file compares them; a skill whose files change has dynamic in place of its list of files.", _SKILLS,
          "Integrity and Verification", ("sha256", "integrity", "dynamic"),
          ("SkillResource", "Skill", "skills extension", "skills/get")),
    Topic("directoryread", EXTENSION_METHODS["resources/directory/read"], _SKILLS, "Reading Directories",
          ("directory read", "directory", "inode/directory"), ("resources/directory/read", "skills extension")),
    Topic("mcp apps", "io.modelcontextprotocol/ui: a tool names a page (a resource ui://...) that the host shows "
          "beside the tool's result, in a frame apart. The page, the view, speaks JSON-RPC with the host, never with "
          "the server itself. A client declares the extension with the media types that it shows.", _APPS, "",
          ("io.modelcontextprotocol/ui", "apps", "app", "ui", "mcp-ui", "ext-apps", "sep-1865", "mimetypes",
           "text/html;profile=mcp-app", "ui extension"),
          ("ui://", "resourceuri", "ui/initialize", "tools/list", "resources/read")),
    Topic("ui://", "The scheme of the pages of apps: resources of type text/html;profile=mcp-app. What _meta.ui of "
          "their contents asks for (csp, permissions, domain, prefersBorder) the host may give; without csp a page "
          "loads nothing from elsewhere.", _APPS, "UI Resource Format",
          ("ui resource", "csp", "content security policy", "permissions", "domain", "prefersborder", "connectdomains",
           "resourcedomains", "framedomains", "baseuridomains", "sandbox", "sandboxing"),
          ("mcp apps", "resources/read", "resourceuri")),
    Topic("resourceuri", "_meta.ui of a tool: resourceUri is the page that shows its results, visibility says who may "
          "call it: the model, the app, or both (if it is left out). A host does not offer its model a tool for the "
          "app alone.", _APPS, "Resource Discovery",
          ("visibility", "ui/resourceuri", "app-only tool", "_meta.ui"), ("mcp apps", "ui://", "tools/list")),
    Topic("ui/initialize", "The first message of a view to its host: it says what it can do, and gets the host's "
          "capabilities and context (theme, size, display mode, locale). Then come ui/notifications/tool-input and "
          "tool-result; the view may ask for ui/open-link, ui/message, ui/update-model-context and "
          "ui/request-display-mode, and call tools of its server through the host.", _APPS,
          "MCP Apps Specific Messages",
          ("view", "host context", "hostcontext", "displaymode", "display mode", "containerdimensions", "theme",
           "availabledisplaymodes", "toolinfo", "postmessage", "iframe", "sandbox proxy"),
          ("mcp apps", "ui://")),
)
"""The topics in the order of the specification. `find` looks a word up."""


def find(word: str) -> Optional[Topic]:
    """Return the topic of a word; upper and lower case, hyphens and blanks are alike. None if no topic has it.

    A word that begins as those of an extension do, such as a URI, is one of its topic.
    """
    found = folded(word)
    begun = (_BY_WORD[topic] for start, topic in _BEGINNINGS if found.startswith(start))
    return _BY_WORD.get(found) or next(begun, None)


def folded(word: str) -> str:
    """Return a word as it is compared: in lower case, with blanks in place of hyphens and underscores inside."""
    return " ".join(word.lower().replace("-", " ").split()) or word


_BEGINNINGS = (("ui://", "ui://"), ("skill://", "skill://"), ("ui/", "ui/initialize"), ("mcpuitool", "resourceuri"),
               ("mcpuiresource", "ui://"), ("mcpuihost", "ui/initialize"), ("mcpui", "mcp apps"))
_BY_WORD: Dict[str, Topic] = {folded(word): topic for topic in TOPICS for word in (topic.word, *topic.also)}
