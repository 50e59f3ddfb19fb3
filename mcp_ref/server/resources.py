"""Resources: data that an application reads by URI [.. server/resources §Protocol Messages].

A resource has a fixed URI; a template (RFC 6570) stands for many URIs, and the function gets the values of
its variables by name; a directory stands for the files below a folder. A URI is looked up
among the resources first, then among the templates in order of registration, then among the
directories.

The answers to a client:

=====================================  ============================================================
the URI is none                        -32602, and what is wrong with it, before anything is looked up
                                       [.. server/resources §Security Considerations] MUST
an unknown URI                         the revision's code (-32002, since 2026-07-28 -32602) and the URI
                                       [..2025-11-25 server/resources §Error Handling] SHOULD
a value that leads out of a folder     the same, and the name of the variable
                                       [.. server/resources §Security Considerations] MUST
the function raises `ResourceNotFound` the same
the function raises `RpcError`         that error
any other exception or a bad value     -32603 without text
                                       [.. server/resources §Error Handling] SHOULD
=====================================  ============================================================

Reading: variables of a template that do not fit the function's annotations (``n: int`` and ``x://many``)
mean that there is no such resource; the next template is tried.

Reading: a server must validate URIs. A value with a segment ``..`` or a null character, and one that is an absolute
path, is refused however it was encoded, before the function runs: functions make names of files of their values. The
option ``unchecked`` names the variables whose functions check them by themselves.
"""

import os
import re
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional, Tuple, Union,
)

from ..codec import Model, encoder
from ..errors import INVALID_PARAMS, ResourceNotFound, RpcError
from ..limits import DEFAULT
from ..messages.base import Annotations, Icon
from ..messages.resources import (
    ListResourcesResult, ListResourceTemplatesResult, ReadResourceRequestParams, ReadResourceResult, Resource,
    ResourceTemplate,
)
from ..methods import LIST_RESOURCE_TEMPLATES, LIST_RESOURCES, READ_RESOURCE
from ..options import with_defaults
from ..peer.context import Context, Route, params_reader
from ..protocol.uris import fault
from ..revisions import Revision
from ..uritemplate import Template
from .families import FIXED, RESOURCE, takes_fixed_options, takes_resource_options
from .hints.signature import BindError, LazyValidator, Signature
from .registry.checks import Paging, check_cache, check_texts, visible_of
from .registry.listing import Listing, seen_of
from .results import check_asking, checked_contents, contents_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .families import FixedOptions, ResourceOptions
    from .registry.caching import Cache
    from .registry.directory import Directory
    from .registry.visibility import Visible


_OUTSIDE = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)|\0|^[/\\]|^[A-Za-z]:" + ("" if os.name == "nt" else r"[/\\]"))
"""Matches a value that is no path below a folder. ``C:name`` leads elsewhere on Windows only."""


class RegisteredResource:
    """A function that reads a URI or the URIs of a template, and its message for the list."""

    chosen = False
    """True if completions come filtered by the typed text; see `mcp_ref.server.registry.directory.Directory`."""

    def __init__(
        self, function: Callable[..., Any], description: Union[Resource, ResourceTemplate],
        cache: "Optional[Cache]" = None, visible: "Optional[Visible]" = None, unchecked: FrozenSet[str] = frozenset(),
    ) -> None:
        self.description = description
        self.unchecked = unchecked
        """The variables whose values may lead out of a folder."""
        self.visible = visible
        """The function that says who sees it; None: everybody."""
        self.cache = cache
        """The caching hint of this resource; None for the one of the server."""
        self.signature = Signature(function)
        self._inputs = LazyValidator(lambda: self.signature.input_schema)
        self.template: Optional[Template] = None
        if isinstance(description, ResourceTemplate):
            self.template = Template(description.uri_template).prepare()

    @property
    def variables(self) -> List[str]:
        """The names of the template's variables; [] for a fixed URI."""
        return [] if self.template is None else self.template.variables

    def describe(self) -> Union[Resource, ResourceTemplate]:
        """Return the message of this resource or template for its list."""
        if self.description.description is None:
            self.description.description = self.signature.description
        return self.description

    def covers(self, uri: str) -> bool:
        """Return True if a URI matches the template, whatever the types of the function's parameters are."""
        return self.template is not None and self.template.match(uri) is not None

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """Return the keyword arguments of a template's function for this URI; None if the URI does not match."""
        matched = None if self.template is None else self.template.match(uri)
        if matched is None or self._outside(matched):
            return None
        mended, _ = self.signature.coerce(matched)
        try:
            return None if self._inputs.validate(mended) else self.signature.bind(mended)
        except BindError:
            return None

    def refusal(self, uri: str) -> str:
        """Return why a URI that matches the template is refused all the same; "" if it is not."""
        matched = None if self.template is None else self.template.match(uri)
        name = self._outside(matched) if matched is not None else ""
        return "the value of {%s} leads out of a folder" % name if name else ""

    def _outside(self, matched: Dict[str, Any]) -> str:
        """Return the name of a variable whose value leads out of a folder; "" if none does."""
        for name, value in matched.items():
            if name not in self.unchecked and any(_OUTSIDE.search(part) for part in _texts(value)):
                return name
        return ""

    def read(self, context: Context, uri: str, keywords: Dict[str, Any]) -> ReadResourceResult:
        """Run the function, and return its result. Raises its exceptions, and ValueError or TypeError for bad contents.
        """
        if self.signature.context_parameter is not None:
            keywords = dict(keywords)
            keywords[self.signature.context_parameter] = context
        value = self.signature.call(**keywords)
        if isinstance(value, Model):
            check_asking(context, value)
        if isinstance(value, ReadResourceResult):
            checked_contents(value.contents)
            if (value.ttl_ms, value.cache_scope) != (0, "private"):
                from .registry.caching import check_own

                check_own(value)
            return value
        return ReadResourceResult(contents=contents_of(uri, self.description.mime_type, value))

    def choices(self, variable: str, typed: str) -> Optional[Iterable[str]]:
        """Return the values of a variable if its annotation lists them, else None; see `mcp_ref.server.completion`."""
        return self.signature.choices(variable)


class Resources:
    """The resources, templates and directories of one server; ``changed`` is called after their lists have changed.

    ``caches``: caching hints by method.
    """

    def __init__(
        self, paging: Paging, changed: "Optional[Callable[[Optional[Visible]], None]]" = None,
        caches: "Optional[Mapping[str, Cache]]" = None,
    ) -> None:
        caches = caches or {}
        describe = RegisteredResource.describe
        self._paging = paging
        self._changed = changed
        self._cache = caches.get(READ_RESOURCE)
        self.listing: Listing[RegisteredResource] = Listing(
            "resource", ListResourcesResult, "resources", describe, paging, changed, caches.get(LIST_RESOURCES)
        )
        self.templates: "Listing[Union[RegisteredResource, Directory]]" = Listing(
            "resource template", ListResourceTemplatesResult, "resource_templates", lambda item: item.describe(),
            paging, changed, caches.get(LIST_RESOURCE_TEMPLATES),
        )
        self._directories: "Dict[str, Directory]" = {}

    # Registration

    @takes_resource_options
    def add(self, function: Callable[..., Any], uri: str, **options: "Unpack[ResourceOptions]") -> RegisteredResource:
        """Register a function; see `Server.resource`.

        Raises ValueError for a URI that is none or is taken, for parameters that are not the template's variables, for
        names in ``unchecked`` that are none, and for wrong annotations, icons, size or `_meta`; TypeError for options
        of another type.
        """
        given = with_defaults(Resources.add, RESOURCE, options)
        title, description, mime_type = given["title"], given["description"], given["mime_type"]
        size, annotations, icons, meta, cache = (
            given["size"], given["annotations"], given["icons"], given["meta"], given["cache"])
        where = "resource %r" % uri
        check_cache(where, cache)
        check_texts(where, name=given["name"], title=title, description=description)
        _check_item(where, mime_type, size, annotations, icons, meta)
        name, shown = given["name"] or _name_of(function) or uri, visible_of(where, given["visible"])
        unchecked = _check_unchecked(uri, given["unchecked"])
        if "{" in uri or "}" in uri:
            template = ResourceTemplate(uri, name, title, description, mime_type, icons, annotations, meta)
            registered = RegisteredResource(function, template, cache, shown, unchecked)
            # The URI with one digit for each variable is checked: a digit is valid in a path, host, port and query.
            _check_registered(Template(uri).expand(dict.fromkeys(registered.variables, "1")), uri)
            _check_parameters(registered.signature, registered.variables, uri)
            self.templates.add(uri, registered)
            return registered
        _check_registered(uri, uri)
        resource = Resource(uri, name, title, description, mime_type, size, icons, annotations, meta)
        registered = RegisteredResource(function, resource, cache, shown)
        _check_parameters(registered.signature, [], uri)
        self.listing.add(uri, registered)
        return registered

    @takes_fixed_options
    def add_fixed(self, value: Any, uri: str, **options: "Unpack[FixedOptions]") -> RegisteredResource:
        """Register fixed contents: str, bytes or a JSON value; options as for `add`.

        The ``size`` of text and bytes is filled in.
        """
        given = with_defaults(Resources.add_fixed, FIXED, options)
        if "{" in uri:
            raise ValueError("fixed contents have one URI, not a template: %r" % uri)
        if isinstance(value, (str, bytes)) and given["size"] is None:
            given["size"] = len(value.encode("utf-8") if isinstance(value, str) else value)
        return self.add(lambda: value, uri, **given)

    def add_directory(self, directory: "Directory") -> None:
        """Register a `mcp_ref.server.registry.directory.Directory`.

        Raises ValueError if its URI is taken, or if it overlaps another directory that is listed.
        """
        if not directory.listed:
            self.templates.add(directory.template, directory)
            return
        for other in self._directories:
            if other.startswith(directory.uri) or directory.uri.startswith(other):
                raise ValueError("there is a directory %r already, and %r overlaps it: a file would be in the list "
                                 "twice; serve one of them with listed=False" % (other, directory.uri))
        self._directories = {**self._directories, directory.uri: directory}
        self._announce(directory)

    def remove(self, uri: str) -> None:
        """Remove the resource, the template or the directory of this URI. Raises KeyError if there is none."""
        if self.listing.get(uri) is not None:
            self.listing.remove(uri)
        elif uri in self._directories:
            directory = self._directories[uri]
            self._directories = {key: kept for key, kept in self._directories.items() if key != uri}
            self._announce(directory)
        else:
            self.templates.remove(uri)

    def completes(self) -> bool:
        """Return True if any variable of a template has a list of values; see `mcp_ref.server.completion`."""
        return any(item.choices(name, "") is not None for item in self.templates.values() for name in item.variables)

    def _announce(self, directory: "Directory") -> None:
        if self._changed is not None:
            self._changed(directory.visible)

    # List

    def list_route(self, revision: Revision) -> Route:
        """Return the route of `resources/list`; `mcp_ref.server.registry.directory` adds the files of directories."""
        plain = self.listing.route(revision)

        def answer(context: Context, params: Dict[str, Any]) -> Any:
            if not self._directories:
                return plain.call(context, params)
            from .registry.directory import page

            uris = sorted(self._directories) if self._paging.by_name else self._directories
            directories = [self._directories[uri] for uri in uris]
            return page(self.listing, directories, self._paging.size, revision, params, context)

        return Route(answer)

    # Act

    def read_route(self, revision: Revision) -> Route:
        """Return the route of `resources/read`."""
        read = params_reader(ReadResourceRequestParams, revision)
        write = encoder(ReadResourceResult, revision)
        if revision.caching_hints:
            from .registry.caching import hinted

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            uri = read(params, context).uri
            found = self.find(uri, context.connection.limits.max_uri_length, context)
            if found is None:
                raise not_found(uri, revision, self._refusal(uri, context))
            item, keywords = found
            try:
                result = item.read(context, uri, keywords)
            except ResourceNotFound:
                raise not_found(uri, revision) from None
            if revision.caching_hints:
                private = item.visible is not None
                result = hinted(result, item.cache or self._cache, context.request.params, private)
            return write(result)

        return Route(answer)

    def find(
        self, uri: str, max_length: int, context: Optional[Context]
    ) -> "Optional[Tuple[Union[RegisteredResource, Directory], Dict[str, Any]]]":
        """Return the item that reads this URI and the keyword arguments of its function; None for an unknown URI.

        ``context``: of the request, so that what its sender does not see is not found; None: everything is.

        Raises `RpcError` -32602 for a text that is no URI [.. server/resources §Security Considerations] MUST.
        """
        fixed = self.listing.find(uri, context)
        if fixed is not None:
            return fixed, {}  # checked when it was registered
        check_uri(uri, max_length)
        for item in self._patterns(context):
            keywords = item.match(uri)
            if keywords is not None:
                return item, keywords
        return None

    def _refusal(self, uri: str, context: Context) -> str:
        """Return why a URI that nothing reads is refused, though a template matches it; "" if none does."""
        found = (item.refusal(uri) for item in self._patterns(context) if isinstance(item, RegisteredResource))
        return next(filter(None, found), "")

    def covers(self, uri: str, max_length: int, context: Context) -> bool:
        """Return True if a resource, a template or a directory that the sender of this request sees stands for this
        URI. Runs no code of the author's but ``visible``. Raises as `find`.
        """
        if self.listing.find(uri, context) is not None:
            return True
        check_uri(uri, max_length)
        return any(item.covers(uri) for item in self._patterns(context))

    def _patterns(self, context: Optional[Context]) -> "List[Union[RegisteredResource, Directory]]":
        found: "List[Union[RegisteredResource, Directory]]" = self.templates.seen(context)
        return found + seen_of(list(self._directories.values()), context) if self._directories else found

    @property
    def hideable(self) -> bool:
        """True if not everybody sees everything."""
        return bool(self.listing.hideable or self.templates.hideable or any(
            directory.visible is not None for directory in self._directories.values()))

    def seen_by(self, uri: str) -> "Optional[List[Visible]]":
        """Return the functions that say who sees what stands for a URI; None if everybody does, or nothing stands for
        it."""
        if not self.hideable:
            return None
        fixed = self.listing.get(uri)
        found = [] if fixed is None else [fixed.visible]
        found += [item.visible for item in self._patterns(None) if item.covers(uri)]
        visibles = [visible for visible in found if visible is not None]
        return visibles if visibles and len(visibles) == len(found) else None


# -- Errors ------------------------------------------------------------------------------------


def check_uri(uri: str, max_length: int) -> None:
    """Raise `RpcError` -32602 for a ``params.uri`` that is no URI."""
    wrong = fault(uri, max_length)
    if wrong is not None:
        raise RpcError(INVALID_PARAMS, "Invalid params: params.uri is not a URI: %s" % wrong)


def not_found(uri: str, revision: Revision, why: str = "") -> RpcError:
    """Return the error for an unknown URI [..2025-11-25 server/resources §Error Handling] SHOULD."""
    return RpcError(revision.resource_not_found_code, "Resource not found" + (why and ": " + why), {"uri": uri})


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in the value of a variable, which may be a text, a list or a dictionary."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _texts(part)


def _check_item(
    path: str, mime_type: Optional[str], size: Optional[int], annotations: Optional[Annotations],
    icons: Optional[List[Icon]], meta: Optional[Dict[str, Any]],
) -> None:
    """Check the members that an author gave a resource; the rules are loaded only if there is something to check."""
    if (mime_type, size, annotations, icons, meta) == (None,) * 5:
        return
    from ..protocol.content import check_item, check_mime_type

    check_item(path, annotations, icons, meta)
    if mime_type is not None:
        check_mime_type(path + ".mimeType", mime_type)
    if size is not None and (type(size) is not int or size < 0):
        raise ValueError("%s.size: expected a number of bytes, got %r" % (path, size))


def _check_registered(uri: str, shown: str) -> None:
    """Raise ValueError for a URI that is none [2025-06-18.. server/resources §Custom URI Schemes] MUST."""
    wrong = fault(uri, DEFAULT.max_uri_length)
    if wrong is not None:
        raise ValueError("a resource needs an absolute URI such as config://app; %r is none: %s" % (shown, wrong))


def _check_parameters(signature: Signature, given: List[str], uri: str) -> None:
    """Raise ValueError, at registration, for a function whose parameters are not the template's variables."""
    wanted, required = signature.parameters, signature.required
    unknown = [name for name in given if name not in wanted]
    missing = [name for name in required if name not in given]
    if unknown or missing:
        takes, gives = ", ".join(wanted) or "nothing", ", ".join(given) or "nothing"
        raise ValueError("the function for %r takes %s, but the URI gives %s" % (uri, takes, gives))


def _check_unchecked(uri: str, names: Iterable[str]) -> FrozenSet[str]:
    """Return the option as a set. Raises TypeError for one text, and ValueError for a name that is no variable."""
    if isinstance(names, str):
        raise TypeError("resource %r: unchecked is a list of names, such as [%r], not a str" % (uri, names))
    found = frozenset(names)
    unknown = sorted(found.difference(Template(uri).variables)) if found else []
    if unknown:
        raise ValueError("resource %r: unchecked names %s, and the URI has no such variable" % (
            uri, ", ".join(unknown)))
    return found


def _name_of(function: Callable[..., Any]) -> str:
    name = str(getattr(function, "__name__", ""))
    return "" if name == "<lambda>" else name
