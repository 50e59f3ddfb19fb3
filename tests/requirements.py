"""Rows of the specification's requirement list that no test can or does cover, each with the reason.

Exceptions only: a row that a test claims (marker `spec`) must not stand here, which `tests/meta/test_requirements.py`
checks.
"""
from typing import Dict

EXCEPTIONS: Dict[str, str] = {
    "http.batch-body-single": "about the body of a POST; comes with the HTTP transports",
    "http.batch-body-requests": "about the body of a POST; comes with the HTTP transports",
    "http.batch-body-responses": "about the body of a POST; comes with the HTTP transports",
}
