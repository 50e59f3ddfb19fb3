"""The server side of OAuth: a protected resource, which admits only requests with a good token. The modules, in the
order to read them:

===================  ======================================================================================
module               contents
===================  ======================================================================================
`access`             the contents of a token, the principal that sends a request, and the scopes that a message
                     needs
`verifiers`          the checks of tokens: JWTs, introspection, and the cache of both
`metadata`           the well-known documents that the server publishes
`resource_server`    `ResourceServer`, which `Server(auth=...)` takes, and its refusals
===================  ======================================================================================

The proofs of DPoP are checked in `mcp_ref.auth.dpop`.
"""
