"""Files that commands read: what is in the place of one is refused at once, and said in one line."""
import json
import os
import pathlib
import zipfile
from typing import Any, Dict, List

import pytest

from mcp_ref.cli.copying.parts import MANIFEST, ORIGINALS
from mcp_ref.cli.packing.archive import MANIFEST_NAME

from .running import here, one_line_of, run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and devices of POSIX")
SERVER = "from mcp_ref import Server\nServer('x').run()\n"
READ: Dict[str, List[str]] = {
    "mine/" + MANIFEST: ["vendor", "mine", "--check"], "mine/" + ORIGINALS: ["vendor", "mine", "--update"],
    "mine/limits.py": ["vendor", "mine", "--diff"], "icon.png": ["pack", "server.py", "--icon", "icon.png"],
    "manifest.json": ["pack", "server.py", "--manifest", "manifest.json"],
    "data": ["pack", "server.py", "--include", "data"], "some.mcpb": ["pack", "--check", "some.mcpb"],
    "one.py": ["bundle", "server.py", "-o", "one.py"],
    "mcp.json": ["config", "server.py", "--for", "cursor", "--write", "--file", "mcp.json"],
}
"""The file -> a command that reads it."""


def pipe(path: pathlib.Path) -> None:
    os.mkfifo(str(path))


def device(path: pathlib.Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.fixture
def folder(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> pathlib.Path:
    (tmp_path / "server.py").write_text(SERVER)
    code, _, err = here(capsys, "vendor", str(tmp_path), "--as", "mine", "--only", "jsonrpc")
    assert code == 0, err
    return tmp_path


@pytest.mark.parametrize("put", [pipe, device])
@pytest.mark.parametrize("name", READ)
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused(folder: pathlib.Path, name: str, put: Any) -> None:
    """A pipe would be waited for, and a device may have no end."""
    path = folder / name
    if path.exists():
        path.unlink()
    put(path)
    if name.endswith(ORIGINALS):  # it is read where a file of the copy has been changed, and the version is another
        (folder / "mine" / "limits.py").write_text("mine")
        manifest = json.loads((folder / "mine" / MANIFEST).read_text())
        (folder / "mine" / MANIFEST).write_text(json.dumps(dict(manifest, version="0.0.1", files=dict(
            manifest["files"], **{"limits.py": "0" * 64}))))
    words = [str(folder / word) if (folder / word).exists() else word for word in READ[name]]
    done = run(*words)
    assert done.returncode in (1, 2) and "Traceback" not in done.err, (done.out, done.err)
    assert done.err.startswith("mcp_ref: ") or name.endswith(ORIGINALS) and "limits.py" in done.out


@pytest.mark.parametrize("text", ["[" * 100_000, '{"files": ' * 50_000, "\x00", "1" * 10_000],
                         ids=["arrays", "objects", "nul", "number"])
def test_a_manifest_that_cannot_be_read_is_told(folder: pathlib.Path, text: str) -> None:
    (folder / "mine" / MANIFEST).write_text(text)
    for word in ("--check", "--update", "--diff"):
        done = run("vendor", str(folder), "--as", "mine", word)
        assert done.returncode == 1 and "cannot be read" in one_line_of(done.err)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("broken", [False, True])
def test_a_bundle_is_compressed_as_all_hosts_read_it(tmp_path: pathlib.Path, method: int, broken: bool) -> None:
    path = tmp_path / "some.mcpb"
    with zipfile.ZipFile(str(path), "w", method) as archive:
        archive.writestr(MANIFEST_NAME, b"{}" * 1000)
        archive.writestr("mine/" + MANIFEST, b"{}" * 1000)
    if broken:
        data = bytearray(path.read_bytes())
        data[60:80] = b"\xff" * 20
        path.write_bytes(bytes(data))
    done = run("pack", "--check", str(path))
    assert done.returncode in (1, 2) and "another method than deflate" in one_line_of(done.err)
    path.rename(tmp_path / "lib.pyz")
    done = run("vendor", str(tmp_path / "lib.pyz"), "--only", "jsonrpc")
    assert done.returncode in (1, 2) and one_line_of(done.err)
