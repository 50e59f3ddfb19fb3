"""Rows of the specification's requirement list that no test can or does cover, each with the reason.

Exceptions only: a row that a test claims (marker `spec`) must not stand here, which `tests/meta/test_requirements.py`
checks.
"""
from typing import Dict

EXCEPTIONS: Dict[str, str] = {
    "skills.path-encodes-server": "skills are kept in memory only: no path on a disk is made of them",
    "skills.cache-verified-content": "each read asks the server and is verified; nothing is kept",
    "skills.disk-cache-verified": "there is no cache on a disk",
    "skills.cache-removed-with-server": "there is no cache of a server's skills that could outlive it",
    "apps.fetch-by-resources-read": "no host of ours shows pages; a client reads resources by `resources/read` alone",
    "apps.client-declares-mime-types": "no client of ours declares apps; an extension of a user's has its own settings",
    "schema.ref-opt-in-guards": "there is no opt-in: a network reference is never followed",
}
