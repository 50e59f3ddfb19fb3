"""Our client against the smaller servers of other makers: one function per server, see `our_client`."""
import pathlib
import subprocess
import threading
from typing import Any

from official_walk import expect
from steps import SECONDS, Steps, names, texts


def filesystem(client: Any, steps: Steps) -> None:
    """The server that reads and writes files below one folder; it has tools only."""
    expect("write_file" in names(client.tools()), "tools")
    folder = texts(client.call_tool("list_allowed_directories", {}))[0].splitlines()[-1].strip()
    path = str(pathlib.Path(folder) / "note.txt")
    client.call_tool("write_file", {"path": path, "content": "h\u00e9llo\u2028"})
    expect(pathlib.Path(path).read_bytes() == "h\u00e9llo\u2028".encode("utf-8"), "what was written")
    result = client.call_tool("read_text_file", {"path": path})
    expect(result.structured_content == {"content": "h\u00e9llo\u2028"}, "what was read", result)
    refused = client.call_tool("read_text_file", {"path": str(pathlib.Path(folder).parent / "outside.txt")})
    expect(refused.is_error is True, "outside of the folder", refused)
    steps.done("write, read, refuse")


def current_time(client: Any, steps: Steps) -> None:
    """The clock, a server in Python; it has empty lists of resources and prompts."""
    lists = [names(client.tools()), names(client.resources()), names(client.prompts())]
    expect(lists == [["get_current_time", "convert_time"], [], []], "lists", lists)
    steps.done("lists")
    arguments = {"source_timezone": "Etc/UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    answer = client.call_tool("convert_time", arguments).structured_content
    expect(answer["time_difference"] == "+9.0h", "convert_time", answer)
    bad = client.call_tool("get_current_time", {"timezone": "No/Where"})
    expect(bad.is_error is True, "an unknown zone", bad)
    steps.done("tools")


def memory(client: Any, steps: Steps) -> None:
    """The knowledge graph; its results are structured, and checked by the schemas it declares."""
    expect(len(names(client.tools())) == 9, "tools")
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    made = client.call_tool("create_entities", {"entities": [ada]})
    expect(made.structured_content["entities"] == [ada], "what was made", made)
    client.call_tool("add_observations", {"observations": [{"entityName": "Ada", "contents": ["lived in London"]}]})
    graph = client.call_tool("read_graph").structured_content
    expect(graph["entities"][0]["observations"] == ada["observations"] + ["lived in London"], "the graph", graph)
    found = client.call_tool("search_nodes", {"query": "London"}).structured_content
    expect([entity["name"] for entity in found["entities"]] == ["Ada"], "search", found)
    steps.done("make, change, search")
    contents = client.read_resource("memory://knowledge-graph").contents
    expect("Ada" in contents[0].text, "the resource", contents)
    steps.done("read")


def git(client: Any, steps: Steps, folder: str) -> None:
    """The server that works on a repository."""
    expect("git_log" in names(client.tools()), "tools")
    (pathlib.Path(folder) / "two.txt").write_text("zwei", encoding="utf-8")
    status = texts(client.call_tool("git_status", {"repo_path": folder}))[0]
    expect("two.txt" in status, "status", status)
    client.call_tool("git_add", {"repo_path": folder, "files": ["two.txt"]})
    client.call_tool("git_commit", {"repo_path": folder, "message": "Add the second"})
    log = texts(client.call_tool("git_log", {"repo_path": folder, "max_count": 1}))[0]
    expect("Add the second" in log, "log", log)
    steps.done("status, add, commit, log")
    outside = client.call_tool("git_status", {"repo_path": str(pathlib.Path(folder).parent)})
    expect(outside.is_error is True, "another folder", outside)
    steps.done("refuse")


def repository(folder: str) -> None:
    """Make a repository with one commit."""
    (pathlib.Path(folder) / "one.txt").write_text("eins", encoding="utf-8")
    for command in (["init", "--quiet"], ["config", "user.name", "Interop"],
                    ["config", "user.email", "interop@example.com"], ["add", "."],
                    ["commit", "--quiet", "--message", "Add the first"]):
        subprocess.run(["git", *command], cwd=folder, check=True, stdin=subprocess.DEVNULL, timeout=SECONDS)


def sqlite(client: Any, steps: Steps) -> None:
    """The database, a server on the official SDK of the first generation that has not moved on since."""
    client.call_tool("create_table", {"query": "create table places (name text, height integer)"})
    client.call_tool("write_query", {"query": "insert into places values ('Brocken', 1141), ('Zugspitze', 2962)"})
    rows = texts(client.call_tool("read_query", {"query": "select name from places where height > 2000"}))[0]
    expect("Zugspitze" in rows and "Brocken" not in rows, "rows", rows)
    steps.done("create, write, read")
    heard = threading.Event()
    client.on_notification = lambda method, params: heard.set() if method.endswith("resources/updated") else None
    client.call_tool("append_insight", {"insight": "Mountains differ in height."})
    expect(heard.wait(SECONDS), "no update of the memo")
    expect("differ in height" in client.read_resource("memo://insights").contents[0].text, "the memo")
    steps.done("resource that changes")
    prompt = client.get_prompt("mcp-demo", {"topic": "mountains"})
    expect("mountains" in prompt.messages[0].content.text, "prompt", prompt)
    steps.done("prompt")
