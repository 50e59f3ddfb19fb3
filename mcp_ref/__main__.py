"""``python3 -m mcp_ref``: the command line."""

import sys

from .cli import main

sys.exit(main())
