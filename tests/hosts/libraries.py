"""The recipes whose hosts are libraries of PyPI, and tkinter: `make interop` walks through them, see `recipes`.

 - `recipe-flask`, `recipe-django`, `recipe-starlette`: below real engines, with tools in the application's context,
   with its database and with its event loop
 - `recipe-jupyter`: in the kernel of a notebook
 - `recipe-tkinter`: in a window under Xvfb, which is installed where this runs as root
"""
import contextlib
import pathlib
import sys
import tempfile
from functools import partial
from typing import Callable, Dict, Iterator

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

from recipes import HERE, RECIPES, Recipe, display, environment, peers, recent_python, started, walk  # noqa: E402

PINS = ("gunicorn==23.0.0", "flask==3.1.3", "django==5.2.19", "starlette==1.10.0", "uvicorn==0.54.0", "h11==0.16.0")
JUPYTER_PINS = ("ipykernel==7.4.0", "jupyter_client==8.10.0")
LOOPBACK = r"(http://127\.0\.0\.1:[0-9]+)"


def web(*command: str) -> "contextlib.AbstractContextManager[str]":
    """A web framework under an engine."""
    python = environment(peers.PEERS / "recipes", PINS, recent_python(peers.PYTHON_FLOOR))
    return started([python, "-m", *command], LOOPBACK, url="%s/mcp")


@contextlib.contextmanager
def django() -> Iterator[str]:
    """Django with a database of its own."""
    python = environment(peers.PEERS / "recipes", PINS, recent_python(peers.PYTHON_FLOOR))
    with tempfile.TemporaryDirectory() as folder:
        with started([python, "-m", "gunicorn", "--bind", "127.0.0.1:0", "--threads", "8", "in_django:application"],
                     LOOPBACK, url="%s/mcp", DATABASE=folder + "/demo.sqlite3") as url:
            yield url


def jupyter() -> "contextlib.AbstractContextManager[str]":
    """A kernel, as notebooks have one."""
    python = environment(peers.PEERS / "jupyter", JUPYTER_PINS, recent_python(peers.PYTHON_FLOOR))
    return started([python, str(HERE / "notebook.py"), "%load_ext in_jupyter"])


@contextlib.contextmanager
def tkinter() -> Iterator[str]:
    """A window on a screen that nobody sees."""
    with display(install=True) as screen:
        with started([recent_python((3, 8)), str(RECIPES / "in_tkinter.py")], DISPLAY=screen) as url:
            yield url


MANY = 1000000
LIBRARIES: Dict[str, Recipe] = {
    "flask": Recipe(
        partial(web, "flask", "--app", "in_flask", "run", "--port", "0"),
        [("write", {"name": "x", "text": "ab", "times": 3}, "^6$"), ("notes", {}, '"x": ?"ababab"'),
         ("notes", {}, "Buy milk")],
        ("write", {"name": "x", "text": "z", "times": MANY * 100})),
    "django": Recipe(
        django, [("add_groups", {"name": "g", "count": 2}, "^[0-9]+$"), ("groups", {}, '"g 1", ?"g 2"')],
        ("add_groups", {"name": "many", "count": MANY})),
    "starlette": Recipe(
        partial(web, "uvicorn", "--port", "0", "in_starlette:app"), [("rest", {"times": 3}, "^rested$")],
        ("rest", {"times": MANY})),
    "jupyter": Recipe(
        jupyter, [("run", {"cells": ["a = 6", "print(a * 7)"]}, "^42\n"), ("run", {"cells": ["a + 1"]}, "7"),
                  ("run", {"cells": ["import threading; print(threading.current_thread().name)"]}, "^MainThread"),
                  ("run", {"cells": ["1 / 0"]}, "ZeroDivisionError"), ("variables", {}, '"a": ?"int"')],
        ("run", {"cells": ["import time"] + ["time.sleep(0.01)"] * 10000})),
    "tkinter": Recipe(
        tkinter, [("show", {"text": "one"}, ""), ("show", {"text": "two"}, "^one$"),
                  ("show", {"text": "three"}, "^[a-z0-9]+$")],
        ("count", {"to": MANY})),
}
WALKS: Dict[str, Callable[[], None]] = {"recipe-" + name: partial(walk, recipe) for name, recipe in LIBRARIES.items()}
"""The pairings of `make interop`."""
