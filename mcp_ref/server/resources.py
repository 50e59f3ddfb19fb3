"""Resources: what a server lets an application read, by URI [.. server/resources §Protocol Messages].

A resource has a fixed URI; a template (RFC 6570) stands for many, and what its variables match is
passed to the function by name. A URI is looked up among the resources first, then among the
templates in order of registration. One that nobody has is answered with the revision's own code:
-32002, since 2026-07-28 -32602 [..2025-11-25 server/resources §Error Handling] SHOULD.
"""

from typing import Any, Callable, Dict, List, Optional, Union

from ..codec import encoder
from ..errors import RpcError
from ..messages.base import Annotations, Icon
from ..messages.resources import (
    ListResourcesResult, ListResourceTemplatesResult, ReadResourceRequestParams, ReadResourceResult, Resource,
    ResourceTemplate,
)
from ..peer.context import Context, Route
from ..revisions import Revision
from ..uritemplate import Template
from .content import contents_of
from .listing import Listing
from .params import params_reader
from .signature import BindError, Signature


class RegisteredResource:
    """A function behind a URI or a template, and how it is shown."""

    def __init__(self, function: Callable[..., Any], description: Union[Resource, ResourceTemplate]) -> None:
        self.description = description
        self.signature = Signature(function)
        self._validate: Optional[Callable[[Any], List[Any]]] = None
        self.template: Optional[Template] = None
        if isinstance(description, ResourceTemplate):
            self.template = Template(description.uri_template).prepare()

    def describe(self) -> Union[Resource, ResourceTemplate]:
        """As the list shows it."""
        if self.description.description is None:
            self.description.description = self.signature.description
        return self.description

    def arguments(self, matched: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """What the function gets for these variables; None if they do not fit its annotations."""
        mended, _ = self.signature.coerce(matched)
        if self._validate is None:
            from ..jsonschema import compile

            self._validate = compile(self.signature.input_schema).validate
        try:
            return None if self._validate(mended) else self.signature.bind(mended)
        except BindError:
            return None

    def read(self, context: Context, uri: str, keywords: Dict[str, Any]) -> ReadResourceResult:
        """Run the function. Raises what it raises."""
        if self.signature.context_parameter is not None:
            keywords = dict(keywords)
            keywords[self.signature.context_parameter] = context
        value = self.signature.call(**keywords)
        if isinstance(value, ReadResourceResult):
            return value
        return ReadResourceResult(contents=contents_of(uri, self.description.mime_type, value))


class Resources:
    """The resources and templates of one server."""

    def __init__(self, page_size: Optional[int]) -> None:
        describe = RegisteredResource.describe
        self.listing: Listing[RegisteredResource] = Listing(
            "resource", ListResourcesResult, "resources", describe, page_size
        )
        self.templates: Listing[RegisteredResource] = Listing(
            "resource template", ListResourceTemplatesResult, "resource_templates", describe, page_size
        )

    # Registration

    def add(
        self,
        function: Callable[..., Any],
        uri: str,
        *,
        name: Optional[str] = None,
        title: Optional[str] = None,
        description: Optional[str] = None,
        mime_type: Optional[str] = None,
        size: Optional[int] = None,
        annotations: Optional[Annotations] = None,
        icons: Optional[List[Icon]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> RegisteredResource:
        """Register a function; see `Server.resource`."""
        name = name or str(getattr(function, "__name__", uri))
        if "{" in uri:
            shown: Union[Resource, ResourceTemplate] = ResourceTemplate(
                uri, name, title, description, mime_type, icons, annotations, meta
            )
            registered = RegisteredResource(function, shown)
            _check_parameters(registered.signature, registered.template.variables if registered.template else [], uri)
            self.templates.add(uri, registered)
        else:
            if ":" not in uri:
                raise ValueError("a resource needs an absolute URI such as config://app, got %r" % uri)
            shown = Resource(uri, name, title, description, mime_type, size, icons, annotations, meta)
            registered = RegisteredResource(function, shown)
            _check_parameters(registered.signature, [], uri)
            self.listing.add(uri, registered)
        return registered

    # Act

    def read_route(self, revision: Revision) -> Route:
        """Answers `resources/read`."""
        read = params_reader(ReadResourceRequestParams, revision)
        write = encoder(ReadResourceResult, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            uri = read(params).uri
            found = self.listing.get(uri)
            if found is not None:
                return write(found.read(context, uri, {}))
            for template in self.templates.values():
                matched = template.template.match(uri) if template.template is not None else None
                arguments = template.arguments(matched) if matched is not None else None
                if arguments is not None:
                    return write(template.read(context, uri, arguments))
            raise RpcError(revision.resource_not_found_code, "Resource not found", {"uri": uri})

        return Route(answer)


def _check_parameters(signature: Signature, given: List[str], uri: str) -> None:
    """Refuse a function whose parameters are not the template's variables, at registration."""
    wanted, required = signature.parameters, signature.required
    unknown = [name for name in given if name not in wanted]
    missing = [name for name in required if name not in given]
    if unknown or missing:
        takes, gives = ", ".join(wanted) or "nothing", ", ".join(given) or "nothing"
        raise ValueError("the function for %r takes %s, but the URI gives %s" % (uri, takes, gives))
