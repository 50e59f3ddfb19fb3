"""The scenes for clients, a module for each part of the protocol."""

NAMES = ("opening", "manners", "features", "questions", "rounds", "inputs", "stateless",
         "web", "statuses", "authorization", "changes", "tasks", "process", "children")
"""The modules, in the order in which their scenes are played."""
