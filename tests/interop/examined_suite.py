"""What the official conformance suite and our examination say of the same servers: `examine_servers.py --suite`.

`CHECKS` has the checks of the suite that need none of its fixtures, with the requirement that the examination names for
the same. Both have to agree on each server over HTTP in `SERVERS`, or the fixture says why they do not.
"""
import re
import shutil
from typing import Any, Dict, List, NamedTuple

import conformance
import http_walks
import peers

SERVERS = ("everything-http", "python2-http", "typescript-http")
REVISIONS = ("2025-11-25", "2026-07-28")
_STATELESS, _HEADERS, _HINTS = "sep-2575-", "sep-2243-", "sep-2549-"
CHECKS: Dict[str, str] = {
    "server-initialize": "lifecycle.init-response", "ping": "ping.respond",
    "tools-list-deterministic-order": "tools.deterministic-order",
    "localhost-host-rebinding-rejected": "http.origin-validate",
    "server-session-id-visible-ascii": "http.session-id-ascii",
    "server-session-terminated-returns-404": "http.session-404",
    "server-sse-priming-event": "http.resume-prime-event", "logging-set-level": "logging.validate-fields",
    "resources-subscribe": "lifecycle.base-required",
    "sep-2164-error-code": "resources.not-found-32602", "sep-2164-no-empty-contents": "resources.not-found-not-empty",
    _STATELESS + "server-unsupported-version-error": "version.unsupported-error",
    _STATELESS + "http-server-unsupported-version-400": "http.header-version-unsupported-400",
    _STATELESS + "server-implements-discover": "discover.server-must",
    _STATELESS + "server-identifies-in-result-meta": "meta.server-info",
    _STATELESS + "request-meta-invalid-missing-protocol-version": "meta.missing-required-rejected",
    _STATELESS + "request-meta-invalid-missing-client-capabilities": "meta.missing-required-rejected",
    _STATELESS + "http-server-meta-invalid-400": "meta.missing-required-http-400",
    _STATELESS + "http-server-method-not-found-404": "http.method-not-found-404",
    _STATELESS + "http-server-method-not-found-404-ping": "http.method-not-found-404",
    _STATELESS + "http-server-header-mismatch-400": "http.header-version-mismatch-rejected",
    _STATELESS + "http-server-error-jsonrpc-id": "jsonrpc.error-same-id",
    _STATELESS + "server-sends-subscription-ack": "subscribe.ack-first",
    _HEADERS + "server-reject-invalid-headers": "http.header-mismatch-rejected",
    _HEADERS + "server-reject-error-code": "http.header-mismatch-error",
    _HEADERS + "header-name-case-insensitive": "http.header-case-insensitive",
    _HEADERS + "server-decode-base64": "http.param-server-decodes",
    _HINTS + "tools-list-caching-hints": "cache.hints-tools-list",
    _HINTS + "prompts-list-caching-hints": "cache.hints-prompts-list",
    _HINTS + "resources-list-caching-hints": "cache.hints-resources-list",
    _HINTS + "resources-templates-list-caching-hints": "cache.hints-resource-templates-list",
}
_SAYS = {"SUCCESS": "kept", "WARNING": "warned", "FAILURE": "broken"}
_WORST = ("FAILURE", "WARNING", "SUCCESS")


class Compared(NamedTuple):
    """A check, and the requirement for the same."""

    server: str
    revision: str
    check: str
    suite: str
    requirement: str
    examined: str

    @property
    def agree(self) -> bool:
        """Both say the same."""
        return self.suite == self.examined


def compare(commands: Dict[str, List[str]], states: Dict[str, Dict[str, Dict[str, str]]]) -> List[Compared]:
    """Run the suite on the servers. ``commands``: by server; ``states``: server -> revision -> requirement -> state."""
    suite, found = conformance.install(), []
    for name, command in commands.items():
        with http_walks.serving(command, "/mcp", PORT="{port}", **peers.node_path()) as url:
            for revision in REVISIONS:
                if revision in states[name]:
                    found += _leg(suite, name, revision, url, states[name][revision])
    return found


def _leg(suite: Any, name: str, revision: str, url: str, states: Dict[str, str]) -> List[Compared]:
    out = conformance.HOME / "examined" / name / revision
    shutil.rmtree(str(out), ignore_errors=True)
    suite.call("server", "--url", url, "--requirements", revision, "-o", str(out))
    said: Dict[str, List[str]] = {}
    for scenario, made in conformance.read(out).items():
        for check in made:
            if check["id"] in CHECKS and check["status"] in _SAYS and not re.match("Not testable", str(
                    check.get("errorMessage", ""))):
                said.setdefault(check["id"], []).append(check["status"])
    return [Compared(name, revision, check, _SAYS[min(said[check], key=_WORST.index)], id, states.get(id, "not stated"))
            for check, id in CHECKS.items() if check in said]
