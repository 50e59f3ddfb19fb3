"""`vendor --update`: a later version and local changes come together, and nothing of either is lost."""
import difflib
import json
import os
import random
import shutil
import subprocess
import zipfile

import pytest

from mcp_ref import __version__
from mcp_ref.cli.copying import parts, update, vendor
from tests.support.patience import WAIT

from .running import here, one_line_of

OLD = {"a.py": "".join("line %d\n" % number for number in range(20)), "b.py": "b\n", "gone.py": "gone\n",
       "deep/gone.py": "deep\n", "same.py": "same\n", "LICENSE": "free\n"}
NEW = dict(OLD, **{"a.py": OLD["a.py"].replace("line 3\n", "line three\n"), "b.py": "bb\n", "fresh/new.py": "new\n"})
del NEW["gone.py"], NEW["deep/gone.py"]


def encoded(files):
    return {path: text.encode() for path, text in files.items()}


class Versions:
    """Two versions of a small package, in the place of this one."""

    def __init__(self, monkeypatch, capsys, folder):
        self._patch, self._capsys, self.folder = monkeypatch, capsys, folder
        self.copy = folder / "mcp"

    def vendor(self, files, version, *words):
        """Run the command as that version; exit code, output, errors."""
        self._patch.setattr(parts, "files", lambda: encoded(files))
        for module in (vendor, parts, update):
            self._patch.setattr(module, "__version__", version)
        return here(self._capsys, "vendor", str(self.folder), "--as", "mcp", *words)

    def update(self, *words, files=NEW):
        return self.vendor(files, "2.0", "--update", *words)

    def tree(self):
        """The files of the copy, without what vendor adds."""
        return {path: data.decode() for path, data in parts.read_folder(str(self.copy)).items()}


@pytest.fixture
def versions(monkeypatch, capsys, tmp_path):
    """A folder with a copy of OLD, version 1.0."""
    made = Versions(monkeypatch, capsys, tmp_path)
    assert made.vendor(OLD, "1.0")[0] == 0
    return made


A = OLD["a.py"]
MARKS = "<<<<<<< local\n%s=======\n%s>>>>>>> mcp_ref 2.0\n"
ROWS = [
    # local edits: path -> text, None deletes; then the files that are not as in NEW, the conflicts, the numbers
    ("nothing changed", {}, {}, [], {"updated": 2, "added": 1, "removed": 2}),
    ("far from theirs", {"a.py": A.replace("line 15\n", "mine\n")},
     {"a.py": NEW["a.py"].replace("line 15\n", "mine\n")}, [], {"merged": 1}),
    ("the same change", {"a.py": NEW["a.py"]}, {}, [], {"merged": 0}),
    ("the same change and one more", {"a.py": NEW["a.py"] + "mine"}, {"a.py": NEW["a.py"] + "mine"}, [], {"merged": 1}),
    ("the same line", {"a.py": A.replace("line 3\n", "mine\n")},
     {"a.py": A.replace("line 3\n", MARKS % ("mine\n", "line three\n"))}, ["a.py"], {"conflict": 1}),
    ("the line beside", {"a.py": A.replace("line 4\n", "mine\n")},
     {"a.py": A.replace("line 3\nline 4\n", MARKS % ("line 3\nmine\n", "line three\nline 4\n"))}, ["a.py"], {}),
    ("a line between", {"a.py": A.replace("line 5\n", "mine\n")},
     {"a.py": NEW["a.py"].replace("line 5\n", "mine\n")}, [], {"merged": 1}),
    ("deleted lines", {"a.py": A.replace("line 3\n", "")},
     {"a.py": A.replace("line 3\n", MARKS % ("", "line three\n"))}, ["a.py"], {}),
    ("the end without a line end", {"b.py": "mine"}, {"b.py": MARKS % ("mine\n", "bb\n")}, ["b.py"], {}),
    ("what did not change there", {"same.py": "mine\n"}, {"same.py": "mine\n"}, [], {"kept": 1}),
    ("what is gone there", {"gone.py": "mine\n"}, {"gone.py": "mine\n"}, ["gone.py"], {"removed": 1}),
    ("deleted here and gone there", {"gone.py": None}, {}, [], {"removed": 1}),
    ("deleted here and the same there", {"same.py": None}, {"same.py": None}, [], {"kept": 1}),
    ("deleted here and changed there", {"b.py": None}, {}, ["b.py"], {"conflict": 1}),
    ("a file of mine", {"my/own.py": "x\n"}, {"my/own.py": "x\n"}, [], {}),
    ("a file of mine in a folder that goes", {"deep/own.py": "x\n"}, {"deep/own.py": "x\n"}, [], {"removed": 2}),
    ("a new file that both made", {"fresh/new.py": "my\n"}, {"fresh/new.py": MARKS % ("my\n", "new\n")},
     ["fresh/new.py"], {}),
    ("a new file that both made alike", {"fresh/new.py": "new\n"}, {}, [], {"added": 0}),
    ("no text", {"b.py": "\0mine"}, {"b.py": "\0mine"}, ["b.py"], {"conflict": 1}),
    ("line ends alone", {"b.py": "b\r\n"}, {"b.py": "bb\r\n"}, [], {"updated": 2}),
    ("line ends and a line", {"a.py": A.replace("line 15\n", "mine\n").replace("\n", "\r\n")},
     {"a.py": NEW["a.py"].replace("line 15\n", "mine\n").replace("\n", "\r\n")}, [], {"merged": 1}),
    ("nothing left", {"a.py": ""}, {"a.py": None}, ["a.py"], {}),
]


def change(copy, edits):
    for path, text in edits.items():
        place = copy / path
        if text is None:
            place.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())


@pytest.mark.parametrize("edits, expected, conflicts, numbers", [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_local_changes_and_a_new_version_come_together(edits, expected, conflicts, numbers, versions):
    change(versions.copy, edits)
    before = versions.tree()
    code, out, err = versions.update("--json")
    told = json.loads(out)
    assert (code, err) == (1 if conflicts else 0, "") and sorted(told["conflicts"]) == conflicts, out
    assert {word: told["numbers"][word] for word in numbers} == numbers
    wanted = dict(NEW, **expected)
    found = versions.tree()
    if wanted["a.py"] is None:  # the local side of the conflict is empty
        assert found["a.py"].startswith("<<<<<<< local\n=======\nline 0\n")
        wanted["a.py"] = found["a.py"]
    assert found == {path: text for path, text in wanted.items() if text is not None}
    assert not (versions.copy / "deep").exists() or "deep/own.py" in edits
    # Nothing is lost: what a merge has changed is in the archive beside the copy.
    lost = {path for path, text in before.items() if path in edits and text != found.get(path)
            and told["files"].get(path) in ("merged", "conflict")}
    assert (told["backup"] is not None) == bool(lost)
    if lost:
        with zipfile.ZipFile(told["backup"]) as archive:
            assert {path: archive.read(path).decode() for path in archive.namelist()} == {
                path: before[path] for path in lost}
    assert not [name for name in os.listdir(str(versions.folder)) if name.startswith(".")]
    # The manifest is that of the new version, with the local changes as changes.
    copy = parts.read_copy(str(versions.copy))
    assert copy.version == "2.0" and copy.listed == {path: parts.digest(text.encode()) for path, text in NEW.items()}
    assert parts.originals(copy, list(NEW))[0] == encoded(NEW)


def test_an_update_is_told_file_by_file_and_done_again_changes_nothing(versions):
    change(versions.copy, {"same.py": "mine\n", "a.py": A.replace("line 15\n", "mine\n"), "gone.py": "mine\n"})
    code, out, err = versions.update()
    lines = out.splitlines()
    assert (code, err) == (1, "") and lines[:3] == [
        "merged   a.py", "conflict gone.py: changed here, and gone in mcp_ref 2.0: it stays", "kept     same.py"]
    assert "mcp_ref 2.0, was 1.0; 1 updated, 1 added, 1 removed, 1 merged, 1 kept, 1 conflict; before: " in lines[3]
    before = versions.tree()
    code, out, err = versions.update()
    assert code == 0 and versions.tree() == before and "2 kept" in out
    third = dict(NEW, **{"a.py": NEW["a.py"].replace("line 18\n", "last\n"), "same.py": "other\n"})
    code, out, err = versions.vendor(third, "3.0", "--update")
    assert code == 1 and versions.tree()["a.py"] == third["a.py"].replace("line 15\n", "mine\n"), "base: 2.0"
    assert ">>>>>>> mcp_ref 3.0\n" in versions.tree()["same.py"]


def test_marks_of_an_earlier_update_have_to_be_settled_first(versions):
    change(versions.copy, {"b.py": "mine\n"})
    assert versions.update()[0] == 1
    before = versions.tree()
    code, out, err = versions.vendor(NEW, "2.0", "--check")
    assert code == 1 and "\nmarked   b.py: conflicts of an earlier update are in it; settle them\n" in out
    assert json.loads(versions.vendor(NEW, "2.0", "--check", "--json")[1])["marked"] == ["b.py"]
    code, out, err = versions.vendor(dict(NEW, **{"b.py": "bbb\n"}), "3.0", "--update")
    assert (code, out) == (1, "") and "still marked in b.py" in one_line_of(err) and versions.tree() == before
    change(versions.copy, {"b.py": "bb\nmine\n"})
    assert "marked" not in versions.vendor(NEW, "2.0", "--check")[1]
    assert versions.vendor(NEW, "3.0", "--update")[0] == 0 and versions.tree()["b.py"] == "bb\nmine\n"


ORIGINALS_ARE = {None: ", is not there;", b"": ", cannot be read;", b"BZh91AY&SY": ", cannot be read;",
                 "other": ", is that of another copy;"}


@pytest.mark.parametrize("originals", ORIGINALS_ARE)
def test_without_originals_only_what_does_not_need_them_is_updated(originals, versions):
    """They may be missing, broken, or those of another version."""
    place = versions.copy / parts.ORIGINALS
    if originals is None:
        place.unlink()
    else:
        place.write_bytes(parts.packed(encoded(NEW)) if originals == "other" else originals)
    change(versions.copy, {"same.py": "mine\n"})
    kept = shutil.copytree(str(versions.copy), str(versions.folder / "kept" / "mcp"))
    change(versions.copy, {"a.py": A.replace("line 15\n", "mine\n")})
    before = versions.tree()
    code, out, err = versions.update()
    assert (code, out) == (1, "") and "a.py changed both here and in mcp_ref 2.0" in one_line_of(err)
    assert parts.ORIGINALS + ORIGINALS_ARE[originals] in err and "version 1.0" in err and versions.tree() == before
    shutil.rmtree(str(versions.copy))
    shutil.move(kept, str(versions.copy))
    code, out, err = versions.update()
    assert (code, err) == (0, "") and versions.tree() == dict(NEW, **{"same.py": "mine\n"})


def test_the_archive_of_the_originals_depends_on_the_files_alone():
    files = encoded(OLD)
    assert parts.packed(files) == parts.packed(dict(reversed(list(files.items()))))
    ours = parts.subset(parts.files(), ["messages"])
    assert len(parts.packed(ours)) < 0.25 * sum(map(len, ours.values()))


@pytest.mark.parametrize("spoil, said", [
    (lambda copy: ((copy / "b.py").unlink(), (copy / "b.py").mkdir(), (copy / "b.py" / "x").write_text("")),
     "b.py is in the way: a link or a folder"),
    (lambda copy: ((copy / "b.py").unlink(), (copy / "b.py").symlink_to("same.py")), "is in the way: a link"),
    (lambda copy: (copy / "fresh").write_text("mine"), "is in the way of fresh/new.py"),
    (lambda copy: (copy / "fresh").symlink_to(str(copy.parent)), "is in the way of fresh/new.py"),
    (lambda copy: (copy / parts.MANIFEST).write_text("{"), "cannot be read"),
    (lambda copy: (copy / parts.MANIFEST).unlink(), "there is no vendored copy"),
])
def test_what_is_in_the_way_is_said_before_anything_changes(spoil, said, versions):
    spoil(versions.copy)
    before = versions.tree()
    code, out, err = versions.update()
    assert (code, out) == (1, "") and said in one_line_of(err) and versions.tree() == before


def test_an_update_that_breaks_off_can_be_done_again(versions, monkeypatch):
    change(versions.copy, {"a.py": A.replace("line 15\n", "mine\n")})
    place, calls = os.replace, []

    def broken(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        place(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(update.os, "replace", broken)
        code, out, err = versions.update()
        assert (code, out) == (1, "") and "No space left" in one_line_of(err)
    assert parts.read_copy(str(versions.copy)).version == "1.0"
    assert versions.update()[0] == 0
    assert versions.tree() == dict(NEW, **{"a.py": NEW["a.py"].replace("line 15\n", "mine\n")})


def test_hidden_and_compiled_files_stay_and_a_file_keeps_its_mode(versions):
    change(versions.copy, {".git": "x", "__pycache__/a.pyc": "x"})
    (versions.copy / "b.py").chmod(0o755)
    assert versions.update()[0] == 0
    assert (versions.copy / ".git").exists() and (versions.copy / "__pycache__" / "a.pyc").exists()
    assert (versions.copy / "b.py").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("words, said", [
    (["--update", "--force"], "--update keeps what was changed"), (["--update", "--check"], "not allowed with"),
])
def test_options_that_do_not_go_together(words, said, versions):
    code, out, err = versions.vendor(NEW, "2.0", *words)
    assert (code, out) == (2, "") and said in one_line_of(err) and versions.tree() == OLD


def test_the_copy_of_this_package_itself_is_not_updated(capsys):
    folder = os.path.dirname(os.path.dirname(os.path.abspath(vendor.__file__)))
    code, out, err = here(capsys, "vendor", folder, "--update")
    assert code == 2 and "is this package itself" in one_line_of(err)


# Modules that have moved


def lines(name, count=20):
    return "".join("%s_%d\n" % (name, number) for number in range(count))


LAID = {"a.py": "from .c import c\n\n" + lines("both", 6) + lines("a"),
        "b.py": "from .a import a\n\n" + lines("both", 6) + lines("b"), "c.py": "c\n",
        "one/x.py": "from ..a import a\n\n" + lines("x"), "split.py": lines("s"),
        "p.py": "p\n", "r.py": "r\n", "old/y.py": "y\n"}
MOVES = """# version\told\tnew
1.0\tc.py\tq.py
1.5\tone/x.py\tmid/x.py
2.0\ta.py\tab.py
2.0\tb.py\tab.py
2.0\tmid/\twing/deep/
2.0\told/\twing/
2.0\tsplit.py\tfirst.py
2.0\tsplit.py\tsecond.py
2.0\tp.py\tq.py
2.0\tr.py\tp.py
"""
MOVED = {"ab.py": "from .c import c\n\n" + lines("both", 6) + lines("a") + "\n\n" + lines("b"), "c.py": "c\n",
         "wing/deep/x.py": "from ...ab import a\n\n" + lines("x"), "first.py": "import re\n" + lines("s", 10),
         "second.py": lines("s").replace(lines("s", 10), ""), "q.py": "p\n", "p.py": "r\n", parts.MOVES: MOVES}
MOVING = {"one/x.py", "a.py", "b.py", "split.py", "r.py"}
BACK = "deleted here, and changed in mcp_ref 2.0: it is back"
BESIDE = ("changed here, and it has moved to %s in mcp_ref 2.0, where the change could not be merged: it stays; make "
          "the change there, then delete this file")
PLACES = "1 place between <<<<<<< local and >>>>>>> mcp_ref ..."
LAYOUTS = [
    # edits of old files: path -> (text, mine); new files that have the edit, too: path -> (text, then); conflicts
    ("nothing", {}, {}, {}),
    ("one to one", {"one/x.py": ("x_15\n", "mine\n")}, {"wing/deep/x.py": ("x_15\n", "mine\n")}, {}),
    ("one to one, with CRLF", {"one/x.py": ("\n", "\r\n"), "c.py": ("c\n", "c\r\n")},
     {"wing/deep/x.py": ("\n", "\r\n"), "c.py": ("c\n", "c\r\n")}, {}),
    ("one to one, an import", {"one/x.py": ("from ..a import a\n", "from ..a import mine\n")},
     {"wing/deep/x.py": ("from ...ab import a\n", MARKS % ("from ..a import mine\n", "from ...ab import a\n"))},
     {"wing/deep/x.py": PLACES}),
    ("one to one, no text", {"one/x.py": ("x_15", "\0mine")}, {}, {"one/x.py": BESIDE % "wing/deep/x.py"}),
    ("into another", {"b.py": ("b_15\n", "mine\n")}, {"ab.py": ("b_15\n", "mine\n")}, {}),
    ("into another, at the end", {"a.py": ("a_19\n", "a_19\nmine")}, {}, {"a.py": BESIDE % "ab.py"}),
    ("both into one", {"a.py": ("a_3\n", "mine\n"), "b.py": ("b_15\n", "")},
     {"ab.py": ("a_3\n", "mine\n", "b_15\n", "")}, {}),
    ("into another, an import", {"b.py": ("import a\n", "import mine\n"), "a.py": ("a_3\n", "mine\n")},
     {"ab.py": ("a_3\n", "mine\n")}, {"b.py": BESIDE % "ab.py"}),
    ("into another, in what stands there once now", {"b.py": ("both_3\n", "mine\n")}, {}, {"b.py": BESIDE % "ab.py"}),
    ("split", {"split.py": ("s_15\n", "mine\n")}, {"second.py": ("s_15\n", "mine\n")}, {}),
    ("split, in both", {"split.py": ("s_15\n", "mine\n", "s_3\n", "mine 2\n")}, {},
     {"split.py": BESIDE % "first.py, second.py"}),
    ("deleted, one to one", {"one/x.py": None}, {}, {"wing/deep/x.py": BACK}),
    ("deleted, into another", {"b.py": None}, {},
     {"b.py": "deleted here, and part of ab.py in mcp_ref 2.0: it is back there"}),
    ("gone, from a folder that moved", {"old/y.py": ("y", "mine")}, {},
     {"old/y.py": "changed here, and gone in mcp_ref 2.0: it stays"}),
    ("one's own where it goes", {"one/x.py": ("x_15\n", "mine\n"), "wing/deep/x.py": "my\n"},
     {"wing/deep/x.py": (MOVED["wing/deep/x.py"], MARKS % ("my\n", MOVED["wing/deep/x.py"]))},
     {"one/x.py": BESIDE % "wing/deep/x.py", "wing/deep/x.py": PLACES}),
    ("a path that has another module now", {"p.py": ("p\n", "mine\n")}, {"q.py": ("p\n", "mine\n")}, {}),
]


@pytest.mark.parametrize("edits, arrived, conflicts", [row[1:] for row in LAYOUTS], ids=[row[0] for row in LAYOUTS])
def test_a_change_follows_its_module_to_its_new_place(edits, arrived, conflicts, monkeypatch, capsys, tmp_path):
    versions = Versions(monkeypatch, capsys, tmp_path)
    assert versions.vendor(LAID, "1.0")[0] == 0
    for path, edit in edits.items():
        change(versions.copy, {path: edit if isinstance(edit, str) or edit is None else with_edit(LAID[path], edit)})
    before = versions.tree()
    code, out, err = versions.update("--json", files=MOVED)
    told = json.loads(out)
    assert (code, err, told["conflicts"]) == (1 if conflicts else 0, "", conflicts)
    wanted = {path: with_edit(text, arrived.get(path, ())) for path, text in MOVED.items()}
    wanted.update({path: before[path] for path in conflicts if path in before and path not in MOVED})
    assert versions.tree() == wanted
    followed = {path for path in set(edits) & (MOVING | {"p.py"}) if path in before and path not in conflicts
                and "\r" not in before[path]}
    assert {path for path, word in told["files"].items() if word == "moved"} == followed - {"p.py"}
    assert {path for path in MOVING - {"r.py"} - set(edits) if told["files"][path] != "removed"} == set()
    # Each changed file that is not at its path any more as it was is in the archive.
    lost = {path: before[path] for path in edits if path in before and versions.tree().get(path) != before[path]
            and "\r" not in before[path]}
    assert (told["backup"] is not None) == bool(lost)
    if lost:
        with zipfile.ZipFile(told["backup"]) as archive:
            assert {path: archive.read(path).decode() for path in archive.namelist()} == lost
    if not conflicts:  # what was merged is a change of the new file now
        again = json.loads(versions.update("--json", files=MOVED)[1])
        assert set(again["files"].values()) <= {"kept"} and versions.tree() == wanted


def with_edit(text, edit):
    for old, new in zip(edit[::2], edit[1::2]):
        assert old in text
        text = text.replace(old, new)
    return text


def test_the_parts_of_a_copy_are_known_by_their_new_names(monkeypatch, capsys, tmp_path):
    """In an update, and where a copy or an archive is made again; a name of the command line gets a hint."""
    versions = Versions(monkeypatch, capsys, tmp_path)
    old = dict(LAID, **{"one/__init__.py": "", "__init__.py": "", "two.py": "import os\n"})
    new = dict(MOVED, **{"wing/__init__.py": "", "wing/deep/__init__.py": "", "__init__.py": "",
                         "three.py": "import os\n", parts.MOVES: MOVES
                         + "2.0\tone/__init__.py\twing/deep/__init__.py\n2.0\ttwo.py\tthree.py\n"})
    archive = tmp_path / "x.zip"
    assert versions.vendor(old, "1.0", "--only", "one,two")[0] == 0
    monkeypatch.chdir(tmp_path)
    assert here(capsys, "vendor", "--zip", str(archive), "--only", "two")[0] == 0
    change(versions.copy, {"a.py": LAID["a.py"].replace("a_3\n", "mine\n"), "two.py": "import sys\n"})
    code, out, err = versions.update("--json", files=new)
    told = json.loads(out)
    assert (code, told["only"]) == (0, ["wing.deep", "three"]), out
    assert versions.tree()["three.py"] == "import sys\n" and "mine" in versions.tree()["ab.py"]
    code, out, err = here(capsys, "vendor", "--zip", str(archive), "--json")
    assert (code, json.loads(out)["only"]) == (0, ["three"])
    code, out, err = versions.vendor(new, "2.0", "--only", "two", "--force")
    assert code == 2 and "there is no two in this package" in err and "--only three" in one_line_of(err)
    # A new place that the copy does not take.
    code, out, err = versions.vendor(old, "1.0", "--only", "two", "--force")
    change(versions.copy, {"two.py": "import sys\n"})
    code, out, err = versions.update("--only", "wing", files=new)
    assert code == 1 and ("conflict two.py: changed here, and it has moved to three.py in mcp_ref 2.0, which this copy "
                          "is without: it stays\n") in out and versions.tree()["two.py"] == "import sys\n"


# The merge


def edited(source, lines, alphabet):
    """The lines with a few changes."""
    made = list(lines)
    for _ in range(source.randrange(4)):
        at = source.randrange(len(made) + 1)
        made[at:at + source.randrange(3)] = [source.choice(alphabet) for _ in range(source.randrange(3))]
    return made


def cases(seed, count, alphabet):
    source = random.Random(seed)
    for number in range(count):
        base = [b"line %d\n" % number for number in range(source.randrange(1, 25))]
        yield base, edited(source, base, alphabet), edited(source, base, alphabet)


UNIQUE = [b"x%d\n" % number for number in range(1000)]
FEW = [b"\n", b"a\n", b"line 3\n", b"}\n", b"no end"]


@pytest.mark.parametrize("seed, alphabet", [(1, UNIQUE), (2, FEW)])
def test_a_merge_has_the_laws_of_a_merge(seed, alphabet):
    clean = 0
    for base, ours, theirs in cases(seed, 600, alphabet):
        texts = [b"".join(lines) for lines in (base, ours, theirs)]
        base, ours, theirs = texts
        merged, places = update.merge(base, ours, theirs, "2.0")
        assert update.merge(base, ours, base, "2.0") == (ours, 0)
        assert update.merge(base, base, theirs, "2.0") == (theirs, 0)
        assert update.merge(base, ours, ours, "2.0") == (ours, 0)
        other, again = update.merge(base, theirs, ours, "2.0")
        assert again == places and (places or other == merged), "it does not matter whose side is whose"
        clean += not places
        assert merged.count(b"<<<<<<< local\n") == merged.count(b">>>>>>> mcp_ref 2.0\n") == places
        # No line of either side that the base does not have is lost.
        for side in (ours, theirs):
            for line in difflib.ndiff(base.decode().splitlines(), side.decode().splitlines()):
                assert not line.startswith("+ ") or line[2:].encode() in merged
    assert 100 < clean < 600


def test_a_long_text_of_few_different_lines_is_merged_like_any_other():
    base = b"}\n\n" * 200
    ours, theirs = b"mine\n" + base, base + b"theirs\n"
    assert update.merge(base, ours, theirs, "2.0") == (b"mine\n" + base + b"theirs\n", 0)


@pytest.mark.skipif(shutil.which("git") is None, reason="git merge-file is the judge, and there is no git")
def test_a_merge_is_what_git_makes_of_it(tmp_path):
    """The same texts where neither sees a conflict, and the same opinion whether there is one."""
    same = 0
    for number, (base, ours, theirs) in enumerate(cases(3, 60, UNIQUE)):
        texts = dict(base=b"".join(base), ours=b"".join(ours), theirs=b"".join(theirs))
        for name, text in texts.items():
            (tmp_path / name).write_bytes(text)
        done = subprocess.run(["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=str(tmp_path),
                              stdout=subprocess.PIPE, timeout=WAIT)
        merged, places = update.merge(texts["base"], texts["ours"], texts["theirs"], __version__)
        assert bool(done.returncode) == bool(places), (number, texts)
        if not places:
            same += 1
            assert merged == done.stdout, (number, texts)
    assert same > 10
