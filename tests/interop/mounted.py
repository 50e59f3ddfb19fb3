"""Our endpoint in other makers' frameworks, for `http_shells`: `flask_app()` and `django_app()` have it as a view,
`fastapi_app()` has the WSGI application mounted, as `examples/clients.md` shows.

All serve `examples/everything_server.py`, with GET streams.
"""
import importlib
import pathlib
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

from mcp_ref.server.serving.http_listener import endpoint_of  # noqa: E402
from mcp_ref.streamable.server.wsgi import Caller  # noqa: E402

METHODS = ["GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT"]
mcp = Caller(endpoint_of(importlib.import_module("everything_server").server, streams=True))


def flask_app() -> Any:
    """A Flask application with the endpoint at /mcp."""
    from flask import Flask, Response, request

    app = Flask("mounted")

    def view() -> Any:
        answer = mcp.call(request.method, request.path, request.headers, request.get_data())
        return Response(answer.chunks, answer.status, answer.headers)

    app.add_url_rule("/mcp", view_func=view, methods=METHODS, provide_automatic_options=False)
    return app


def django_app() -> Any:
    """A Django application with the endpoint at /mcp."""
    import django
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.http import StreamingHttpResponse
    from django.urls import path
    from django.views.decorators.csrf import csrf_exempt

    @csrf_exempt
    def view(request: Any) -> Any:
        answer = mcp.call(request.method, request.path, request.headers, request.body)
        return StreamingHttpResponse(answer.chunks, status=answer.status, headers=dict(answer.headers))

    urls = type("Urls", (), {"urlpatterns": [path("mcp", view)]})
    settings.configure(ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=urls, SECRET_KEY="for a test alone")
    django.setup()
    return get_wsgi_application()


def fastapi_app() -> Any:
    """A FastAPI application with the WSGI application below its own routes."""
    from a2wsgi import WSGIMiddleware
    from fastapi import FastAPI

    from mcp_ref.streamable.server.wsgi import Application

    app = FastAPI()
    app.mount("/", WSGIMiddleware(Application(mcp.endpoint), workers=32))
    return app
