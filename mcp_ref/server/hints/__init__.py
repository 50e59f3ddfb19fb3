"""Type hints to JSON Schema, and values to JSON and back.

`functions` takes a function apart, `docstrings` reads its docstring, `typeforms` makes a schema of an annotation,
`members` describes the fields of classes, `values` writes JSON, `coercion` mends arguments that came as text,
`validator` compiles schemas when they are first needed, and `signature` puts it all together.
"""
