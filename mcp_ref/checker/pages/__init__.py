"""The rules, a module for each area of the specification."""

NAMES = ("progress",)
"""The modules that declare rules, in the order of their findings."""
