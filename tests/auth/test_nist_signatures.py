"""Signatures and keys of NIST's Cryptographic Algorithm Validation Program: what is right, and what only looks so.

`tests/data/nist_signatures.jsonl` has the cases of `PKV.rsp` (P-256) and `SigVer.rsp` (P-256, SHA-256), both of ECDSA
in FIPS 186-3, and of `SigVer15_186-3.rsp` (RSA with 2048 bits, SHA-256); numbers are as in a JWK. ``result`` is what
NIST says: P, or F with the reason. Works of the US government, in the public domain.
"""
import json
from collections import Counter
from typing import Any, Dict, List

import pytest

from mcp_ref.auth.jose import unb64url
from mcp_ref.auth.jws import key_of, verifies
from tests.meta.facts import ROOT

LINES = (ROOT / "tests" / "data" / "nist_signatures.jsonl").read_text(encoding="ascii").splitlines()
CASES: List[Dict[str, Any]] = [json.loads(line) for line in LINES]
ALGORITHMS = {"ECDSA SigVer": "ES256", "RSA SigVer15": "RS256"}


@pytest.mark.parametrize("case", [pytest.param(case, id="%s %d" % (case["suite"], number))
                                  for number, case in enumerate(CASES) if case["suite"] in ALGORITHMS])
def test_signatures_are_judged_as_nist_does(case: Dict[str, Any]) -> None:
    message, signature = unb64url(case["message"]), unb64url(case["signature"])
    judged = verifies(key_of(case["jwk"]), ALGORITHMS[case["suite"]], message, signature)
    assert judged == case["result"].startswith("P"), case["result"]


@pytest.mark.parametrize("case", [pytest.param(case, id=str(number))
                                  for number, case in enumerate(CASES) if case["suite"] == "PKV"])
def test_public_keys_are_judged_as_nist_does(case: Dict[str, Any]) -> None:
    if case["result"].startswith("P"):
        assert key_of(case["jwk"]).kind == "EC"
    else:
        with pytest.raises(ValueError):
            key_of(case["jwk"])


def test_every_kind_of_fault_is_among_them() -> None:
    assert Counter(case["suite"] for case in CASES) == {"PKV": 12, "ECDSA SigVer": 15, "RSA SigVer15": 18}
    assert len({(case["suite"], case["result"]) for case in CASES}) == 14
