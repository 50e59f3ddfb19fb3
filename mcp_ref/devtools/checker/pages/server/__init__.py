"""The rules of what servers offer."""
