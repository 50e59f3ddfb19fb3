"""Rows of the specification's requirement list that no test can or does cover, each with the reason.

Exceptions only: a row that a test claims (marker `spec`) must not stand here, which `tests/meta/test_requirements.py`
checks.
"""
from typing import Dict

EXCEPTIONS: Dict[str, str] = {
    "schema.ref-opt-in-guards": "there is no opt-in: a network reference is never followed",
}
