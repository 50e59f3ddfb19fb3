"""The files of a bundle: those of an author that go in, and the archive, written and read without harm.

An archive has the same bytes whenever its files have: sorted names, ``manifest.json`` first, one time for all. Names
are such that every system can unpack them, and none leads out of the folder. Links are refused on both ways.
"""

import fnmatch
import glob
import os
import re
import stat
from typing import Dict, Iterator, List, NamedTuple, Sequence

from ..output import UsageError, one_line, open_file, replacing

MANIFEST_NAME = "manifest.json"
MAX_FILES = 10_000
MAX_BYTES = 256 * 1024 * 1024
"""Bytes of all files of a bundle, unpacked."""
MAX_NAME = 200
_TIME = (1980, 1, 1, 0, 0, 0)
_UNFIT = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]|[. ]\Z|\A(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)', re.IGNORECASE)
"""A step of a path that is refused: Windows refuses it, or takes it for something else."""
_SECRET_NAME = re.compile(r"\A(?:\.env(?:rc)?|\.env\..*|\.npmrc|\.pypirc|\.netrc|\.git-credentials|id_(?:rsa|dsa|ecdsa|"
                          r"ed25519)|.*\.(?:p12|pfx|jks|keystore|kdbx))\Z", re.IGNORECASE)
_SECRET_TEXT = re.compile(br"-----BEGIN [A-Z ]*PRIVATE KEY")
_NEVER = re.compile(r"\A(?:\..*|__pycache__|.*\.py[co]|.*\.mcpb|Thumbs\.db)\Z")
"""Names of files and folders that are left out of a folder unless they are named."""


class BadBundle(ValueError):
    """The bundle cannot be made, or is not in order; the text says what and what to do."""


class Collected(NamedTuple):
    """An author's files."""

    files: Dict[str, bytes]
    """The path below the folder of the server, with ``/`` -> what is in it."""
    left_out: List[str]
    """Paths that were found in a folder and left out: hidden, compiled, or excluded."""


def fault_of_name(name: str) -> str:
    """Return why a path cannot stand in a bundle; "" if it can."""
    if name.startswith("/") or ".." in name.split("/"):
        return "it leads out of the bundle's folder"
    if len(name) > MAX_NAME:
        return "it is longer than %d characters" % MAX_NAME
    if any(not step or step == "." or _UNFIT.search(step) for step in name.split("/")):
        return "not every system can have a file of that name"
    return ""


# Collecting


def collected(script: str, include: Sequence[str], exclude: Sequence[str]) -> Collected:
    """Return the script, and the files and folders that the patterns name, relative to its folder.

    What lies elsewhere comes in under its own name. Raises `UsageError` for a pattern without a file, a link, what is
    no file, what looks like a secret, and more than a bundle takes.
    """
    home = os.path.dirname(os.path.abspath(script))
    found, room = Collected({}, []), MAX_BYTES
    for pattern in [glob.escape(os.path.basename(script)), *include]:
        paths = sorted(glob.glob(os.path.join(glob.escape(home), pattern), recursive=True))
        if not paths:
            raise UsageError("--include %s: there is no such file or folder in %s" % (pattern, home))
        for path in paths:
            for each in _below(os.path.normpath(path), exclude, found.left_out, home):
                name = _inside(each, os.path.normpath(path), home)
                data = found.files[name] = _checked(name, each, room)
                room -= len(data)
                if len(found.files) > MAX_FILES:
                    raise UsageError("more than %d files are too many for a bundle" % MAX_FILES)
    folded: Dict[str, str] = {}
    for name in sorted(found.files):
        if folded.setdefault(name.casefold(), name) != name:
            raise UsageError("%s and %s differ in upper and lower case only, and some systems take them for one" % (
                folded[name.casefold()], name))
    return found


def _inside(path: str, given: str, home: str) -> str:
    """Return the path in the bundle of a file that was found under a given one."""
    below = path.startswith(home.rstrip(os.sep) + os.sep)
    return os.path.relpath(path, home if below else os.path.dirname(given)).replace(os.sep, "/")


def _below(path: str, exclude: Sequence[str], left_out: List[str], home: str) -> Iterator[str]:
    """Walk the files at and below a path that was named."""
    shown = os.path.relpath(path, home) if path.startswith(home) else path
    if any(fnmatch.fnmatch(shown.replace(os.sep, "/"), pattern) or fnmatch.fnmatch(os.path.basename(path), pattern)
           for pattern in exclude):
        left_out.append(shown)
    elif os.path.islink(path):
        raise UsageError("%s is a link, and is not followed: include what it leads to, or --exclude it" % shown)
    elif _SECRET_NAME.match(os.path.basename(path)):
        raise UsageError("%s holds secrets by its name, and everybody who gets the bundle could read them: let people "
                         "give their own by --env NAME=secret, and leave it out by --exclude" % shown)
    elif not os.path.isdir(path):
        yield path
    else:
        for name in sorted(os.listdir(path)):
            if _NEVER.match(name):
                left_out.append(os.path.join(shown, name))
            else:
                yield from _below(os.path.join(path, name), exclude, left_out, home)


def _checked(name: str, path: str, room: int) -> bytes:
    """Return what is in a file that is to get this name in the bundle. Raises `UsageError`."""
    if fault_of_name(name):
        raise UsageError("%s: %s" % (one_line(name), fault_of_name(name)))
    try:
        with open_file(path) as file:
            data = file.read(room + 1)
    except OSError as error:
        raise UsageError("%s cannot be read: %s" % (path, error.strerror or error)) from None
    if len(data) > room:
        raise UsageError("%s is too much: a bundle takes %d MB" % (path, MAX_BYTES >> 20))
    if _SECRET_TEXT.search(data):
        raise UsageError("%s has a private key in it, and everybody who gets the bundle could read it: leave it out by "
                         "--exclude" % path)
    return data


# The archive


def write_bundle(target: str, content: Dict[str, bytes]) -> None:
    """Write the archive. Raises `BadBundle` for a target that is there and no bundle."""
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    if os.path.lexists(target) and not _is_bundle(target):
        raise BadBundle("%s is there and is no bundle: give another name by -o, or remove it" % target)
    with replacing(target) as file, ZipFile(file, "w") as archive:
        for name in sorted(content, key=lambda name: (name != MANIFEST_NAME, name)):
            entry = ZipInfo(name, _TIME)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, content[name], ZIP_DEFLATED, 9)


def _is_bundle(target: str) -> bool:
    from zipfile import is_zipfile

    if os.path.islink(target) or not os.path.isfile(target) or not is_zipfile(target):
        return False
    try:
        return MANIFEST_NAME in read_bundle(target)
    except BadBundle:
        return False


def read_bundle(path: str) -> Dict[str, bytes]:
    """Return the files of an archive. Raises `BadBundle` for what is none, or would do harm when unpacked; OSError.
    """
    import zlib
    from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

    found: Dict[str, bytes] = {}
    try:
        with open_file(path) as source, ZipFile(source) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_FILES:
                raise BadBundle("%s has more than %d files" % (path, MAX_FILES))
            room, folded = MAX_BYTES, set()
            for entry in entries:
                name = entry.filename
                fault = fault_of_name(name.rstrip("/")) or (
                    "it is compressed by another method than deflate, which hosts need not read"
                    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) else
                    "it is a link" if stat.S_ISLNK(entry.external_attr >> 16) else
                    "it is there twice" if name.casefold() in folded else "")
                if fault:
                    raise BadBundle("%s: %s in it: %s" % (path, one_line(name), fault))
                folded.add(name.casefold())
                if not name.endswith("/"):
                    with archive.open(entry) as file:  # the sizes that the archive says are not believed
                        found[name] = file.read(room + 1)
                    room -= len(found[name])
                    if room < 0:
                        raise BadBundle("%s has more than %d MB in it" % (path, MAX_BYTES >> 20))
    except (BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, UnicodeDecodeError) as error:
        raise BadBundle("%s cannot be read as a zip archive: %s" % (path, error)) from None
    return found


def unpack(content: Dict[str, bytes], folder: str) -> None:
    """Write the files of a bundle below an empty folder."""
    for name, data in content.items():
        if fault_of_name(name):
            raise BadBundle("%s: %s" % (one_line(name), fault_of_name(name)))
        place = os.path.join(folder, *name.split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "xb") as file:
            file.write(data)
        os.chmod(place, 0o755)  # a server may be a program
