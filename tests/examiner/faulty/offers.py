"""What the faulty server offers: tools, resources, prompts, by revision; and the small schema check of arguments.

Plain data, right in all revisions. Nothing here comes from the package.
"""
import base64
from typing import Any, Dict, List, Optional

V2, V3, V4, V5 = "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
PICTURE = base64.b64encode(bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f6"
    "45400000000049454e44ae426082")).decode()
PALETTE = ["colour %d" % number for number in range(150)]


def shape(required: List[str], **properties: Any) -> Dict[str, Any]:
    """Return an object's schema."""
    schema: Dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema


def tools(revision: str) -> List[Dict[str, Any]]:
    """Return the definitions of the tools, as tools/list gives them."""
    text, number = {"type": "string"}, {"type": "integer"}
    offered = [
        ("echo", "Repeats a text", shape(["text"], text=text)),
        ("add", "Adds two integers", shape(["a", "b"], a=number, b=number)),
        ("picture", "Shows one point", shape([])),
        ("embed", "Embeds a resource", shape([])),
        ("fail", "Fails always", shape([])),
        ("count", "Counts with progress", shape([], steps={"type": "integer", "minimum": 1, "maximum": 9})),
        ("wait", "Waits some seconds", shape([], seconds={"type": "number", "minimum": 0, "maximum": 60})),
        ("announce", "Says that everything listed may have changed", shape([])),
        ("ask", "Asks for a name and a colour", shape([])),
        ("sample", "Asks a model", shape([])),
        ("roots", "Asks for the roots", shape([])),
    ]
    if revision >= V3:
        offered.append(("link", "Links to a resource", shape([])))
    if revision == V4:
        offered += [("job", "Works for a while, as a task if asked", shape([], seconds={"type": "number"})),
                    ("errand", "Works as a task only", shape([]))]
    if revision == V5:
        offered.append(("region", "Says where and how often", shape(
            ["region"], region={"type": "string", "x-mcp-header": "Region"},
            times={"type": "integer", "x-mcp-header": "Times"})))
    return [described(name, text, schema, revision) for name, text, schema in offered]


def described(name: str, text: str, schema: Dict[str, Any], revision: str) -> Dict[str, Any]:
    """Return one tool's definition with the members that `revision` has."""
    tool: Dict[str, Any] = {"name": name, "description": text, "inputSchema": schema}
    if revision >= V2:
        tool["annotations"] = {"readOnlyHint": True, "openWorldHint": False}
    if revision >= V3:
        tool["title"] = name.title()
        if name == "add":
            tool["outputSchema"] = shape(["sum"], sum={"type": "integer"})
    if revision >= V4 and name == "echo":
        tool["icons"] = [{"src": "data:image/png;base64," + PICTURE, "mimeType": "image/png"}]
    if revision == V4 and name in ("job", "errand"):
        tool["execution"] = {"taskSupport": "required" if name == "errand" else "optional"}
    return tool


def resources(revision: str) -> List[Dict[str, Any]]:
    """Return the resources, as resources/list gives them."""
    listed: List[Dict[str, Any]] = [
        {"uri": "test://text", "name": "text", "mimeType": "text/plain"},
        {"uri": "test://blob", "name": "blob", "mimeType": "image/png"},
        {"uri": "test://notes", "name": "notes", "mimeType": "text/plain",
         "annotations": {"audience": ["user"], "priority": 0.5}},
        {"uri": "test://items/1", "name": "item 1", "mimeType": "text/plain"},
        {"uri": "test://items/2", "name": "item 2", "mimeType": "text/plain"},
        {"uri": "test://items/3", "name": "item 3", "mimeType": "text/plain"},
    ]
    if revision >= V3:
        listed[0].update(title="A text", size=12)
    return listed


def contents(uri: str) -> Optional[Dict[str, Any]]:
    """Return what is at a URI, None if nothing is."""
    if uri == "test://blob":
        return {"uri": uri, "mimeType": "image/png", "blob": PICTURE}
    if uri in ("test://text", "test://notes") or uri.startswith("test://items/") and uri[13:].isdigit():
        return {"uri": uri, "mimeType": "text/plain", "text": "here is " + uri[7:]}
    return None


TEMPLATES = [{"uriTemplate": "test://items/{id}", "name": "items", "mimeType": "text/plain"}]


def prompts(revision: str) -> List[Dict[str, Any]]:
    """Return the prompts, as prompts/list gives them."""
    listed: List[Dict[str, Any]] = [
        {"name": "greet", "description": "A greeting", "arguments": [
            {"name": "who", "description": "Whom to greet", "required": True}, {"name": "colour"}]},
        {"name": "gallery", "description": "A picture"},
        {"name": "document", "description": "A resource"},
        {"name": "first", "description": "One"},
        {"name": "second", "description": "Two"},
        {"name": "third", "description": "Three"},
    ]
    if revision >= V3:
        for prompt in listed:
            prompt["title"] = str(prompt["name"]).title()
    return listed


def messages(name: str, arguments: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Return the messages of a prompt."""
    content: Dict[str, Any] = {"type": "text", "text": "Hello %s" % arguments.get("who", "you")}
    if name == "gallery":
        content = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
    elif name == "document":
        content = {"type": "resource", "resource": contents("test://text")}
    return [{"role": "user", "content": content}]


KINDS = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list,
         "null": type(None)}


def fault_of(schema: Dict[str, Any], value: Any) -> Optional[str]:
    """Return what is wrong with a value by the few words of JSON Schema that the tools use, None if nothing is."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, KINDS[kind]) and (kind == "boolean") == isinstance(value, bool)
                         or kind == "integer" and isinstance(value, float) and value.is_integer() for kind in kinds):
        return "%r is no %s" % (value, " or ".join(kinds))
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                return "%s is missing" % name
        for name, part in schema.get("properties", {}).items():
            fault = fault_of(part, value[name]) if name in value else None
            if fault:
                return "%s: %s" % (name, fault)
    if isinstance(value, (int, float)) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return "%r is out of bounds" % value
    return None
