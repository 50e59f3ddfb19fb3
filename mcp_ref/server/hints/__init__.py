"""Type hints to JSON Schema, and values to JSON and back.

`signature` describes a function: its schemas, and how it is called with JSON arguments. `members` has the types behind
it (`TypeForm`, `Members`, `HintScope`), `typeforms` makes a schema and a reader of each annotation, `values` converts
Python values to JSON. `coercion` repairs arguments that came as text, and `docstrings` reads descriptions of
parameters; both are loaded when they are first needed.
"""
