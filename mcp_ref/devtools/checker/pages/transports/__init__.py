"""The rules of HTTP: Streamable HTTP of all revisions, and HTTP+SSE."""
