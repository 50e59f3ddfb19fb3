"""Tokens and signatures.

`issued` is a token and whom it was issued to, `jose`, `jws` and `jwks` sign and verify, `assertions` and `dpop`
prove who asks.
"""
