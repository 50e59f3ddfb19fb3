"""The command `pack`: an MCP bundle (``.mcpb``) of a server, which hosts install with one click."""
