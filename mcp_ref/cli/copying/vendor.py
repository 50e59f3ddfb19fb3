"""The command `vendor`: copy this package into another program, and see later what became of the copy.

``vendor lib`` makes ``lib/mcp_ref``; with ``--as host.mcp`` it is ``lib/host/mcp``, and it is imported under that
name. Running it again replaces the copy, unless somebody changed it there: ``vendor lib`` finds the one copy below
``lib``, and takes the parts that it consists of, unless ``--as``, ``--only`` or ``--all`` say otherwise. The copy holds
a manifest of its files and an archive of the originals (`mcp_ref.cli.copying.parts`). ``--update`` merges a later
version with what was changed: see `mcp_ref.cli.copying.update`.

``vendor --zip lib/mcp.zip`` makes one file instead, from which the package is imported once it is in ``sys.path``. Made
again it has the same name and parts, too, and the same bytes where nothing has changed.

``--check`` compares a copy with its manifest, and tells of conflicts that are still marked in a file; ``--diff``
compares it with this version of the package. With ``--json`` all of them print ``{"target", "version", "only", "files",
"changed", "missing", "extra"}``: the version of the copy, the number of its files, and the paths that are not as the
manifest says. ``--check`` adds ``marked``, the paths with conflicts; ``--diff`` adds ``diff``, a text.
"""

import argparse
import difflib
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ...version import __version__
from ..output import (
    DONE, FAILED, Command, Commands, UsageError, counted, note, one_line, open_file, replacing, say, say_json,
)
from . import parts
from .parts import MANIFEST, ORIGINALS, Copy, VendorError, moves_since, packed, parts_since, read_copy, with_manifest

_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of each file in an archive: the earliest that the format has, so that equal copies have equal bytes."""
DEEPEST = 4
"""The number of levels of folders below the named one in which a copy is searched."""


def _vendor(options: Any) -> int:
    if (options.folder is None) == (options.zip is None):
        raise UsageError("say where the copy goes: vendor FOLDER, or vendor --zip FILE")
    only = [name for names in options.only for name in names.split(",") if name]
    if options.update and options.force:
        raise UsageError("--update keeps what was changed, --force replaces it; choose one")
    if only and options.all:
        raise UsageError("--only and --all exclude each other")
    if options.zip is not None:
        if options.check or options.diff or options.update:
            raise UsageError("--check, --diff and --update are for a folder; make the archive again instead")
        return _zip(options, os.path.realpath(options.zip), only)
    target = target_of(options.folder, options.name)
    if options.check:
        return _check(options, read_copy(target))
    if options.update:
        return _update(options, target, only)
    if options.diff:
        return _diff(options, read_copy(target))
    return _copy(options, target, only if only or options.all else _parts_before(target))


def target_of(folder: str, name: Optional[str]) -> str:
    """Return the folder of the copy: below the folder that is named, or that folder itself if it is a copy already.

    Without a name, the copy below the folder is searched. Raises UsageError if there are several.
    """
    folder = os.path.realpath(folder)
    steps = _steps(name)
    target = os.path.realpath(os.path.join(folder, *steps))
    if name is None and not os.path.isfile(os.path.join(target, MANIFEST)):
        found = list(_copies(folder, DEEPEST))
        if len(found) > 1:
            names = (os.path.relpath(each, folder).replace(os.sep, ".") for each in found)
            raise UsageError("there are several copies below %s: say which with --as %s" % (folder, " or ".join(names)))
        return found[0] if found else target
    return target


def _steps(name: Optional[str]) -> List[str]:
    """Return the steps of the copy's dotted name. Raises UsageError for a name that cannot be imported."""
    steps = (name or parts.package_name().rpartition(".")[2]).split(".")
    if not all(_can_be_imported(step) for step in steps):
        raise UsageError("--as %s: that is no name that can be imported" % name)
    return steps


def _copies(folder: str, steps: int) -> Iterator[str]:
    """Walk the copies below a folder, or the folder itself, that can be imported from there."""
    if _is_copy(folder):
        yield folder
    elif steps:
        try:
            names = sorted(entry.name for entry in os.scandir(folder)
                           if _can_be_imported(entry.name) and entry.is_dir(follow_symlinks=False))
        except OSError:  # not there yet, or not readable
            return
        for name in names:
            yield from _copies(os.path.join(folder, name), steps - 1)


def _is_copy(folder: str) -> bool:
    try:
        with open_file(os.path.join(folder, MANIFEST)) as file:
            return bool(json.loads(file.read().decode("utf-8"))["package"] == "mcp_ref")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _can_be_imported(step: str) -> bool:
    from keyword import iskeyword

    return step.isidentifier() and not iskeyword(step)


def _parts_before(target: str) -> List[str]:
    """Return the parts of the copy at the target; [] for the whole package, and where there is no copy."""
    try:
        return read_copy(target).only
    except VendorError:
        return []


# Copying


def _copy(options: Any, target: str, only: List[str]) -> int:
    chosen = _chosen(only)
    _may_replace(target, options.force)
    replace(target, _with_originals(chosen, only))
    if options.json:
        say_json(_as_object(read_copy(target)))
    else:
        say("%s to %s" % (_copied(chosen, only), target))
    return DONE


def _with_originals(chosen: Dict[str, bytes], only: List[str]) -> Dict[str, bytes]:
    """Return the files of a copy with the originals and, as the last one, the manifest."""
    content = dict(chosen)
    try:
        content[ORIGINALS] = packed(chosen)
    except ImportError:
        note("mcp_ref: warning: this Python has no bz2: the copy has no originals, and --update cannot merge changes")
    content[MANIFEST] = with_manifest(chosen, only)[MANIFEST]
    return content


def _copied(chosen: Dict[str, bytes], only: List[str]) -> str:
    what = " (only %s and what that needs)" % ", ".join(only) if only else ""
    lacks, places = parts.lacking(chosen), parts.places(chosen)
    if lacks:
        what += ", and %d that stand for the parts left out: %s (to add one: --only %s)," % (
            len(places), ", ".join(lacks), ",".join([*only, lacks[0]]))
    return "copied %s of mcp_ref %s%s" % (counted(len(chosen) - len(places), "file"), __version__, what)


def _update(options: Any, target: str, only: List[str]) -> int:
    """Merge this version into a copy, and tell what was done; see `mcp_ref.cli.copying.update`."""
    from .update import backup, carry_out, plan

    _is_elsewhere(target)
    copy = read_copy(target)
    only = only or ([] if options.all else copy.only)
    chosen = _chosen(only)
    outcomes = plan(copy, chosen, moves_since(copy.version))
    saved = backup(copy, outcomes)
    content = _with_originals(chosen, only)
    carry_out(copy, outcomes, {name: content[name] for name in (ORIGINALS, MANIFEST) if name in content})
    conflicts = [each for each in outcomes if each.word == "conflict"]
    numbers = {word: sum(each.word == word for each in outcomes)
               for word in ("updated", "added", "removed", "moved", "merged", "kept", "conflict")}
    if options.json:
        say_json({"target": target, "from": copy.version, "version": __version__, "only": only, "numbers": numbers,
                  "files": {each.path: each.word for each in outcomes}, "backup": saved,
                  "conflicts": {each.path: each.why for each in conflicts}})
        return FAILED if conflicts else DONE
    for each in outcomes:
        if each.word in ("moved", "merged", "kept", "conflict"):
            say("%-8s %s%s" % (each.word, one_line(each.path), ": " + each.why if each.why else ""))
    said = ", ".join("%d %s" % (number, word) for word, number in numbers.items() if number)
    say("%s: mcp_ref %s, was %s; %s%s" % (
        target, __version__, copy.version, said or "nothing to do", "; before: " + saved if saved else ""))
    return FAILED if conflicts else DONE


# One archive


def _zip(options: Any, target: str, only: List[str]) -> int:
    """Write an archive, in place of the one that is there if `vendor` made that. Raises `VendorError` otherwise."""
    name, before = _archived(target)
    if name is None and os.path.lexists(target) and not options.force:
        raise VendorError("%s is there and was not made by vendor; --force replaces it" % target)
    only = only or ([] if options.all else before)
    steps, chosen = _steps(options.name or name), _chosen(only)
    _write_zip(target, steps, with_manifest(chosen, only))
    if options.json:
        say_json({"target": target, "version": __version__, "only": only, "files": len(chosen),
                  "changed": [], "missing": [], "extra": []})
    else:
        say("%s to %s (%d KB), for sys.path.insert(0, %r) and import %s" % (
            _copied(chosen, only), target, os.path.getsize(target) >> 10, target, ".".join(steps)))
    return DONE


def _archived(target: str) -> Tuple[Optional[str], List[str]]:
    """Return the name and the parts of the copy in an archive; (None, []) where there is no copy."""
    import zlib
    from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

    try:
        with open_file(target) as source, ZipFile(source) as archive:
            for entry in archive.infolist():
                folder, _, file = entry.filename.rpartition("/")
                if file == MANIFEST and entry.compress_type in (ZIP_STORED, ZIP_DEFLATED):
                    manifest = json.loads(archive.read(entry).decode("utf-8"))
                    if manifest["package"] == "mcp_ref":
                        return folder.replace("/", "."), parts_since(
                            str(manifest["version"]), [str(name) for name in manifest["only"]])
    except (OSError, EOFError, BadZipFile, zlib.error, ValueError, KeyError, TypeError, RuntimeError):
        pass
    return None, []


def _write_zip(target: str, steps: List[str], content: Dict[str, bytes]) -> None:
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    folders = {path.rpartition("/")[0] for path in ("/".join(steps + [path]) for path in content)}
    folders |= {"/".join(steps[:length]) for length in range(1, len(steps))}  # namespace packages need entries
    with replacing(target) as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for folder in sorted(folders):
            archive.writestr(ZipInfo(folder + "/", _TIME), b"")
        for path in sorted(content):
            entry = ZipInfo("/".join(steps + [path]), _TIME)
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content[path])


# Folders


def _chosen(only: List[str]) -> Dict[str, bytes]:
    try:
        return parts.subset(parts.files(), only)
    except ValueError as error:
        now, given = ",".join(parts_since("", only)), ",".join(only)
        raise UsageError("--only: %s%s" % (
            error, "; some of it has moved: --only %s" % now if now != given else "")) from None


def _may_replace(target: str, force: bool) -> None:
    """Raise `VendorError` rather than overwrite the package itself, or files that somebody made or changed."""
    _is_elsewhere(target)
    if not os.path.lexists(target) or force:
        return
    if not os.path.isdir(target) or (os.listdir(target) and not os.path.isfile(os.path.join(target, MANIFEST))):
        raise VendorError("%s is there and was not made by vendor; --force replaces it" % target)
    if os.listdir(target) and read_copy(target).edited:
        raise VendorError("%s was changed: %s; see --diff; --update merges, and --force replaces it" % (
            target, ", ".join(" ".join(line.split()) for line in read_copy(target).edited)))


def _is_elsewhere(target: str) -> None:
    """Raise `UsageError` for a target that is this package itself."""
    from importlib import import_module

    ours = os.path.realpath(str(import_module(parts.package_name()).__path__[0]))
    if (target + os.sep).startswith(ours + os.sep) or (ours + os.sep).startswith(target + os.sep):
        raise UsageError("%s is this package itself; name another folder" % target)


def replace(target: str, content: Dict[str, bytes]) -> None:
    """Put these files at the target, in place of what is there.

    The files are written beside the target first; then two renames swap the folders, so that no program imports half a
    copy. If the second rename fails, the first is undone.
    """
    import shutil
    import tempfile

    parent = os.path.dirname(target)
    os.makedirs(parent, exist_ok=True)
    staging = tempfile.mkdtemp(prefix=".vendor-", dir=parent)
    made, old = os.path.join(staging, "new"), os.path.join(staging, "old")
    try:
        for path, data in content.items():
            place = os.path.join(made, *path.split("/"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(data)
        if os.path.lexists(target):
            os.rename(target, old)
        try:
            os.rename(made, target)
        except BaseException:
            if os.path.lexists(old):
                os.rename(old, target)
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


# Looking


def _as_object(copy: Copy) -> Dict[str, Any]:
    found = dict(copy._asdict(), files=len(copy.files))
    del found["listed"]
    return found


def _check(options: Any, copy: Copy) -> int:
    if options.json:
        say_json(dict(_as_object(copy), marked=copy.marked))
    else:
        for line in copy.edited:
            say(line)
        for path in copy.marked:
            say("marked   %s: conflicts of an earlier update are in it; settle them" % one_line(path))
        say("%s: mcp_ref %s, %s, %s%s" % (
            copy.target, copy.version, counted(len(copy.files), "file"),
            "%d not as copied" % len(copy.edited) if copy.edited else "all as copied",
            "" if copy.version == __version__ else "; here is %s" % __version__))
    return FAILED if copy.edited else DONE


def _diff(options: Any, copy: Copy) -> int:
    lines = list(_differences(copy))
    if options.json:
        say_json(dict(_as_object(copy), diff="".join(lines)))
        return FAILED if lines else DONE
    if copy.version != __version__:
        note("the copy is of version %s, this is %s: the differences are not all local" % (
            copy.version, __version__))
    if lines:
        say("".join(lines).rstrip("\n"), raw=True)
    return FAILED if lines else DONE


def _differences(copy: Copy) -> Iterator[str]:
    """Yield the lines of a unified diff from this package to the copy."""
    ours = _chosen(copy.only)
    for path in sorted(set(ours) | set(copy.files)):
        before, after = ours.get(path), copy.files.get(path)
        if before != after:
            yield from _file_difference(path, before, after)


def _file_difference(path: str, before: Optional[bytes], after: Optional[bytes]) -> Iterator[str]:
    names = ["/dev/null" if data is None else side + path for side, data in (("mcp_ref/", before), ("copy/", after))]
    try:
        old, new = ((data or b"").decode("utf-8").splitlines(True) for data in (before, after))
    except UnicodeDecodeError:
        yield "Binary files %s and %s differ\n" % (names[0], names[1])
        return
    for line in difflib.unified_diff(old, new, names[0], names[1]):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


_EXAMPLES = """examples:
  vendor lib                                      the whole package, as lib/mcp_ref
  vendor lib --as host.mcp --only server,client   two parts, as lib/host/mcp
  vendor lib                                      later: the same copy again, with the same parts
  vendor lib --check                              which files of the copy somebody changed
  vendor lib --update                             this version, merged with what somebody changed
  vendor --zip lib/mcp.zip --only stdio-server    one file for sys.path
  vendor lib --only stdio-server,tasks,http       a small server, with two of the parts that it is without
"""


def _options(parser: argparse.ArgumentParser) -> None:
    rows = "".join("  %-12s %s\n" % (name, part.gives) for name, part in parts.PARTS.items())
    parser.epilog = "%s\nwhat stdio-server is without, to add by --only stdio-server,PART:\n%s" % (_EXAMPLES, rows)
    parser.add_argument("folder", metavar="FOLDER", nargs="?",
                        help="where the copy goes or is, such as lib of a program")
    parser.add_argument("--zip", metavar="FILE", help="make one archive instead, to be imported from: lib/mcp.zip")
    parser.add_argument("--as", dest="name", metavar="NAME",
                        help="the copy's name, dots allowed (default: that of the copy that is there, or mcp_ref)")
    parser.add_argument("--only", action="append", default=[], metavar="PART,...",
                        help="only these parts, and what they need: stdio-server (a server for pipes; see below "
                             "what it is without), server, client, messages, or any module or folder of the package "
                             "(default: the parts of the copy that is there, or everything)")
    parser.add_argument("--all", action="store_true",
                        help="copy everything, also where the copy that is there has parts only")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true",
                      help="list the files of the copy that somebody changed; the exit code is 1 if there are any")
    what.add_argument("--diff", action="store_true",
                      help="show the changes against this version; the exit code is 1 if there are any")
    what.add_argument("--update", action="store_true",
                      help="replace what is as it was copied, and merge this version into files that somebody changed; "
                           "the exit code is 1 if there are conflicts, which are listed and marked")
    parser.add_argument("--force", action="store_true", help="replace what is there, also if somebody changed it")
    parser.add_argument("--json", action="store_true", help="print JSON")


COMMANDS: Commands = {"vendor": Command(_vendor, _options)}
