"""Write the course as one page: `make course` makes `build/course.html` of the chapters in `examples/`.

Each chapter is run for it, so what the page shows is of this moment: the introduction, the program, what it printed
with the ladder, the recorded conversations as pages of sessions, and the exercises with their solutions folded. The
page is one file, works without a network, and needs JavaScript for the pages of sessions only.

Options: the beginnings of names of chapters, to leave the others out.
"""
import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from base64 import b64encode
from hashlib import sha256
from html import escape
from pkgutil import get_data
from typing import Any, Dict, List, NamedTuple

from environments import BUILD, ROOT, say

sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

import course  # noqa: E402

from mcp_ref.cli.learn.entries import glossary  # noqa: E402
from mcp_ref.devtools.checker import Checker  # noqa: E402
from mcp_ref.devtools.inspector import SessionRecord, page  # noqa: E402
from mcp_ref.wiretrace import read  # noqa: E402

TARGET = BUILD / "course.html"
SECONDS = 60
_TITLE, _DATA = "the-title-of-the-session", "the-record-of-the-session"
_COLOURS = (get_data("mcp_ref.devtools.inspector", "page.css") or b"").decode("utf-8").partition("* {")[0]
_STYLE = _COLOURS + """
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--back); color: var(--text); font-size: 16px; line-height: 1.55; }
main { max-width: 74rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: .5rem; }
p { max-width: 46rem; }
a { color: var(--client); }
cite, .dim { color: var(--dim); font-style: normal; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 13px; }
h2 code, h4 code { font-size: .85em; }
pre { background: var(--raised); color: var(--text); border: 1px solid var(--line); border-radius: 4px; padding: .7rem;
  overflow: auto; max-height: 34rem; }
pre.wrapped { white-space: pre-wrap; overflow-wrap: anywhere; }
pre ins { color: var(--good); text-decoration: none; } pre del { color: var(--bad); text-decoration: none; }
summary { cursor: pointer; padding: .3rem 0; color: var(--client); }
button { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line); border-radius: 4px;
  padding: .3rem .7rem; min-height: 32px; margin: .2rem .4rem .2rem 0; cursor: pointer; }
iframe { width: 100%; height: 36rem; border: 1px solid var(--line); border-radius: 4px; margin-top: .5rem; }
:focus-visible { outline: 2px solid var(--client); outline-offset: 2px; }
.skip { position: absolute; left: -999px; } .skip:focus { position: static; }
nav ol { list-style: none; padding: 0; columns: 26rem 2; }
nav li { padding: .15rem 0; break-inside: avoid; }
"""
_SCRIPT = """
"use strict";
const read = (id) => JSON.parse(document.getElementById(id).textContent);
for (const button of document.querySelectorAll("button[data-session]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const place = document.getElementById(button.getAttribute("aria-controls")), open = place.firstChild !== null;
    button.setAttribute("aria-expanded", String(!open));
    if (open) { place.replaceChildren(); return; }
    const frame = document.createElement("iframe");
    frame.title = button.textContent;
    const data = document.getElementById(button.dataset.session).textContent;
    frame.srcdoc = read("frame").replaceAll("TITLE", () => button.textContent).replace("RECORD", () => data);
    place.append(frame);
  });
}
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = dark === "dark" ? "light" : "dark";
});
""".replace("TITLE", _TITLE).replace('"RECORD"', json.dumps(_DATA))


class Chapter(NamedTuple):
    """A chapter after its run."""

    name: str
    title: str
    prose: List[str]
    program: str
    printed: str
    sessions: Dict[str, Any]
    """The records of its conversations, by name."""


class CourseError(RuntimeError):
    """A chapter has failed; the text says which, and how."""


def run(path: pathlib.Path) -> Chapter:
    """Run a chapter, and return it with what it printed and recorded. Raises CourseError."""
    program = path.read_text(encoding="utf-8")
    title, *prose = (ast.get_docstring(ast.parse(program)) or "").split("\n\n")
    with tempfile.TemporaryDirectory(prefix="the course ") as folder:
        done = subprocess.run([sys.executable, str(path), folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=SECONDS, env=dict(os.environ, PYTHONIOENCODING="utf-8"))
        if done.returncode:
            raise CourseError("%s has failed:\n%s" % (path.name, done.stderr.decode("utf-8", "replace")))
        sessions = {each.stem: record(each) for each in sorted(pathlib.Path(folder).iterdir())}
    return Chapter(path.stem, title, prose, program, elsewhere(done.stdout.decode("utf-8", "replace")), sessions)


def elsewhere(text: str) -> str:
    """Return a text without the paths of this machine."""
    return text.replace(sys.executable, "python3").replace(str(ROOT) + "/", "").replace(str(ROOT), ".")


def record(path: pathlib.Path) -> Dict[str, Any]:
    """Return a recorded conversation as the page of a session reads it."""
    taken, checker = SessionRecord(), Checker()
    for event in read(str(path)):
        taken.take(event)
        checker.feed(event)
    checker.finish()
    made = taken.document(path.stem, checker.findings, glossary(taken.methods()))
    found: Dict[str, Any] = json.loads(elsewhere(json.dumps(made)))
    return found


def prose(paragraph: str) -> str:
    """Return a paragraph as markup: citations and names of code stand out."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(" ".join(paragraph.split()), quote=False))
    return "<p>%s</p>" % re.sub(r"\[([^\]]*20\d\d-[^\]]+)\]", r"<cite>[\1]</cite>", text)


def exercise(given: course.Exercise, solved: course.Exercise, number: int) -> str:
    """Return an exercise as markup, with its solution folded."""
    marks = {"+": "<ins>%s</ins>", "-": "<del>%s</del>"}
    lines = [marks.get(line[:1], "%s") % escape(line, quote=False) for line in solved.scene.splitlines()]
    return ("<h4>Exercise %d: %s</h4>%s<p>Goal: the checker finds <code>%s</code>.</p><pre class=wrapped tabindex=0>%s"
            "</pre><details><summary>Solution of exercise %d</summary>%s<pre class=wrapped tabindex=0>%s</pre>"
            "</details>"
            % (number, escape(given.title), prose(given.task), escape(given.goal), escape(given.scene, quote=False),
               number, prose(solved.task), "\n".join(lines)))


def section(chapter: Chapter) -> str:
    """Return a chapter as markup."""
    buttons = "".join(
        '<button type=button hidden data-session="s-{0}-{1}" aria-expanded=false aria-controls="p-{0}">Session {1}'
        '</button>'.format(chapter.name, escape(name)) for name in chapter.sessions)
    data = "".join('<script type="application/json" id="s-%s-%s">%s</script>' % (
        chapter.name, escape(name), json.dumps(made).replace("<", "\\u003c"))
        for name, made in chapter.sessions.items())
    pairs = zip(*(course.exercises(course.EXERCISES / folder / (chapter.name + ".txt"))
                  for folder in ("", "solutions")))
    return "".join((
        '<section id="%s"><h2>%s %s</h2>' % (chapter.name, chapter.name[:2], prose(chapter.title)[3:-4]),
        "".join(map(prose, chapter.prose)),
        "<details><summary>The program, <code>examples/%s.py</code></summary><pre tabindex=0>%s</pre></details>" % (
            chapter.name, escape(chapter.program, quote=False)),
        '<h3>What it prints</h3><pre class="transcript" tabindex=0>%s</pre>' % escape(chapter.printed, quote=False),
        '<div>%s</div><div id="p-%s"></div>%s<h3>Exercises</h3>' % (buttons, chapter.name, data),
        "".join(exercise(given, solved, number) for number, (given, solved) in enumerate(pairs, 1)),
        '<p><a href="#contents">Contents</a></p></section>'))


def whole(chapters: List[Chapter]) -> str:
    """Return the page."""
    empty = SessionRecord().document(_TITLE)
    frame = re.sub(r'(id="record">).*?(</script>)', lambda found: found.group(1) + _DATA + found.group(2), page(empty),
                   flags=re.DOTALL)
    digests = {kind: " ".join(["'sha256-%s'" % b64encode(sha256(own.encode("utf-8")).digest()).decode("ascii"),
                               *re.findall(kind + r"-src ('sha256-[^']+')", frame)])
               for kind, own in (("script", _SCRIPT), ("style", _STYLE))}
    policy = ("default-src 'none'; script-src %(script)s; style-src %(style)s; img-src data:; base-uri 'none'; "
              "form-action 'none'" % digests)
    contents = "".join('<li><a href="#%s">%s %s</a></li>' % (each.name, each.name[:2], prose(each.title)[3:-4])
                       for each in chapters)
    return "".join((
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="%s">' % policy,
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>A course in the protocol</title>'
        "<style>%s</style></head><body><main>" % _STYLE,
        '<a class="skip" href="#contents">Skip to the contents</a><h1>A course in the Model Context Protocol</h1>'
        "<p>Each chapter is a program, which was run for this page. Read the introduction, look at what it prints, "
        "open the sessions, and do the exercises: change the conversation until the checker finds the goal. You write "
        "into "
        "<code>examples/exercises</code>, and <code>python3 examples/course.py 03</code> tells if chapter 03 is solved."
        '</p><button id="theme" type="button">Light or dark</button>'
        '<nav id="contents" aria-label="Contents"><h2>Contents</h2><ol>%s</ol></nav>' % contents,
        "".join(map(section, chapters)),
        '</main><script type="application/json" id="frame">%s</script><script>%s</script></body></html>\n' % (
            json.dumps(frame).replace("<", "\\u003c"), _SCRIPT)))


def main(arguments: List[str]) -> int:
    """Run the chapters, and write the page."""
    paths = [path for path in sorted((ROOT / "examples").glob("[0-9]*.py"))
             if not arguments or path.name.startswith(tuple(arguments))]
    try:
        chapters = [run(path) for path in paths]
    except (CourseError, subprocess.TimeoutExpired) as error:
        print("make course: %s" % error, file=sys.stderr)
        return 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(whole(chapters), encoding="utf-8")
    say("%s: %d chapters, %d KiB" % (TARGET.relative_to(ROOT), len(chapters), TARGET.stat().st_size // 1024))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
