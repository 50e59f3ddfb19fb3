"""How a server lets in only whom it knows: a protected resource of OAuth 2.1.

`resource_server` is what `Server(auth=...)` takes. `access` is who sent a request, `claims`, `known` and `verifiers`
check a token, `needs` says which scopes a request needs, `proofs` checks that its sender holds the key, `refusals`
writes the challenge, and `metadata` publishes the documents.
"""
