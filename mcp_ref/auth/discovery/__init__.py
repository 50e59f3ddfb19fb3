"""Who issues tokens for a server, found out from the server alone.

`challenge` reads a refusal, `documents` checks metadata, `discover` goes through the well-known addresses, `fetch` gets
them over HTTP, and `addresses` says which hosts may be asked.
"""
