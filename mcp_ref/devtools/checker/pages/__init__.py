"""The rules, a module for each area of the specification. A module here declares rules when it is imported.

`basic` has the rules of messages and conversations, `tasks` those of requests that run on, `transports` and `auth`
those of HTTP and authorization, `server` and `client` those of what each party offers, and `extensions` the rest.
"""

from pkgutil import iter_modules
from typing import Tuple

GROUPS = ("basic", "tasks", "transports", "auth", "server", "client", "extensions")
NAMES: Tuple[str, ...] = tuple("%s.%s" % (group, module.name) for group in GROUPS for module in sorted(
    iter_modules(["%s/%s" % (place, group) for place in __path__]), key=lambda module: module.name))
"""The modules that declare rules."""
