"""The typed calls of a client: one for each request that it can send, in the order of the pages.

Calls block until the answer is there and may be made from any number of threads; ``submit_*`` returns a future instead.
`Calls.call_tool` says what the options of all of them mean. What arrives is checked against the agreed revision; an
answer that does not fit raises `PeerProtocolError`, which says where.
"""

import threading
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NoReturn, Optional, Union, overload

from ..errors import LocalProtocolError
from ..methods import (
    CALL_TOOL, COMPLETE, DISCOVER, GET_PROMPT, PING, READ_RESOURCE, SET_LOG_LEVEL, SUBSCRIBE, UNSUBSCRIBE,
)
from ..options import REQUEST_TIMEOUT, closest, refuse, spelt
from ..peer.dispatcher import Connection
from ..peer.request_table import ProgressCallback
from ..peer.role import Role
from ..revisions import Revision
from .cache import by_name
from .cached_calls import CachedCalls, bytes_of
from .handshake import Handshake
from .options import Options, UpdateCallback
from .requests import Requests, known
from .tasks.calls import TaskCalls

if TYPE_CHECKING:
    from typing import Literal

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
    from .subscriptions import Listening


class Calls(TaskCalls, Role):
    """The calls of a `Client`. All raise `PeerError` for a JSON-RPC error, `RequestTimeout` and `ConnectionLost`.

    Before anything is sent they raise `LocalProtocolError`: for what the server has not declared, or may not be asked.

    All take ``timeout``, ``progress``, ``extend_on_progress`` and ``meta``; `call_tool` says what they mean.
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

    @spelt
    def ping(
        self, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Ask for an empty answer, to see that the server works [..2025-11-25 basic/utilities/ping §Message Format].

        Without a handshake there is no `ping`; every server answers `server/discover`, so it is asked that. ``timeout``
        (seconds) and the other options: see `call_tool`.
        """
        options = Options(timeout, progress, extend_on_progress, meta)
        self._requests.call(DISCOVER if self.revision.stateless else PING, None, options)

    # Tools

    @spelt
    def list_tools(
        self, cursor: Optional[str] = None, *, refresh: bool = False, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "ListToolsResult":
        """Return one page of tools; ``cursor`` is the ``next_cursor`` of the page before.

        From the cache, while the server would answer the same: see `mcp_ref.client.cache`. ``refresh=True`` asks;
        this holds for every page and list, and for `read_resource`. ``timeout`` (seconds) and the other options:
        see `call_tool`.
        """
        options = Options(timeout, progress, extend_on_progress, meta)
        return self._cached.page("tools", cursor, refresh, options)  # type: ignore[no-any-return]

    @spelt
    def tools(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "List[Tool]":
        """Return all tools: a list, made of all pages, at most ``max_pages`` of them.

        From the cache, as far as that is fresh: see `list_tools`, which returns the pages one by one. ``refresh`` asks,
        from the first page on. ``timeout`` (seconds, for each page) and the other options: see `call_tool`.
        """
        return list(self._cached.items("tools", refresh, Options(timeout, progress, extend_on_progress, meta)))

    @spelt
    def tool(
        self, name: str, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "Tool":
        """Return the tool of exactly this name [2025-11-25.. server/tools §Tool Names]; asks as `tools` does.

        ``refresh``, ``timeout`` and the other options: as `tools`. Raises LookupError, which names some of the tools.
        """
        cache = self._cached.cache["tools"]
        tools = cache.named() if cache.current() is not None and meta is None and not refresh else None
        if tools is None:
            options = Options(timeout, progress, extend_on_progress, meta)
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
        self, name: str, arguments: Optional[Dict[str, Any]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: None = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "CallToolResult": ...

    @overload
    def call_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: "Literal['manual']",
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "Union[CallToolResult, InputRequiredResult]": ...

    def call_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: Optional[str] = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None, **unknown: NoReturn,
    ) -> "Union[CallToolResult, InputRequiredResult]":
        """Call a tool and wait for its result; that of a tool that failed has a true ``is_error``.

        The result is checked, see `mcp_ref.client.structured`: `InvalidResult` for one that is not what the tool's
        output schema says; ``check_results=False`` of the client leaves that out.

        ``timeout``: seconds without an answer, after which the request is cancelled and `RequestTimeout` raised
        (default: ``request_timeout`` of the limits; None: only their ``request_ceiling``).
        ``progress``: a function ``(value, total, message)`` that is called while the request is worked on, in the
        thread that waits, or for futures on the executor.
        ``extend_on_progress``: True to start ``timeout`` again with each progress that comes.
        ``meta``: members for the `_meta` of the request.

        The others are for servers that ask something first (2026-07-28), see `mcp_ref.client.mrtr`.
        ``rounds="manual"``: return what the server asks, an `InputRequiredResult`, to the caller, and do not call the
        callbacks of the client. ``input_responses``: the caller's answers, by the key of the question.
        ``request_state``: the text that came with the questions.
        """
        if unknown:
            refuse(Calls.call_tool, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
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
        self, name: str, arguments: Optional[Dict[str, Any]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: None = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "RequestFuture[CallToolResult]": ...

    @overload
    def submit_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: "Literal['manual']",
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "RequestFuture[Union[CallToolResult, InputRequiredResult]]": ...

    def submit_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: Optional[str] = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None, **unknown: NoReturn,
    ) -> "RequestFuture[Any]":
        """Call a tool as `call_tool`, and return a `concurrent.futures.Future`, whose ``cancel`` cancels on the wire.

        The result is checked when it is taken, by the thread that takes it. ``timeout`` (seconds) and the other
        options: see `call_tool`.
        """
        if unknown:
            refuse(Calls.submit_tool, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        params = _named(name, arguments)
        if "tasks" in self.server_capabilities and self._needs_task(name):
            params["task"] = {}
        if not self.check_results:
            return self._requests.submit(CALL_TOOL, params, options)
        check = self._cached.result_check()
        version = check.tools.version
        return self._requests.submit(CALL_TOOL, params, options, check=lambda result: check(name, result, version))

    # Resources

    @spelt
    def list_resources(
        self, cursor: Optional[str] = None, *, refresh: bool = False, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "ListResourcesResult":
        """Return one page of resources, as `list_tools`, with the same options."""
        options = Options(timeout, progress, extend_on_progress, meta)
        return self._cached.page("resources", cursor, refresh, options)  # type: ignore[no-any-return]

    @spelt
    def resources(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "List[Resource]":
        """Return all resources, as `tools`, with the same options."""
        return list(self._cached.items("resources", refresh, Options(timeout, progress, extend_on_progress, meta)))

    @spelt
    def list_resource_templates(
        self, cursor: Optional[str] = None, *, refresh: bool = False, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "ListResourceTemplatesResult":
        """Return one page of resource templates, as `list_tools`, with the same options."""
        options = Options(timeout, progress, extend_on_progress, meta)
        return self._cached.page("resource_templates", cursor, refresh, options)  # type: ignore[no-any-return]

    @spelt
    def resource_templates(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "List[ResourceTemplate]":
        """Return all resource templates, as `tools`, with the same options."""
        options = Options(timeout, progress, extend_on_progress, meta)
        return list(self._cached.items("resource_templates", refresh, options))

    @overload
    def read_resource(
        self, uri: str, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: None = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "ReadResourceResult": ...

    @overload
    def read_resource(
        self, uri: str, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: "Literal['manual']",
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "Union[ReadResourceResult, InputRequiredResult]": ...

    def read_resource(
        self, uri: str, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: Optional[str] = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None, **unknown: NoReturn,
    ) -> "Union[ReadResourceResult, InputRequiredResult]":
        """Return the contents of a resource, from the cache while the server said that they are good and not changed.

        ``refresh`` asks. ``timeout`` (seconds), ``progress`` and the other options: see `call_tool`; with
        ``rounds="manual"`` the result may be an `InputRequiredResult`.
        """
        if unknown:
            refuse(Calls.read_resource, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        return self._cached.answer(  # type: ignore[no-any-return]
            READ_RESOURCE, {"uri": uri}, bytes_of, refresh, options)

    @overload
    def submit_resource(
        self, uri: str, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: None = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "RequestFuture[ReadResourceResult]": ...

    @overload
    def submit_resource(
        self, uri: str, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: "Literal['manual']",
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "RequestFuture[Union[ReadResourceResult, InputRequiredResult]]": ...

    def submit_resource(
        self, uri: str, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: Optional[str] = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None, **unknown: NoReturn,
    ) -> "RequestFuture[Any]":
        """Read a resource as `read_resource`, and return a future; it asks always. Options as `call_tool`."""
        if unknown:
            refuse(Calls.submit_resource, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        return self._requests.submit(READ_RESOURCE, {"uri": uri}, options)

    @spelt
    def subscribe_resource(
        self, uri: str, callback: Optional[UpdateCallback] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Subscribe to a resource: ``callback(uri)``, and ``on_update`` of the client, are called when it changes.

        A second call for the same URI replaces the callback. Raises `Busy` at ``max_subscriptions``
        [..2025-11-25 server/resources §Subscriptions]. ``timeout`` (seconds) and the other options: see `call_tool`.
        """
        known(self.connection, "lists")
        if self.revision.stateless:
            self.listening.subscribe(uri, callback)
            return
        from .subscriptions import HandshakeSubscriptions

        options = Options(timeout, progress, extend_on_progress, meta)
        undo = HandshakeSubscriptions.of(self.connection).add(uri, callback)
        try:
            self._requests.call(SUBSCRIBE, {"uri": uri}, options)
        except BaseException:
            undo()
            raise

    @spelt
    def unsubscribe_resource(
        self, uri: str, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        """End a subscription [..2025-11-25 server/resources §Subscriptions]; its callback is not called any more.

        ``timeout`` (seconds) and the other options: see `call_tool`.
        """
        known(self.connection, "lists")
        if self.revision.stateless:
            self.listening.unsubscribe(uri)
            return
        from .subscriptions import HandshakeSubscriptions

        HandshakeSubscriptions.of(self.connection).remove(uri)
        self._requests.call(UNSUBSCRIBE, {"uri": uri}, Options(timeout, progress, extend_on_progress, meta))

    # Prompts

    @spelt
    def list_prompts(
        self, cursor: Optional[str] = None, *, refresh: bool = False, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "ListPromptsResult":
        """Return one page of prompts, as `list_tools`, with the same options."""
        options = Options(timeout, progress, extend_on_progress, meta)
        return self._cached.page("prompts", cursor, refresh, options)  # type: ignore[no-any-return]

    @spelt
    def prompts(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "List[Prompt]":
        """Return all prompts, as `tools`, with the same options."""
        return list(self._cached.items("prompts", refresh, Options(timeout, progress, extend_on_progress, meta)))

    @overload
    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: None = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "GetPromptResult": ...

    @overload
    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: "Literal['manual']",
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "Union[GetPromptResult, InputRequiredResult]": ...

    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: Optional[str] = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None, **unknown: NoReturn,
    ) -> "Union[GetPromptResult, InputRequiredResult]":
        """Return the messages of a prompt.

        ``timeout`` (seconds), ``progress`` and the other options: see `call_tool`; with ``rounds="manual"`` the result
        may be an `InputRequiredResult`.
        """
        if unknown:
            refuse(Calls.get_prompt, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        return self._requests.call(GET_PROMPT, _named(name, arguments), options)  # type: ignore[no-any-return]

    @overload
    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: None = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "RequestFuture[GetPromptResult]": ...

    @overload
    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: "Literal['manual']",
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None,
    ) -> "RequestFuture[Union[GetPromptResult, InputRequiredResult]]": ...

    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None, rounds: Optional[str] = None,
        input_responses: Optional[Mapping[str, Any]] = None, request_state: Optional[str] = None, **unknown: NoReturn,
    ) -> "RequestFuture[Any]":
        """Get a prompt as `get_prompt`, and return a future. Options as `call_tool`."""
        if unknown:
            refuse(Calls.submit_prompt, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        return self._requests.submit(GET_PROMPT, _named(name, arguments), options)

    # Utilities

    @property
    def _completions(self) -> "CompletionCache":
        state = self.connection.state
        if "completions" not in state:
            from .completion import CompletionCache

            state.setdefault("completions", CompletionCache(self.connection, self._cached.cache, self.strict))
        return state["completions"]  # type: ignore[no-any-return]

    @spelt
    def complete(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None,
        refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "CompleteResult":
        """Return suggestions for an argument typed so far [.. server/utilities/completion §Requesting Completions].

        ``ref``: a prompt by its name, or a resource template by its URI (or a `PromptReference`,
        `ResourceTemplateReference`). ``arguments``: those that are settled already, for revisions that carry them. An
        answer may come from the cache, for a while; ``refresh`` asks. ``timeout`` (seconds) and the other options: see
        `call_tool`. Raises `Busy` at ``max_completions_per_second``.
        """
        completions = self._completions
        question = completions.ask(ref, argument, value, arguments, refresh)
        if question.answer is not None:
            return question.answer
        options = Options(timeout, progress, extend_on_progress, meta)
        answer = self._requests.call(COMPLETE, question.params, options, completions.reader(question))
        return answer  # type: ignore[no-any-return]

    @spelt
    def submit_completion(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None,
        refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "RequestFuture[CompleteResult]":
        """Ask as `complete`, and return a future; a cached answer is there at once. Options as `complete`."""
        completions = self._completions
        question = completions.ask(ref, argument, value, arguments, refresh)
        read = completions.reader(question)
        if question.answer is None:
            options = Options(timeout, progress, extend_on_progress, meta)
            return self._requests.submit(COMPLETE, question.params, options, read)
        from ..peer.future import RequestFuture

        done: "RequestFuture[CompleteResult]" = RequestFuture(self.connection, read)
        done.set_result(question.answer)
        return done

    @spelt
    def set_log_level(
        self, level: str, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Ask for log messages of this level and above [..2025-11-25 server/utilities/logging §Setting Log Level].

        Without a handshake each request says so from now on; a call may ask for something else by its ``meta``
        [2026-07-28 server/utilities/logging §Per-request log level]. ``timeout`` (seconds) and the other options: see
        `call_tool`.
        """
        from ..messages.logs import LEVELS

        if level not in LEVELS:
            raise LocalProtocolError("log level %.80r: it is one of %s" % (level, ", ".join(LEVELS)))
        if self.revision.stateless:
            known(self.connection, "lists")
            self._handshake.set_log_level(self.connection, level)
        else:
            options = Options(timeout, progress, extend_on_progress, meta)
            self._requests.call(SET_LOG_LEVEL, {"level": level}, options)
            self._handshake.log_level = level

    @spelt
    def discover(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "DiscoverResult":
        """Ask the server what it is and what it can do; `open` has done so, and this asks anew.

        From the cache, as long as the server said that its answer is good; ``refresh`` asks. What the server says that
        it can do holds from then on: a feature that it had not declared before may be asked for. ``timeout`` (seconds)
        and the other options: see `call_tool`.

        [2026-07-28 server/discover §When to Call] MAY. Older revisions have no such request: `LocalProtocolError`.
        """
        connection = self.connection

        def read(result: Dict[str, Any]) -> Any:
            answer = self._requests.reader(DISCOVER, connection)(result)
            self._handshake.learn(connection, result)
            return answer

        options = Options(timeout, progress, extend_on_progress, meta)
        return self._cached.answer(DISCOVER, {}, 1, refresh, options, read)  # type: ignore[no-any-return]


def _named(name: str, arguments: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {"name": name} if arguments is None else {"name": name, "arguments": arguments}
