"""Rows of the specification's requirement list that no test can or does cover, each with the reason.

Exceptions only: a row that a test claims (marker `spec`) must not stand here, which `tests/meta/test_requirements.py`
checks.
"""
from typing import Dict

EXCEPTIONS: Dict[str, str] = {
    "apps.fetch-by-resources-read": "no host of ours shows pages; a client reads resources by `resources/read` alone",
    "apps.client-declares-mime-types": "no client of ours declares apps; an extension of a user's has its own settings",
    "schema.ref-opt-in-guards": "there is no opt-in: a network reference is never followed",
}
