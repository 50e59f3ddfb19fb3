"""`bundle`: one file of a program and what it needs, which does what the program does."""
import inspect
import json
import marshal
import os
import random
import re
import subprocess
import sys

import pytest

from mcp_ref import __version__, connect
from mcp_ref.cli import main
from mcp_ref.cli.copying import bundle, loader, parts
from tests.support.patience import WAIT
from tests.tools import interpreters

from .running import ROOT, fresh, here, one_line_of
from .test_slices import PART_USES

STDIO = '''"""A server."""
from mcp_ref import Server

server = Server("small", version="1.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


if __name__ == "__main__":
    server.run()
'''


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """A bundle of the echo server."""
    one = tmp_path_factory.mktemp("echo") / "one.py"
    assert main(["bundle", str(ROOT / "examples" / "echo_server.py"), "-o", str(one)]) == 0
    return one


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A bundle of the command line with all of the package; the program is in a folder beside it."""
    text = "import sys\nfrom mcp_ref.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
    folder = tmp_path_factory.mktemp("whole")
    return made(folder / "program" / "cli.py", text, folder / "one.py", "--all")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The folder of a bundle of STDIO, ``one.py``, alone."""
    folder = tmp_path_factory.mktemp("small")
    made(folder / "program" / "server.py", STDIO, folder / "one.py")
    return folder


def made(source, text, target, *words):
    """Write a program, and bundle it."""
    source.parent.mkdir(exist_ok=True)
    source.write_text(text, encoding="utf-8")
    assert main(["bundle", str(source), "-o", str(target), *words]) == 0
    return target


def run(*words, folder, **options):
    """Run Python in a folder, with an environment in which it may keep what it compiles."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run([sys.executable, *map(str, words)], cwd=str(folder), env=dict(environment, **options),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=WAIT)


# It runs


@pytest.mark.parametrize("minor", [(3, 8), (3, 13)])
def test_the_echo_server_is_one_file_that_runs_without_anything_installed(minor, echo):
    python = interpreters.find(minor)
    if python is None:
        pytest.skip("there is no CPython %d.%d on this machine" % minor)
    with connect([python.path, "-I", "-S", str(echo), "--tools", "1"], cwd=str(echo.parent)) as client:
        assert client.call_tool("add", {"a": 1, "b": 2}).structured_content == {"result": 3}
        assert client.read_resource("greeting://you").text == "Hello, you!" and len(client.tools()) > 3
    assert [path.name for path in echo.parent.iterdir()] == ["one.py"], "-I keeps nothing"


def test_it_serves_http_where_the_program_does(echo):
    """The echo server names `run_http`; its bundle has HTTP, and that of a server for pipes has not."""
    out = fresh(echo.parent, """
import one
message = (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
           b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}')
answer = one.server.handle("POST", "/mcp", {"Content-Type": "application/json", "Host": "localhost",
                           "Accept": "application/json, text/event-stream"}, message)
print(answer.status, b'"echo"' in b"".join(answer.chunks))
one.server.handler.close(0)
""")
    assert out == "200 True\n"


PROGRAMS = {
    "plain": "import mcp_ref\nprint(__name__, __doc__, mcp_ref.__version__)\n",
    "docstring": '"""One.\n\nTwo."""\nfrom mcp_ref.version import __version__\nprint(repr(__doc__))\n',
    "docstring in pieces": '("One"\n " two")\nimport mcp_ref.version\nprint(repr(__doc__))\n',
    "future": 'u"""Of ß."""\nfrom __future__ import annotations, division; import mcp_ref.version\n\n'
              'def f(a: nothing): pass\nprint(f.__annotations__, annotations.compiler_flag, __doc__)\n',
    "future over lines": 'from __future__ import (annotations,\n  # why\n  division); import sys\n'
                         'import mcp_ref.version\ndef f(a: nothing): pass\n'
                         'print(f.__annotations__, sys._getframe().f_lineno)  # LINE\n',
    "quotes": "import mcp_ref.version\nprint('''a\\'''', '\\\\', \"\"\"'''\"\"\")\n",
    "other encoding": "# -*- coding: latin-1 -*-\nimport mcp_ref.version\nprint(ascii('\xe9\xdf'))\n",
    "no end": "import mcp_ref.version\nprint(1)",
    "its own name": "import mcp_ref.version, sys\nprint(sys.modules[__name__].__dict__ is globals())\n",
    "shebang": "#!/usr/bin/env python3\nimport mcp_ref.version\nprint([n for n in globals() if 'bundle' in n])\n",
    "lines": "import mcp_ref.version\nimport sys\nprint(sys._getframe().f_lineno)  # LINE\n",
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_does_in_a_bundle_what_it_does_with_the_package(name, tmp_path):
    text = PROGRAMS[name]
    (tmp_path / "program").mkdir()
    source, one = tmp_path / "program" / "p.py", tmp_path / "p.py"
    source.write_bytes(text.encode("latin-1" if "latin-1" in text else "utf-8"))
    assert main(["bundle", str(source), "-o", str(one)]) == 0
    before = run(source, folder=tmp_path, PYTHONPATH=str(ROOT), PYTHONIOENCODING="utf-8")
    above = one.read_text(encoding="utf-8").partition(loader.PROGRAM)[0].count("\n") + 2
    if "LINE" in text:  # its lines are those of the bundle, so that an editor opens the place
        before.stdout = re.sub(r"\d+$", lambda found: str(int(found.group()) + above), before.stdout, flags=re.M)
    after = run("-S", one, folder=tmp_path, PYTHONIOENCODING="utf-8", PYTHONDONTWRITEBYTECODE="1")
    assert (after.returncode, after.stdout, after.stderr) == (0, before.stdout, before.stderr)
    names = "import sys; sys.path.insert(0, %r); import p; print(sorted(n for n in vars(p) if n != '__cached__'))"
    there = run("-c", names % str(source.parent), folder=tmp_path, PYTHONPATH=str(ROOT), PYTHONIOENCODING="utf-8")
    ours = run("-S", "-B", "-c", names % str(tmp_path), folder=source.parent.parent, PYTHONIOENCODING="utf-8")
    assert ours.stdout.splitlines()[-1] == there.stdout.splitlines()[-1], ours.stderr


HARD = ["", "'", "''", "'''", "''''", "\\", "\\'", "\\\\'''", "a\\", "'''\\''''x'", "\r\n", "a\x00b", "\x0c",
        "x'''\n\\\n", "\\\x01", "'\x7f'", "\u2028\u202e\U0001f600", "\ufeff", "\\'\x1b'''"]


def test_a_text_is_a_literal_that_can_be_read_and_has_its_lines():
    source = random.Random(7)
    texts = HARD + ["".join(source.choice("'\\\n\"ra\x00\r\ufe0f") for _ in range(source.randrange(40)))
                    for _ in range(2000)]
    for text in texts:
        made = bundle.literal(text)
        # As a file is read: line ends of all kinds become "\n", which those inside of the literal must not.
        assert eval(made.replace("\r\n", "\n").replace("\r", "\n")) == text, ascii(text)
        assert made.count("\n") == text.count("\n")


# What a traceback says


def test_tracebacks_name_the_module_and_the_line_of_the_package(small):
    out = fresh(small, """
import inspect, json, traceback
import one
import mcp_ref.jsonrpc as module
for broken in (lambda: module.parse(None), lambda: one.add(1, None)):
    try:
        broken()
    except Exception as error:
        step = traceback.extract_tb(error.__traceback__)[2]
        print(json.dumps([step.filename, step.lineno, step.line]))
print(json.dumps([inspect.getsource(module.Notification), inspect.getsource(module.parse), module.__file__]))
""").splitlines()
    (file, line, text), (mine, own, said), (of_class, of_function, place) = map(json.loads, out)
    lines = (ROOT / "mcp_ref" / "jsonrpc.py").read_text(encoding="utf-8").split("\n")
    assert file == place == os.path.join(str(small / "one.py"), "mcp_ref.jsonrpc.py")
    assert lines[line - 1].strip() == text and text
    from mcp_ref import jsonrpc
    assert (of_class, of_function) == (inspect.getsource(jsonrpc.Notification), inspect.getsource(jsonrpc.parse))
    bundled = (small / "one.py").read_text(encoding="utf-8").split("\n")
    banner = next(at for at, each in enumerate(bundled) if each.startswith("# ==== mcp_ref/jsonrpc.py ="))
    assert bundled[banner + line].strip() == text, "line N of a module stands N lines below its banner"
    assert (mine, said) == (str(small / "one.py"), "return a + b") and bundled[own - 1].strip() == said


# What is in it


SLICES = [
    ("from mcp_ref import Server", {"stdio-server"}),
    ("from mcp_ref import Server\nServer('x').run_http()", {"stdio-server", "http"}),
    ("import mcp_ref\nmcp_ref.Server('x')", {"stdio-server"}),
    ("import mcp_ref as m\ns = m.Server('x')\ngetattr(s, 'wsgi')()", {"stdio-server", "http"}),
    ("from mcp_ref.server import Context\ndef f(auth): pass", {"stdio-server", "http"}),
    ("from mcp_ref import Server\nServer('x', tasks=1)", {"stdio-server", "tasks"}),
    ("from mcp_ref import connect, ToolError", {"client", "errors"}),
    ("import mcp_ref.client\nmcp_ref.REVISIONS", {"client", "revisions"}),
    ("import mcp_ref\nprint(mcp_ref.__version__)", {"version"}), ("from mcp_ref import __version__", {"version"}),
    ("import mcp_ref\nprint(mcp_ref)", {"client", "errors", "host", "limits", "revisions", "stdio-server"}),
    ("from mcp_ref import *", {"client", "errors", "host", "limits", "revisions", "stdio-server"}),
    ("from mcp_ref import messages", {"messages"}), ("from mcp_ref.jsonschema import keywords, validate", None),
    ("from importlib import import_module\nimport_module('mcp_ref.testing')", {"testing"}),
    ("from typing import TYPE_CHECKING as T\nimport mcp_ref.jsonrpc", {"jsonrpc"}),
    ("import mcp_ref.jsonrpc\nif TYPE_CHECKING:\n    import mcp_ref.host", {"jsonrpc"}),
    ("def f():\n    from mcp_ref.host import Host", {"host"}), ("import mcp_reference", set()), ("import os", set()),
]


@pytest.mark.parametrize("text, expected", SLICES)
def test_the_imports_of_a_program_decide_which_parts_are_in_it(text, expected, tmp_path):
    (tmp_path / "p.py").write_text(text)
    found = bundle.needed(bundle.read_program(str(tmp_path / "p.py")))
    assert found == expected if expected is not None else "jsonschema" in found
    if expected:
        assert set(parts.subset(parts.files(), sorted(found))) >= set(parts.ALWAYS)


@pytest.mark.parametrize("part", parts.PARTS)
def test_each_part_has_words_by_which_its_use_is_seen(part, tmp_path):
    """The programs that exercise the parts of a vendored server, each as the program of a bundle."""
    (tmp_path / "p.py").write_text("from mcp_ref import Server\n" + PART_USES[part])
    assert part in bundle.needed(bundle.read_program(str(tmp_path / "p.py")))


def test_a_bundle_has_data_where_its_slice_needs_them_and_says_what_it_lacks(small, tmp_path):
    text = (small / "one.py").read_text(encoding="utf-8")
    assert "mcp_ref/jsonschema/draft-07.json" in text and "mcp_ref/requirements.tsv" not in text
    assert "mcp_ref/LICENSE" in text
    out = fresh(small, """
import one, mcp_ref
from mcp_ref.jsonschema import validate
print([each.keyword for each in validate({"type": 7}, {"$ref": "http://json-schema.org/draft-07/schema#"})])
print("Server" in dir(mcp_ref) and "Client" not in dir(mcp_ref))
for act in (lambda: mcp_ref.connect, one.server.run_http, lambda: __import__("mcp_ref.client")):
    try:
        act()
    except ImportError as error:
        print(error)
""").splitlines()
    assert out[0] != "[]" and out[1:3] == [
        "True", "mcp_ref.connect is not in this bundle; bundle the program again with --with client"]
    assert out[3].startswith("the part http (run_http")
    assert out[3].endswith("(stdio-server); bundle the program again with --with stdio-server,http")
    assert out[4] == "No module named 'mcp_ref.client'"
    more = made(tmp_path / "program" / "s.py", STDIO, tmp_path / "more.py", "--with", "client,requirements")
    out = fresh(more.parent, "import more, mcp_ref\nfrom mcp_ref.requirements import requirements\n"
                             "print(callable(mcp_ref.connect), len(requirements()) > 100)")
    assert out == "True True\n"


def test_the_same_program_makes_the_same_bytes(tmp_path):
    """Whatever the order of sets, the place and the time."""
    sums = set()
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        (folder / "server.py").write_text("from mcp_ref import messages\n")
        os.utime(str(folder / "server.py"), (int(seed), int(seed)))
        done = run("-m", "mcp_ref", "bundle", folder / "server.py", "-o", folder / "one.py", folder=ROOT,
                   PYTHONHASHSEED=seed, PYTHONDONTWRITEBYTECODE="1")
        assert done.returncode == 0, done.stderr
        data = (folder / "one.py").read_bytes()
        assert str(tmp_path).encode() not in data and str(ROOT).encode() not in data
        sums.add(data)
    assert len(sums) == 1


def test_the_whole_package_in_one_file_gives_a_copy_of_itself(whole, tmp_path):
    done = run("-S", "-B", whole, "vendor", tmp_path, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert parts.read_folder(str(tmp_path / "mcp_ref")) == parts.files()


def test_the_whole_package_in_one_file_bundles_the_same_file_again(whole, tmp_path):
    program = whole.parent / "program" / "cli.py"
    done = run("-S", "-B", whole, "bundle", program, "-o", "again.py", "--all", folder=tmp_path)
    assert done.returncode == 0 and (tmp_path / "again.py").read_bytes() == whole.read_bytes(), done.stderr


def test_its_folders_can_be_listed(whole):
    """The checker finds its own pages so."""
    out = fresh(whole.parent, """
import one, pkgutil, mcp_ref.devtools.checker.pages as pages
print(sorted(pages.NAMES))
print(sorted((each.name, each.ispkg) for each in pkgutil.iter_modules(pages.__path__, "x.")))
""").splitlines()
    from mcp_ref.devtools.checker import pages
    import pkgutil
    assert out == [str(sorted(pages.NAMES)), str(sorted(
        (each.name, each.ispkg) for each in pkgutil.iter_modules(pages.__path__, "x.")))]


def test_a_child_imports_the_package_from_the_bundle_of_its_parent(whole, tmp_path):
    done = run("-S", "-B", whole, "demo", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "=> {'result': 5}" in done.stdout


# Compiled modules


def test_compiled_modules_are_kept_unless_python_may_not_and_never_outlive_their_text(tmp_path):
    one = made(tmp_path / "program" / "p.py", "from mcp_ref.version import __version__\nprint(__version__)\n",
               tmp_path / "one.py")
    kept = tmp_path / "__pycache__" / "one.py"
    for words in (["-B"], ["-I"]):
        assert run(*words, one, folder=tmp_path).stdout == __version__ + "\n" and not kept.exists()
    assert run(one, folder=tmp_path).returncode == 0
    assert "mcp_ref.version.%s.pyc" % sys.implementation.cache_tag in {path.name for path in kept.iterdir()}
    stat = one.stat()
    other = __version__[:-1] + "x"
    one.write_bytes(one.read_bytes().replace(b'__version__ = "%s"' % __version__.encode(),
                                             b'__version__ = "%s"' % other.encode()))
    os.utime(str(one), (stat.st_atime, stat.st_mtime))  # as long, and as old
    assert one.stat().st_size == stat.st_size
    assert run(one, folder=tmp_path).stdout == other + "\n"
    for path in kept.iterdir():
        path.write_bytes(path.read_bytes()[:10])  # cut short
    assert run(one, folder=tmp_path).stdout == other + "\n"
    prefix = tmp_path / "elsewhere"
    assert run("-X", "pycache_prefix=%s" % prefix, one, folder=tmp_path).returncode == 0
    assert list(prefix.rglob("mcp_ref.version.*.pyc"))


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("folder, how", [
    ("__pycache__", "open to all"), ("__pycache__/one.py", "open to all"), ("__pycache__/one.py", "a link"),
    ("__pycache__", "of another user"), ("__pycache__/one.py", "of another user"),
])
def test_what_others_may_have_compiled_is_neither_read_nor_replaced(folder, how, tmp_path):
    if how == "of another user" and os.geteuid() != 0:
        pytest.skip("NOT RUN: only root can give a folder away")
    one = made(tmp_path / "program" / "p.py", "from mcp_ref.version import __version__\n", tmp_path / "one.py")
    assert run(one, folder=tmp_path).returncode == 0
    theirs = tmp_path / folder
    kept = next((tmp_path / "__pycache__" / "one.py").glob("mcp_ref.version.*.pyc"))
    poison = kept.read_bytes()[:16] + marshal.dumps(compile("raise SystemExit('poisoned')", "x", "exec"))
    kept.write_bytes(poison)
    if how == "a link":
        theirs.rename(tmp_path / "elsewhere")
        theirs.symlink_to(tmp_path / "elsewhere")
    elif how == "open to all":
        theirs.chmod(0o777)
    else:
        os.chown(str(theirs), 12345, -1)
    done = run(one, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and kept.read_bytes() == poison


@pytest.mark.parametrize("keeps", ["a file is in the way", "no file at all"])
def test_where_nothing_can_be_kept_it_runs_all_the_same(keeps, small, tmp_path):
    one = tmp_path / "one.py"
    one.write_bytes((small / "one.py").read_bytes())
    if keeps == "no file at all":
        code = "exec(compile(open(%r, encoding='utf-8').read(), 'x', 'exec'), {'__name__': 'x'}); " % str(one)
    else:
        (tmp_path / "__pycache__").write_text("")
        code = "import sys; sys.path.insert(0, '.'); import one; "
    done = run("-c", code + "import mcp_ref; print(mcp_ref.Server.__name__)", folder=tmp_path)
    assert (done.stdout, done.stderr) == ("Server\n", "") and len(list(tmp_path.iterdir())) <= 2


# Beside others


def test_bundles_of_one_version_go_together_and_of_two_do_not(small, tmp_path):
    client = made(tmp_path / "program" / "c.py", "from mcp_ref import connect\n", tmp_path / "client.py")
    (tmp_path / "one.py").write_bytes((small / "one.py").read_bytes())
    text = client.read_text(encoding="utf-8").replace(", '%s')\ndel " % __version__, ", '0.0.1')\ndel ")
    (tmp_path / "older.py").write_text(text, encoding="utf-8")
    out = fresh(tmp_path, """
import one, client, mcp_ref
print(client.connect is mcp_ref.connect, one.Server is mcp_ref.Server, mcp_ref.client.__file__)
try:
    import older
except ImportError as error:
    print(error)
""").splitlines()
    assert out[0] == "True True " + os.path.join(str(client), "mcp_ref.client.__init__.py")
    assert "older.py holds mcp_ref 0.0.1, and version %s is loaded already" % __version__ in out[1]
    assert "run it as a process of its own" in out[1]


def test_the_package_of_the_bundle_is_used_where_another_is_installed(small, tmp_path):
    (tmp_path / "one.py").write_bytes((small / "one.py").read_bytes())
    (tmp_path / "mcp_ref.py").write_text("raise RuntimeError('another one')\n")
    assert fresh(tmp_path, "import one\nprint(one.Server.__name__)") == "Server\n"


def test_a_copy_under_another_name_bundles_under_that_name(tmp_path):
    assert main(["vendor", str(tmp_path / "lib"), "--as", "host.mcp"]) == 0
    (tmp_path / "p.py").write_text("from host.mcp.version import __version__\nprint(__version__)\n")
    done = run("-m", "host.mcp", "bundle", tmp_path / "p.py", "-o", tmp_path / "one.py", folder=tmp_path / "lib")
    assert done.returncode == 0, done.stderr
    assert run("-I", "-S", tmp_path / "one.py", folder=tmp_path).stdout == __version__ + "\n"


# What is said


REFUSED = [
    (None, [], 2, "there is no file"), ("def f(:\n", [], 1, "p.py:1 is no Python"),
    ("\n\nreturn 1", [], 1, "p.py:3 is no"), ("x = '\0'", [], 1, "is no Python"),
    ("# coding: nothing\n", [], 1, "is no Python"), ("(" * 5000, [], 1, "is no Python"),
    ("import os\n", [], 2, "imports nothing of mcp_ref, so it runs without a bundle"),
    ("from mcp_ref import Sever", [], 1, "did you mean Server?"),
    ("\nimport mcp_ref.servr\n", [], 1, "p.py:2 imports servr"), ("from . import x", [], 1, "has a relative import"),
    ("from mcp_ref import Server", ["--with", "clinet"], 2, "--with: there is no clinet"),
    ("from mcp_ref import Server", ["--with", "client", "--all"], 2, "exclude each other"),
    ("from mcp_ref import Server", ["-o", "."], 2, "is a folder; name the file"),
    ("from mcp_ref import Server", ["-o", "pipe"], 2, "is no regular file; name a file: -o one.py"),
    ("from mcp_ref import Server", ["-o", "pipe", "--force"], 2, "is no regular file; name a file: -o one.py"),
    ("from mcp_ref import Server", ["-o", "p.py"], 2, "is the program itself"),
    ("from mcp_ref import Server", ["-o", "link.py"], 2, "is the program itself"),
    ("from mcp_ref import Server", ["-o", "mcp_ref.py"], 2, "hides the package"),
    ("from mcp_ref import Server", ["-o", "other.py"], 1, "was not made by bundle; --force"),
    ("import mcp_ref\n__mcp_ref_bundle__ = 1", [], 1, "is a bundle already"),
    ("from mcp_ref import Server", ["--nothing"], 2, "--nothing"),
]


@pytest.mark.parametrize("text, words, code, said", REFUSED)
def test_what_cannot_be_bundled_is_said_in_one_line_and_nothing_is_written(text, words, code, said, tmp_path, capsys,
                                                                           monkeypatch):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "p.py").write_text(text)
    (tmp_path / "link.py").symlink_to("p.py")
    (tmp_path / "other.py").write_text("mine")
    os.mkfifo("pipe")  # stands for a device, which a test must not put at risk
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert here(capsys, "bundle", "p.py", "-o", "one.py", *words)[0] == code
    assert said in one_line_of(here_again(capsys, words))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def here_again(capsys, words):
    """What a second try says: the same."""
    return here(capsys, "bundle", "p.py", "-o", "one.py", *words)[2]


def test_a_bundle_replaces_a_bundle_but_not_what_somebody_did_to_it(small, tmp_path, capsys):
    source = tmp_path / "p.py"
    one = made(source, "from mcp_ref.version import __version__\n", tmp_path / "one.py")
    first = one.read_bytes()
    made(source, "from mcp_ref.version import __version__ as v\n", one)
    assert one.read_bytes() != first
    one.write_bytes(one.read_bytes() + b"print('mine')\n")
    code, out, err = here(capsys, "bundle", str(source), "-o", str(one))
    assert code == 1 and "was changed by hand" in one_line_of(err) and one.read_bytes().endswith(b"print('mine')\n")
    made(source, "from mcp_ref.version import __version__\n", one, "--force")
    assert one.read_bytes() == first and sorted(os.listdir(str(tmp_path))) == ["one.py", "p.py"]
    code, out, err = here(capsys, "bundle", str(one), "-o", str(tmp_path / "two.py"))
    assert code == 1 and "is a bundle already" in one_line_of(err)


def test_imports_that_are_not_in_it_are_listed(tmp_path, capsys):
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "p.py").write_text("import json, os.path, _thread, sys, builtins, mcp_ref.version\n"
                                   "import numpy.linalg\nimport helper\nfrom xml import sax\n")
    code, out, err = here(capsys, "bundle", str(tmp_path / "p.py"), "-o", str(tmp_path / "one.py"), "--json")
    warnings = json.loads(out)["warnings"]
    assert code == 0 and err.splitlines() == ["mcp_ref: warning: " + each for each in warnings]
    assert [each.split(",")[0] for each in warnings] == ["line 3 imports helper", "line 2 imports numpy"]
    assert "stands beside the program" in warnings[0] and "has to be installed" in warnings[1]


def test_a_program_whose_neighbour_alone_imports_the_package_is_told_what_to_do(tmp_path, capsys):
    (tmp_path / "units.py").write_text(STDIO)
    (tmp_path / "app.py").write_text("import json\nfrom units import server\nserver.run()\n")
    code, out, err = here(capsys, "bundle", str(tmp_path / "app.py"), "-o", str(tmp_path / "one.py"))
    said = one_line_of(err)
    assert (code, out) == (2, "") and "app.py itself imports nothing" in said and "runs without" not in said
    assert "beside it (units)" in said and all(way in said for way in ("one file", "vendor", "pack --include"))
    code, out, err = here(capsys, "bundle", str(tmp_path / "app.py"), "-o", str(tmp_path / "one.py"),
                          "--with", "stdio-server")
    assert code == 0 and "(parts: stdio-server)" in out and "imports units, which stands beside" in err


def test_help_has_examples_and_says_where_the_modules_are(capsys):
    code, out, err = here(capsys, "bundle", "--help")
    assert code == 0 and "bundle server.py -o one.py" in out and "--with" in out
    said = " ".join(out.split())
    assert "program of one source file" in said and "modules beside it are not put in" in said
