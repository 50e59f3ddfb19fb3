"""Serve the models of a Django project, on its own port: tools use the ORM as views do.

In a project of yours the last lines belong into `wsgi.py`, the server into a module of an application. By hand:
`pip install django gunicorn`, have `mcp_ref/` beside this file, start `MCP_TOKEN=a-long-secret gunicorn --threads 16
in_django:application` (each stream holds a thread), and tell your host:

    python3 -m mcp_ref config http://127.0.0.1:8000/mcp --for vscode --header "Authorization=Bearer a-long-secret"
"""
import os
from typing import List

import django
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from mcp_ref import Context, Server

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("DATABASE", "demo.sqlite3")}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"], ALLOWED_HOSTS=["127.0.0.1", "localhost"])
django.setup()
call_command("migrate", verbosity=0)

from django.contrib.auth.models import Group  # noqa: E402 - there are no models before `setup`

server = Server("django", version="1.0")


@server.around
def with_database(method, params, principal, proceed):
    try:
        return proceed()
    finally:
        close_old_connections()  # Django does this after its own requests only


@server.tool(read_only=True)
def groups() -> List[str]:
    """List the groups of users."""
    return list(Group.objects.order_by("id").values_list("name", flat=True))


@server.tool
def add_groups(name: str, count: int, ctx: Context) -> int:
    """Add groups of users, numbered from 1, and return how many there are then."""
    for number in range(1, count + 1):
        Group.objects.get_or_create(name="%s %d" % (name, number))
        ctx.progress(number, count)  # ends a call that was cancelled, between two groups
    return Group.objects.count()


pages, mcp = get_wsgi_application(), server.wsgi(token=os.environ["MCP_TOKEN"])


def application(environ, start_response):
    return (mcp if environ["PATH_INFO"] == "/mcp" else pages)(environ, start_response)
