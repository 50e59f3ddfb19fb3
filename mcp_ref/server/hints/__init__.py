"""Type hints to JSON Schema, and values to JSON and back.

`signature` describes a function: its schemas, and how it is called with JSON arguments. `members` has the types behind
it (`TypeForm`, `Members`, `HintScope`), `typeforms` makes a schema and a reader of each annotation, `values` converts
Python values to JSON and repairs arguments that came as text. `docstrings` reads descriptions of parameters, and is
loaded when it is first needed.
"""
