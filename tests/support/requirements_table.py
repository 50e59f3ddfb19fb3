"""Which handshake revisions state a row of the specification's requirement list.

A test of a rule runs on each revision that states it:

    @pytest.mark.spec("jsonrpc.error-same-id")
    @pytest.mark.parametrize("revision", revisions_of("jsonrpc.error-same-id"))

Most rows of the handshake era are stated by all four revisions; the others stand in WINDOWS. It is a literal table, so
the tests run without a copy of the specification; `tests/meta/test_requirements_table.py` compares it with the list.
"""
from typing import Dict, Tuple

HANDSHAKE: Tuple[str, ...] = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

WINDOWS: Dict[str, Tuple[str, ...]] = {
    "batch.initialize-not-batched": ("2025-03-26",),
    "batch.receive": ("2025-03-26",),
    "batch.send": ("2025-03-26",),
    "icons.reject-unsafe-schemes": HANDSHAKE[3:],
    "icons.same-origin": HANDSHAKE[3:],
    "icons.src-trusted-domain": HANDSHAKE[3:],
    "icons.uri-scheme": HANDSHAKE[3:],
    "completion.capability": HANDSHAKE[1:],
    "completion.internal-error": HANDSHAKE[1:],
    "completion.invalid-prompt": HANDSHAKE[1:],
    "completion.missing-arguments": HANDSHAKE[1:],
    "completion.unsupported-error": HANDSHAKE[1:],
    "elicit.both-validate": HANDSHAKE[2:3],
    "elicit.capability-init": HANDSHAKE[2:],
    "elicit.client-validates": HANDSHAKE[3:],
    "elicit.complete-id": HANDSHAKE[3:],
    "elicit.complete-notification": HANDSHAKE[3:],
    "elicit.complete-target": HANDSHAKE[3:],
    "elicit.complete-unknown-ignored": HANDSHAKE[3:],
    "elicit.complete-wait": HANDSHAKE[3:],
    "elicit.form-params": HANDSHAKE[3:],
    "elicit.id-opaque": HANDSHAKE[3:],
    "elicit.mode-default-form": HANDSHAKE[3:],
    "elicit.mode-omitted": HANDSHAKE[3:],
    "elicit.one-mode": HANDSHAKE[3:],
    "elicit.param-message": HANDSHAKE[3:],
    "elicit.param-mode": HANDSHAKE[3:],
    "elicit.rate-limit": HANDSHAKE[2:],
    "elicit.server-validates": HANDSHAKE[3:],
    "elicit.supported-modes-only": HANDSHAKE[3:],
    "elicit.undeclared-mode-error": HANDSHAKE[3:],
    "elicit.url-consent": HANDSHAKE[3:],
    "elicit.url-elicitation-id": HANDSHAKE[3:],
    "elicit.url-https": HANDSHAKE[3:],
    "elicit.url-no-prefetch": HANDSHAKE[3:],
    "elicit.url-params": HANDSHAKE[3:],
    "elicit.url-required-error": HANDSHAKE[3:],
    "elicit.url-required-error-code": HANDSHAKE[3:],
    "elicit.url-required-error-list": HANDSHAKE[3:],
    "elicit.url-required-error-mode": HANDSHAKE[3:],
    "elicit.url-required-error-only": HANDSHAKE[3:],
    "elicit.url-suspicious-warning": HANDSHAKE[3:],
    "elicit.url-valid": HANDSHAKE[3:],
    "jsonrpc.error-code-message": HANDSHAKE[1:],
    "jsonrpc.error-same-id": HANDSHAKE[3:],
    "jsonrpc.notification-no-response": HANDSHAKE[1:],
    "jsonrpc.response-not-both": HANDSHAKE[:3],
    "jsonrpc.response-result-or-error": HANDSHAKE[:3],
    "jsonrpc.result-any-object": HANDSHAKE[1:],
    "jsonrpc.result-field": HANDSHAKE[3:],
    "lifecycle.error-initialize-timeout": HANDSHAKE[:1],
    "lifecycle.error-request-timeout": HANDSHAKE[1:],
    "lifecycle.error-shutdown-timeout": HANDSHAKE[:1],
    "lifecycle.negotiated-capabilities": HANDSHAKE[2:],
    "lifecycle.negotiated-capabilities-should": HANDSHAKE[:2],
    "lifecycle.respect-version": HANDSHAKE[2:],
    "lifecycle.respect-version-should": HANDSHAKE[:2],
    "meta.name-alnum-ends": HANDSHAKE[2:],
    "meta.prefix-label-chars": HANDSHAKE[2:],
    "meta.prefix-labels": HANDSHAKE[2:],
    "meta.reserved-no-assumptions": HANDSHAKE[2:],
    "prompts.audio-base64": HANDSHAKE[1:],
    "resources.custom-scheme-rfc3986": HANDSHAKE[2:],
    "tools.embedded-resources-capability": HANDSHAKE[2:],
    "tools.input-schema-object": HANDSHAKE[3:],
    "tools.name-case-sensitive": HANDSHAKE[3:],
    "tools.name-charset": HANDSHAKE[3:],
    "tools.name-length": HANDSHAKE[3:],
    "tools.name-no-special": HANDSHAKE[3:],
    "tools.name-unique": HANDSHAKE[3:],
    "tools.output-schema-client-validates": HANDSHAKE[2:],
    "tools.output-schema-conform": HANDSHAKE[2:],
    "tools.structured-text-fallback": HANDSHAKE[2:],
}
"""Rows that not every handshake revision states."""


def revisions_of(*ids: str) -> Tuple[str, ...]:
    """The handshake revisions that state any of these rows, oldest first."""
    return tuple(name for name in HANDSHAKE if any(name in WINDOWS.get(id, HANDSHAKE) for id in ids))
