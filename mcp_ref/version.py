"""The version of this package, also as ``mcp_ref.__version__``: what a client says of itself if it is not told."""

__version__ = "0.7.0"
