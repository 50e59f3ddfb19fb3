"""The rules, a module for each area of the specification. A module here declares rules when it is imported."""

from pkgutil import iter_modules
from typing import Tuple

NAMES: Tuple[str, ...] = tuple(sorted(module.name for module in iter_modules(__path__)))
"""The modules that declare rules."""
