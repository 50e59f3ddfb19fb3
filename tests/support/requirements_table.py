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
}
"""Rows that not every handshake revision states."""


def revisions_of(*ids: str) -> Tuple[str, ...]:
    """The handshake revisions that state any of these rows, oldest first."""
    return tuple(name for name in HANDSHAKE if any(name in WINDOWS.get(id, HANDSHAKE) for id in ids))
