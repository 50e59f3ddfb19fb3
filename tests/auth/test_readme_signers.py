"""The signers that the manual of `Signer` shows or names: what they sign is taken by `mcp_ref.auth.jws`."""
import importlib
import json
import shutil
import subprocess
import sys

import pytest

from mcp_ref.auth.jose import split_jwt
from mcp_ref.auth.jws import key_of, verifies
from mcp_ref.ext.auth.dpop import Prover
from tests.auth.test_es256 import PEM
from tests.meta.facts import ROOT
from tests.meta.test_docstring_examples import blocks_of
from tests.support.patience import WAIT

EXAMPLE = ROOT / "examples" / "signers.py"
MANUAL = ROOT / "mcp_ref" / "auth" / "jose.py"


def shown(name, folder, monkeypatch):
    """The class of this name, from the block of the manual that has it, run beside a file ``key.pem``."""
    code, = [block.code for block in blocks_of(MANUAL) if "class %s(" % name in block.code]
    (folder / "key.pem").write_text(PEM)
    monkeypatch.chdir(folder)
    names = {}
    exec(compile(code, str(MANUAL), "exec"), names)
    return names[name], names


def check(signer):
    assert signer.alg == "ES256" and set(signer.public_jwk) == {"kty", "crv", "x", "y"}
    key = key_of(signer.public_jwk)
    for _ in range(20):  # numbers with zeros in front are shorter in DER
        proof = split_jwt(Prover(signer).proof("POST", "https://mcp.example.com/mcp", "token"))
        assert len(proof.signature) == 64 and verifies(key, "ES256", proof.signed, proof.signature)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl command here")
def test_the_signer_over_openssl(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    signer_of = importlib.import_module(EXAMPLE.stem).OpensslSigner
    key = tmp_path / "key.pem"
    key.write_text(PEM)
    signer = signer_of(str(key))
    check(signer)
    printed = subprocess.run([sys.executable, str(EXAMPLE), str(key)], stdout=subprocess.PIPE, check=True, timeout=WAIT)
    assert json.loads(printed.stdout) == signer.public_jwk
    with pytest.raises(subprocess.CalledProcessError):
        signer_of("no-such-key.pem")


def test_the_signer_over_cryptography(tmp_path, monkeypatch):
    ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
    made, names = shown("CryptographySigner", tmp_path, monkeypatch)
    check(names["signer"])
    check(made(ec.generate_private_key(ec.SECP256R1())))
