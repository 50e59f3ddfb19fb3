"""The public names of another library: `porting_names.py "KIND PATH"...`, as JSON. Runs inside its environment.

KIND is `members` (methods, properties and fields of a class that the library itself has defined), `attributes` (of an
object that the class at PATH makes of a name), `options` (parameters of a call or of a constructor) or `names` (what a
module exports).
"""
import importlib
import inspect
import json
import sys
from typing import Any, Callable, Dict, List

UNNAMED = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def find(path: str) -> Any:
    """Import the module of a dotted path, and take the rest from it."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise ImportError(path)


def members(cls: Any) -> List[str]:
    """Names that classes of the library define, and no base from elsewhere."""
    home = cls.__module__.split(".")[0]
    named = {name for base in cls.__mro__ if base.__module__.split(".")[0] == home
             for name in [*vars(base), *getattr(base, "__dataclass_fields__", ())]}
    elsewhere = {name for base in cls.__mro__ if base.__module__.split(".")[0] != home for name in vars(base)}
    return [name for name in named - elsewhere if not name.startswith(("_", "model_"))]


def attributes(cls: Any) -> List[str]:
    """Public attributes of an instance."""
    return list(vars(cls("x")))


def options(call: Any) -> List[str]:
    """Parameters, without those that take whatever is left."""
    return [name for name, each in inspect.signature(call).parameters.items() if each.kind not in UNNAMED]


def names(module: Any) -> List[str]:
    """What a module exports; where it does not say that, what it defines."""
    listed = getattr(module, "__all__", None)
    return list(listed or (name for name, value in vars(module).items()
                           if getattr(value, "__module__", "") == module.__name__))


KINDS: Dict[str, Callable[[Any], List[str]]] = {
    "members": members, "attributes": attributes, "options": options, "names": names}

if __name__ == "__main__":
    found = {}
    for wanted in sys.argv[1:]:
        kind, _, path = wanted.partition(" ")
        found[wanted] = sorted(name for name in KINDS[kind](find(path)) if not name.startswith("_") and name != "self")
    print(json.dumps(found))
