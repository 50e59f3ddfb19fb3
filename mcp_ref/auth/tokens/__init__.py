"""JSON Web Tokens, signatures, keys and proofs. The modules, in the order to read them:

==========  ==================================================================================
module      contents
==========  ==================================================================================
`jose`      a token as text, and the `Signer` that signs one; the manual of signers
`jws`       signatures checked: HS256, RS256, ES256; the keys of an authorization server, fetched when
            they are needed
`dpop`      proofs of possession: made by a client, checked by a server
==========  ==================================================================================
"""
