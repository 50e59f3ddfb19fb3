"""The vocabulary: every params, result and data type of every revision, one module per page of the specification.

Reading order:

====================================  ===========================================================================
module                                what it has
====================================  ===========================================================================
`base`                                the parts that all pages share
`content`                             the blocks of tool results, prompts and sampling messages
`lifecycle`                           `initialize` and the capabilities
`progress`, `cancellation`            utilities of every request
`tools`, `resources`, `prompts`       the offers of a server
`completion`, `logs`, `pagination`    utilities of servers
`roots`, `sampling`, `elicitation`    the offers of a client
`tasks`                               2025-11-25 only, experimental
`discover`, `caching`                 2026-07-28: the server without handshake, and hints on keeping results
`mrtr`, `subscriptions`               2026-07-28: multi round-trip requests, and streams of changes
`downgrade`                           the table of what older revisions get in place of newer content
`extensions`                          tasks and skills of 2026-07-28; their names are imported from their modules
====================================  ===========================================================================

Every class is named as in the newest ``schema.json`` that has the definition, and stands for all
revisions; `mcp_ref.codec` says how to read a declaration. `mcp_ref.devtools.crosscheck` compares all of it
with the schemas. Names are resolved when they are first used: ``from mcp_ref.messages import Tool``
loads the pages that `Tool` needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Tuple

from ..codec import Rule, use_downgrades

if TYPE_CHECKING:  # type checkers and editors cannot follow `__getattr__`
    from .base import *  # noqa: F401, F403
    from .caching import *  # noqa: F401, F403
    from .cancellation import *  # noqa: F401, F403
    from .completion import *  # noqa: F401, F403
    from .content import *  # noqa: F401, F403
    from .discover import *  # noqa: F401, F403
    from .elicitation import *  # noqa: F401, F403
    from .lifecycle import *  # noqa: F401, F403
    from .logs import *  # noqa: F401, F403
    from .mrtr import *  # noqa: F401, F403
    from .pagination import *  # noqa: F401, F403
    from .progress import *  # noqa: F401, F403
    from .prompts import *  # noqa: F401, F403
    from .resources import *  # noqa: F401, F403
    from .roots import *  # noqa: F401, F403
    from .sampling import *  # noqa: F401, F403
    from .subscriptions import *  # noqa: F401, F403
    from .tasks import *  # noqa: F401, F403
    from .tools import *  # noqa: F401, F403

PAGES: Dict[str, Tuple[str, ...]] = {
    "base": (
        "Annotations", "EmptyResult", "Error", "Icon", "Implementation", "JSONArray", "JSONObject", "JSONValue",
        "MetaObject", "NotificationMetaObject", "NotificationParams", "ProgressToken", "RequestId",
        "RequestMetaObject", "RequestParams", "Result", "ResultMetaObject", "ResultType", "Role",
    ),
    "content": (
        "AnyResourceContents", "AudioContent", "BlobResourceContents", "ContentBlock", "EmbeddedResource",
        "ImageContent", "ResourceLink", "TextContent", "TextResourceContents",
    ),
    "lifecycle": (
        "ClientCapabilities", "ElicitationCapability", "InitializeRequestParams", "InitializeResult",
        "ListChangedCapability", "ResourcesCapability", "RootsCapability", "SamplingCapability",
        "ServerCapabilities",
    ),
    "progress": ("ProgressNotificationParams",),
    "cancellation": ("CancelledNotificationParams",),
    "tools": (
        "CallToolRequestParams", "CallToolResult", "ListToolsResult", "Tool", "ToolAnnotations", "ToolExecution",
        "ToolInputSchema", "ToolOutputSchema",
    ),
    "resources": (
        "ListResourceTemplatesResult", "ListResourcesResult", "ReadResourceRequestParams", "ReadResourceResult",
        "Resource", "ResourceTemplate", "ResourceUpdatedNotificationParams", "SubscribeRequestParams",
        "UnsubscribeRequestParams",
    ),
    "prompts": (
        "GetPromptRequestParams", "GetPromptResult", "ListPromptsResult", "Prompt", "PromptArgument",
        "PromptMessage",
    ),
    "completion": (
        "CompleteRequestParams", "CompleteResult", "Completion", "CompletionArgument", "CompletionContext",
        "PromptReference", "ResourceTemplateReference",
    ),
    "logs": ("LoggingLevel", "LoggingMessageNotificationParams", "SetLevelRequestParams"),
    "pagination": ("Cursor", "PaginatedRequestParams", "PaginatedResult"),
    "roots": ("ListRootsMetaObject", "ListRootsRequestParams", "ListRootsResult", "Root"),
    "sampling": (
        "CreateMessageRequestParams", "CreateMessageResult", "ModelHint", "ModelPreferences", "SamplingContent",
        "SamplingMessage", "SamplingMessageContentBlock", "ToolChoice", "ToolResultContent", "ToolUseContent",
    ),
    "elicitation": (
        "BooleanSchema", "ElicitRequestFormParams", "ElicitRequestParams", "ElicitRequestURLParams",
        "ElicitResult", "ElicitationCompleteNotificationParams", "EnumOption", "EnumSchema",
        "LegacyTitledEnumSchema", "MultiSelectEnumSchema", "NumberSchema", "PrimitiveSchemaDefinition",
        "RequestedSchema", "SingleSelectEnumSchema", "StringSchema", "TitledItems",
        "TitledMultiSelectEnumSchema", "TitledSingleSelectEnumSchema", "URLElicitationRequiredErrorData",
        "UntitledItems", "UntitledMultiSelectEnumSchema", "UntitledSingleSelectEnumSchema",
    ),
    "tasks": (
        "CancelTaskResult", "ClientTaskRequestsCapability", "ClientTasksCapability", "CreateTaskResult",
        "GetTaskPayloadResult", "GetTaskResult", "ListTasksResult", "RelatedTaskMetadata",
        "ServerTaskRequestsCapability", "ServerTasksCapability", "Task", "TaskElicitationCapability",
        "TaskIdParams", "TaskMetadata", "TaskSamplingCapability", "TaskStatus",
        "TaskStatusNotificationParams", "TaskToolsCapability",
    ),
    "discover": (
        "DiscoverResult", "MissingRequiredClientCapabilityErrorData", "UnsupportedProtocolVersionErrorData",
    ),
    "caching": ("CacheScope", "CacheableResult"),
    "mrtr": (
        "CreateMessageRequest", "ElicitRequest", "InputRequest", "InputRequests", "InputRequiredResult",
        "InputResponse", "InputResponses", "ListRootsRequest",
    ),
    "subscriptions": (
        "SubscriptionFilter", "SubscriptionsAcknowledgedNotificationParams", "SubscriptionsListenRequestParams",
        "SubscriptionsListenResult", "SubscriptionsListenResultMetaObject",
    ),
}
"""Page -> the names that it defines."""

_PAGE_OF: Dict[str, str] = {name: page for page, names in PAGES.items() for name in names}

__all__ = sorted(_PAGE_OF)


def __getattr__(name: str) -> Any:
    page = _PAGE_OF.get(name)
    if page is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    value = globals()[name] = getattr(import_module("." + page, __name__), name)
    return value


def __dir__() -> List[str]:
    return sorted(list(globals()) + __all__)


def _downgrade_rules() -> Mapping[str, Rule]:
    from .downgrade import RULES
    return RULES


use_downgrades(_downgrade_rules)
