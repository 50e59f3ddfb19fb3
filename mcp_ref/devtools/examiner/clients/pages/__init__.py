"""The scenes for clients, a module for each part of the protocol."""

NAMES = ("opening", "features", "stateless", "web", "authorization", "changes", "process")
"""The modules, in the order in which their scenes are played."""
