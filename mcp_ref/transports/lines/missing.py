"""The words about a program that is not found: what to write instead, what it may be a misspelling of, and where it was
looked for. Imported when a start has failed."""

import os
import sys
from typing import List, Mapping, Optional

from ...options import closest

_INTERPRETERS = {".py": "python" if sys.platform == "win32" else "python3", ".js": "node", ".mjs": "node",
                 ".cjs": "node"}
"""Ending of a script -> the program that runs it."""
_BUNDLES = (".mcpb", ".dxt")
_MOST_PATH = 100
"""The characters of a PATH that an error quotes at most, unless its first folder is longer."""
_ALIKE = 0.85
"""The likeness of a program on the PATH that is worth a question: there are thousands, and npx is not npm."""


def not_found(program: str, env: Mapping[str, str], cwd: Optional[str]) -> str:
    """Return why a program cannot be started that is not found, as a path or on the PATH of ``env``."""
    path = os.path.join(cwd or "", program)
    meant = instead(program, cwd)
    if os.path.dirname(program):
        problem = "it is not executable" if os.path.isfile(path) else "there is no such file" + (
            did_you_mean(like_file(path)))
        return "%s%s; looked at %s" % (problem, ": " + meant if meant else "", os.path.abspath(path))
    if meant:
        return "%s is a file %s, not a program: %s" % (program, "in %s" % cwd if cwd else "here", meant)
    search = env.get("PATH", os.defpath)
    close = closest(program, _programs(search), _ALIKE)
    return "not found%s; looked in the child's PATH: %s" % (did_you_mean(close), shortened(search) or "(empty)")


def instead(program: str, cwd: Optional[str]) -> str:
    """Return what to write for a word that is a file in the folder and no program; "" where it is none, or something
    else may be meant."""
    path = os.path.join(cwd or "", program)
    if not os.path.isfile(path):
        return ""
    ending = os.path.splitext(program)[1].lower()
    if ending in _BUNDLES:
        return "unpack the bundle, and write the command that its manifest.json names; or look at it by pack --check"
    if ending in _INTERPRETERS:
        return 'write "%s %s"' % (_INTERPRETERS[ending], "'%s'" % program if " " in program else program)
    if os.path.dirname(program) or not os.access(path, os.X_OK):
        return ""
    return 'write "%s"' % os.path.join(os.curdir, program)


def shortened(search: str) -> str:
    """Return the first folders of a PATH, and how many there are besides."""
    folders = search.split(os.pathsep)
    kept = len(folders)
    while kept > 1 and len(os.pathsep.join(folders[:kept])) > _MOST_PATH:
        kept -= 1
    more = len(folders) - kept
    return os.pathsep.join(folders[:kept]) + (" and %d more" % more if more else "")


def like_file(path: str) -> str:
    """Return the name of the file in the same folder that was probably meant; "" if there is none."""
    return closest(os.path.basename(path), _names(os.path.dirname(path) or os.curdir))


def did_you_mean(close: str) -> str:
    """Return the question for this word; "" for none."""
    return " (did you mean %s?)" % close if close else ""


def _programs(search: str) -> List[str]:
    return [name for folder in search.split(os.pathsep) if os.path.isabs(folder) for name in _names(folder)]


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
