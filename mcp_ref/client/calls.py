"""What a client asks of a server: a typed call for each request, in the order of the pages.

Calls block until the answer is there and may be made from any number of threads; ``submit_*`` gives a
future instead. All take the same options, see `mcp_ref.client.asking.call_options`. What arrives is checked against the
agreed revision; an answer that does not fit raises `PeerProtocolError`, which says where.
"""

from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional

from ..errors import LocalProtocolError
from .caches import READ, by_name
from .remembering import Remembering, bytes_of
from .subscriptions import UpdateCallback

if TYPE_CHECKING:
    from .listening import Listening
    from ..messages.completion import CompleteResult
    from ..messages.prompts import GetPromptResult, ListPromptsResult, Prompt
    from ..messages.resources import (
        ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult, Resource, ResourceTemplate,
    )
    from ..messages.tools import CallToolResult, ListToolsResult, Tool
    from ..peer.future import RequestFuture
    from .completion import Ref


class Calls(Remembering):
    """The calls of a `Client`. All raise `PeerError` for a JSON-RPC error, `RequestTimeout` and `ConnectionLost`.

    Before anything is sent they raise `LocalProtocolError`: for what the server has not declared, or may not be asked.
    """

    # What other parts of a `Client` do where there is no handshake

    def _ask_for_logs(self, level: str) -> None:
        raise NotImplementedError

    @property
    def listening(self) -> "Listening":
        """What it listens to."""
        raise NotImplementedError

    def ping(self, **options: Any) -> None:
        """See whether the server answers [..2025-11-25 basic/utilities/ping §Message Format].

        Without a handshake there is no `ping`; every server answers `server/discover`, so it is asked that.
        """
        self._call("server/discover" if self.revision.stateless else "ping", None, **options)

    # Tools

    def list_tools(self, cursor: Optional[str] = None, **options: Any) -> "ListToolsResult":
        """One page of tools; ``cursor`` is the ``next_cursor`` of the page before.

        From memory, while the server would answer the same: see `mcp_ref.client.caches`. ``refresh=True`` asks; the
        same holds for every page and list, and for `read_resource`.
        """
        return self._page("tools", cursor, **options)  # type: ignore[no-any-return]

    def tools(self, refresh: bool = False, **options: Any) -> "Iterator[Tool]":
        """All tools, page by page.

        From memory, as far as that is good: see `list_tools`. ``refresh`` asks, from the first page on.
        """
        return self._all("tools", refresh, options)

    def tool(self, name: str, **options: Any) -> "Tool":
        """The tool of exactly this name [2025-11-25.. server/tools §Tool Names]; asks as `tools` does.

        Raises LookupError, which names some that there are.
        """
        kept = self._lists["tools"]
        tools = kept.named() if kept.current() is not None and options.get("meta") is None else None
        if tools is None:
            tools = by_name(list(self.tools(**options)))
        if name not in tools:
            known = ", ".join(sorted(tools)[:20]) or "none"
            raise LookupError("the server has no tool %.200r; it has %.1000s" % (name, known))
        found: Tool = tools[name]
        return found

    def call_tool(self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: Any) -> "CallToolResult":
        """Call a tool and wait for its result; a tool that failed gives a result whose ``is_error`` is true.

        The result is checked, see `mcp_ref.client.structured`: `InvalidResult` for one that is not what the tool's
        output schema says; ``check_results=False`` of the client leaves that out.
        """
        params = _named(name, arguments)
        if not self.check_results:
            return self._call("tools/call", params, **options)  # type: ignore[no-any-return]
        check = self._results or self._result_check()
        version = check.version
        return check(name, self._call("tools/call", params, **options), version)  # type: ignore[no-any-return]

    def submit_tool(self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: Any) -> "RequestFuture":
        """`call_tool` as a `concurrent.futures.Future`, whose ``cancel`` cancels on the wire.

        The result is checked when it is taken, by the thread that takes it.
        """
        params = _named(name, arguments)
        if not self.check_results:
            return self._submit("tools/call", params, **options)
        check = self._results or self._result_check()
        version = check.version
        return self._submit("tools/call", params, check=lambda result: check(name, result, version), **options)

    # Resources

    def list_resources(self, cursor: Optional[str] = None, **options: Any) -> "ListResourcesResult":
        """One page of resources, as `list_tools`."""
        return self._page("resources", cursor, **options)  # type: ignore[no-any-return]

    def resources(self, refresh: bool = False, **options: Any) -> "Iterator[Resource]":
        """All resources, as `tools`."""
        return self._all("resources", refresh, options)

    def list_resource_templates(self, cursor: Optional[str] = None, **options: Any) -> "ListResourceTemplatesResult":
        """One page of resource templates, as `list_tools`."""
        return self._page("resource_templates", cursor, **options)  # type: ignore[no-any-return]

    def resource_templates(self, refresh: bool = False, **options: Any) -> "Iterator[ResourceTemplate]":
        """All resource templates, as `tools`."""
        return self._all("resource_templates", refresh, options)

    def read_resource(self, uri: str, refresh: bool = False, **options: Any) -> "ReadResourceResult":
        """The contents of a resource, from memory as long as the server said that they are good, and not changed."""
        return self._remembered(READ, {"uri": uri}, bytes_of, refresh, options)  # type: ignore[no-any-return]

    def submit_resource(self, uri: str, **options: Any) -> "RequestFuture":
        """`read_resource` as a future."""
        return self._submit("resources/read", {"uri": uri}, **options)

    def subscribe_resource(self, uri: str, callback: Optional[UpdateCallback] = None, **options: Any) -> None:
        """Be told when a resource changes: ``callback(uri)``, and ``on_update`` of the client.

        Once more for the same URI replaces the callback. Raises `Busy` at ``max_subscriptions``
        [..2025-11-25 server/resources §Subscriptions].
        """
        subscriptions = self._subscriptions
        if self.revision.stateless:
            self.listening.subscribe(uri, callback)
            return
        undo = subscriptions.add(uri, callback)
        try:
            self._call("resources/subscribe", {"uri": uri}, **options)
        except BaseException:
            undo()
            raise

    def unsubscribe_resource(self, uri: str, **options: Any) -> None:
        """Be told no more [..2025-11-25 server/resources §Subscriptions]; its callback is not called from now on."""
        subscriptions = self._subscriptions
        if self.revision.stateless:
            self.listening.unsubscribe(uri)
            return
        subscriptions.remove(uri)
        self._call("resources/unsubscribe", {"uri": uri}, **options)

    # Prompts

    def list_prompts(self, cursor: Optional[str] = None, **options: Any) -> "ListPromptsResult":
        """One page of prompts, as `list_tools`."""
        return self._page("prompts", cursor, **options)  # type: ignore[no-any-return]

    def prompts(self, refresh: bool = False, **options: Any) -> "Iterator[Prompt]":
        """All prompts, as `tools`."""
        return self._all("prompts", refresh, options)

    def get_prompt(self, name: str, arguments: Optional[Dict[str, str]] = None, **options: Any) -> "GetPromptResult":
        """The messages of a prompt."""
        return self._call("prompts/get", _named(name, arguments), **options)  # type: ignore[no-any-return]

    def submit_prompt(self, name: str, arguments: Optional[Dict[str, str]] = None, **options: Any) -> "RequestFuture":
        """`get_prompt` as a future."""
        return self._submit("prompts/get", _named(name, arguments), **options)

    # Utilities

    def complete(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None,
        refresh: bool = False, **options: Any
    ) -> "CompleteResult":
        """Suggestions for an argument as far as it is typed [.. server/utilities/completion §Requesting Completions].

        ``ref``: a prompt by its name, or a resource template by its URI (or a `PromptReference`,
        `ResourceTemplateReference`). ``arguments``: those that are settled already, for revisions that carry them. An
        answer may come from memory, for a while; ``refresh`` asks. Raises `Busy` at ``max_completions_per_second``.
        """
        completions = self._completions
        question = completions.ask(ref, argument, value, arguments, refresh)
        if question.answer is not None:
            return question.answer
        answer = self._call("completion/complete", question.params, completions.reader(question), **options)
        return answer  # type: ignore[no-any-return]

    def submit_completion(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None,
        refresh: bool = False, **options: Any
    ) -> "RequestFuture":
        """`complete` as a future; a remembered answer is there at once."""
        completions = self._completions
        question = completions.ask(ref, argument, value, arguments, refresh)
        read = completions.reader(question)
        if question.answer is None:
            return self._submit("completion/complete", question.params, read, **options)
        from ..peer.future import RequestFuture

        done = RequestFuture(self.connection, read)
        done.set_result(question.answer)
        return done

    def set_log_level(self, level: str, **options: Any) -> None:
        """Ask for log messages of this level and above [..2025-11-25 server/utilities/logging §Setting Log Level].

        Without a handshake each request says so from now on, and one may say something else by its ``meta``
        [2026-07-28 server/utilities/logging §Per-request log level].
        """
        from ..messages.logs import LEVELS

        if level not in LEVELS:
            raise LocalProtocolError("log level %.80r: it is one of %s" % (level, ", ".join(LEVELS)))
        if self.revision.stateless:
            self._ask_for_logs(level)
        else:
            self._call("logging/setLevel", {"level": level}, **options)


def _named(name: str, arguments: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {"name": name} if arguments is None else {"name": name, "arguments": arguments}
