"""The search for the authorization server of an MCP server, from a refusal on. The modules, in the order to read them:

============  ==================================================================================
module        contents
============  ==================================================================================
`challenge`   the field WWW-Authenticate, read and written; names of scopes
`fetch`       one HTTP request to an authorization server, and the addresses that may be asked
`discover`    the documents, and the search for them at their well-known addresses
============  ==================================================================================
"""
