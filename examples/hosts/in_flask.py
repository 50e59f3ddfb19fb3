"""Serve what a Flask application knows, on its own port: tools run in the application's context.

By hand: `pip install flask`, have `mcp_ref/` beside this file, start `MCP_TOKEN=a-long-secret flask --app in_flask run`
(or `gunicorn --threads 16 in_flask:app`: each stream holds a thread), and tell your host:

    python3 -m mcp_ref config http://127.0.0.1:5000/mcp --for vscode --header "Authorization=Bearer a-long-secret"
"""
import os
from typing import Dict

from flask import Flask, current_app

from mcp_ref import Context, Server

app = Flask("notes")
app.config["NOTES"] = {"first": "Buy milk"}
server = Server("flask", version="1.0")


@app.get("/notes/<name>")
def note(name: str) -> str:
    return str(app.config["NOTES"][name])


@server.around
def in_app(method, params, principal, proceed):
    with app.app_context():  # tools use `current_app`, `g` and extensions as views do
        return proceed()


@server.tool(read_only=True)
def notes() -> Dict[str, str]:
    """List the notes."""
    return dict(current_app.config["NOTES"])


@server.tool
def write(name: str, text: str, times: int, ctx: Context) -> int:
    """Write a text into a note, so many times, and return the length of the note."""
    current_app.config["NOTES"][name] = ""
    for number in range(times):
        current_app.config["NOTES"][name] += text
        ctx.progress(number + 1, times)  # ends a call that was cancelled, between two rounds
    return len(current_app.config["NOTES"][name])


pages, mcp = app.wsgi_app, server.wsgi(token=os.environ["MCP_TOKEN"])  # allowed_hosts=[...] on a public address


def by_path(environ, start_response):
    return (mcp if environ["PATH_INFO"] == "/mcp" else pages)(environ, start_response)


app.wsgi_app = by_path
