"""MCP over HTTP: the Streamable HTTP transport of both eras, and HTTP+SSE of 2024-11-05.

`server/` answers requests, `client/` sends them; `mcp_ref.ext.stores` lets several processes serve the same sessions.
`http_trace` shows HTTP in a trace, for both sides. HTTP itself is in `mcp_ref.http11`.
"""
