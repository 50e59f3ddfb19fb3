"""The scenes, a module for each part of the protocol."""

NAMES = ("frames", "features", "stateless", "lines", "web", "tasks", "authorization", "calls", "resumption",
         "extensions", "streams")
"""The modules, in the order in which their scenes are played."""
