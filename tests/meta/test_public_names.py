"""The public names of `Client`, `Server` and `Host`: each is in README, its pages or an example, or here with a reason.

A name that is added is to be shown to users, or to get an underscore.
"""
import inspect
import re
from typing import Any, Dict, Set

import pytest

from mcp_ref import Client, Host, Server
from mcp_ref.peer.role import METHODS
from tests.meta.facts import expect_nothing, python_files, text_of
from tests.meta.test_readme import PAGES

MADE = {"client": Client, "server": lambda: Server("x"), "host": Host}
IN_HELP: Dict[str, Set[str]] = {
    "client": {
        "connection", "server_extensions", "origin", "usable_icons", "forget", "list_prompts", "prompts",
        "list_resources", "list_resource_templates", "resource_templates", "tool", "submit_completion", "submit_prompt",
        "submit_resource", "unsubscribe_resource",
    },
    "server": {
        "announce_once", "connections", "elicitation_complete", "handler", "has_feature", "lifespan",
        "remove_prompt", "remove_resource", "tasks", "tools", "resources", "prompts", "completions",
    },
    "host": {
        "clients", "close", "disconnect", "follow", "get_prompt", "lost", "policy", "prompts",
        "read_resource", "record", "resource_templates", "resources", "restart", "tool",
    },
}
"""For users, and described by `help` alone."""
INSIDE: Dict[str, Set[str]] = {
    "client": {"hang_up", "listening", "renewed", "wanted"},
    "server": {"completes", "connection", "declare", "held", "hides", "hold", "http_routes", "let_go", "listeners",
               "may_log", "resolve", "states", "subscriptions", "tick"},
    "host": set(),
}
"""For other parts of the package; they may change."""


def shown() -> str:
    """What users read first."""
    return "\n".join(text_of(path) for path in [*PAGES, *python_files("examples")]
                     if path.parent.name != "porting")


def methods_of(made: Any) -> Set[str]:
    """The public methods and properties; attributes are the options that its constructor was given."""
    return {name for name in dir(type(made)) if not name.startswith("_")
            and (callable(getattr(type(made), name)) or isinstance(getattr(type(made), name), property))}


@pytest.mark.parametrize("name", sorted(MADE))
def test_each_public_name_is_shown_or_has_its_reason(name: str) -> None:
    made, text = MADE[name](), shown()
    found = methods_of(made)
    in_readme = {each for each in found if re.search(r"\b(?i:%s)\.%s\b" % (name, each), text)}
    others = METHODS & found, IN_HELP[name], INSIDE[name]
    expect_nothing(["%s.%s is shown nowhere: name it in README, or give it an underscore" % (name, each)
                    for each in sorted(found - in_readme - set().union(*others))]
                   + ["%s.%s is listed here and is no public name" % (name, each)
                      for each in sorted((IN_HELP[name] | INSIDE[name]) - found)]
                   + ["%s.%s is in README now, or for connections: not for the lists here" % (name, each)
                      for each in sorted((IN_HELP[name] | INSIDE[name]) & (in_readme | METHODS))])
    undescribed = [each for each in found - METHODS if not inspect.getdoc(getattr(type(made), each))]
    assert undescribed == []


@pytest.mark.parametrize("name", ["client", "server"])
def test_who_explores_an_object_does_not_see_what_is_for_its_connections(name: str) -> None:
    made = MADE[name]()
    assert "answer_error" in METHODS and not METHODS.intersection(dir(made))
    assert {"client": "call_tool", "server": "tool"}[name] in dir(made)
    assert all(callable(getattr(made, each)) for each in METHODS), "they are there all the same"
