"""Run the core of the suite against the package as one file: the bundle of `bundle --all` in the place of `mcp_ref`.

A folder in `build/bundled` gets the tests, the examples, the bundle, and instead of the package a file `mcp_ref.py`
that imports the bundle; so children that tests start find the same. `make test` judges what these tests send, by the
checker's rules; that is not repeated here. Arguments go to pytest, in the place of CORE.
"""
import os
import shutil
import subprocess
import sys
from typing import List

from environments import BUILD, PYTEST, ROOT, SetupError, environment, say, shown

CORE = ["tests/protocol", "tests/server", "tests/client", "tests/test_codec.py", "tests/test_conversation.py",
        "tests/test_jsonrpc.py", "tests/test_jsontext.py", "tests/test_messages.py", "tests/test_methods.py"]
FOLDER = BUILD / "bundled"
PROGRAM = '''"""A program that may need anything."""
import mcp_ref
'''
INSTEAD = '''"""In the place of the package: the bundle, in which the package is."""
import sys

if __name__ != "__main__":
    del sys.modules[__name__]
import one
import mcp_ref

assert mcp_ref.__file__.startswith(one.__file__), mcp_ref.__file__
if __name__ == "__main__":
    from mcp_ref.cli import main
    sys.exit(main())
'''
SECONDS = 600


def lay_out() -> None:
    """Make the folder anew."""
    shutil.rmtree(str(FOLDER), ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for name in ("tests", "examples"):
        shutil.copytree(str(ROOT / name), str(FOLDER / name), ignore=shutil.ignore_patterns("__pycache__", ".*"))
    shutil.copy(str(ROOT / "setup.cfg"), str(FOLDER))
    (FOLDER / "everything.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "-m", "mcp_ref", "bundle", str(FOLDER / "everything.py"), "--all", "-o",
                    str(FOLDER / "one.py")], cwd=str(ROOT), check=True, timeout=SECONDS)
    (FOLDER / "mcp_ref.py").write_text(INSTEAD)


def main(arguments: List[str]) -> int:
    """Return pytest's exit code."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    if kept.get("MCP_REF_SPEC"):
        kept["MCP_REF_SPEC"] = str(ROOT / kept["MCP_REF_SPEC"])
    try:
        python = environment(ROOT / ".venv", PYTEST)
        lay_out()
        say("the core of the suite against %s, about half a minute on an idle core" % shown(FOLDER / "one.py"))
        return subprocess.call([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--judge=none",
                                *(arguments or CORE)],
                               cwd=str(FOLDER), env=kept, timeout=SECONDS)
    except (SetupError, subprocess.SubprocessError) as error:
        print("make bundled: %s" % error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
