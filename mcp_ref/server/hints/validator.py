"""A schema's validator that is compiled when the first value comes.

The validator library costs more to load than a whole server does without it, and many tools of a
server are never called in a session. Tools, prompts and resource templates each keep one of these
beside their `Signature`.
"""

from typing import Any, Callable, List, Optional


class LazyValidator:
    """Finds what is wrong with values; ``schema`` is a function that gives the schema, asked once.

    Threads may share it: at worst two of them compile the same schema.
    """

    __slots__ = ("_schema", "_validate")

    def __init__(self, schema: Callable[[], Any]) -> None:
        self._schema = schema
        self._validate: Optional[Callable[[Any], List[Any]]] = None

    def validate(self, value: Any) -> List[Any]:
        """The violations of the schema, none where the value is valid.

        Raises `SchemaError` for a schema that is none and `BoundsExceeded` for a value that takes too long.
        """
        if self._validate is None:
            from ...jsonschema import compile

            self._validate = compile(self._schema()).validate
        return self._validate(value)
