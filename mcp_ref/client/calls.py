"""The typed calls of a client: one for each request that it can send, in the order of the pages.

Calls block until the answer is there and may be made from any number of threads; ``submit_*`` returns a future instead.
`mcp_ref.client.options` says what the options of all of them mean. What arrives is checked against the agreed revision;
an answer that does not fit raises `PeerProtocolError`, which says where.
"""

import threading
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union, overload

from ..errors import LocalProtocolError
from ..methods import (
    CALL_TOOL, COMPLETE, DISCOVER, GET_PROMPT, PING, READ_RESOURCE, SET_LOG_LEVEL, SUBSCRIBE, UNSUBSCRIBE,
)
from ..options import closest, with_defaults
from ..peer.dispatcher import Connection
from ..peer.role import Role
from ..revisions import Revision
from .cache import by_name
from .cached_calls import CachedCalls, bytes_of
from .opening import Handshake
from .options import CALL_DEFAULTS, REQUEST_DEFAULTS, UpdateCallback, takes_call_options, takes_request_options
from .request_flow import Requests, known
from .task_calls import TaskCalls

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..messages.completion import CompleteResult, Ref
    from ..messages.discover import DiscoverResult
    from ..messages.mrtr import InputRequiredResult
    from ..messages.prompts import GetPromptResult, ListPromptsResult, Prompt
    from ..messages.resources import (
        ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult, Resource, ResourceTemplate,
    )
    from ..messages.tools import CallToolResult, ListToolsResult, Tool
    from ..peer.future import RequestFuture
    from .completion import CompletionCache
    from .options import CallOptions, ManualOptions, Options, RequestOptions
    from .subscriptions import Listening


class Calls(TaskCalls, Role):
    """The calls of a `Client`. All raise `PeerError` for a JSON-RPC error, `RequestTimeout` and `ConnectionLost`.

    Before anything is sent they raise `LocalProtocolError`: for what the server has not declared, or may not be asked.

    All take ``timeout`` (seconds), ``progress``, ``extend_on_progress`` and ``meta``, as
    `mcp_ref.client.options.RequestOptions` describes them.
    """

    strict: bool
    check_results: bool
    _requests: Requests
    _cached: CachedCalls
    _handshake: Handshake
    _making: threading.Lock
    _connection: Optional[Connection] = None
    _listening: "Optional[Listening]" = None

    @property
    def connection(self) -> Connection:
        """The connection. Raises `LocalProtocolError` before `open`."""
        if self._connection is None:
            raise LocalProtocolError("the client is not connected: call open(transport), or use connect(...)")
        return self._connection

    @property
    def revision(self) -> Revision:
        """The agreed revision."""
        return self.connection.session.rules

    @property
    def listening(self) -> "Listening":
        """The subscriptions, where the client has to ask for them; see `mcp_ref.client.subscriptions`."""
        if self._listening is None:
            from .subscriptions import Listening

            with self._making:  # two threads that subscribe first share one
                self._listening = self._listening or Listening(self)  # type: ignore[arg-type]
        return self._listening

    @takes_request_options
    def ping(self, **options: "Unpack[RequestOptions]") -> None:
        """Ask for an empty answer, to see that the server works [..2025-11-25 basic/utilities/ping §Message Format].

        Without a handshake there is no `ping`; every server answers `server/discover`, so it is asked that.
        """
        options = with_defaults(Calls.ping, REQUEST_DEFAULTS, options)
        self._requests.call(DISCOVER if self.revision.stateless else PING, None, options)

    # Tools

    @takes_request_options
    def list_tools(
        self, cursor: Optional[str] = None, *, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "ListToolsResult":
        """Return one page of tools; ``cursor`` is the ``next_cursor`` of the page before.

        From the cache, while the server would answer the same: see `mcp_ref.client.cache`. ``refresh=True`` asks;
        this holds for every page and list, and for `read_resource`.
        """
        options = with_defaults(Calls.list_tools, REQUEST_DEFAULTS, options)
        return self._cached.page("tools", cursor, refresh, options)  # type: ignore[no-any-return]

    @takes_request_options
    def tools(self, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "List[Tool]":
        """Return all tools: a list, made of all pages, at most ``max_pages`` of them.

        From the cache, as far as that is fresh: see `list_tools`, which returns the pages one by one. ``refresh`` asks,
        from the first page on.
        """
        options = with_defaults(Calls.tools, REQUEST_DEFAULTS, options)
        return list(self._cached.items("tools", refresh, options))

    @takes_request_options
    def tool(self, name: str, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "Tool":
        """Return the tool of exactly this name [2025-11-25.. server/tools §Tool Names]; asks as `tools` does.

        ``refresh``: as `tools`. Raises LookupError, which names some of the tools.
        """
        options = with_defaults(Calls.tool, REQUEST_DEFAULTS, options)
        cache = self._cached.cache["tools"]
        tools = cache.named() if cache.current() is not None and options["meta"] is None and not refresh else None
        if tools is None:
            tools = by_name(list(self._cached.items("tools", refresh, options)))
        if name not in tools:
            names = ", ".join(sorted(tools)[:20]) or "none"
            near = closest(name, tools)
            raise LookupError("the server has no tool %.200r; it has %.1000s%s" % (
                name, names, near and "; did you mean %.200r?" % near))
        tool: Tool = tools[name]
        return tool

    @overload
    def call_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[CallOptions]"
    ) -> "CallToolResult": ...

    @overload
    def call_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[ManualOptions]"
    ) -> "Union[CallToolResult, InputRequiredResult]": ...

    @takes_call_options
    def call_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[Options]"
    ) -> "Union[CallToolResult, InputRequiredResult]":
        """Call a tool and wait for its result; that of a tool that failed has a true ``is_error``.

        The result is checked, see `mcp_ref.client.structured`: `InvalidResult` for one that is not what the tool's
        output schema says; ``check_results=False`` of the client leaves that out.

        The options: `mcp_ref.client.options.RequestOptions`, and where the server may ask something first,
        `mcp_ref.client.options.AnswerOptions`.
        """
        options = with_defaults(Calls.call_tool, CALL_DEFAULTS, options)
        params = _named(name, arguments)
        if "tasks" in self.server_capabilities and self._needs_task(name):
            return self._call_as_task(params, options)
        if not self.check_results:
            return self._requests.call(CALL_TOOL, params, options)  # type: ignore[no-any-return]
        check = self._cached.result_check()
        version = check.tools.version  # of the list, before the call: it may change during it
        return check(name, self._requests.call(CALL_TOOL, params, options), version)  # type: ignore[no-any-return]

    @overload
    def submit_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[CallOptions]"
    ) -> "RequestFuture[CallToolResult]": ...

    @overload
    def submit_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[ManualOptions]"
    ) -> "RequestFuture[Union[CallToolResult, InputRequiredResult]]": ...

    @takes_call_options
    def submit_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[Options]"
    ) -> "RequestFuture[Any]":
        """Call a tool as `call_tool`, and return a `concurrent.futures.Future`, whose ``cancel`` cancels on the wire.

        The result is checked when it is taken, by the thread that takes it.
        """
        options = with_defaults(Calls.submit_tool, CALL_DEFAULTS, options)
        params = _named(name, arguments)
        if "tasks" in self.server_capabilities and self._needs_task(name):
            params["task"] = {}
        if not self.check_results:
            return self._requests.submit(CALL_TOOL, params, options)
        check = self._cached.result_check()
        version = check.tools.version
        return self._requests.submit(CALL_TOOL, params, options, check=lambda result: check(name, result, version))

    # Resources

    @takes_request_options
    def list_resources(
        self, cursor: Optional[str] = None, *, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "ListResourcesResult":
        """Return one page of resources, as `list_tools`."""
        options = with_defaults(Calls.list_resources, REQUEST_DEFAULTS, options)
        return self._cached.page("resources", cursor, refresh, options)  # type: ignore[no-any-return]

    @takes_request_options
    def resources(self, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "List[Resource]":
        """Return all resources, as `tools`."""
        options = with_defaults(Calls.resources, REQUEST_DEFAULTS, options)
        return list(self._cached.items("resources", refresh, options))

    @takes_request_options
    def list_resource_templates(
        self, cursor: Optional[str] = None, *, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "ListResourceTemplatesResult":
        """Return one page of resource templates, as `list_tools`."""
        options = with_defaults(Calls.list_resource_templates, REQUEST_DEFAULTS, options)
        return self._cached.page("resource_templates", cursor, refresh, options)  # type: ignore[no-any-return]

    @takes_request_options
    def resource_templates(
        self, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "List[ResourceTemplate]":
        """Return all resource templates, as `tools`."""
        options = with_defaults(Calls.resource_templates, REQUEST_DEFAULTS, options)
        return list(self._cached.items("resource_templates", refresh, options))

    @overload
    def read_resource(
        self, uri: str, refresh: bool = False, **options: "Unpack[CallOptions]"
    ) -> "ReadResourceResult": ...

    @overload
    def read_resource(
        self, uri: str, refresh: bool = False, **options: "Unpack[ManualOptions]"
    ) -> "Union[ReadResourceResult, InputRequiredResult]": ...

    @takes_call_options
    def read_resource(
        self, uri: str, refresh: bool = False, **options: "Unpack[Options]"
    ) -> "Union[ReadResourceResult, InputRequiredResult]":
        """Return the contents of a resource, from the cache while the server said that they are good and not changed.

        ``refresh`` asks. With ``rounds="manual"`` the result may be an `InputRequiredResult`.
        """
        options = with_defaults(Calls.read_resource, CALL_DEFAULTS, options)
        return self._cached.answer(  # type: ignore[no-any-return]
            READ_RESOURCE, {"uri": uri}, bytes_of, refresh, options)

    @overload
    def submit_resource(self, uri: str, **options: "Unpack[CallOptions]") -> "RequestFuture[ReadResourceResult]": ...

    @overload
    def submit_resource(
        self, uri: str, **options: "Unpack[ManualOptions]"
    ) -> "RequestFuture[Union[ReadResourceResult, InputRequiredResult]]": ...

    @takes_call_options
    def submit_resource(self, uri: str, **options: "Unpack[Options]") -> "RequestFuture[Any]":
        """Read a resource as `read_resource`, and return a future; it asks always."""
        options = with_defaults(Calls.submit_resource, CALL_DEFAULTS, options)
        return self._requests.submit(READ_RESOURCE, {"uri": uri}, options)

    @takes_request_options
    def subscribe_resource(
        self, uri: str, callback: Optional[UpdateCallback] = None, **options: "Unpack[RequestOptions]"
    ) -> None:
        """Subscribe to a resource: ``callback(uri)``, and ``on_update`` of the client, are called when it changes.

        A second call for the same URI replaces the callback. Raises `Busy` at ``max_subscriptions``
        [..2025-11-25 server/resources §Subscriptions].
        """
        options = with_defaults(Calls.subscribe_resource, REQUEST_DEFAULTS, options)
        known(self.connection, "lists")
        if self.revision.stateless:
            self.listening.subscribe(uri, callback)
            return
        from .subscriptions import HandshakeSubscriptions

        undo = HandshakeSubscriptions.of(self.connection).add(uri, callback)
        try:
            self._requests.call(SUBSCRIBE, {"uri": uri}, options)
        except BaseException:
            undo()
            raise

    @takes_request_options
    def unsubscribe_resource(self, uri: str, **options: "Unpack[RequestOptions]") -> None:
        """End a subscription [..2025-11-25 server/resources §Subscriptions]; its callback is not called any more."""
        options = with_defaults(Calls.unsubscribe_resource, REQUEST_DEFAULTS, options)
        known(self.connection, "lists")
        if self.revision.stateless:
            self.listening.unsubscribe(uri)
            return
        from .subscriptions import HandshakeSubscriptions

        HandshakeSubscriptions.of(self.connection).remove(uri)
        self._requests.call(UNSUBSCRIBE, {"uri": uri}, options)

    # Prompts

    @takes_request_options
    def list_prompts(
        self, cursor: Optional[str] = None, *, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "ListPromptsResult":
        """Return one page of prompts, as `list_tools`."""
        options = with_defaults(Calls.list_prompts, REQUEST_DEFAULTS, options)
        return self._cached.page("prompts", cursor, refresh, options)  # type: ignore[no-any-return]

    @takes_request_options
    def prompts(self, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "List[Prompt]":
        """Return all prompts, as `tools`."""
        options = with_defaults(Calls.prompts, REQUEST_DEFAULTS, options)
        return list(self._cached.items("prompts", refresh, options))

    @overload
    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[CallOptions]"
    ) -> "GetPromptResult": ...

    @overload
    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[ManualOptions]"
    ) -> "Union[GetPromptResult, InputRequiredResult]": ...

    @takes_call_options
    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[Options]"
    ) -> "Union[GetPromptResult, InputRequiredResult]":
        """Return the messages of a prompt; with ``rounds="manual"`` perhaps an `InputRequiredResult`."""
        options = with_defaults(Calls.get_prompt, CALL_DEFAULTS, options)
        return self._requests.call(GET_PROMPT, _named(name, arguments), options)  # type: ignore[no-any-return]

    @overload
    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[CallOptions]"
    ) -> "RequestFuture[GetPromptResult]": ...

    @overload
    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[ManualOptions]"
    ) -> "RequestFuture[Union[GetPromptResult, InputRequiredResult]]": ...

    @takes_call_options
    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[Options]"
    ) -> "RequestFuture[Any]":
        """Get a prompt as `get_prompt`, and return a future."""
        options = with_defaults(Calls.submit_prompt, CALL_DEFAULTS, options)
        return self._requests.submit(GET_PROMPT, _named(name, arguments), options)

    # Utilities

    @property
    def _completions(self) -> "CompletionCache":
        state = self.connection.state
        if "completions" not in state:
            from .completion import CompletionCache

            state.setdefault("completions", CompletionCache(self.connection, self._cached.cache, self.strict))
        return state["completions"]  # type: ignore[no-any-return]

    @takes_request_options
    def complete(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None, refresh: bool =
        False, **options: "Unpack[RequestOptions]"
    ) -> "CompleteResult":
        """Return suggestions for an argument typed so far [.. server/utilities/completion §Requesting Completions].

        ``ref``: a prompt by its name, or a resource template by its URI (or a `PromptReference`,
        `ResourceTemplateReference`). ``arguments``: those that are settled already, for revisions that carry them. An
        answer may come from the cache, for a while; ``refresh`` asks. Raises `Busy` at ``max_completions_per_second``.
        """
        options = with_defaults(Calls.complete, REQUEST_DEFAULTS, options)
        completions = self._completions
        question = completions.ask(ref, argument, value, arguments, refresh)
        if question.answer is not None:
            return question.answer
        answer = self._requests.call(COMPLETE, question.params, options, completions.reader(question))
        return answer  # type: ignore[no-any-return]

    @takes_request_options
    def submit_completion(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None, refresh: bool =
        False, **options: "Unpack[RequestOptions]"
    ) -> "RequestFuture[CompleteResult]":
        """Ask as `complete`, and return a future; a cached answer is there at once."""
        options = with_defaults(Calls.submit_completion, REQUEST_DEFAULTS, options)
        completions = self._completions
        question = completions.ask(ref, argument, value, arguments, refresh)
        read = completions.reader(question)
        if question.answer is None:
            return self._requests.submit(COMPLETE, question.params, options, read)
        from ..peer.future import RequestFuture

        done: "RequestFuture[CompleteResult]" = RequestFuture(self.connection, read)
        done.set_result(question.answer)
        return done

    @takes_request_options
    def set_log_level(self, level: str, **options: "Unpack[RequestOptions]") -> None:
        """Ask for log messages of this level and above [..2025-11-25 server/utilities/logging §Setting Log Level].

        Without a handshake each request says so from now on; a call may ask for something else by its ``meta``
        [2026-07-28 server/utilities/logging §Per-request log level].
        """
        options = with_defaults(Calls.set_log_level, REQUEST_DEFAULTS, options)
        from ..messages.logs import LEVELS

        if level not in LEVELS:
            raise LocalProtocolError("log level %.80r: it is one of %s" % (level, ", ".join(LEVELS)))
        if self.revision.stateless:
            known(self.connection, "lists")
            self._handshake.set_log_level(self.connection, level)
        else:
            self._requests.call(SET_LOG_LEVEL, {"level": level}, options)
            self._handshake.log_level = level

    @takes_request_options
    def discover(self, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "DiscoverResult":
        """Ask the server what it is and what it can do; `open` has done so, and this asks anew.

        From the cache, as long as the server said that its answer is good; ``refresh`` asks. What the server says that
        it can do holds from then on: a feature that it had not declared before may be asked for.

        [2026-07-28 server/discover §When to Call] MAY. Older revisions have no such request: `LocalProtocolError`.
        """
        options = with_defaults(Calls.discover, REQUEST_DEFAULTS, options)
        connection = self.connection

        def read(result: Dict[str, Any]) -> Any:
            answer = self._requests.reader(DISCOVER, connection)(result)
            self._handshake.learn(connection, result)
            return answer

        return self._cached.answer(DISCOVER, {}, 1, refresh, options, read)  # type: ignore[no-any-return]


def _named(name: str, arguments: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {"name": name} if arguments is None else {"name": name, "arguments": arguments}
