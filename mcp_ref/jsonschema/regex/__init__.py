"""Regular expressions of JSON Schema (ECMA-262), matched in time that is bounded.

`patterns` decides how a pattern is matched: by Python's `re` where both languages agree and that is safe, else by
`machine`, which `syntax` and `builder` prepare. `chars` and `ranges` are its alphabet, `limits` its bounds.
"""
