"""The words of the official extensions for `explain`: a paragraph and an example for each method that they add, and
their headings.

The tables of methods and types of the specification's revisions have none of it, so that `diff` compares revisions.
"""

from typing import Any, Dict, Tuple

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
