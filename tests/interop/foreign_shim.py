"""`python3 -m mcp_ref trace --out FILE -- COMMAND...` for clients that pass neither their variables nor options on.

`foreign_shim.py FOLDER COMMAND...`. Each server that is started has a trace of its own: some clients ask a first one
what it speaks, and talk to a second one.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from mcp_ref.cli import main  # noqa: E402 - the path comes first

sys.exit(main(["trace", "--out", os.path.join(sys.argv[1], "trace-%d.jsonl" % os.getpid()), "--", *sys.argv[2:]]))
