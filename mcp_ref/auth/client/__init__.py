"""The client side of OAuth: getting a token, keeping it and renewing it. The modules, in the order to read them:

==================  =====================================================================================
module              contents
==================  =====================================================================================
`token_endpoint`    a token, a registered client, and the request that gets one for the other; the authorization
                    code grant, without the browser
`store`             the places where tokens and registrations are kept
`single_flight`     one authorization for all threads that wait for a token, and for its grant
`grant`             the contract: one way to a token
`registration`      the ways to become known to an authorization server; the client's metadata document
`oauth`             `OAuth`: the code grant with a person and a browser; the listener on this machine to which the
                    browser comes back
`oauth_session`     the calls of the HTTP client, before a request and after a refusal; the token of one server:
                    good enough, renewed, or asked for anew; the scopes to ask for
==================  =====================================================================================
"""
