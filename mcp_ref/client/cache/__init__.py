"""Answers that a client remembers: `store` keeps them, `caches` knows when they end, and
`cached_calls` asks there first.
"""
