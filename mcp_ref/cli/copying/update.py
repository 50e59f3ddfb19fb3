"""``vendor --update``: bring a copy to this version of the package, and keep what somebody has changed in it.

Three texts of each file decide: the original, as it was copied; the local one, as it is now; the new one, of this
version.

=================  =========================================  =====================================================
the local file is  and the new one                            then
=================  =========================================  =====================================================
as copied          differs, or is gone                        the new one, or none ("updated", "removed")
not there          is new in this version                     the new one ("added")
changed            is as the original                         the local one ("kept")
changed            differs                                    both merged ("merged"), where they disagree with marks
changed            is gone                                    the local one, a conflict
deleted            is as the original                         none ("kept")
deleted            differs                                    the new one, a conflict
somebody's own     is not there                               the local one
somebody's own     is new in this version                     both with marks, a conflict
=================  =========================================  =====================================================

Lines that only one side has changed are taken from there; lines that both have changed, or neighbours of these, are a
conflict: ``<<<<<<< local``, the local lines, ``=======``, the new ones, ``>>>>>>> mcp_ref VERSION``. A local file with
CRLF line ends keeps them.

Nothing is lost: each local file that a merge changes is written to an archive beside the copy first. All new files are
written beside the copy, then each takes its place in one step; the manifest comes last, so that an update that was
interrupted can be done again. Where the original of a changed file is not known, nothing is done.
"""

import difflib
import os
import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...version import __version__
from .copies import Copy, VendorError, digest, originals
from .parts import ORIGINALS

_OURS, _MIDDLE, _THEIRS = b"<<<<<<< local\n", b"=======\n", b">>>>>>> mcp_ref %s\n"


class MergeOutcome(NamedTuple):
    """The fate of one file in an update."""

    path: str
    word: str
    """"updated", "added", "removed", "merged", "kept" or "conflict"."""
    content: Optional[bytes]
    """The file afterwards; None for no file."""
    why: str = ""
    """The conflict, in words."""


def plan(copy: Copy, new: Dict[str, bytes]) -> List[MergeOutcome]:
    """Return what becomes of the files of a copy; what stays as copied is not listed.

    Raises `VendorError` for conflicts of an earlier update, and where an original is needed that is not known.
    """
    if copy.marked:
        raise VendorError("conflicts of an earlier update are still marked in %s; settle these first" % (
            _shown(copy.marked)))
    both = [path for path in copy.changed if path in new and digest(new[path]) != copy.listed[path]]
    known, wrong = originals(copy, both) if both else ({}, "")
    paths = sorted({*copy.files, *copy.listed, *new})
    outcomes = [_outcome(path, copy, known.get(path), new.get(path)) for path in paths]
    lacking = [each.path for each in outcomes if each is not None and each.word == ""]
    if lacking:
        raise VendorError(
            "%s changed both here and in mcp_ref %s, and the archive of the originals, %s, %s; put that of an "
            "unchanged copy of version %s there, or undo the changes" % (
                _shown(lacking), __version__, os.path.join(copy.target, ORIGINALS), wrong, copy.version))
    return [each for each in outcomes if each is not None]


def _outcome(path: str, copy: Copy, base: Optional[bytes], new: Optional[bytes]) -> Optional[MergeOutcome]:
    """Return what becomes of one file, None for nothing; the word "" where an original is lacking."""
    ours, listed = copy.files.get(path), copy.listed.get(path)
    if ours is not None and 0 < ours.count(b"\n") == ours.count(b"\r\n") and b"\r" not in (new or b""):
        plain = copy._replace(files=dict(copy.files, **{path: ours.replace(b"\r\n", b"\n")}))
        made = _outcome(path, plain, base, new)
        return made and made._replace(content=made.content and made.content.replace(b"\n", b"\r\n"))
    if ours == new or (listed is None and new is None):
        return None
    if listed is not None and ours is not None and digest(ours) == listed:
        return MergeOutcome(path, "updated" if new is not None else "removed", new)
    if listed is None and ours is None:
        return MergeOutcome(path, "added", new)
    if listed is not None and new is not None and digest(new) == listed:
        return MergeOutcome(path, "kept", ours)
    if new is None:
        return MergeOutcome(path, "conflict", ours, "changed here, and gone in mcp_ref %s: it stays" % __version__)
    if ours is None:
        return MergeOutcome(path, "conflict", new, "deleted here, and changed in mcp_ref %s: it is back" % __version__)
    if b"\0" in ours + new:
        return MergeOutcome(path, "conflict", ours, "no text, so it was not merged: it stays as it is here")
    if listed is None:
        base = b""
    elif base is None:
        return MergeOutcome(path, "", ours)
    merged, places = merge(base, ours, new, __version__)
    if places:
        return MergeOutcome(path, "conflict", merged, "%d place%s between %s and %s" % (
            places, "" if places == 1 else "s", _OURS.decode().strip(), (_THEIRS % b"...").decode().strip()))
    return MergeOutcome(path, "merged", merged)


def _shown(paths: List[str]) -> str:
    return ", ".join(ascii(path)[1:-1] for path in paths)


# Three ways


def merge(base: bytes, ours: bytes, theirs: bytes, version: str) -> Tuple[bytes, int]:
    """Return a text with the changes of both sides, and the number of places with marks, where they disagree."""
    texts = [re.findall(rb"[^\n]*\n|[^\n]+", text) for text in (base, ours, theirs)]
    made: List[bytes] = []
    places = 0
    for old, local, new in _chunks(*texts):
        if local == new or new == old:
            made += local
        elif local == old:
            made += new
        else:
            head, local, new, tail = _narrowed(local, new)
            made += [*head, _OURS, *_ended(local), _MIDDLE, *_ended(new), _THEIRS % version.encode("ascii"), *tail]
            places += 1
    return b"".join(made), places


def _chunks(
    base: List[bytes], ours: List[bytes], theirs: List[bytes]
) -> Iterator[Tuple[List[bytes], List[bytes], List[bytes]]]:
    """Yield the three texts piece by piece: in turn pieces that differ (or are empty), and pieces that are the same."""
    at = (0, 0, 0)
    for start, local, new, length in _common(_matches(base, ours), _matches(base, theirs)):
        yield base[at[0]:start], ours[at[1]:local], theirs[at[2]:new]
        at = (start + length, local + length, new + length)
        yield base[start:at[0]], ours[local:at[1]], theirs[new:at[2]]
    yield base[at[0]:], ours[at[1]:], theirs[at[2]:]


def _matches(base: List[bytes], other: List[bytes]) -> List[Tuple[int, int, int]]:
    """Return the pieces of the base that another text has, too: the start in both, and the length."""
    return [(block.a, block.b, block.size)
            for block in difflib.SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks() if block.size]


def _common(
    ours: List[Tuple[int, int, int]], theirs: List[Tuple[int, int, int]]
) -> Iterator[Tuple[int, int, int, int]]:
    """Yield the pieces of the base that both others have: the start in all three, and the length."""
    left, right = 0, 0
    while left < len(ours) and right < len(theirs):
        start, local, size = ours[left]
        other, new, length = theirs[right]
        first, last = max(start, other), min(start + size, other + length)
        if first < last:
            yield first, local + first - start, new + first - other, last - first
        if start + size < other + length:
            left += 1
        else:
            right += 1


def _narrowed(local: List[bytes], new: List[bytes]) -> Tuple[List[bytes], List[bytes], List[bytes], List[bytes]]:
    """Return the lines that both sides of a conflict begin with, what differs of each, and what both end with."""
    most = min(len(local), len(new))
    head = next((at for at in range(most) if local[at] != new[at]), most)
    tail = next((at for at in range(most - head) if local[-1 - at] != new[-1 - at]), most - head)
    end, stop = len(local) - tail, len(new) - tail
    return local[:head], local[head:end], new[head:stop], local[end:]


def _ended(lines: List[bytes]) -> List[bytes]:
    """Return the lines, the last of them with an end, since a mark follows."""
    return lines[:-1] + [lines[-1] + b"\n"] if lines and not lines[-1].endswith(b"\n") else lines


# Doing


def backup(copy: Copy, outcomes: List[MergeOutcome]) -> Optional[str]:
    """Write the changed files of a copy that an update is going to change again to an archive; its path, None for none.
    """
    from zipfile import ZIP_DEFLATED, ZipFile

    lost = [each.path for each in outcomes if each.path in copy.files and each.word in ("merged", "conflict")
            and each.content != copy.files[each.path]]
    if not lost:
        return None
    for number in range(1, 1000):
        path = "%s-before-%s%s.zip" % (copy.target, __version__, "-%d" % number if number > 1 else "")
        try:
            with ZipFile(path, "x", ZIP_DEFLATED) as archive:
                for name in lost:
                    archive.writestr(name, copy.files[name])
            return path
        except FileExistsError:
            pass
    raise VendorError("there are too many backups beside %s" % copy.target)


def carry_out(copy: Copy, outcomes: List[MergeOutcome], last: Dict[str, bytes]) -> None:
    """Change the files of a copy. ``last`` are those that say that it was done: the originals and the manifest.

    Raises `VendorError` before the first change where a link or a folder is in the way, and OSError.
    """
    import shutil
    import tempfile

    written = {each.path: each.content for each in outcomes
               if each.content is not None and each.content != copy.files.get(each.path)}
    removed = [each.path for each in outcomes if each.content is None and each.path in copy.files]
    written.update(last)
    for path in [*written, *removed]:
        _has_way(copy.target, path)
    staging = tempfile.mkdtemp(prefix=".vendor-", dir=os.path.dirname(copy.target))
    try:
        for number, path in enumerate(written):
            with open(os.path.join(staging, str(number)), "wb") as file:
                file.write(written[path])
            place = os.path.join(copy.target, *path.split("/"))
            if os.path.exists(place):
                shutil.copymode(place, file.name)
        for number, path in enumerate(written):
            place = os.path.join(copy.target, *path.split("/"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if path in last:
                _remove(copy.target, removed)
                removed = []
            os.replace(os.path.join(staging, str(number)), place)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _has_way(target: str, path: str) -> None:
    place = target
    for step in path.split("/"):
        if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place)):
            raise VendorError("%s is in the way of %s: a link, or no folder; move it, then update" % (place, path))
        place = os.path.join(place, step)
    if os.path.islink(place) or os.path.isdir(place):
        raise VendorError("%s is in the way: a link or a folder, and it should be a file; move it, then update" % place)


def _remove(target: str, paths: List[str]) -> None:
    """Remove files, and the folders that are empty then but for what was compiled."""
    import shutil

    for path in paths:
        place = os.path.join(target, *path.split("/"))
        os.unlink(place)
        folder = os.path.dirname(place)
        while folder != target and set(os.listdir(folder)) <= {"__pycache__"}:
            shutil.rmtree(folder)
            folder = os.path.dirname(folder)
