"""Resources: what a server lets an application read. [.. server/resources §Protocol Messages]"""

from typing import TYPE_CHECKING, List, Optional

from ..codec import Model, member, message
from ..revisions import R2025_06_18, R2025_11_25, R2026_07_28
from .base import Annotations, Icon, MetaObject, notification_meta, request_meta, result_meta, result_type
from .caching import CacheScope, cache_scope, ttl_ms
from .content import AnyResourceContents, text_of
from .pagination import Cursor

if TYPE_CHECKING:
    from .mrtr import InputResponses  # noqa: F401


# -- What a resource is ------------------------------------------------------------------------


@message
class Resource(Model):
    """A resource as `resources/list` shows it. [.. server/resources §Resource]"""

    uri: str
    name: str
    title: Optional[str] = member(default=None, since=R2025_06_18)
    description: Optional[str] = member(default=None)
    mime_type: Optional[str] = member(default=None)
    size: Optional[int] = member(default=None)
    """Bytes of the raw content, before base64."""
    icons: Optional[List[Icon]] = member(default=None, since=R2025_11_25)
    annotations: Optional[Annotations] = member(default=None)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


@message
class ResourceTemplate(Model):
    """Resources whose URIs have variables (RFC 6570). [.. server/resources §Resource Templates]"""

    uri_template: str
    name: str
    title: Optional[str] = member(default=None, since=R2025_06_18)
    description: Optional[str] = member(default=None)
    mime_type: Optional[str] = member(default=None)
    """The MIME type of all resources that match, if they have one in common."""
    icons: Optional[List[Icon]] = member(default=None, since=R2025_11_25)
    annotations: Optional[Annotations] = member(default=None)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


# -- List --------------------------------------------------------------------------------------


@message
class ListResourcesResult(Model):
    """A page of resources. [.. server/resources §Listing Resources]"""

    resources: List[Resource]
    next_cursor: Optional[Cursor] = member(default=None)
    ttl_ms: int = ttl_ms()
    cache_scope: CacheScope = cache_scope()
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


@message
class ListResourceTemplatesResult(Model):
    """A page of templates. [.. server/resources §Resource Templates]"""

    resource_templates: List[ResourceTemplate]
    next_cursor: Optional[Cursor] = member(default=None)
    ttl_ms: int = ttl_ms()
    cache_scope: CacheScope = cache_scope()
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


# -- Read --------------------------------------------------------------------------------------


@message
class ReadResourceRequestParams(Model):
    """The params of `resources/read`. [.. server/resources §Reading Resources]"""

    uri: str
    input_responses: "Optional[InputResponses]" = member(default=None, since=R2026_07_28)
    request_state: Optional[str] = member(default=None, since=R2026_07_28)
    meta: Optional[MetaObject] = request_meta()


@message
class ReadResourceResult(Model):
    """The contents of a resource; several parts if the URI names a container. [.. server/resources §Reading
    Resources]"""

    contents: List[AnyResourceContents]
    ttl_ms: int = ttl_ms()
    cache_scope: CacheScope = cache_scope()
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()

    @property
    def text(self) -> str:
        """The text of the contents; see `mcp_ref.messages.content.text_of`."""
        return text_of(self.contents)


# -- Subscribe and change notifications --------------------------------------------------------


@message
class SubscribeRequestParams(Model):
    """The params of `resources/subscribe`. [..2025-11-25 server/resources §Subscriptions]"""

    until = R2025_11_25

    uri: str
    meta: Optional[MetaObject] = request_meta()


@message
class UnsubscribeRequestParams(Model):
    """The params of `resources/unsubscribe`. [..2025-11-25 server/resources §Subscriptions]"""

    until = R2025_11_25

    uri: str
    meta: Optional[MetaObject] = request_meta()


@message
class ResourceUpdatedNotificationParams(Model):
    """A resource, or a part of what was subscribed to, has changed. [.. server/resources §Subscriptions]"""

    uri: str
    meta: Optional[MetaObject] = notification_meta()
