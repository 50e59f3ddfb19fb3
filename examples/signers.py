"""A `Signer` over the command `openssl`, with a key that only `openssl` reads; needs nothing else installed.

    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem
    python3 examples/signers.py key.pem        # prints the public key, to register the client with

In a program: ``ClientCredentials("my-service", signer=OpensslSigner("key.pem"), issuer="https://auth.example.com")``.
It starts a process for each signature, which takes some 10 ms.
"""
import json
import pathlib
import subprocess
import sys
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from mcp_ref.auth import Signer, b64url  # noqa: E402


class OpensslSigner(Signer):
    """Signs with ES256 [RFC 7518 §3.4]; ``path`` is the PEM file of a private key on the curve P-256."""

    alg = "ES256"

    def __init__(self, path: str, key_id: Optional[str] = None) -> None:
        self.path, self.key_id = path, key_id
        point = self.openssl("pkey", "-in", path, "-pubout", "-outform", "DER")[-64:]  # the key ends with x and y
        self.public_jwk = {"kty": "EC", "crv": "P-256", "x": b64url(point[:32]), "y": b64url(point[32:])}

    def sign(self, data: bytes) -> bytes:
        """The signature as JWS has it: r and s, 32 bytes each."""
        der = self.openssl("dgst", "-sha256", "-sign", self.path, data=data)  # 30 .. 02 .. r 02 .. s
        r, s = der[4:4 + der[3]], der[6 + der[3]:]
        return b"".join(int.from_bytes(number, "big").to_bytes(32, "big") for number in (r, s))

    def openssl(self, *arguments: str, data: bytes = b"") -> bytes:
        """What the command prints. Raises CalledProcessError where it refuses."""
        return subprocess.run(("openssl",) + arguments, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=True).stdout


if __name__ == "__main__":
    print(json.dumps(OpensslSigner(sys.argv[1]).public_jwk))
