"""What is loaded when: nothing before it is used, nothing from outside, and under any name."""
import ast
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from mcp_ref import __version__
from tests.meta.test_readme import PAGES
from tests.support.patience import WAIT
from tests.tools import interpreters

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEAVY = ("http", "ssl", "email", "concurrent.futures", "socket", "subprocess", "asyncio", "urllib", "logging",
         "argparse", "zipfile", "tempfile", "xml", "sqlite3")

SERVE = '''
import os, sys
r, w = os.pipe()
os.write(w, b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
            b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\\n')
os.close(w)
os.dup2(r, 0)
from mcp_ref import Server
server = Server("x")
@server.tool
def echo(text: str) -> str: return text
server.run()
print("\\n".join(sorted(sys.modules)), file=sys.stderr)
'''


def python(code, *flags, cwd=ROOT):
    """Run code in a fresh interpreter without site-packages; what it printed."""
    prologue = "import sys; sys.path.insert(0, %r)\n" % str(cwd)
    done = subprocess.run([sys.executable, "-I", "-S", *flags, "-c", prologue + code], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    return done


def test_importing_the_package_loads_next_to_nothing():
    code = "before = set(sys.modules)\nimport mcp_ref\nprint(*sorted(set(sys.modules) - before))"
    assert [name for name in python(code).stdout.split() if name.startswith("mcp_ref")] == ["mcp_ref"]


def test_serving_up_to_initialize_loads_no_page_and_no_library_it_does_not_use():
    done = python(SERVE)
    assert '"protocolVersion":"2025-11-25"' in done.stdout
    modules = done.stderr.split()
    assert not [name for name in modules if name.split(".")[0] in HEAVY or name in HEAVY]
    pages = [name.rpartition(".")[2] for name in modules if name.startswith("mcp_ref.messages.")]
    assert sorted(pages) == ["base", "caching", "content", "lifecycle", "pagination", "tools"]
    assert "mcp_ref.client" not in modules and "mcp_ref.jsonschema" not in modules


@pytest.mark.parametrize("name", ["other", "host.plugins.mcp"])
def test_a_copy_works_under_any_name_and_beside_the_original(tmp_path, name):
    target = tmp_path.joinpath(*name.split("."))
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(str(ROOT / "mcp_ref"), str(target), ignore=shutil.ignore_patterns("__pycache__"))
    python('''
sys.path.append(%r)
import %s as copy, mcp_ref
from %s.transports.memory import pair
assert copy.Server is not mcp_ref.Server
server = copy.Server("x")
@server.tool
def add(a: int, b: int, ctx: copy.Context) -> int: return a + b
ours, theirs = pair()
connection = server.connect(ours)
with copy.Client().open(theirs) as client:
    assert client.call_tool("add", {"a": 1, "b": 2}).structured_content == {"result": 3}
connection.close()
''' % (str(tmp_path), name, name))


def test_every_module_can_be_imported_alone():
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "mcp_ref").rglob("*.py")]
    names = sorted(name[: -len(".__init__")] if name.endswith(".__init__") else name for name in names)
    python("import importlib\nfor name in %r:\n    importlib.import_module(name)" % [
        name for name in names if not name.endswith("__main__")])


def test_public_names_resolve():
    python("import mcp_ref\nfor name in mcp_ref.__all__:\n    assert getattr(mcp_ref, name) is not None\n"
           "assert set(mcp_ref.__all__) <= set(dir(mcp_ref))\n"
           "try:\n    mcp_ref.nonsense\nexcept AttributeError as error:\n    assert 'nonsense' in str(error)")


def test_what_handlers_need_can_be_had_from_the_server_and_is_loaded_late():
    done = python('''
import mcp_ref.server, sys
before = set(sys.modules)
names = mcp_ref.server.__all__
assert set(mcp_ref.server._LATE) | {"Context", "Server"} == set(names)
assert not [name for name in before if "messages" in name]
assert all(getattr(mcp_ref.server, name) for name in names)
try:
    mcp_ref.server.nothing
except AttributeError as error:
    print(error)
''')
    assert done.stdout == "module 'mcp_ref.server' has no attribute 'nothing'\n"


def test_a_stateless_call_loads_nothing_of_stores_and_tasks():
    done = python('''
import json, sys
from mcp_ref import Server
from mcp_ref.transports.memory import pair
server = Server("x")

@server.tool
def echo(text: str) -> str:
    return text

near, far = pair()
server.connect(far)
near.open()
known = "io.modelcontextprotocol/"
meta = {known + "protocolVersion": "2026-07-28", known + "clientInfo": {"name": "c", "version": "0"},
        known + "clientCapabilities": {}}
near.write([json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "echo", "arguments": {"text": "said"}, "_meta": meta}}).encode()])
assert b"said" in near.read()[0]
print([name for name in sys.modules if name.startswith("mcp_ref.") and ("stores" in name or "tasks" in name)])
near.close()
''')
    assert done.stdout == "[]\n", done.stdout + done.stderr


SENTENCE = "mcp_ref needs Python 3.8 or later, and this is Python "


def old_pythons():
    """Interpreters of this machine that are too old."""
    names = ["python2.7", "python3.6", "python3.7"]
    found = [shutil.which(name) for name in names]
    for folder in interpreters._pyenv_folders():
        found += [str(path) for name in names
                  for path in pathlib.Path(folder, "versions").glob(name[len("python"):] + ".*/bin/python")]
    return [path for path in found if path]


def test_an_old_python_is_told_in_a_sentence(monkeypatch):
    """By the one file that it can parse, as far as a new one can tell: no annotations, no new forms, ASCII."""
    source = (ROOT / "mcp_ref" / "__init__.py").read_bytes()
    source.decode("ascii")
    tree = ast.parse(source)
    new = (ast.JoinedStr, ast.AnnAssign, ast.AsyncFunctionDef, ast.Nonlocal, ast.NamedExpr, ast.Starred)
    assert not [node for node in ast.walk(tree) if isinstance(node, new)]
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        arguments = function.args
        assert function.returns is None and not arguments.kwonlyargs and not arguments.posonlyargs
        assert not [argument for argument in arguments.args if argument.annotation]
    monkeypatch.setattr(sys, "version_info", (3, 7, 16, "final", 0))
    with pytest.raises(ImportError) as caught:
        exec(compile(source, "__init__.py", "exec"), {"__name__": "old"})
    assert str(caught.value).startswith(SENTENCE + "3.7.16 (")


def test_old_pythons_of_this_machine_agree():
    """Where there is none this asks none, and the test above is all."""
    for path in old_pythons():
        for words in (["-c", "from mcp_ref import Server"], ["-m", "mcp_ref", "--version"]):
            done = subprocess.run([path, "-B", *words], cwd=str(ROOT), stdin=subprocess.DEVNULL, timeout=WAIT,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
            if "No such file" not in done.stderr and "command not found" not in done.stderr:  # a shim of pyenv
                assert done.returncode == 1 and "ImportError: " + SENTENCE in done.stderr.splitlines()[-1], done.stderr
                assert "SyntaxError" not in done.stderr


def test_a_client_says_the_version_of_the_package():
    from mcp_ref import Client, Host, Server
    from mcp_ref.client import connect
    from mcp_ref.transports.memory import pair
    from inspect import signature

    ours, theirs = pair()
    connection = Server("x", revisions=["2025-11-25"]).connect(ours)
    with Client().open(theirs) as client:
        assert connection.session.peer_info["version"] == client.info.version == __version__
    connection.close()
    for call in (connect, Host, Host.from_config):
        assert signature(call).parameters["version"].default == __version__


NOT_OURS = {"FastAPI", "Flask", "Response", "Bridge"}  # of frameworks; and a page shows where the last comes from


def test_whatever_the_pages_make_has_an_import_path():
    """Each class that they call is a public name of the package or of one of its roles, unless a page defines it."""
    from importlib import import_module

    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.parent.name != "porting")
    homes = ["mcp_ref", "mcp_ref.server", "mcp_ref.client", "mcp_ref.host", "mcp_ref.auth"]
    public = {name for home in homes for name in import_module(home).__all__}
    used = set(re.findall(r"(?<![\w.])([A-Z][a-z]\w*)\(", text)) - set(re.findall(r"class (\w+)", text))
    assert {"Server", "Sampling", "MainThreadQueue", "SqliteStore", "JwtVerifier"} <= used
    assert used - public <= NOT_OURS


@pytest.mark.parametrize("home", ["mcp_ref", "mcp_ref.server", "mcp_ref.client", "mcp_ref.auth"])
def test_public_names_are_loaded_late_and_declared_for_type_checkers(home):
    """What is loaded late stands in `__all__`, in the table, and under TYPE_CHECKING with the same module."""
    from importlib import import_module

    module = import_module(home)
    table = dict(getattr(module, "_HOMES", None) or module._LATE)
    assert set(table) <= set(module.__all__) == set(module.__all__) & set(dir(module)) | set(table)
    tree = ast.parse(pathlib.Path(module.__file__).read_text(encoding="utf-8"))
    typing = {alias.name: "." * node.level + (node.module or "")
              for block in ast.walk(tree) if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
              for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typing == table
    for name in table:
        assert getattr(module, name) is getattr(import_module(table[name], home), name)
