"""The commands that use a server (`servers`), and what they share: `connecting`, `asking`, `values`."""
