"""Our client against the reference server that has one of everything, with every offer of a client made to it."""
import concurrent.futures
import threading
from typing import Any, Dict, List

from mcp_ref.client.elicitation import Elicitation
from mcp_ref.client.sampling import Sampling
from official_walk import expect
from steps import SECONDS, Steps, names, texts


class User:
    """The person and the model behind the client, who remember what they were asked."""

    def __init__(self) -> None:
        self.asked: List[Any] = []
        self.logged = threading.Event()

    def offers(self, folder: str) -> Dict[str, Any]:
        """Options of the client."""
        return {"roots": [folder], "sampling": Sampling(self.sample, model="nobody"),
                "elicitation": Elicitation(form=self.fill_in, url=self.follow),
                "tasks": True, "on_log": lambda *log: self.logged.set()}

    def sample(self, params: Any, context: Any) -> str:
        """The model."""
        self.asked.append(params)
        return "It is blue."

    def fill_in(self, params: Any, context: Any) -> Dict[str, Any]:
        """The user, in front of a form: gives what is required, and one thing more."""
        self.asked.append(params)
        if "interpretation" in params.requested_schema.properties:
            return {"interpretation": "technical"}
        extra = {"integer": 7} if "integer" in params.requested_schema.properties else {"favoriteColor": "Green"}
        return dict({"name": "Ada"}, **extra)

    def follow(self, request: Any, context: Any) -> bool:
        """The user, in front of a link: agrees."""
        self.asked.append(request)
        return True


def walk(client: Any, user: User, steps: Steps, cancelling: bool = True) -> None:
    """All of it, or all but giving up a call."""
    lists(client, steps)
    tools(client, steps)
    resources_and_prompts(client, steps)
    progress(client, steps)
    if cancelling:
        cancel(client, steps)
    completions(client, steps)
    told(client, user, steps)
    asked(client, user, steps)
    if "tasks" in client.server_capabilities:
        tasks(client, user, steps)
        asked_as_tasks(client, user, steps)


def tasks(client: Any, user: User, steps: Steps) -> None:
    """A tool that must be called as a task, and asks the user while it works; one is cancelled."""
    tool, told = "simulate-research-query", []
    report = client.call_tool(tool, {"topic": "tides", "ambiguous": True}, timeout=SECONDS,
                              progress=lambda value, total, message: told.append(message))
    expect("tides (technical)" in report.text and told, "a task that asks", report, told)
    task = client.start_tool(tool, {"topic": "tides"}, ttl=60)
    expect(task.id in [each.task_id for each in client.list_tasks().tasks], "the list of tasks")
    task.cancel()
    expect(task.wait(SECONDS) and task.status == "cancelled", "a cancelled task", task)
    steps.done("tasks")


def asked_as_tasks(client: Any, user: User, steps: Steps) -> None:
    """What the server asks for by a task of ours, which it polls."""
    said = client.call_tool("trigger-sampling-request-async", {"prompt": "Which colour?", "maxTokens": 5}).text
    expect(said.startswith("[COMPLETED]") and "It is blue." in said, "sampling as a task", said)
    form = client.call_tool("trigger-elicitation-request-async").text
    expect("- Name: Ada" in form and "- Favorite Color: Green" in form and "Task created" in form,
           "elicitation as a task", form)
    steps.done("tasks of ours")


def lists(client: Any, steps: Steps) -> None:
    """Everything is listed."""
    listed = {"tools": names(client.tools()), "resources": names(client.resources()),
              "templates": names(client.resource_templates()), "prompts": names(client.prompts())}
    expect("get-sum" in listed["tools"] and all(listed.values()), "lists", listed)
    steps.done("lists", **{member: len(found) for member, found in listed.items()})


def tools(client: Any, steps: Steps) -> None:
    """Every kind of result."""
    expect(texts(client.call_tool("echo", {"message": "h\u00e9llo"})) == ["Echo: h\u00e9llo"], "echo")
    expect("5" in texts(client.call_tool("get-sum", {"a": 2, "b": 3}))[0], "get-sum")
    weather = client.call_tool("get-structured-content", {"location": "New York"}).structured_content
    expect(set(weather) == {"temperature", "conditions", "humidity"}, "structured content", weather)
    kinds = [block.type for block in client.call_tool("get-tiny-image", {}).content]
    expect("image" in kinds, "image", kinds)
    kinds = [block.type for block in client.call_tool("get-resource-links", {"count": 2}).content]
    expect(kinds.count("resource_link") == 2, "resource links", kinds)
    steps.done("tools")


def resources_and_prompts(client: Any, steps: Steps) -> None:
    """Text, bytes and messages."""
    first = client.list_resources().resources[0]
    expect(bool(client.read_resource(first.uri).contents[0].text), "contents", first.uri)
    blob = client.read_resource("demo://resource/dynamic/blob/1").contents[0].blob
    expect(bool(blob), "blob", blob)
    expect(bool(client.get_prompt("args-prompt", {"city": "Paris"}).messages), "prompt")
    steps.done("resources and prompts")


def progress(client: Any, steps: Steps) -> None:
    """Follow a long operation."""
    seen: List[float] = []
    client.call_tool("trigger-long-running-operation", {"duration": 0.6, "steps": 3},
                     progress=lambda progress, total=None, message=None: seen.append(progress))
    expect(seen == [1, 2, 3], "progress", seen)
    steps.done("progress", seen=seen)


def cancel(client: Any, steps: Steps) -> None:
    """Give up a long operation."""
    future = client.submit_tool("trigger-long-running-operation", {"duration": 60, "steps": 2})
    expect(future.cancel(), "cancel() said no")
    concurrent.futures.wait([future], timeout=SECONDS)
    expect(future.cancelled(), "not cancelled", future)
    expect(texts(client.call_tool("echo", {"message": "after"})) == ["Echo: after"], "echo after a cancellation")
    steps.done("cancel")


def completions(client: Any, steps: Steps) -> None:
    """The second argument is completed by the first."""
    first = client.complete("completable-prompt", "department", "S").completion.values
    expect(first == ["Sales", "Support"], "departments", first)
    second = client.complete("completable-prompt", "name", "", {"department": "Sales"}).completion.values
    expect(second == ["David", "Eve", "Frank"], "names", second)
    steps.done("completion")


def told(client: Any, user: User, steps: Steps) -> None:
    """What the server tells unasked."""
    uri, heard = "demo://resource/dynamic/text/1", threading.Event()
    client.subscribe_resource(uri, lambda updated: heard.set())
    client.call_tool("toggle-subscriber-updates")
    expect(heard.wait(SECONDS), "no update of what we subscribed to")
    client.call_tool("toggle-subscriber-updates")
    client.unsubscribe_resource(uri)
    steps.done("subscription")
    client.set_log_level("debug")
    client.call_tool("toggle-simulated-logging")
    expect(user.logged.wait(SECONDS), "no log message")
    client.call_tool("toggle-simulated-logging")
    steps.done("log messages")


def asked(client: Any, user: User, steps: Steps) -> None:
    """What the server asks for while it answers."""
    roots = texts(client.call_tool("get-roots-list"))
    expect("file://" in roots[0], "roots", roots)
    steps.done("roots")
    answer = texts(client.call_tool("trigger-sampling-request", {"prompt": "Which colour?", "maxTokens": 5}))
    expect("It is blue." in answer[0] and user.asked[-1].max_tokens == 5, "sampling", answer)
    steps.done("sampling")
    form = texts(client.call_tool("trigger-elicitation-request"))
    expect("- Name: Ada" in form[1] and "- Favorite Integer: 7" in form[1] and "- Favorite Number: 3.14" in form[1],
           "a form, with defaults", form)
    steps.done("elicitation, form")
    target = {"url": "https://example.com/pay"}
    visited = client.call_tool("trigger-url-elicitation", target)
    expect(not visited.is_error and user.asked[-1].host == "example.com", "a link", visited, user.asked[-1])
    steps.done("elicitation, URL")
