"""Every chapter of the course has two exercises, which are not solved as they stand, and whose solutions solve them."""
import importlib
import pathlib
import re
import subprocess
import sys

import pytest

from tests.support.patience import WAIT

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples"
CHAPTERS = sorted(path.stem for path in FOLDER.glob("[0-9]*.py"))
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
UNKNOWN = "20??-??-??"
MOST_CHANGES = 4


@pytest.fixture(scope="module")
def course():
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("course")
    finally:
        sys.path.remove(str(FOLDER))


def both(course, chapter):
    """The exercises of a chapter with their solutions."""
    given = course.exercises(course.EXERCISES / (chapter + ".txt"))
    solved = course.exercises(course.EXERCISES / "solutions" / (chapter + ".txt"))
    assert [each.title for each in given] == [each.title for each in solved]
    return list(zip(given, solved))


def test_no_file_of_exercises_is_left_over(course):
    found = sorted(path.relative_to(course.EXERCISES).as_posix() for path in course.EXERCISES.rglob("*.*"))
    assert found == sorted(folder + chapter + ".txt" for folder in ("", "solutions/") for chapter in CHAPTERS)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_exercises_are_open_and_their_solutions_close_them(course, chapter):
    pairs = both(course, chapter)
    assert len(pairs) == 2
    for exercise, solution in pairs:
        lines = solution.scene.splitlines()
        assert exercise.scene.splitlines() == [
            line[2:] if line.startswith("- ") else line for line in lines if not line.startswith("+ ")], exercise.title
        assert 0 < sum(line[:1] in "+-" for line in lines) <= MOST_CHANGES
        assert len(exercise.task) > 40 and len(solution.task) > 20, "say what is asked for, and why it is so"
        assert exercise.outcome() != exercise.goal
        assert exercise._replace(scene=solution.scene).outcome() == exercise.goal


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_question_for_the_revision_has_one_answer(course, chapter):
    for exercise, _ in both(course, chapter):
        if UNKNOWN in exercise.scene:
            fitting = [revision for revision in REVISIONS if exercise._replace(
                scene=exercise.scene.replace(UNKNOWN, revision)).outcome() == exercise.goal]
            assert len(fitting) == 1, (exercise.title, fitting)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_begins_with_prose_that_cites_pages(chapter):
    page = (FOLDER / (chapter + ".py")).read_text(encoding="utf-8").split('"""')[1]
    title, *rest = page.strip().split("\n\n")
    assert "\n" not in title and title.endswith(".") and len(title) < 116
    assert re.search(r"\[[^\]\s]+\s+[\w/-]+(\s+§[^\]]+)?\]", page), "cite the page that the chapter is about"
    assert len(" ".join(rest)) > 200


def test_the_reader_is_told_what_is_solved(course, capsys, tmp_path, monkeypatch):
    assert course.main(["99"]) == 2
    assert course.main(["03"]) == 1
    said = capsys.readouterr().out
    assert "03_tools  A tool without a schema: the checker finds tools.input-schema-object; the goal is nothing" in said
    assert said.endswith("0 of 2 are solved.\n")
    solution = (course.EXERCISES / "solutions" / "03_tools.txt").read_text(encoding="utf-8")
    goals = iter(each.goal for each in course.exercises(course.EXERCISES / "03_tools.txt"))
    (tmp_path / "03_tools.txt").write_text(
        re.sub(r"(?m)^=== .*$", lambda found: found.group() + "\n; Goal: " + next(goals), solution), encoding="utf-8")
    monkeypatch.setattr(course, "EXERCISES", tmp_path)
    assert course.main(["03"]) == 0 and "2 of 2 are solved" in capsys.readouterr().out


def test_a_chapter_fails_when_the_checker_finds_something_else(course):
    def rise():
        return [event for event in course.trace("""on stdio 2025-11-25
            C #1 tools/call {"name": "x", "_meta": {"progressToken": 1}}
            S notifications/progress {"progressToken": 1, "progress": 2}
            S notifications/progress {"progressToken": 1, "progress": 1}
            S #1 {"content": []}""", "+")]

    with course.Session("s", "progress.increases", quiet=True) as session:
        session.events[:] = rise()
    with pytest.raises(SystemExit, match="progress.increases"):
        with course.Session("s", quiet=True) as session:
            session.events[:] = rise()
    with pytest.raises(SystemExit, match="finds \\[\\], not"):
        with course.Session("s", "progress.increases", quiet=True):
            pass


def test_a_recording_of_a_chapter_is_kept_where_it_is_wanted(course, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    subprocess.run([sys.executable, str(FOLDER / "03_tools.py"), str(folder)], check=True, timeout=WAIT,
                   stdout=subprocess.DEVNULL)
    assert [path.name for path in folder.iterdir()] == ["session.jsonl"]
    assert course.check(str(folder / "session.jsonl")) == []


def test_the_server_of_chapter_0_is_short_and_needs_nothing():
    source = (FOLDER / "tiny_server.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 60
    assert re.findall(r"(?m)^\s*(?:import|from) (\w+)", source) == ["json", "sys"]
