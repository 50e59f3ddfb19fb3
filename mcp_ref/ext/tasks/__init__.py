"""Tasks: calls that outlive their connection; the server's half, and the client's."""
