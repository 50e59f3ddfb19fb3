"""The rules of what clients offer."""
