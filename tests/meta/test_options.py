"""Options of public calls: each is named in a signature, and a misspelt one is refused with the right word.

What is public: the names of `PUBLIC`, the classes among them with their constructors and methods, and what users meet
beside these (`BESIDE`).
"""
import ast
import importlib
import inspect
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from tests.meta.facts import BLOCKS, PACKAGE, expect_nothing, python_files, tree_of

PUBLIC = ("mcp_ref", "mcp_ref.client", "mcp_ref.server", "mcp_ref.host", "mcp_ref.auth")
BESIDE = (
    "mcp_ref.client.elicitation.Elicitation", "mcp_ref.client.icons.usable_icons", "mcp_ref.client.sampling.ModelCard",
    "mcp_ref.client.roots.Roots", "mcp_ref.client.sampling.Sampling", "mcp_ref.client.connecting.transport_to",
    "mcp_ref.messages.prompts.PromptArgument", "mcp_ref.server.registry.directory.Directory",
    "mcp_ref.server.serving.http_listener.HttpListener", "mcp_ref.server.serving.http_listener.endpoint_of",
    "mcp_ref.server.serving.http_listener.serve_http", "mcp_ref.server.loghandler.WireHandler",
    "mcp_ref.server.prompts.Prompts.add", "mcp_ref.server.resources.Resources.add",
    "mcp_ref.server.resources.Resources.add_fixed", "mcp_ref.server.tools.Tools.add",
    "mcp_ref.transports.lines.child.StdioChild", "mcp_ref.streamable.client.detect.HttpAuto",
    "mcp_ref.streamable.client.streamable.StreamableHttp", "mcp_ref.streamable.client.http_sse.HttpSse",
)
FREE = {
    "auth/client/registration:client_metadata": "any member that a client metadata document may have",
    "cli/serve/loading:listen_http": "of the command line; HttpListener refuses what it does not know",
    "host/audit:Audit.record": "the details of an event, in the words of whoever writes it",
    "host/questions:AuditEntry.__init__": "likewise",
    "host/host:Host.record": "likewise",
    "host/member:ServerClient.__init__": "the host makes it, with options that its own signatures have named",
    "model:Model.__init__": "the members of the message, which it checks by its fields",
    "options:strict_options.checked": "looks at the names before the call gets them",
    "server/hints/signature:taking_names.call": "the arguments of a tool",
    "server/registry/checks:check_texts": "option -> text, to be checked",
    "streamable/server/http_sse:SseEndpoint.__init__": "options of Endpoint, which refuses what it does not know",
    "testing/__init__:Connected.__init__": "options of connect, which refuses what it does not know",
    "testing/__init__:connected": "likewise",
    "testing/__init__:each_revision": "likewise",
}
"""Functions that take any keyword, each with the reason."""
NOT_CALLED_BY_USERS = {"mcp_ref.Context": "made for each request", "mcp_ref.server.Context": "made for each request",
                       "mcp_ref.server.Requester": "made for each request",
                       "mcp_ref.client.Context": "made for each request",
                       "mcp_ref.client.RequestFuture": "made by submit_*",
                       "mcp_ref.server.Answer": "made by ctx.elicit",
                       "mcp_ref.server.Connection": "made for each client"}
HOT = ("call_tool", "submit_tool", "read_resource", "get_prompt", "request")


def functions(tree: ast.AST, path: str = "") -> Iterator[Tuple[str, ast.FunctionDef]]:
    """The functions of a module, each with its dotted name."""
    for node in [each for block in BLOCKS for each in getattr(tree, block, ())]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if isinstance(node, ast.FunctionDef):
                yield path + node.name, node
            yield from functions(node, path + node.name + ".")
        else:
            yield from functions(node, path)


def named(dotted: str) -> Any:
    """What stands behind a dotted name."""
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ImportError:
            continue
        for part in parts[size:]:
            found = getattr(found, part)
        return found
    raise LookupError(dotted)


def methods_of(name: str, kind: type) -> Iterator[Tuple[str, str, Callable[..., Any]]]:
    """The constructor and the public methods of a class, bound to an object that was never initialized."""
    for attribute in dir(kind):
        found = inspect.getattr_static(kind, attribute)
        found = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
        ours = inspect.isfunction(found) and found.__module__.startswith("mcp_ref")
        if attribute == "__init__" and inspect.isfunction(getattr(kind, attribute)):  # of a dataclass it is written now
            yield name, kind.__name__, kind
        elif ours and not attribute.startswith("_"):
            instance = kind if isinstance(inspect.getattr_static(kind, attribute), classmethod) else kind.__new__(kind)
            yield "%s.%s" % (name, attribute), attribute, getattr(instance, attribute)


def public() -> Iterator[Tuple[str, str, Callable[..., Any]]]:
    """Everything public that can be called: where it is, the name that its error says, and itself."""
    seen = set()
    names = ["%s.%s" % (module, name) for module in PUBLIC for name in importlib.import_module(module).__all__]
    for name in [*names, *BESIDE]:
        found = named(name)
        if not callable(found) or id(found) in seen or name in NOT_CALLED_BY_USERS:
            continue
        seen.add(id(found))
        if not isinstance(found, type):
            method = "." in found.__qualname__
            yield name, found.__name__, partial(found, None) if method else found
        elif name in BESIDE:
            yield name, found.__name__, found
        else:
            yield from methods_of(name, found)


def options_of(call: Callable[..., Any]) -> List[str]:
    """What may be left out."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [parameter.name for parameter in inspect.signature(call).parameters.values()
            if parameter.kind in kinds and parameter.default is not inspect.Parameter.empty]


def required_of(call: Callable[..., Any]) -> Dict[str, None]:
    """Arguments for what may not be left out."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {parameter.name: None for parameter in inspect.signature(call).parameters.values()
            if parameter.kind in kinds and parameter.default is inspect.Parameter.empty}


CALLS = {where: (shown, call) for where, shown, call in public() if options_of(call)}


def test_no_function_takes_any_keyword_but_where_keywords_are_free() -> None:
    found = {}
    for path in python_files("mcp_ref"):
        for name, function in functions(tree_of(path)):
            keywords = function.args.kwarg
            if keywords is None or any(part.startswith("_") and not part.endswith("__") for part in name.split(".")):
                continue
            families = [getattr(each, "id", "") for each in function.decorator_list] + [
                getattr(keywords.annotation, "id", ""), getattr(keywords.annotation, "value", "")]
            if not any(str(each).startswith(("takes_", "Unpack[", "NoReturn")) for each in families):
                module = path.relative_to(PACKAGE).with_suffix("").as_posix()
                found["%s:%s" % (module, name)] = keywords.arg
    expect_nothing(["%s takes **%s: name its options, or give the reason in FREE" % each
                    for each in sorted(found.items()) if each[0] not in FREE]
                   + ["%s takes no free keywords: not for FREE" % name for name in sorted(set(FREE) - set(found))])


def test_the_calls_that_the_readme_shows_are_among_those_that_are_checked() -> None:
    known = {name.partition("mcp_ref.")[2] for name in CALLS}
    wanted = {"connect", "Client", "Client.call_tool", "Client.list_tools", "Client.submit_tool", "Client.complete",
              "Client.request", "Client.listen", "Server", "Server.tool", "Server.resource", "Server.prompt",
              "Server.run_http", "Server.listen", "Server.wsgi", "Server.handle", "Server.directory", "Host",
              "Host.connect", "Host.from_config", "Host.call_tool", "Limits", "auth.OAuth", "auth.ResourceServer"}
    assert not wanted - known
    assert len(CALLS) > 90


@pytest.mark.parametrize("where", sorted(CALLS))
def test_a_misspelt_option_is_refused_with_the_right_word(where: str) -> None:
    shown, call = CALLS[where]
    for option in options_of(call):
        wrong = option[:-2] + option[-1]
        with pytest.raises(TypeError) as caught:
            call(**required_of(call), **{wrong: None})
        expected = "%s() has no option %r; did you mean %r?" % (shown, wrong, option)
        assert str(caught.value).startswith(expected), where


@pytest.mark.parametrize("where", sorted(CALLS))
def test_help_shows_each_option_with_its_default(where: str) -> None:
    """No default is shown by its address, and nothing hides the parameters."""
    shown = str(inspect.signature(CALLS[where][1]))
    assert " object at 0x" not in shown and "*args" not in shown
    for option in options_of(CALLS[where][1]):
        assert option in shown


def test_calls_on_the_hot_path_go_through_no_other_function() -> None:
    from mcp_ref.client import Client

    for name in HOT:
        assert not hasattr(getattr(Client, name), "__wrapped__"), name


def test_overloads_have_the_options_of_what_they_stand_for() -> None:
    """`**unknown` and `**options` aside: a checker reads the overloads, the interpreter the function."""
    wrong = []
    for path in python_files("mcp_ref"):
        heads: Dict[str, List[List[str]]] = {}
        for name, function in functions(tree_of(path)):
            names = [argument.arg for argument in [*function.args.args, *function.args.kwonlyargs]]
            heads.setdefault(name, []).append(names)
        wrong += ["%s: %s" % (path.name, name) for name, found in heads.items()
                  if len(found) > 2 and any(names != found[-1] for names in found) and ".setter" not in name]
    expect_nothing(wrong)


FAMILIES = (
    # an option of the first is there, with the same default, in the others; but for some of its own
    ("mcp_ref.client.Client", ("mcp_ref.client.connect",), ()),
    ("mcp_ref.client.connecting.transport_to", ("mcp_ref.client.connect",), ()),
    ("mcp_ref.host.Host", ("mcp_ref.host.Host.from_config",), ()),
    ("mcp_ref.client.Client", ("mcp_ref.host.Host",),
     ("roots", "sampling", "elicitation", "on_log", "on_update", "on_notification", "restart")),
    ("mcp_ref.server.serving.http_listener.HttpListener",
     ("mcp_ref.server.Server.run_http", "mcp_ref.server.Server.listen",
      "mcp_ref.server.serving.http_listener.serve_http"),
     ("server", "address")),
    ("mcp_ref.server.serving.http_listener.endpoint_of", ("mcp_ref.server.Server.wsgi",), ("server", "streams")),
    ("mcp_ref.server.registry.directory.Directory", ("mcp_ref.server.Server.directory",), ()),
    ("mcp_ref.server.tools.Tools.add", ("mcp_ref.server.Server.tool",), ("function",)),
    ("mcp_ref.server.resources.Resources.add", ("mcp_ref.server.Server.resource",), ("function",)),
    ("mcp_ref.server.resources.Resources.add",
     ("mcp_ref.server.resources.Resources.add_fixed",), ("function", "unchecked")),  # fixed contents have no variables
    ("mcp_ref.server.prompts.Prompts.add", ("mcp_ref.server.Server.prompt",), ("function",)),
    ("mcp_ref.server.sampling.sample", ("mcp_ref.server.Context.sample",), ("ctx",)),
    ("mcp_ref.server.sampling.sample_with_tools", ("mcp_ref.server.Context.sample_with_tools",), ("ctx",)),
    ("mcp_ref.client.Client.call_tool", ("mcp_ref.host.Host.call_tool",), ("name",)),
    ("mcp_ref.client.Client.read_resource", ("mcp_ref.host.Host.read_resource",), ()),
    ("mcp_ref.client.Client.get_prompt", ("mcp_ref.host.Host.get_prompt",), ("name",)),
)


@pytest.mark.parametrize("first, others, own", FAMILIES, ids=lambda value: value if isinstance(value, str) else "")
def test_what_passes_options_on_has_all_of_them(first: str, others: Tuple[str, ...], own: Tuple[str, ...]) -> None:
    """With the same default; that the types fit is for mypy to say."""
    wanted = {name: parameter for name, parameter in parameters(first).items() if name not in (*own, "unknown")}
    assert wanted
    for other in others:
        given = parameters(other)
        for name, parameter in wanted.items():
            assert name in given, (other, name)
            assert given[name].default == parameter.default, (other, name)


def parameters(dotted: str) -> Dict[str, inspect.Parameter]:
    """The parameters of a call, by name."""
    found = dict(inspect.signature(named(dotted)).parameters)
    found.pop("self", None)
    return found
