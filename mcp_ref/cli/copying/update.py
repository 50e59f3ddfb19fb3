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

A module that moved since the version of the copy (`parts.MOVES`) is compared with its new file. One that is as copied
is removed, and the new file added. A changed one is merged into its new file and "moved": where both disagree, with
marks; but where its new file has other modules in it, too, or it was split, only if the merge is clean. Otherwise it
stays where it is as a conflict that names the new file.

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
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...version import __version__
from .parts import ORIGINALS, Copy, VendorError, digest, originals

_OURS, _MIDDLE, _THEIRS = b"<<<<<<< local\n", b"=======\n", b">>>>>>> mcp_ref %s\n"


class MergeOutcome(NamedTuple):
    """The fate of one file in an update."""

    path: str
    word: str
    """"updated", "added", "removed", "moved", "merged", "kept" or "conflict"."""
    content: Optional[bytes]
    """The file afterwards; None for no file."""
    why: str = ""
    """The conflict, in words, or where the file has moved to."""


def plan(copy: Copy, new: Dict[str, bytes], moved: Callable[[str], List[str]]) -> List[MergeOutcome]:
    """Return what becomes of the files of a copy; what stays as copied is not listed.

    moved: returns the files of the new version that a file of the copy has become, see `parts.moves_since`. Raises
    `VendorError` for conflicts of an earlier update, and where an original is needed that is not known.
    """
    if copy.marked:
        raise VendorError("conflicts of an earlier update are still marked in %s; settle these first" % (
            _shown(copy.marked)))
    return _Plan(copy, new, moved).outcomes()


class _Plan:
    """The fates of the files of one copy. Paths are those of the copy, places those of the new version."""

    def __init__(self, copy: Copy, new: Dict[str, bytes], moved: Callable[[str], List[str]]) -> None:
        self.copy = copy
        self.new = new
        self.moved = moved
        self.places = {path: [place for place in moved(path) if place in new] for path in copy.listed}
        self.sources: Dict[str, List[str]] = {}
        for path, places in self.places.items():
            for place in places:
                self.sources.setdefault(place, []).append(path)
        self.crlf = {path for path in copy.changed + copy.extra
                     if 0 < copy.files[path].count(b"\n") == copy.files[path].count(b"\r\n")
                     and not any(b"\r" in new[place] for place in self.places.get(path, [path]) if place in new)}
        self.files = {path: data.replace(b"\r\n", b"\n") if path in self.crlf else data
                      for path, data in copy.files.items()}
        self.edited = [path for path in copy.changed if digest(self.files[path]) != copy.listed[path]]
        self.originals = self._originals()
        self.made: Dict[str, MergeOutcome] = {}

    def _originals(self) -> Dict[str, bytes]:
        """Return the originals of the files that changed on both sides. Raises `VendorError` where one is lacking."""
        both = [path for path in self.edited if any(
            digest(self.new[place]) != self.copy.listed[path] for place in self.places[path])]
        known, wrong = originals(self.copy, both) if both else ({}, "")
        lacking = [path for path in both if path not in known and any(
            self.new[place] != self.files[path] and b"\0" not in self.new[place] + self.files[path]
            for place in self.places[path])]
        if lacking:
            raise VendorError(
                "%s changed both here and in mcp_ref %s, and the archive of the originals, %s, %s; put that of an "
                "unchanged copy of version %s there, or undo the changes" % (
                    _shown(lacking), __version__, os.path.join(self.copy.target, ORIGINALS), wrong,
                    self.copy.version))
        return known

    def outcomes(self) -> List[MergeOutcome]:
        """Return what becomes of each file that does not stay as copied, by path."""
        for path in self.copy.extra:
            if path in self.new and self.files[path] != self.new[path]:
                self._mark(path, path, b"")
        for path in self.edited:
            self._bring(path)
        for path in sorted({*self.copy.files, *self.copy.listed, *self.new}):
            if path not in self.made:
                self._settle(path)
        return [self._with_line_ends(self.made[path]) for path in sorted(self.made)]

    def _bring(self, path: str) -> None:
        """Merge a changed file into what it has become, or let it stay, as a conflict."""
        places = [place for place in self.places[path] if place not in self.made or place not in self.copy.extra]
        if path in places and self.files[path] == self.new[path]:
            return
        if len(self.places[path]) == 1 and digest(self.new[self.places[path][0]]) == self.copy.listed[path]:
            self.originals[path] = self.new[self.places[path][0]]
        text = not any(b"\0" in self.files[path] + self.new[place] for place in places)
        for place in places if text else ():
            merged, marks = self._merged(path, place)
            if not marks and (merged != self._text(place) or len(places) == 1):
                same = self.originals.get(path) == self.new[place]
                self._take(path, place, MergeOutcome(place, "kept" if same else "merged", merged))
                return
        alone = places == self.places[path] and len(places) == 1 and self.sources[places[0]] == [path]
        if text and (path in places or alone):
            self._mark(path, path if path in places else places[0])
        elif path in self.new and path not in places:
            self._mark(path, path, b"")  # another module stands there now
        else:
            self.made[path] = MergeOutcome(path, "conflict", self.files[path], self._why(path, places, text))

    def _why(self, path: str, places: List[str], text: bool) -> str:
        """Return why a changed file stays as it is."""
        if not text and path in places:
            return "no text, so it was not merged: it stays as it is here"
        became = self.places[path] or [place for place in self.moved(path) if place != path]
        if not became:
            return "changed here, and gone in mcp_ref %s: it stays" % __version__
        if not self.places[path]:
            return "changed here, and it has moved to %s in mcp_ref %s, which this copy is without: it stays" % (
                _shown(became), __version__)
        return ("changed here, and it has moved to %s in mcp_ref %s, where the change could not be merged: it stays; "
                "make the change there, then delete this file" % (_shown(became), __version__))

    def _text(self, place: str) -> bytes:
        """Return a file of the new version with the local changes merged so far."""
        made = self.made.get(place)
        return self.new[place] if made is None or made.content is None else made.content

    def _merged(self, path: str, place: str) -> Tuple[bytes, int]:
        """Return a file of the new version with the changes of one local file, and the number of places with marks.

        All files that have become this one stand in the base in the order in which the new one has them.
        """
        bases = {each: self.originals.get(each, self.files[each])
                 for each in self.sources[place] if each in self.files}
        order = sorted(bases, key=lambda each: max(
            (size, new) for _, new, size in [(0, 0, 0), *_matches(_lines(bases[each]), _lines(self.new[place]))])[1])
        if len(order) == 1:
            return merge(bases[path], self.files[path], self._text(place), __version__)
        texts = dict(bases, **{path: self.files[path]})
        base, ours = (b"".join(b"".join(_ended(_lines(side[each]))) for each in order) for side in (bases, texts))
        return merge(base, ours, self._text(place), __version__)

    def _mark(self, path: str, place: str, base: Optional[bytes] = None) -> None:
        """Put both sides into a file of the new version, with marks where they disagree."""
        if b"\0" in self.files[path] + self.new[place]:
            self.made[path] = MergeOutcome(path, "conflict", self.files[path], self._why(path, [path], False))
            return
        merged, marks = self._merged(path, place) if base is None else merge(
            base, self.files[path], self._text(place), __version__)
        self._take(path, place, MergeOutcome(place, "conflict", merged, "%d place%s between %s and %s" % (
            marks, "" if marks == 1 else "s", _OURS.decode().strip(), (_THEIRS % b"...").decode().strip())))

    def _take(self, path: str, place: str, outcome: MergeOutcome) -> None:
        """Note what a place becomes, and that the path it comes from has moved there."""
        before = self.made.get(place)
        if before is not None and before.word == "conflict":
            outcome = before._replace(content=outcome.content)
        self.made[place] = outcome
        if path != place and path not in self.new:
            self.made[path] = MergeOutcome(path, "moved", None, "to " + _shown([place]))

    def _settle(self, path: str) -> None:
        """Note what becomes of a path where nothing was merged, if anything does."""
        here, new = self.files.get(path), self.new.get(path)
        sources = self.sources.get(path, [])
        if new is None:
            rest = [each for place in self.places.get(path, ()) for each in self.sources[place] if each in self.files]
            if path in self.copy.listed and here is not None:
                self.made[path] = MergeOutcome(path, "removed", None)
            elif here is None and rest:
                self.made[path] = MergeOutcome(path, "conflict", None, "deleted here, and part of %s in mcp_ref %s: "
                                               "it is back there" % (_shown(self.places[path]), __version__))
        elif here is not None:
            if here != new:
                self.made[path] = MergeOutcome(path, "updated", new)
        elif path not in sources and (not sources or any(each in self.files for each in sources)):
            self.made[path] = MergeOutcome(path, "added", new)
        elif digest(new) in [self.copy.listed[each] for each in sources]:
            self.made[path] = MergeOutcome(path, "kept", None)
        else:
            self.made[path] = MergeOutcome(
                path, "conflict", new, "deleted here, and changed in mcp_ref %s: it is back" % __version__)

    def _with_line_ends(self, made: MergeOutcome) -> MergeOutcome:
        """Return the outcome with the line ends of the local files it comes from."""
        if made.content is None or self.crlf.isdisjoint([made.path, *self.sources.get(made.path, ())]):
            return made
        return made._replace(content=made.content.replace(b"\n", b"\r\n"))


def _shown(paths: List[str]) -> str:
    return ", ".join(ascii(path)[1:-1] for path in paths)


# Three ways


def merge(base: bytes, ours: bytes, theirs: bytes, version: str) -> Tuple[bytes, int]:
    """Return a text with the changes of both sides, and the number of places with marks, where they disagree."""
    texts = [_lines(text) for text in (base, ours, theirs)]
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


def _lines(text: bytes) -> List[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", text)


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

    lost = [each.path for each in outcomes if each.path in {*copy.changed, *copy.extra}
            and each.content != copy.files[each.path]
            and digest(copy.files[each.path].replace(b"\r\n", b"\n")) != copy.listed.get(each.path)]
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
