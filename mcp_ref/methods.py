"""The table of all methods of all revisions: sender, params, result, capability, and page of the specification.

A row is a method within a window of revisions. Where direction, carrier or capability changed,
the method has several rows whose windows do not overlap. Params and results are named as
``page:Class`` of `mcp_ref.messages` and imported when they are first needed.

>>> from mcp_ref.revisions import revision
>>> lookup("ping", revision("2025-06-18")).sender
'both'
>>> lookup("ping", revision("2026-07-28")) is None
True

*Embedded* requests exist in 2026-07-28 only: a server cannot send a request there, so its questions to the client
travel inside an `InputRequiredResult`. [2026-07-28 basic/patterns/mrtr §Supported Requests]
"""

from importlib import import_module
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .revisions import (
    R2024_11_05, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28, REVISIONS, Revision,
)

REQUEST = "request"
NOTIFICATION = "notification"
CLIENT = "client"
SERVER = "server"
BOTH = "both"
RECEIVER = "receiver"
SENDER = "sender"
WIRE = "wire"
EMBEDDED = "embedded"


class Method(NamedTuple):
    """A row of METHODS."""

    name: str
    kind: str
    """``request`` or ``notification``."""
    sender: str
    """``client``, ``server`` or ``both``."""
    params: Any
    """``page:Class`` of the params. They may be left out on the wire if none of their members is required. A row of an
    extension has the class itself."""
    result: Any
    """``page:Class`` of the result, or the class itself; None for a notification."""
    since: Optional[str]
    until: Optional[str]
    page: str
    """The page on which the newest revision of the window describes the method."""
    capability: Optional[str] = None
    """The capability that must have been declared, such as ``resources.subscribe``; None if none is needed."""
    holder: str = RECEIVER
    """The side that must have declared the capability: ``receiver`` or ``sender`` of this message."""
    other: Optional[str] = None
    """``page:Class`` of a second kind of result: a task in place of the answer, or a request for input first."""
    carrier: str = WIRE
    """``wire``, or ``embedded`` in a result."""
    deprecated: Optional[str] = None
    """The name of the row of `mcp_ref.deprecations` that deprecates this method; None if it is not deprecated."""
    extension: Optional[str] = None
    """The identifier of the extension that adds the method, see `mcp_ref.peer.extension`; None for the protocol's own.
    """
    named: Optional[str] = None
    """The member of ``params`` that `Mcp-Name` repeats, a string; None: the method has no such header field
    [2026-07-28 basic/transports/streamable-http §Standard Request Headers]."""


def _request(name: str, sender: str, params: str, result: str, page: str, since: Optional[str] = None,
             until: Optional[str] = None, **more: Any) -> Method:
    return Method(name, REQUEST, sender, params, result, since, until, page, **more)


def _notification(name: str, sender: str, params: str, page: str, since: Optional[str] = None,
                  until: Optional[str] = None, **more: Any) -> Method:
    return Method(name, NOTIFICATION, sender, params, None, since, until, page, **more)


_PLAIN = "base:RequestParams"
_PAGED = "pagination:PaginatedRequestParams"
_DONE = "base:EmptyResult"
_NOTE = "base:NotificationParams"
_TASK = "tasks:CreateTaskResult"
INPUT_REQUIRED = "mrtr:InputRequiredResult"
"""``Method.other`` of the requests whose handlers may ask the client for input first."""

METHODS: Tuple[Method, ...] = (
    # Opening
    _request("initialize", CLIENT, "lifecycle:InitializeRequestParams", "lifecycle:InitializeResult",
             "basic/lifecycle", until=R2025_11_25),
    _notification("notifications/initialized", CLIENT, _NOTE, "basic/lifecycle", until=R2025_11_25),
    _request("server/discover", CLIENT, _PLAIN, "discover:DiscoverResult", "server/discover", since=R2026_07_28),
    # Utilities of both sides
    _request("ping", BOTH, _PLAIN, _DONE, "basic/utilities/ping", until=R2025_11_25),
    _notification("notifications/cancelled", BOTH, "cancellation:CancelledNotificationParams",
                  "basic/utilities/cancellation", until=R2025_11_25),
    _notification("notifications/cancelled", BOTH, "cancellation:CancelledNotificationParams",
                  "basic/patterns/cancellation", since=R2026_07_28),
    _notification("notifications/progress", BOTH, "progress:ProgressNotificationParams",
                  "basic/utilities/progress", until=R2025_11_25),
    _notification("notifications/progress", SERVER, "progress:ProgressNotificationParams",
                  "basic/patterns/progress", since=R2026_07_28),
    # Tools
    _request("tools/list", CLIENT, _PAGED, "tools:ListToolsResult", "server/tools", capability="tools"),
    _request("tools/call", CLIENT, "tools:CallToolRequestParams", "tools:CallToolResult", "server/tools",
             until=R2025_06_18, capability="tools"),
    _request("tools/call", CLIENT, "tools:CallToolRequestParams", "tools:CallToolResult", "server/tools",
             since=R2025_11_25, until=R2025_11_25, capability="tools", other=_TASK),
    _request("tools/call", CLIENT, "tools:CallToolRequestParams", "tools:CallToolResult", "server/tools",
             since=R2026_07_28, capability="tools", other=INPUT_REQUIRED, named="name"),
    _notification("notifications/tools/list_changed", SERVER, _NOTE, "server/tools",
                  capability="tools.listChanged", holder=SENDER),
    # Resources
    _request("resources/list", CLIENT, _PAGED, "resources:ListResourcesResult", "server/resources",
             capability="resources"),
    _request("resources/templates/list", CLIENT, _PAGED, "resources:ListResourceTemplatesResult",
             "server/resources", capability="resources"),
    _request("resources/read", CLIENT, "resources:ReadResourceRequestParams", "resources:ReadResourceResult",
             "server/resources", until=R2025_11_25, capability="resources"),
    _request("resources/read", CLIENT, "resources:ReadResourceRequestParams", "resources:ReadResourceResult",
             "server/resources", since=R2026_07_28, capability="resources", other=INPUT_REQUIRED, named="uri"),
    _request("resources/subscribe", CLIENT, "resources:SubscribeRequestParams", _DONE, "server/resources",
             until=R2025_11_25, capability="resources.subscribe"),
    _request("resources/unsubscribe", CLIENT, "resources:UnsubscribeRequestParams", _DONE, "server/resources",
             until=R2025_11_25, capability="resources.subscribe"),
    _notification("notifications/resources/list_changed", SERVER, _NOTE, "server/resources",
                  capability="resources.listChanged", holder=SENDER),
    _notification("notifications/resources/updated", SERVER, "resources:ResourceUpdatedNotificationParams",
                  "server/resources", capability="resources.subscribe", holder=SENDER),
    # Prompts
    _request("prompts/list", CLIENT, _PAGED, "prompts:ListPromptsResult", "server/prompts", capability="prompts"),
    _request("prompts/get", CLIENT, "prompts:GetPromptRequestParams", "prompts:GetPromptResult", "server/prompts",
             until=R2025_11_25, capability="prompts"),
    _request("prompts/get", CLIENT, "prompts:GetPromptRequestParams", "prompts:GetPromptResult", "server/prompts",
             since=R2026_07_28, capability="prompts", other=INPUT_REQUIRED, named="name"),
    _notification("notifications/prompts/list_changed", SERVER, _NOTE, "server/prompts",
                  capability="prompts.listChanged", holder=SENDER),
    # Utilities of a server
    _request("completion/complete", CLIENT, "completion:CompleteRequestParams", "completion:CompleteResult",
             "server/utilities/completion", until=R2024_11_05),
    _request("completion/complete", CLIENT, "completion:CompleteRequestParams", "completion:CompleteResult",
             "server/utilities/completion", since=R2025_03_26, capability="completions"),
    _request("logging/setLevel", CLIENT, "logs:SetLevelRequestParams", _DONE, "server/utilities/logging",
             until=R2025_11_25, capability="logging"),
    _notification("notifications/message", SERVER, "logs:LoggingMessageNotificationParams",
                  "server/utilities/logging", until=R2025_11_25, capability="logging", holder=SENDER),
    _notification("notifications/message", SERVER, "logs:LoggingMessageNotificationParams",
                  "server/utilities/logging", since=R2026_07_28, capability="logging", holder=SENDER,
                  deprecated="logging"),
    _request("subscriptions/listen", CLIENT, "subscriptions:SubscriptionsListenRequestParams",
             "subscriptions:SubscriptionsListenResult", "basic/patterns/subscriptions", since=R2026_07_28),
    _notification("notifications/subscriptions/acknowledged", SERVER,
                  "subscriptions:SubscriptionsAcknowledgedNotificationParams", "basic/patterns/subscriptions",
                  since=R2026_07_28),
    # Requests of a server to a client
    _request("roots/list", SERVER, "roots:ListRootsRequestParams", "roots:ListRootsResult", "client/roots",
             until=R2025_11_25, capability="roots"),
    _request("roots/list", SERVER, "roots:ListRootsRequestParams", "roots:ListRootsResult", "client/roots",
             since=R2026_07_28, capability="roots", carrier=EMBEDDED, deprecated="roots"),
    _notification("notifications/roots/list_changed", CLIENT, _NOTE, "client/roots", until=R2025_11_25,
                  capability="roots.listChanged", holder=SENDER),
    _request("sampling/createMessage", SERVER, "sampling:CreateMessageRequestParams",
             "sampling:CreateMessageResult", "client/sampling", until=R2025_06_18, capability="sampling"),
    _request("sampling/createMessage", SERVER, "sampling:CreateMessageRequestParams",
             "sampling:CreateMessageResult", "client/sampling", since=R2025_11_25, until=R2025_11_25,
             capability="sampling", other=_TASK),
    _request("sampling/createMessage", SERVER, "sampling:CreateMessageRequestParams",
             "sampling:CreateMessageResult", "client/sampling", since=R2026_07_28, capability="sampling",
             carrier=EMBEDDED, deprecated="sampling"),
    _request("elicitation/create", SERVER, "elicitation:ElicitRequestParams", "elicitation:ElicitResult",
             "client/elicitation", since=R2025_06_18, until=R2025_06_18, capability="elicitation"),
    _request("elicitation/create", SERVER, "elicitation:ElicitRequestParams", "elicitation:ElicitResult",
             "client/elicitation", since=R2025_11_25, until=R2025_11_25, capability="elicitation", other=_TASK),
    _request("elicitation/create", SERVER, "elicitation:ElicitRequestParams", "elicitation:ElicitResult",
             "client/elicitation", since=R2026_07_28, capability="elicitation", carrier=EMBEDDED),
    _notification("notifications/elicitation/complete", SERVER,
                  "elicitation:ElicitationCompleteNotificationParams", "client/elicitation",
                  since=R2025_11_25, until=R2025_11_25, capability="elicitation.url"),
    # Tasks
    _request("tasks/get", BOTH, "tasks:TaskIdParams", "tasks:GetTaskResult", "basic/utilities/tasks",
             since=R2025_11_25, until=R2025_11_25, capability="tasks"),
    _request("tasks/result", BOTH, "tasks:TaskIdParams", "tasks:GetTaskPayloadResult", "basic/utilities/tasks",
             since=R2025_11_25, until=R2025_11_25, capability="tasks"),
    _request("tasks/list", BOTH, _PAGED, "tasks:ListTasksResult", "basic/utilities/tasks",
             since=R2025_11_25, until=R2025_11_25, capability="tasks.list"),
    _request("tasks/cancel", BOTH, "tasks:TaskIdParams", "tasks:CancelTaskResult", "basic/utilities/tasks",
             since=R2025_11_25, until=R2025_11_25, capability="tasks.cancel"),
    _notification("notifications/tasks/status", BOTH, "tasks:TaskStatusNotificationParams",
                  "basic/utilities/tasks", since=R2025_11_25, until=R2025_11_25, capability="tasks",
                  holder=SENDER),
)
"""Every method. A test checks that no revision finds two rows for one name."""

TASKS, SKILLS = "io.modelcontextprotocol/tasks", "io.modelcontextprotocol/skills"


def _added(identifier: str, name: str, params: str, result: Optional[str], **more: Any) -> Method:
    page = identifier.partition("/")[2]
    kind, sender = (REQUEST, CLIENT) if result is not None else (NOTIFICATION, SERVER)
    return Method(name, kind, sender, params, result, R2026_07_28, None, "extensions/%s/%s" % (page, page),
                  extension=identifier, **more)


EXTENSION_METHODS: Tuple[Method, ...] = (
    # ``named``: [2026-07-28 extensions/tasks/tasks §Streamable HTTP: Routing Headers] MUST
    _added(TASKS, "tasks/get", "extensions.tasks:TaskParams", "extensions.tasks:DetailedTask",
           holder=SENDER, named="taskId"),
    _added(TASKS, "tasks/update", "extensions.tasks:UpdateTaskParams", _DONE, holder=SENDER, named="taskId"),
    _added(TASKS, "tasks/cancel", "extensions.tasks:TaskParams", _DONE, holder=SENDER, named="taskId"),
    _added(TASKS, "notifications/tasks", "extensions.tasks:DetailedTask", None, holder=SENDER),
    _added(SKILLS, "skills/list", _PAGED, "extensions.skills:ListSkillsResult"),
    _added(SKILLS, "skills/get", "extensions.skills:GetSkillParams", "extensions.skills:GetSkillResult"),
    _added(SKILLS, "resources/directory/read", "extensions.skills:ReadDirectoryParams",
           "extensions.skills:ReadDirectoryResult"),
)
"""The methods of the official extensions, by the identifier in ``extension``; ``holder`` must have declared that.
`lookup` does not know them: `mcp_ref.peer.extension` has those of the extensions that a client or a server is given."""

# The names that other modules compare with; a test checks that each is in the table.
INITIALIZE = "initialize"
INITIALIZED = "notifications/initialized"
DISCOVER = "server/discover"
PING = "ping"
CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
LIST_TOOLS = "tools/list"
CALL_TOOL = "tools/call"
LIST_RESOURCES = "resources/list"
LIST_RESOURCE_TEMPLATES = "resources/templates/list"
READ_RESOURCE = "resources/read"
SUBSCRIBE = "resources/subscribe"
UNSUBSCRIBE = "resources/unsubscribe"
RESOURCE_UPDATED = "notifications/resources/updated"
LIST_PROMPTS = "prompts/list"
GET_PROMPT = "prompts/get"
COMPLETE = "completion/complete"
SET_LOG_LEVEL = "logging/setLevel"
LOG_MESSAGE = "notifications/message"
LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
LIST_ROOTS = "roots/list"
ROOTS_CHANGED = "notifications/roots/list_changed"
CREATE_MESSAGE = "sampling/createMessage"
ELICIT = "elicitation/create"
ELICITATION_COMPLETE = "notifications/elicitation/complete"
GET_TASK = "tasks/get"
TASK_RESULT = "tasks/result"
LIST_TASKS = "tasks/list"
CANCEL_TASK = "tasks/cancel"
TASK_STATUS = "notifications/tasks/status"
UPDATE_TASK = "tasks/update"
TASK_NOTICE = "notifications/tasks"
LIST_SKILLS = "skills/list"
GET_SKILL = "skills/get"
READ_DIRECTORY = "resources/directory/read"

LIST_CHANGED: Dict[str, str] = {
    row.capability.partition(".")[0]: row.name for row in METHODS
    if row.sender == SERVER and row.capability is not None and row.capability.endswith(".listChanged")
}
"""Feature of a server -> the notification that its list has changed
[..2025-11-25 server/tools §List Changed Notification] SHOULD,
[..2025-11-25 server/resources §List Changed Notification] SHOULD,
[..2025-11-25 server/prompts §List Changed Notification] SHOULD."""

NAMED: Dict[str, str] = {row.name: row.named for row in METHODS if row.named is not None}
"""Method -> its `Method.named`."""

_BY_REVISION: Tuple[Dict[str, Method], ...] = tuple(
    {row.name: row for row in METHODS if revision.has(row.since, row.until)} for revision in REVISIONS
)
_CLASSES: Dict[str, Any] = {}
_PREFIXES = frozenset(row.name.partition("/")[0] for row in METHODS)


def lookup(name: str, revision: Revision) -> Optional[Method]:
    """Return the row of this method in this revision, also of an embedded one; None if the revision has no such method.
    """
    return _BY_REVISION[revision.rank].get(name)


def methods(revision: Revision) -> List[Method]:
    """Return all rows of this revision, in the order of the table."""
    return list(_BY_REVISION[revision.rank].values())


def of_extension(identifier: str) -> Tuple[Method, ...]:
    """Return the rows that an official extension adds; () for another identifier."""
    return tuple(row for row in EXTENSION_METHODS if row.extension == identifier)


def known_since(name: str) -> List[Revision]:
    """Return the revisions that have a method of this name, oldest first; [] for an unknown name."""
    return [revision for revision in REVISIONS if lookup(name, revision)]


def load(path: Any) -> Any:
    """Return the class, or union of classes, that a ``page:Class`` of the table names. Imports the page once.

    A class is returned as it is.
    """
    if not isinstance(path, str):
        return path
    found = _CLASSES.get(path)
    if found is None:
        page, _, name = path.partition(":")
        found = _CLASSES[path] = getattr(import_module(".messages." + page, __package__), name)
    return found


def is_vendor(name: str) -> bool:
    """Return True if a method is a vendor's: ``acme/search``, with a prefix that no method of any revision has."""
    prefix, _, rest = name.partition("/")
    return bool(prefix and rest) and prefix not in _PREFIXES


def params_class(method: Method) -> Any:
    """Return the class of the method's params (for `elicitation/create` a union of two classes)."""
    return load(method.params)


def result_class(method: Method) -> Any:
    """Return the class of the method's result; None for a notification."""
    return None if method.result is None else load(method.result)
