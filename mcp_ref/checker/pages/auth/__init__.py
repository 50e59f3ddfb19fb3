"""The rules of authorization."""
