"""The server side of OAuth: a protected resource, which admits only requests with a good token. The modules, in the
order to read them:

===================  ======================================================================================
module               contents
===================  ======================================================================================
`access`             the contents of a token, the principal that sends a request, the scopes that a message
                     needs, and refusals
`verifiers`          the checks of tokens: JWTs, introspection, and the cache of both
`resource_server`    `ResourceServer`, which `Server(auth=...)` takes, and the documents that it publishes
===================  ======================================================================================

The proofs of DPoP are checked in `mcp_ref.ext.auth.dpop`.
"""
