"""Regular expressions of JSON Schema (ECMA-262), matched in time that is bounded.

Reading order: `chars` (the limits, and sets of characters), `syntax` (the parser), `patterns` (the automaton, and the
machine that searches). Python's `re` never sees a pattern.
"""
