"""Build `build/mcp_ref.pyz`, the package as one file that runs, and check it.

The archive has the same bytes whenever and wherever it is made of the same files: sorted, stored without compression
(compressors differ), with one date. Checked: that it has the same bytes twice, that it runs the demonstration without
site-packages and away from the checkout, and that `vendor` gives back every file from inside it.
"""
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile
from typing import List

from environments import BUILD, ROOT, say, shown

sys.path.insert(0, str(ROOT))

from mcp_ref.cli.copying.parts import files  # noqa: E402

TARGET = BUILD / "mcp_ref.pyz"
SHEBANG = b"#!/usr/bin/env python3\n"
START = b'''"""The command line, started with `python3 mcp_ref.pyz`."""
import sys

from mcp_ref.__main__ import main

sys.exit(main())
'''
OLDEST = (1980, 1, 1, 0, 0, 0)  # that a zip archive can say
SECONDS = 60


class CheckError(RuntimeError):
    """What was built does not do what it should; the text says what."""


def archive() -> bytes:
    """The bytes of the archive."""
    content = {"mcp_ref/" + path: data for path, data in files().items()}
    content["__main__.py"] = START
    stream = io.BytesIO()
    stream.write(SHEBANG)
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_STORED) as opened:
        for path in sorted(content):
            entry = zipfile.ZipInfo(path, OLDEST)
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            opened.writestr(entry, content[path])
    return stream.getvalue()


def run(command: List[str], folder: str) -> str:
    """Run a command in a folder away from the checkout; what it printed. Raises CheckError where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=SECONDS)
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        raise CheckError("%s ended with %d:\n%s" % (" ".join(command), done.returncode, text[-2000:]))
    return text


def check(target: pathlib.Path) -> None:
    """Raise CheckError unless the archive does all that it should."""
    if archive() != target.read_bytes():
        raise CheckError("the archive has other bytes the second time")
    with tempfile.TemporaryDirectory() as folder:
        start = [sys.executable, "-I", "-S", str(target)]
        if "=> {'result': 5}" not in run([*start, "demo"], folder):
            raise CheckError("the demonstration does not say what came of it")
        run([*start, "vendor", folder, "--as", "inside.copy"], folder)
        run([*start, "vendor", folder, "--as", "inside.copy", "--check"], folder)
        run([sys.executable, "-m", "mcp_ref", "vendor", folder, "--as", "inside.copy", "--diff"], str(ROOT))


def main() -> int:
    """Build and check."""
    BUILD.mkdir(exist_ok=True)
    TARGET.write_bytes(archive())
    TARGET.chmod(0o755)
    try:
        check(TARGET)
    except (CheckError, subprocess.SubprocessError) as error:
        print("make pyz: %s" % error, file=sys.stderr)
        return 1
    data = TARGET.read_bytes()
    say("%s: %d KB, sha256 %s; checked" % (shown(TARGET), len(data) // 1024, hashlib.sha256(data).hexdigest()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
