"""Regular expressions of JSON Schema (ECMA-262), matched in time that is bounded.

Reading order: `patterns` (compile and search), `limits` (its bounds), `syntax` (the parser), `chars` and `ranges` (sets
of characters), `builder` (the automaton), `machine` (the run). Python's `re` never sees a pattern.
"""
