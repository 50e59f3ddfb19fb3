"""The results and errors that a client gets for what handlers return and raise.

A return value becomes content blocks, resource contents or the result of a tool:

================================  =====================================================
a handler returns                 it becomes
================================  =====================================================
None                              no content
str                               one text block
a content block (`TextContent`,   that block
`ImageContent`, ...)
a list of str and content blocks  those blocks
anything `to_json` knows          one text block with its JSON
================================  =====================================================

`image`, `audio` and `blob` make blocks from bytes, because on the wire binary data is base64 text.
Blocks that a handler made are checked (`mcp_ref.protocol.content`), so that nothing illegal is
sent, and an embedded resource without a MIME type gets the plainest one of its kind
[.. server/prompts §Embedded Resources] MUST.

A tool that has an output schema gives structured content that fits it, or its call is an error
[2025-06-18.. server/tools §Output Schema] MUST. A text block has the same value as JSON, for
clients that do not know structured content [2025-06-18.. server/tools §Structured Content] SHOULD.
Reading: the text block of a number or a list, whose structured content is ``{"result": value}``, has the JSON of the
value and not of the wrapping, which this package adds.

A handler may also return a whole `CallToolResult`. Its blocks, `_meta` and structured content have to obey
the same rules; if it says that the tool failed, it needs no structured content. A text block is
added only to a result with structured content and no block at all: an author who wrote blocks chose them.

Every result of 2026-07-28 has two members more, its type and the server that it comes from
[2026-07-28 basic/index §Result Responses] MUST, [2026-07-28 basic/index §ResultType] MUST, [2026-07-28 basic/index
§`_meta`] SHOULD. `Server.route` wraps each route of that revision in a `CommonMembers`.

An exception of an author's code becomes a record in the log for the author, and a text for the client:

===================================  ===============================  ==============================================
raised                               the client gets                  the log has
===================================  ===============================  ==============================================
`ToolError`                          its text                         nothing: it was meant for the client
`RpcError`                           that error                       nothing
a result that may not be sent        the mistake and its place        the exception with its traceback
`CapabilityMissing`                  the capability that it lacks     the exception with its traceback
anything else                        type and text, or a fixed text   the exception with its traceback
===================================  ===============================  ==============================================

The fixed text, ``Internal error in tool 'add' (request 7); the server's log has the details``, is for clients that may
be on other machines: the text of an exception can hold paths, queries and credentials. That is HTTP of every kind
(`Server.run_http`, `Server.wsgi`, `Server.handle`) and TCP, also on loopback, where a proxy may be in front. Clients
on stdio, on a Unix socket and in the same process get type and text. ``Server(mask_errors=True)`` and ``False``
decide it for all clients.

Some error codes may not be sent to every client [2026-07-28 basic/index §Error Codes] MUST NOT; `revised` replaces
them:

=================  =============================================================================================
code               where it may not be sent
=================  =============================================================================================
-32042             becomes an ordinary failure; see `mcp_ref.server.elicitation.UrlElicitationRequired`
-32002             becomes the revision's own code for a resource that is not there
-32099 to -32020   reserved for the protocol: what the revision does not define becomes an internal error
=================  =============================================================================================
"""

import os
from copy import copy
from typing import TYPE_CHECKING, Any, Dict, List, Union

from ..codec import NULL, Model, encode
from ..diagnostics import one_line
from ..diagnostics.packagelog import shown_error, text_of
from ..errors import (
    CODES, INTERNAL_ERROR, RESERVED, RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED, CapabilityMissing,
    LocalProtocolError, RpcError, TooManyQuestions, ToolError,
)
from ..jsonrpc import Encoded, shown
from ..jsontext import JsonError, dumps, is_deep
from ..limits import DEFAULT
from ..messages import content as _blocks
from ..messages.base import Implementation
from ..messages.content import (
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)
from ..messages.tools import CallToolResult
from ..methods import CALL_TOOL, COMPLETE, GET_PROMPT, READ_RESOURCE, ROOTS_CHANGED, SET_LOG_LEVEL
from ..options import strict_options
from ..peer.context import HANDLED, Context, Route, named, report
from ..protocol.envelope import SERVER_INFO
from ..revisions import Revision
from .hints.values import BYTES, NO_TYPE, base64_text, to_json

if TYPE_CHECKING:
    from ..peer.context import Context as RequestContext
    from .context import Context as ToolContext
    from .server import Server
    from .tools import RegisteredTool

BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
RESOURCE_CONTENTS = (TextResourceContents, BlobResourceContents)
PLAIN_TEXT = "text/plain"
PLAIN_BLOB = "application/octet-stream"
_IMAGES = {".webp": "image/webp", ".avif": "image/avif", ".svg": "image/svg+xml"}
"""The suffixes of images that `mimetypes` does not know everywhere."""


def image(data: bytes, mime_type: str) -> ImageContent:
    """Return an image block of these bytes."""
    return ImageContent(data=base64_text(data), mime_type=mime_type)


def image_file(path: "Union[str, os.PathLike[str]]") -> ImageContent:
    """Return an image block with the contents of a file, whose suffix tells the media type.

    Raises ValueError for a suffix that is none of an image, and OSError for a file that cannot be read.
    """
    from mimetypes import guess_type

    guessed = guess_type(os.fspath(path))[0] or ""
    mime_type = guessed if guessed.startswith("image/") else _IMAGES.get(os.path.splitext(os.fspath(path))[1].lower())
    if mime_type is None:
        raise ValueError("%s: the suffix is none of an image; use image(data, mime_type)" % os.fspath(path))
    with open(path, "rb") as file:
        return image(file.read(), mime_type)


def audio(data: bytes, mime_type: str) -> AudioContent:
    """Return an audio block of these bytes [2025-03-26.. server/tools §Audio Content]."""
    return AudioContent(data=base64_text(data), mime_type=mime_type)


@strict_options
def blob(uri: str, data: bytes, mime_type: str = PLAIN_BLOB) -> EmbeddedResource:
    """Return an embedded binary resource of these bytes."""
    contents = BlobResourceContents(uri=uri, blob=base64_text(data), mime_type=mime_type)
    return EmbeddedResource(resource=contents)


def check_asking(context: Any, value: Any) -> None:
    """Unwind the handler if it returned an `InputRequiredResult`; see `mcp_ref.server.mrtr.returned`."""
    if getattr(value, "result_type", None) == "input_required":
        from .mrtr import returned

        returned(context, value)


def content_of(value: Any, path: str = "content") -> List["_blocks.ContentBlock"]:
    """Return the blocks of a returned value; see the table of the module. ``path`` begins the texts of errors.

    Raises TypeError for bytes, whose kind only the author knows, `JsonError` for a value that JSON cannot hold, and
    TypeError or ValueError with the place in a block that may not be sent: ``content[1].mimeType: expected a MIME type
    ...``.
    """
    if type(value) is str:
        return [TextContent(text=value)]
    if value is None:
        return []
    if isinstance(value, BLOCKS):
        return [checked_block(path, value)]
    if isinstance(value, (list, tuple)) and any(isinstance(item, BLOCKS) for item in value):
        return [block for at, item in enumerate(value) for block in content_of(item, "%s[%d]" % (path, at))]
    if isinstance(value, BYTES):
        raise TypeError(NO_TYPE)
    if isinstance(value, Model):
        raise TypeError("a %s is not a content block" % type(value).__name__)
    return [TextContent(text=value if isinstance(value, str) else dumps(to_json(value)))]


def checked_block(path: str, block: Any) -> Any:
    """Return a block that a handler made, checked and completed. Raises TypeError or ValueError, naming the place."""
    from ..protocol.content import check_block

    check_block(path, block)
    if isinstance(block, EmbeddedResource) and block.resource.mime_type is None:
        block = copy(block)
        block.resource = copy(block.resource)
        block.resource.mime_type = PLAIN_TEXT if isinstance(block.resource, TextResourceContents) else PLAIN_BLOB
    return block


def contents_of(uri: str, mime_type: Union[str, None], value: Any) -> List[Any]:
    """Return the contents of a resource whose handler returned a str, bytes, JSON, contents or a list of contents.

    Raises TypeError or ValueError for contents that may not be sent, naming the place, and `JsonError`.
    """
    if isinstance(value, RESOURCE_CONTENTS):
        return checked_contents([value])
    if isinstance(value, list) and value and all(isinstance(item, RESOURCE_CONTENTS) for item in value):
        return checked_contents(value)
    if isinstance(value, BYTES):
        return [BlobResourceContents(uri=uri, blob=base64_text(bytes(value)), mime_type=mime_type or PLAIN_BLOB)]
    if isinstance(value, str):
        return [TextResourceContents(uri=uri, text=value, mime_type=mime_type or PLAIN_TEXT)]
    return [TextResourceContents(uri=uri, text=dumps(to_json(value)), mime_type=mime_type or "application/json")]


def checked_contents(contents: List[Any]) -> List[Any]:
    """Return resource contents that a handler made, checked. Raises TypeError or ValueError, naming the place."""
    from ..protocol.content import check_contents

    for at, item in enumerate(contents):
        check_contents("contents[%d]" % at, item)
    return list(contents)


class BadResult(ToolError):
    """A result does not fit the tool's declaration: a mistake of the author, whose text the model gets, too."""


def result_of(tool: "RegisteredTool", value: Any) -> CallToolResult:
    """Return the result of a call whose function returned this value.

    The value is converted to JSON once: structured content and the text block are made of the same JSON.
    Raises `BadResult`, `JsonError` for a value that JSON cannot hold, and TypeError or ValueError for content that may
    not be sent.
    """
    if isinstance(value, CallToolResult):
        return _checked_result(tool, value)
    schema, wrapped = tool.returned()
    if schema is None:
        return CallToolResult(content=content_of(value))
    plain = to_json(value)
    structured = {"result": plain} if wrapped else plain
    violations = tool.outputs.validate(structured)
    if violations:
        raise _unlike_schema(violations)
    # For clients that read text only [2025-06-18.. server/tools §Structured Content] SHOULD
    text = TextContent(text=plain if isinstance(plain, str) else dumps(plain))
    return CallToolResult([text], NULL if structured is None else structured)


def _checked_result(tool: "RegisteredTool", given: CallToolResult) -> CallToolResult:
    """Return a copy of a result that the author made, checked and completed."""
    structured = given.structured_content
    if tool.output_schema is not None and not given.is_error:
        if structured is None:
            raise BadResult("the tool has an output schema, but the result has no structured content")
        if is_deep(structured, DEFAULT.max_depth):
            dumps(structured)  # raises `JsonError`; validation would recurse too deeply
        violations = tool.outputs.validate(None if structured is NULL else structured)
        if violations:
            raise _unlike_schema(violations)
    if given.meta is not None:
        from ..protocol.content import check_meta

        check_meta("_meta", given.meta)
    made = copy(given)
    made.content = [checked_block("content[%d]" % at, block) for at, block in enumerate(given.content)]
    if structured is not None and not made.content:
        made.content = [TextContent(text=dumps(None if structured is NULL else structured))]
    return made


def _unlike_schema(violations: List[Any]) -> BadResult:
    wrong = "; ".join(one.about("structuredContent") for one in violations[:5])
    return BadResult("the result does not fit the output schema: %s" % wrong)


class CommonMembers:
    """Add ``resultType`` and, unless ``Server(identify=False)``, the server's name and version to each result.

    Only the first three members of the identity are sent; `server/discover` has the others, which are for people.
    """

    def __init__(self, server: "Server", revision: Revision) -> None:
        self._own: Dict[str, Any] = {}
        if server.identify:
            self._own[SERVER_INFO] = encode(Implementation(*server.identity[:3]), revision)
        self._tail = ',"_meta":%s}' % dumps(self._own)

    def __call__(self, result: Any) -> Any:
        """Return the result with the members added; the given dict is not changed."""
        if isinstance(result, Encoded):  # a page of a list, or a text: it has members, and no `_meta` of its own
            return Encoded(result[:-1] + self._tail) if self._own else result
        made = result if "resultType" in result else dict(result, resultType="complete")
        return dict(made, _meta=dict(self._own, **made.get("_meta") or {})) if self._own else made

    def on(self, route: Route) -> Route:
        """Return a route with the same function whose results are stamped. A deferred route stays as it is."""
        call, fault = route.call, route.fault
        if route.deferred:
            return route

        def stamped(context: Context, params: Dict[str, Any]) -> Any:
            return self(call(context, params))

        def stamped_fault(context: Context, error: Exception) -> Any:
            result = None if fault is None else fault(context, error)
            return None if result is None else self(result)

        return Route(stamped, None if fault is None else stamped_fault, route.inline)


HANDLERS = {CALL_TOOL: "tools", READ_RESOURCE: "resources", GET_PROMPT: "prompts"}
"""Method -> the feature whose functions answer the request."""
HOOKS = {SET_LOG_LEVEL: "on_log_level", ROOTS_CHANGED: "on_roots_changed"}
"""Method -> the option of `Server` that is called for the message."""


def handler_of(server: "Server", method: str, params: Dict[str, Any], revision: Revision) -> str:
    """Return the name of the author's function that answers this message; see `Role.handler_of`.

    A name that a client sent is shown only if it is registered.
    """
    name = "handler of %s" % shown(method)
    try:
        found = HOOKS.get(method) or _registered(server, method, params)
        row = None if found or server.extensions is None else server.extensions.lookup(method, revision)
        return found or (name if row is None else "%s of extension %s" % (name, row.extension))
    except Exception:  # the params may be malformed, and the exception of the handler has to be logged all the same
        return name


def _registered(server: "Server", method: str, params: Dict[str, Any]) -> str:
    if method == COMPLETE:
        return _completion(server, params)
    feature = HANDLERS.get(method, "")
    if not feature or not server.has_feature(feature):
        return ""
    if feature == "resources":
        return _resource(server, params["uri"])
    listing = getattr(server, feature).listing
    return "%s %r" % (listing.kind, params["name"]) if listing.get(params["name"]) is not None else ""


def _resource(server: "Server", uri: str) -> str:
    """Return the URI or the template with which the resource was registered, as text; "" if there is none."""
    resources: Any = server.resources
    if resources.listing.find(uri, HANDLED.get()) is not None:
        return "resource %r" % uri
    found = resources.find(uri, server.limits.max_uri_length, HANDLED.get())
    if found is None:
        return ""
    described = found[0].describe()
    return "resource template %r" % described.uri_template


def _completion(server: "Server", params: Dict[str, Any]) -> str:
    ref, argument = params["ref"], params["argument"]["name"]
    of = ""
    if ref["type"] == "ref/prompt":
        if server.has_feature("prompts") and server.prompts.listing.get(ref["name"]) is not None:
            of = "prompt %r" % ref["name"]
    elif server.has_feature("resources"):  # `server.resources` would make the feature
        known = server.resources.templates.get(ref["uri"]) is not None
        of = "resource template %r" % ref["uri"] if known else _resource(server, ref["uri"])
    return "completion of %s for %s" % (shown(argument), of) if of else ""


def failed_tool(context: "RequestContext", who: str, error: Exception) -> str:
    """Log an exception of a tool for its author, and return the text for the model."""
    words = text_of(error)
    if isinstance(error, ToolError) and not isinstance(error, BadResult):
        return words or type(error).__name__
    report(context, who, error)
    if isinstance(error, (BadResult, JsonError)):  # the text names a place in the result and holds no secret
        return words or type(error).__name__
    if not isinstance(error, CapabilityMissing) and _server_of(context).hides(context.connection):
        return _fixed(context, who)
    return "%s: %s" % (type(error).__name__, words) if words else type(error).__name__


def failed(context: "RequestContext", who: str, error: BaseException) -> RpcError:
    """Log an exception of any other handler for its author, and return the error for the client."""
    if isinstance(error, TooManyQuestions):
        return RpcError(INTERNAL_ERROR, "Busy: %s" % error)
    if isinstance(error, ToolError):
        return RpcError(INTERNAL_ERROR, one_line(text_of(error) or type(error).__name__))
    report(context, who, error)
    if not isinstance(error, CapabilityMissing) and _server_of(context).hides(context.connection):
        return RpcError(INTERNAL_ERROR, _fixed(context, who))
    return RpcError(INTERNAL_ERROR, "Internal error in %s: %s" % (who, shown_error(error)))


def _fixed(context: "RequestContext", who: str) -> str:
    return "Internal error in %s (%s); the server's log has the details" % (who, named(context.request.id))


def _server_of(context: "RequestContext") -> "Server":
    return context.connection.role  # type: ignore[return-value]


def revised(context: "ToolContext", error: RpcError, in_tool: bool) -> Exception:
    """Return the error to send to the client of this request: the same one, or its replacement in this revision.

    ``in_tool``: True for a call of a tool, whose failure becomes a result.
    """
    rules = context.session.rules
    if error.code == URL_ELICITATION_REQUIRED:
        from .elicitation import required

        return required(context, error, in_tool)
    if error.code == RESOURCE_NOT_FOUND:
        return RpcError(rules.resource_not_found_code, error.message, error.data)
    row = CODES.get(error.code)
    if rules.stateless and error.code in RESERVED and not (row is not None and rules.has(row.since, row.until)):
        text = "the code %d is reserved for the protocol: use one outside of -32768 to -32000" % error.code
        return LocalProtocolError(text, "2026-07-28 basic/index §Error Codes")
    return error
