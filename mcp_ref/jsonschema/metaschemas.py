"""The bundled metaschemas: the standard's own data, one JSON file for each dialect, read when first asked for.

They were published by the JSON Schema project; see https://json-schema.org/specification. `pkgutil` reads them from
a folder and from a zipapp alike.
"""

import json
from typing import Any, Dict, Optional

DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_07 = "http://json-schema.org/draft-07/schema"

# What a URI begins with -> the file that holds it.
_FILES = (
    ("https://json-schema.org/draft/2020-12/", "draft-2020-12.json"),
    (DRAFT_07, "draft-07.json"),
)
_loaded: Dict[str, Dict[str, Any]] = {}


def load(uri: str) -> Optional[Any]:
    """The metaschema with this URI (without fragment), or None."""
    for prefix, name in _FILES:
        if uri.startswith(prefix):
            return _file(name).get(uri)
    return None


def _file(name: str) -> Dict[str, Any]:
    if name not in _loaded:
        import pkgutil  # late: only references to a metaschema come here

        data = pkgutil.get_data(__package__, name)
        if data is None:
            raise FileNotFoundError(name)
        _loaded[name] = json.loads(data.decode("ascii"))
    return _loaded[name]
