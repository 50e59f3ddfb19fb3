"""The scenes, a module for each part of the protocol."""

NAMES = ("frames", "opening", "features", "stateless", "lines", "web", "web_stateless", "http_sse", "tasks",
         "tasks_extension", "authorization", "calls", "rounds", "parameters", "resumption", "extensions", "able_client",
         "web_streams")
"""The modules, in the order in which their scenes are played."""
