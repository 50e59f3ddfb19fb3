"""Where draft-07 differs from 2020-12; every other keyword is shared.

=====================  ==================================  ===============================================
subject                draft-07                            2020-12
=====================  ==================================  ===============================================
tuples                 `items` an array, `additionalItems`  `prefixItems`, `items`
dependencies           `dependencies`, both kinds          `dependentRequired`, `dependentSchemas`
`contains`             at least one                        `minContains`, `maxContains`
beside `$ref`          everything is ignored               everything counts
anchors                ``"$id": "#name"``                  `$anchor`, `$dynamicAnchor`
definitions            `definitions`                       `$defs`
unevaluated members    -                                   `unevaluatedItems`, `unevaluatedProperties`
=====================  ==================================  ===============================================

The last but three are in the tables of `dialect` and behind `Dialect.legacy`.
"""

from typing import Any, List, Optional

from .applicators import items as items_everywhere, prefix_items, dependent_schemas, rest_of_items
from .bounds import Check, Run
from .compiler import Here
from .keywords import dependent_required
from .violations import Violation


def items(value: Any, here: Here) -> Optional[Check]:
    """An array of schemas, one for each place, or one schema for all [JSON Schema draft-07 validation §6.4.1]."""
    return prefix_items(value, here) if isinstance(value, list) else items_everywhere(value, here)


def additional_items(value: Any, here: Here) -> Optional[Check]:
    """Means something only beside an array in `items` [JSON Schema draft-07 validation §6.4.2]."""
    tuple_items = here.value("items")
    return rest_of_items(value, here, len(tuple_items)) if isinstance(tuple_items, list) else None


def dependencies(value: Any, here: Here) -> Optional[Check]:
    """Per name an array of required names or a schema [JSON Schema draft-07 validation §6.5.7]."""
    names = {name: needed for name, needed in value.items() if isinstance(needed, list)}
    schemas = {name: schema for name, schema in value.items() if name not in names}
    both = (dependent_required(names, here), dependent_schemas(schemas, here))
    checks = [check for check in both if check is not None]

    def check(instance: Any, run: Run) -> Optional[List[Violation]]:
        found: List[Violation] = []
        for one in checks:
            found = found + (one(instance, run) or [])
        return found or None

    return check if checks else None
