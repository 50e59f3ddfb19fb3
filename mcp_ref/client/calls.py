"""What a client asks of a server: a typed call for each request, in the order of the pages.

Calls block until the answer is there and may be made from any number of threads; ``submit_*`` gives a
future instead. What the options of all of them mean is told at `Calls.call_tool`. What arrives is checked against the
agreed revision; an answer that does not fit raises `PeerProtocolError`, which says where.
"""

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NoReturn, Optional, Union, overload

from ..errors import LocalProtocolError
from ..options import REQUEST_TIMEOUT, refuse, spelt
from ..peer.request_table import ProgressCallback
from .cache.cached_calls import Remembering, bytes_of
from .cache.caches import READ, by_name
from .requests import Options
from .subscriptions import UpdateCallback

if TYPE_CHECKING:
    from typing import Literal

    from ..messages.completion import CompleteResult, Ref
    from ..messages.mrtr import InputRequiredResult
    from ..messages.prompts import GetPromptResult, ListPromptsResult, Prompt
    from ..messages.resources import (
        ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult, Resource, ResourceTemplate,
    )
    from ..messages.tools import CallToolResult, ListToolsResult, Tool
    from ..peer.future import RequestFuture
    from .listening import Listening


class Calls(Remembering):
    """The calls of a `Client`. All raise `PeerError` for a JSON-RPC error, `RequestTimeout` and `ConnectionLost`.

    Before anything is sent they raise `LocalProtocolError`: for what the server has not declared, or may not be asked.

    All take ``timeout``, ``progress``, ``extend_on_progress`` and ``meta``; what they mean is told at `call_tool`.
    """

    # What other parts of a `Client` do where there is no handshake

    def _ask_for_logs(self, level: str) -> None:
        raise NotImplementedError

    @property
    def listening(self) -> "Listening":
        """What it listens to."""
        raise NotImplementedError

    @spelt
    def ping(
        self, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        """See whether the server answers [..2025-11-25 basic/utilities/ping §Message Format].

        Without a handshake there is no `ping`; every server answers `server/discover`, so it is asked that. ``timeout``
        (seconds) and the other options: see `call_tool`.
        """
        options = Options(timeout, progress, extend_on_progress, meta)
        self._call("server/discover" if self.revision.stateless else "ping", None, options)

    # Tools

    @spelt
    def list_tools(
        self, cursor: Optional[str] = None, *, refresh: bool = False, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "ListToolsResult":
        """One page of tools; ``cursor`` is the ``next_cursor`` of the page before.

        From memory, while the server would answer the same: see `mcp_ref.client.cache.caches`. ``refresh=True`` asks;
        the same holds for every page and list, and for `read_resource`. ``timeout`` (seconds) and the other options:
        see `call_tool`.
        """
        options = Options(timeout, progress, extend_on_progress, meta)
        return self._page("tools", cursor, refresh, options)  # type: ignore[no-any-return]

    @spelt
    def tools(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "List[Tool]":
        """All tools: a list, made of all pages, at most ``max_pages`` of them.

        From memory, as far as that is good: see `list_tools`, which gives the pages one by one. ``refresh`` asks, from
        the first page on. ``timeout`` (seconds, for each page) and the other options: see `call_tool`.
        """
        return list(self._all("tools", refresh, Options(timeout, progress, extend_on_progress, meta)))

    @spelt
    def tool(
        self, name: str, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "Tool":
        """The tool of exactly this name [2025-11-25.. server/tools §Tool Names]; asks as `tools` does.

        ``refresh``, ``timeout`` and the other options: as `tools`. Raises LookupError, which names some that there are.
        """
        kept = self._lists["tools"]
        tools = kept.named() if kept.current() is not None and meta is None and not refresh else None
        if tools is None:
            options = Options(timeout, progress, extend_on_progress, meta)
            tools = by_name(list(self._all("tools", refresh, options)))
        if name not in tools:
            known = ", ".join(sorted(tools)[:20]) or "none"
            raise LookupError("the server has no tool %.200r; it has %.1000s" % (name, known))
        found: Tool = tools[name]
        return found

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
    ) -> Any:
        """Call a tool and wait for its result; a tool that failed gives a result whose ``is_error`` is true.

        The result is checked, see `mcp_ref.client.structured`: `InvalidResult` for one that is not what the tool's
        output schema says; ``check_results=False`` of the client leaves that out.

        ``timeout``: seconds without an answer, after which the request is cancelled and `RequestTimeout` raised
        (default: ``request_timeout`` of the limits; None: only their ``request_ceiling``).
        ``progress``: a function ``(value, total, message)`` that is called while the request is worked on, in the
        thread that waits, or for futures on the executor.
        ``extend_on_progress``: True to start ``timeout`` again with each progress that comes.
        ``meta``: members for the `_meta` of the request.

        The others are for servers that ask something first (2026-07-28), see `mcp_ref.client.rounds`.
        ``rounds="manual"``: give what the server asks, an `InputRequiredResult`, to the caller, and not to the
        callbacks of the client. ``input_responses``: the caller's answers, by the key of the question.
        ``request_state``: the text that came with the questions.
        """
        if unknown:
            refuse(Calls.call_tool, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        params = _named(name, arguments)
        if not self.check_results:
            return self._call("tools/call", params, options)
        check = self._results or self._result_check()
        version = check.version
        return check(name, self._call("tools/call", params, options), version)

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
        """`call_tool` as a `concurrent.futures.Future`, whose ``cancel`` cancels on the wire.

        The result is checked when it is taken, by the thread that takes it. ``timeout`` (seconds) and the other
        options: see `call_tool`.
        """
        if unknown:
            refuse(Calls.submit_tool, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        params = _named(name, arguments)
        if not self.check_results:
            return self._submit("tools/call", params, options)
        check = self._results or self._result_check()
        version = check.version
        return self._submit("tools/call", params, options, check=lambda result: check(name, result, version))

    # Resources

    @spelt
    def list_resources(
        self, cursor: Optional[str] = None, *, refresh: bool = False, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "ListResourcesResult":
        """One page of resources, as `list_tools`, with the same options."""
        options = Options(timeout, progress, extend_on_progress, meta)
        return self._page("resources", cursor, refresh, options)  # type: ignore[no-any-return]

    @spelt
    def resources(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "List[Resource]":
        """All resources, as `tools`, with the same options."""
        return list(self._all("resources", refresh, Options(timeout, progress, extend_on_progress, meta)))

    @spelt
    def list_resource_templates(
        self, cursor: Optional[str] = None, *, refresh: bool = False, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "ListResourceTemplatesResult":
        """One page of resource templates, as `list_tools`, with the same options."""
        options = Options(timeout, progress, extend_on_progress, meta)
        return self._page("resource_templates", cursor, refresh, options)  # type: ignore[no-any-return]

    @spelt
    def resource_templates(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "List[ResourceTemplate]":
        """All resource templates, as `tools`, with the same options."""
        return list(self._all("resource_templates", refresh, Options(timeout, progress, extend_on_progress, meta)))

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
    ) -> Any:
        """The contents of a resource, from memory as long as the server said that they are good, and not changed.

        ``refresh`` asks. ``timeout`` (seconds), ``progress`` and the other options: see `call_tool`; with
        ``rounds="manual"`` the result may be an `InputRequiredResult`.
        """
        if unknown:
            refuse(Calls.read_resource, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        return self._remembered(READ, {"uri": uri}, bytes_of, refresh, options)

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
        """`read_resource` as a future; it asks always. Options as `call_tool`."""
        if unknown:
            refuse(Calls.submit_resource, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        return self._submit("resources/read", {"uri": uri}, options)

    @spelt
    def subscribe_resource(
        self, uri: str, callback: Optional[UpdateCallback] = None, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Be told when a resource changes: ``callback(uri)``, and ``on_update`` of the client.

        Once more for the same URI replaces the callback. Raises `Busy` at ``max_subscriptions``
        [..2025-11-25 server/resources §Subscriptions]. ``timeout`` (seconds) and the other options: see `call_tool`.
        """
        subscriptions = self._subscriptions
        if self.revision.stateless:
            self.listening.subscribe(uri, callback)
            return
        undo = subscriptions.add(uri, callback)
        try:
            self._call("resources/subscribe", {"uri": uri}, Options(timeout, progress, extend_on_progress, meta))
        except BaseException:
            undo()
            raise

    @spelt
    def unsubscribe_resource(
        self, uri: str, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Be told no more [..2025-11-25 server/resources §Subscriptions]; its callback is not called from now on.

        ``timeout`` (seconds) and the other options: see `call_tool`.
        """
        subscriptions = self._subscriptions
        if self.revision.stateless:
            self.listening.unsubscribe(uri)
            return
        subscriptions.remove(uri)
        self._call("resources/unsubscribe", {"uri": uri}, Options(timeout, progress, extend_on_progress, meta))

    # Prompts

    @spelt
    def list_prompts(
        self, cursor: Optional[str] = None, *, refresh: bool = False, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "ListPromptsResult":
        """One page of prompts, as `list_tools`, with the same options."""
        options = Options(timeout, progress, extend_on_progress, meta)
        return self._page("prompts", cursor, refresh, options)  # type: ignore[no-any-return]

    @spelt
    def prompts(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "List[Prompt]":
        """All prompts, as `tools`, with the same options."""
        return list(self._all("prompts", refresh, Options(timeout, progress, extend_on_progress, meta)))

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
    ) -> Any:
        """The messages of a prompt.

        ``timeout`` (seconds), ``progress`` and the other options: see `call_tool`; with ``rounds="manual"`` the result
        may be an `InputRequiredResult`.
        """
        if unknown:
            refuse(Calls.get_prompt, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        return self._call("prompts/get", _named(name, arguments), options)

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
        """`get_prompt` as a future. Options as `call_tool`."""
        if unknown:
            refuse(Calls.submit_prompt, unknown)
        options = Options(timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state)
        return self._submit("prompts/get", _named(name, arguments), options)

    # Utilities

    @spelt
    def complete(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None,
        refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "CompleteResult":
        """Suggestions for an argument as far as it is typed [.. server/utilities/completion §Requesting Completions].

        ``ref``: a prompt by its name, or a resource template by its URI (or a `PromptReference`,
        `ResourceTemplateReference`). ``arguments``: those that are settled already, for revisions that carry them. An
        answer may come from memory, for a while; ``refresh`` asks. ``timeout`` (seconds) and the other options: see
        `call_tool`. Raises `Busy` at ``max_completions_per_second``.
        """
        completions = self._completions
        question = completions.ask(ref, argument, value, arguments, refresh)
        if question.answer is not None:
            return question.answer
        options = Options(timeout, progress, extend_on_progress, meta)
        answer = self._call("completion/complete", question.params, options, completions.reader(question))
        return answer  # type: ignore[no-any-return]

    @spelt
    def submit_completion(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None,
        refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "RequestFuture[CompleteResult]":
        """`complete` as a future; a remembered answer is there at once. Options as `complete`."""
        completions = self._completions
        question = completions.ask(ref, argument, value, arguments, refresh)
        read = completions.reader(question)
        if question.answer is None:
            options = Options(timeout, progress, extend_on_progress, meta)
            return self._submit("completion/complete", question.params, options, read)
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

        Without a handshake each request says so from now on, and one may say something else by its ``meta``
        [2026-07-28 server/utilities/logging §Per-request log level]. ``timeout`` (seconds) and the other options: see
        `call_tool`.
        """
        from ..messages.logs import LEVELS

        if level not in LEVELS:
            raise LocalProtocolError("log level %.80r: it is one of %s" % (level, ", ".join(LEVELS)))
        if self.revision.stateless:
            self._ask_for_logs(level)
        else:
            self._call("logging/setLevel", {"level": level}, Options(timeout, progress, extend_on_progress, meta))


def _named(name: str, arguments: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {"name": name} if arguments is None else {"name": name, "arguments": arguments}
