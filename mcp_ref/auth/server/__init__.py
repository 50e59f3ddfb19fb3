"""How a server admits only requests with a good token: a protected resource of OAuth 2.1. The modules, in the order to
read them:

===================  ======================================================================================
module               contents
===================  ======================================================================================
`access`             what a token says, and the principal that sends a request
`verifiers`          who checks tokens: JWTs, introspection, and the cache of both
`scopes`             the scopes that a message needs
`metadata`           the well-known documents that the server publishes
`resource_server`    `ResourceServer`, which `Server(auth=...)` takes, and its refusals
===================  ======================================================================================

The proofs of DPoP are checked in `mcp_ref.auth.tokens.dpop`.
"""
