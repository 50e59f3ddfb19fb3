"""An HTTP/1.1 library on the standard library alone: a server engine and client connections.

Nothing here knows MCP: no module imports `mcp_ref.protocol`, `mcp_ref.jsonrpc` or `mcp_ref.messages`, and a test
(`tests/meta/test_layers.py`) keeps it so. `message` is what both sides share: header fields, a request, and an
exchange, which is a request with the place for its reply. `mcp_ref.streamable` puts MCP on top.
"""
