"""How a client gets a token, keeps it, and renews it.

=====================================  =====================================================================
modules                                what they are
=====================================  =====================================================================
`scopes`, `client_document`            which scopes to ask for; a client's metadata document
`registration`, `token_endpoint`       become known to an authorization server; ask it for a token
`code_flow`, `redirect`, `oauth`       the authorization code grant with a browser; its listener; `OAuth`
`machine`                              grants without a person: services, workloads, enterprise sign-in
`desk`, `errand`, `grant`, `store`     what a grant is given to work with; callbacks; the contract; tokens kept
`single_flight`, `token_manager`       one flow for all threads; the token that is in use, and its renewal
`authorizer`                           what the HTTP client calls before a request, and after a refusal
=====================================  =====================================================================
"""
