"""Build a wheel into `build/wheel/`, and check it.

`setup.cfg` is all that setuptools needs; pip wants more than that, so setuptools is called by itself, on a copy of the
tree (it leaves files behind). Checked: that the wheel holds every file of the package and nothing else, that it has no
dependencies, and that it runs the demonstration in an environment where nothing else is installed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from environments import BUILD, ROOT, SetupError, environment, python_of, run as install, say, shown
from pyz import CheckError, run

sys.path.insert(0, str(ROOT))

from mcp_ref.cli.copying.parts import files  # noqa: E402

TARGET = BUILD / "wheel"
SETUPTOOLS = ("setuptools>=70.1",)  # the first that makes wheels by itself
SETUP = "from setuptools import setup; setup()"


def build() -> pathlib.Path:
    """Make the wheel and return its path."""
    python = environment(BUILD / "venvs" / "wheel", SETUPTOOLS)
    shutil.rmtree(str(TARGET), ignore_errors=True)
    TARGET.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "source"
        shutil.copytree(str(ROOT / "mcp_ref"), str(source / "mcp_ref"), ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("setup.cfg", "README.md"):
            shutil.copy(str(ROOT / name), str(source))
        os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")  # the dates inside: the oldest that zip can say
        install([python, "-c", SETUP, "-q", "bdist_wheel", "-d", str(TARGET)], "setuptools cannot build", source)
    wheel, = TARGET.glob("*.whl")
    return wheel


def check(wheel: pathlib.Path) -> None:
    """Raise CheckError unless the wheel holds what it should and runs."""
    with zipfile.ZipFile(str(wheel)) as opened:
        names = set(opened.namelist())
        metadata, = [opened.read(name).decode("utf-8") for name in names if name.endswith(".dist-info/METADATA")]
    wanted = {"mcp_ref/" + path for path in files()}
    odd = sorted(wanted - names) + sorted(name for name in names - wanted if ".dist-info/" not in name)
    if odd:
        raise CheckError("missing or not wanted in %s: %s" % (wheel.name, ", ".join(odd)))
    if "Requires-Dist" in metadata or "Requires-Python: >=3.8" not in metadata:
        raise CheckError("the metadata has dependencies, or not the versions of Python:\n" + metadata[:1000])
    clean = BUILD / "venvs" / "wheel-clean"
    shutil.rmtree(str(clean), ignore_errors=True)
    install([sys.executable, "-m", "venv", str(clean)], "venv is missing or broken; on Debian install python3-venv")
    python = python_of(clean)
    install([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps",
             str(wheel)], "the wheel cannot be installed")
    with tempfile.TemporaryDirectory() as folder:
        if "=> {'result': 5}" not in run([python, "-I", "-m", "mcp_ref", "demo"], folder):
            raise CheckError("the demonstration does not say what came of it")
        script = pathlib.Path(python).parent / ("mcp_ref.exe" if os.name == "nt" else "mcp_ref")
        run([str(script), "--version"], folder)


def main() -> int:
    """Build and check."""
    try:
        wheel = build()
        check(wheel)
    except SetupError as error:
        print("make wheel: %s" % error, file=sys.stderr)
        return 2
    except (CheckError, subprocess.SubprocessError) as error:
        print("make wheel: %s" % error, file=sys.stderr)
        return 1
    say("%s: %d KB; checked" % (shown(wheel), wheel.stat().st_size // 1024))
    return 0


if __name__ == "__main__":
    sys.exit(main())
