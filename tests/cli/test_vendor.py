"""`vendor`: copies of the package or of a part of it, which work, and which tell what became of them."""
import ast
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

from mcp_ref import __version__
from mcp_ref.cli import main
from mcp_ref.cli.copying import parts, vendor
from tests.meta.facts import statements
from tests.support.patience import WAIT

from .running import ROOT, fresh, here, one_line_of

PARTS = sorted({path.split("/")[0].replace(".py", "") for path in parts.files() if path.endswith(".py")}
               - {"__init__", "__main__"})
PART = ["--only", "jsonrpc"]  # a dozen files; for tests of what the whole package would only make longer


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tree(folder):
    """The files below a folder, what is hidden or compiled aside, and the originals of a copy."""
    found = {path.relative_to(folder): path for path in pathlib.Path(str(folder)).rglob("*") if path.is_file()
             and path.name != parts.ORIGINALS}
    return {inside.as_posix(): path.read_bytes() for inside, path in found.items()
            if not any(step.startswith((".", "__pycache__")) for step in inside.parts)}


@pytest.fixture
def copy(tmp_path, capsys):
    """A copy of PART."""
    code, out, err = here(capsys, "vendor", str(tmp_path), "--as", "my_mcp", *PART)
    assert (code, err) == (0, ""), err
    return tmp_path / "my_mcp"


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """Give the folder with a copy of a part, or of all, as ``my.mcp``; for tests that only read it."""
    @functools.lru_cache(maxsize=None)
    def folder_of(part):
        folder = tmp_path_factory.mktemp("copied")
        assert main(["vendor", str(folder), "--as", "my.mcp", *(["--only", part] if part else [])]) == 0
        return folder

    return folder_of


def test_a_copy_has_every_file_and_a_manifest(tmp_path, capsys):
    """What needs.md 2 asks for."""
    assert here(capsys, "vendor", str(tmp_path), "--as", "my_mcp")[0] == 0
    copy = tmp_path / "my_mcp"
    found, ours = tree(copy), tree(ROOT / "mcp_ref")
    manifest = json.loads(found.pop(parts.MANIFEST).decode())
    assert found == ours and "LICENSE" in found and "py.typed" in found
    assert not list(copy.rglob("*.pyc"))
    assert manifest == {"package": "mcp_ref", "version": __version__, "only": [],
                        "files": {path: hashlib.sha256(data).hexdigest() for path, data in sorted(ours.items())}}
    assert not [name for name in os.listdir(str(copy.parent)) if name.startswith(".")]


@pytest.mark.parametrize("name", ["host.plugins.mcp"])
def test_a_copy_works_under_any_name_with_site_packages_blocked(name, tmp_path, capsys):
    assert here(capsys, "vendor", str(tmp_path / "lib"), "--as", name)[0] == 0
    out = fresh(tmp_path / "lib", '''
from %s import Server, connect
from %s.cli import main
assert "mcp_ref" not in sys.modules
code = main(["demo"])
assert main(["vendor", %r, "--as", "again"]) == 0
sys.exit(code)
''' % (name, name, str(tmp_path)))
    assert "=> {'result': 5}" in out
    assert tree(tmp_path / "again") == tree(tmp_path / "lib" / name.replace(".", "/"))


def test_check_and_diff_tell_what_was_changed(copy, capsys):
    assert here(capsys, "vendor", str(copy.parent), "--as", "my_mcp", "--check")[0] == 0
    assert here(capsys, "vendor", str(copy), "--check")[0] == 0  # the copy itself is a place, too
    assert here(capsys, "vendor", str(copy), "--diff") == (0, "", "")
    (copy / "errors.py").write_text((copy / "errors.py").read_text() + "# mine")
    (copy / "limits.py").unlink()
    (copy / "more").mkdir()
    (copy / "more" / "new.py").write_text("x = 1\n")
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__" / "errors.cpython-311.pyc").write_bytes(b"x")
    code, out, err = here(capsys, "vendor", str(copy), "--check")
    assert (code, err) == (1, "")
    assert out.splitlines()[:3] == ["changed  errors.py", "missing  limits.py", "extra    more/new.py"]
    assert "3 not as copied" in out.splitlines()[3] and __version__ in out
    code, out, err = here(capsys, "vendor", str(copy), "--diff")
    assert (code, err) == (1, "")
    assert "\n+# mine\n\\ No newline at end of file\n" in out and "--- mcp_ref/errors.py\n+++ copy/errors.py\n" in out
    assert "--- mcp_ref/limits.py\n+++ /dev/null\n" in out and "--- /dev/null\n+++ copy/more/new.py\n" in out
    found = json.loads(here(capsys, "vendor", str(copy), "--check", "--json")[1])
    assert (found["changed"], found["missing"], found["extra"]) == (["errors.py"], ["limits.py"], ["more/new.py"])
    assert found["version"] == __version__ and found["target"] == str(copy)
    assert "+# mine" in json.loads(here(capsys, "vendor", str(copy), "--diff", "--json")[1])["diff"]


@pytest.mark.parametrize("change", [
    lambda copy: (copy / "errors.py").write_text("x"), lambda copy: (copy / "errors.py").unlink(),
    lambda copy: (copy / "mine.py").write_text("x"), lambda copy: (copy / parts.MANIFEST).unlink(),
    lambda copy: (copy / parts.MANIFEST).write_text("{"), lambda copy: (copy / parts.MANIFEST).write_text("[]"),
])
def test_local_changes_are_not_overwritten_without_force(change, copy, capsys):
    change(copy)
    before = tree(copy)
    code, out, err = here(capsys, "vendor", str(copy.parent), "--as", "my_mcp", *PART)
    assert (code, out) == (1, "") and "--force" in one_line_of(err) and tree(copy) == before
    assert here(capsys, "vendor", str(copy.parent), "--as", "my_mcp", "--force", *PART)[0] == 0
    assert here(capsys, "vendor", str(copy), "--check")[0] == 0


def test_an_untouched_copy_is_replaced_and_what_is_gone_goes(copy, capsys):
    manifest = json.loads((copy / parts.MANIFEST).read_text())
    (copy / "old.py").write_text("x\n")  # of an older version
    manifest["files"]["old.py"] = digest(copy / "old.py")
    manifest["version"] = "0.0.1"
    (copy / parts.MANIFEST).write_text(json.dumps(manifest))
    code, out, err = here(capsys, "vendor", str(copy), "--check")
    assert code == 0 and "here is %s" % __version__ in out
    code, out, err = here(capsys, "vendor", str(copy), "--diff")
    assert code == 1 and "of version 0.0.1" in err and "+++ copy/old.py" in out
    assert here(capsys, "vendor", str(copy.parent), "--as", "my_mcp", *PART)[0] == 0
    assert not (copy / "old.py").exists() and here(capsys, "vendor", str(copy), "--diff")[0] == 0


@pytest.mark.parametrize("fails", ["writing", "first rename", "second rename"])
def test_a_copy_that_fails_leaves_the_old_one_as_it_was(fails, copy, capsys, monkeypatch):
    before = tree(copy)
    rename, calls = os.rename, []

    def broken(source, target):
        calls.append(source)
        if len(calls) == {"first rename": 1, "second rename": 2}.get(fails):
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(vendor.os, "rename", broken)
    if fails == "writing":
        monkeypatch.setattr(vendor, "open", _broken_open, raising=False)
    code, out, err = here(capsys, "vendor", str(copy.parent), "--as", "my_mcp", "--force", *PART)
    assert (code, out) == (1, "") and "No space left" in one_line_of(err)
    assert tree(copy) == before and os.listdir(str(copy.parent)) == ["my_mcp"]


def _broken_open(path, mode="r"):
    if "w" in mode and path.endswith("limits.py"):
        raise OSError(28, "No space left on device")
    return open(path, mode)


@pytest.mark.parametrize("words, hint", [
    ([str(ROOT)], "this package itself"), ([str(ROOT / "mcp_ref")], "this package itself"), ([], "FOLDER"),
    (["X", "--as", "a-b"], "imported"), (["X", "--as", "class"], "imported"), (["X", "--as", "a..b"], "imported"),
    (["X", "--as", "../b"], "imported"), (["X", "--only", "nonsense"], "there are"),
    (["X", "--check", "--diff"], "--diff"), (["X", "--all", "--only", "server"], "--all"),
])
def test_what_makes_no_sense_is_refused(words, hint, tmp_path, capsys):
    words = [word.replace("X", str(tmp_path)) for word in words]
    code, out, err = here(capsys, "vendor", *words)
    assert (code, out) == (2, "") and hint in one_line_of(err) and not os.listdir(str(tmp_path))


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_where_there_is_no_copy_nothing_can_be_compared(option, tmp_path, capsys):
    code, out, err = here(capsys, "vendor", str(tmp_path), option)
    assert code == 1 and "no vendored copy" in one_line_of(err)


def test_again_means_the_copy_that_is_there_and_its_parts(tmp_path, capsys):
    assert here(capsys, "vendor", str(tmp_path), "--as", "host.mcp", *PART)[0] == 0
    before = tree(tmp_path)
    code, out, err = here(capsys, "vendor", str(tmp_path))
    assert (code, err) == (0, "") and "only jsonrpc" in out and str(tmp_path / "host" / "mcp") in out
    assert tree(tmp_path) == before
    assert here(capsys, "vendor", str(tmp_path), "--check")[0] == 0
    assert here(capsys, "vendor", str(tmp_path / "host" / "mcp"))[0] == 0 and tree(tmp_path) == before
    assert here(capsys, "vendor", str(tmp_path), "--only", "uritemplate")[0] == 0  # told otherwise
    assert (tmp_path / "host" / "mcp" / "uritemplate").exists()
    assert not (tmp_path / "host" / "mcp" / "jsonrpc.py").exists()
    assert here(capsys, "vendor", str(tmp_path), "--all")[0] == 0
    assert set(tree(tmp_path / "host" / "mcp")) == set(parts.files()) | {parts.MANIFEST}


def test_which_of_several_copies_is_meant_has_to_be_said(tmp_path, capsys):
    for name in ("one", "two.three"):
        assert here(capsys, "vendor", str(tmp_path), "--as", name, *PART)[0] == 0
    before = tree(tmp_path)
    code, out, err = here(capsys, "vendor", str(tmp_path), *PART)
    assert (code, out) == (2, "") and "--as one or two.three" in one_line_of(err) and tree(tmp_path) == before
    assert here(capsys, "vendor", str(tmp_path), "--as", "mcp_ref", *PART)[0] == 0
    code, out, _ = here(capsys, "vendor", str(tmp_path))  # the usual name needs no --as
    assert code == 0 and str(tmp_path / "mcp_ref") in out


# Parts


@pytest.mark.parametrize("part", PARTS)
def test_a_part_has_every_module_that_is_imported_in_it(part):
    """Late imports too, imports for the type checker aside; and its own modules."""
    ours = parts.files()
    found = parts.subset(ours, [part])
    assert {path for path in ours if path == part + ".py" or path.startswith(part + "/")} <= set(found)
    assert set(parts.ALWAYS) <= set(found)
    for path in found:
        if path.endswith(".py") and path != "__init__.py":
            for base in imported_by(path):
                assert base + ".py" in found or base + "/__init__.py" in found, "%s imports %s" % (path, base)


@functools.lru_cache(maxsize=None)
def imported_by(path):
    """The modules that a file names in relative imports, as paths, the package itself aside."""
    here = pathlib.PurePosixPath(path).parent.parts
    nodes = list(statements(ast.parse((ROOT / "mcp_ref" / path).read_text(encoding="utf-8"))))
    typing = {id(inner) for node in nodes if isinstance(node, ast.If)
              and "TYPE_CHECKING" in ast.dump(node.test) for inner in statements(node)}
    return {"/".join([*here[:len(here) - node.level + 1], *node.module.split(".")]) for node in nodes
            if isinstance(node, ast.ImportFrom) and node.level and node.module and id(node) not in typing}


@pytest.mark.parametrize("part", ["server", "client"])
def test_every_module_of_a_part_can_be_imported(part, copied, capsys):
    folder = copied(part)
    names = sorted("my.mcp." + path[:-len(".py")].replace("/", ".").replace(".__init__", "")
                   for path in tree(folder / "my" / "mcp") if path.endswith(".py") and path != "__init__.py")
    assert any(name.startswith("my.mcp.%s" % part) for name in names)
    fresh(folder, "import importlib\nfor name in %r:\n    importlib.import_module(name)" % names, keep=True)
    for option in ("--check", "--diff"):
        assert here(capsys, "vendor", str(folder), "--as", "my.mcp", option)[0] == 0


@pytest.mark.parametrize("part", ["auth", "client", "host", "messages", "peer", "server", None])
def test_every_public_name_of_a_part_is_there(part, copied):
    """Also what is loaded late; of the whole package, the package's own names, too."""
    folder = copied(part)
    folders = ["my.mcp." + part] if part else ["my.mcp"] + [
        "my.mcp." + path.parent.name for path in sorted((folder / "my" / "mcp").glob("*/__init__.py"))]
    out = fresh(folder, """
import importlib
for folder in %r:
    module = importlib.import_module(folder)
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name) is not None
        print(folder, name)
""" % folders, keep=True)
    if part in ("client", "server", None):
        assert len(out.splitlines()) >= 3


def imports(module, is_folder, source, known):
    """The modules of the package that one of them imports, early or late."""
    return tuple(dict.fromkeys(imported for imported, _ in parts.edges(module, is_folder, source, known)))


@pytest.mark.parametrize("part, table", [("server", "_LATE"), ("auth", "_HOMES")])
def test_tables_of_late_names_count_as_imports(part, table):
    modules = frozenset(parts.module_of(path) for path in parts.files() if path.endswith(".py"))
    source = '%s = {"A": "..errors", "B": ".x", "C": "..ext.stores.sqlite"}' % table
    assert imports((part,), True, source.encode(), modules) == (("errors",), ("ext", "stores", "sqlite"))
    source += "\ndef __getattr__(name): return import_module(%s[name], __name__)" % table
    assert imports((part,), True, source.encode(), modules) == (("errors",), ("ext", "stores", "sqlite"))


PROMISES = {
    "server": '''
from my.mcp import Server
server = Server("x")
@server.tool
def add(a: int, b: int) -> int: return a + b
@server.resource("x://{y}")
def read(y: str) -> str: return y
listener = server.listen("tcp://127.0.0.1:0")
listener.close()
import os
r, w = os.pipe()
os.write(w, b"""{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",\
"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}
{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"x://z"}}
""")
os.close(w)
os.dup2(r, 0)
server.limits.drain = server.limits.shutdown_grace = 60.0  # the input ends long before the calls, on a busy machine
server.run()
'''.replace("\\\n", ""),
    "client": '''
from my.mcp import connect
with connect([sys.executable, %r]) as client:
    print(client.call_tool("add", {"a": 1, "b": 2}).structured_content, [tool.name for tool in client.tools()])
''' % str(ROOT / "examples" / "echo_server.py"),
    "jsonschema": 'from my.mcp.jsonschema import validate\nprint(validate({"a": 1}, {"properties": {"a": False}}))',
    "uritemplate": 'from my.mcp.uritemplate import expand, match\nprint(match("a{b}", expand("a{b}", {"b": "c"})))',
    "messages": 'from my.mcp.messages import Tool, ContentBlock\nprint(Tool("x", {"type": "object"}))',
    "methods": 'from my.mcp.methods import METHODS, params_class, result_class\n'
               'for row in METHODS: params_class(row), result_class(row)',
    "jsonrpc": 'from my.mcp.jsonrpc import Notification as N, encode, parse\nprint(encode(parse(encode(N("x")))))',
    "cli": 'from my.mcp.cli import main\nsys.exit(main(["explain", "Tool"]) or main(["demo"]))',
}
PROMISES["stdio-server"] = re.sub("listener.*\n", "", PROMISES["server"])
EXPECTED = {"server": '"structuredContent":{"result":3}', "stdio-server": '"structuredContent":{"result":3}',
            "client": "{'result': 3} ['echo'", "jsonschema": "allowed",
            "uritemplate": "{'b': 'c'}", "messages": "Tool(name='x'", "jsonrpc": "\"x\"", "cli": "=> {'result': 5}"}


@pytest.mark.parametrize("part", sorted(PROMISES))
def test_a_part_does_what_it_promises(part, copied):
    out = fresh(copied(part), PROMISES[part], keep=True)
    assert EXPECTED.get(part, "") in out


def left_out(copy):
    """The modules of a copy that only say that something is not there."""
    return {path for path, data in copy.items() if data.startswith(b'\"\"\"Left out of this copy.')}


MOST_OF_A_STDIO_SERVER = 120
"""Modules. A server for pipes loads half of them until its first call; the others are for what it may be asked."""
MOST_UNTIL_THE_FIRST_ANSWER = 70
"""Modules of the package, at the answer to `initialize`."""


def test_a_server_for_pipes_has_what_it_can_come_to_need_and_no_more(tmp_path, capsys):
    """Each part adds to it, and is named where it is missing; where something else needs a module, that is there."""
    code, out, _ = here(capsys, "vendor", str(tmp_path), "--as", "my.mcp", "--only", "stdio-server")
    assert "left out: %s (to add one: --only stdio-server,asking), to " % ", ".join(parts.PARTS) in out
    copy = tree(tmp_path / "my" / "mcp")
    modules = {path for path in copy if path.endswith(".py")}
    places = {place.replace(".", "/") for part in parts.PARTS.values() for place in part.doors}
    assert {path.replace("/__init__.py", "").replace(".py", "") for path in left_out(copy)} == places
    assert len(modules - left_out(copy)) <= MOST_OF_A_STDIO_SERVER
    assert out.startswith("copied %d files " % (len(copy) - len(left_out(copy)) - 1))  # the manifest
    behind = tuple(place.replace(".", "/") for part in parts.PARTS.values() for place in part.behind)
    assert not [path for path in modules if path.startswith(behind)]
    for option in ("--check", "--diff"):
        assert here(capsys, "vendor", str(tmp_path), option)[0] == 0
    ours = parts.files()
    for name in parts.PARTS:
        larger = parts.subset(ours, ["stdio-server", name])
        assert modules - left_out(copy) < {path for path in larger if path.endswith(".py")} - left_out(larger)
        assert name not in parts.lacking(larger)
    whole = parts.subset(ours, ["stdio-server", *parts.PARTS])
    assert not left_out(whole) and not set(parts.subset(ours, ["server"])) - set(whole)
    assert parts.subset(ours, ["stdio-server", "server"]) == parts.subset(ours, ["server"])
    store, beside = "ext/stores/sqlite.py", "streamable/__init__.py"
    both = parts.subset(ours, ["stdio-server", "ext.stores.sqlite"])
    assert both[store] == ours[store] and beside in left_out(both)


def test_a_server_for_pipes_loads_few_modules_until_its_first_answer():
    program = ("import sys; sys.path.insert(0, %r)\n"
               "from mcp_ref import Server\n"
               "server = Server('few')\n"
               "@server.tool\n"
               "def add(a: int, b: int) -> int:\n"
               "    return a + b\n"
               "server.run()\n"
               "ours = [name for name in sys.modules if name.split('.')[0] == 'mcp_ref']\n"
               "print(len(ours), file=sys.stderr)" % str(ROOT))
    hello = (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
             b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\n')
    done = subprocess.run([sys.executable, "-c", program], input=hello, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=WAIT)
    assert b'"serverInfo"' in done.stdout and int(done.stderr) <= MOST_UNTIL_THE_FIRST_ANSWER


def test_the_help_lists_what_may_be_added_to_a_server_for_pipes(capsys):
    code, out, _ = here(capsys, "vendor", "--help")
    assert code == 0 and [out.count("  %-12s %s\n" % (name, part.gives)) for name, part in parts.PARTS.items()] == (
        [1] * len(parts.PARTS))


def test_a_name_of_the_package_that_a_copy_lacks_says_how_to_get_it(tmp_path, capsys):
    assert here(capsys, "vendor", str(tmp_path), "--as", "my.mcp", "--only", "stdio-server,jsonrpc")[0] == 0
    out = fresh(tmp_path, """
import my.mcp
for name in my.mcp.__all__:
    try:
        print(name, "is there" if getattr(my.mcp, name) else "")
    except ImportError as error:
        print(error)
""").splitlines()
    assert sorted(line for line in out if "is there" not in line) == [
        "my.mcp.%s is not in this copy (vendor --only stdio-server,jsonrpc); copy again with --only "
        "stdio-server,jsonrpc,%s" % each for each in (("Client", "client"), ("Host", "host"), ("connect", "client"))]
    assert {line.split()[0] for line in out if "is there" in line} == {
        "Context", "Limits", "McpError", "REVISIONS", "Server", "ToolError"}


def test_an_error_inside_of_a_module_is_not_taken_for_a_missing_one(tmp_path, capsys):
    assert here(capsys, "vendor", str(tmp_path), "--as", "my.mcp", "--only", "client")[0] == 0
    (tmp_path / "my" / "mcp" / "readers.py").unlink()
    out = fresh(tmp_path, "import my.mcp\ntry:\n    my.mcp.connect\nexcept ImportError as error:\n    print(error)")
    assert out == "No module named 'my.mcp.readers'\n"


@pytest.mark.parametrize("text, kept, cut", [
    ("from .far import x", {"far"}, set()), ("def f():\n    from .far import x", set(), {"far"}),
    ("def f():\n    from .far.deep import x", set(), {"far"}),
    ("g = lambda: import_module('.far', '')", set(), {"far"}),
    ("from . import near\ndef f():\n    from .far import x", {"near", "far"}, set()),
    ("if TYPE_CHECKING:\n    from .far import x", set(), set()),
    ("class A:\n    def f(self):\n        from .near import x", {"near", "far"}, set()),
])
def test_a_slice_follows_imports_up_to_its_cuts(text, kept, cut, monkeypatch):
    """What is imported at the top is there, also below a cut; what is imported late is not, and says so."""
    source = {"__init__.py": b"", "LICENSE": b"", "a.py": text.encode(), "near.py": b"from . import far\n",
              "far/__init__.py": b"", "far/deep.py": b""}
    monkeypatch.setitem(parts.SLICES, "small", "a")
    monkeypatch.setitem(parts.PARTS, "distant", parts.Part("a.far", ("far",)))
    found = parts.subset(source, ["small"])
    names = {path.replace("/__init__", "")[:-3] for path in found if path.endswith(".py")} - {"__init__", "a"}
    assert names == kept | cut
    for name in cut:
        data = found[name + "/__init__.py"].decode()
        assert "the part distant (a.far) is not in this copy (vendor --only small); copy again with --only " \
            "small,distant" in data
    assert "far" in cut or left_out(found) == set()
    assert left_out(parts.subset(source, ["small", "distant"])) == set()


# One archive


@pytest.mark.parametrize("name", ["mcp_ref", "host.mcp"])
def test_an_archive_is_imported_as_it_is(name, tmp_path, capsys):
    file = tmp_path / "new" / "mcp.zip"
    code, out, err = here(capsys, "vendor", "--zip", str(file), "--as", name, "--only", "stdio-server")
    assert (code, err) == (0, "") and "only stdio-server" in out and out.endswith("and import %s\n" % name)
    code = "sys.path.insert(0, %r)\n" % str(file) + PROMISES["stdio-server"].replace("my.mcp", name)
    assert EXPECTED["server"] in fresh(tmp_path, code)
    with zipfile.ZipFile(str(file)) as archive:
        found = {path: archive.read(path) for path in archive.namelist() if not path.endswith("/")}
    manifest = json.loads(found.pop(name.replace(".", "/") + "/" + parts.MANIFEST).decode())
    assert manifest["only"] == ["stdio-server"] and manifest["version"] == __version__
    assert {path: hashlib.sha256(data).hexdigest() for path, data in found.items()} == {
        name.replace(".", "/") + "/" + path: digest for path, digest in manifest["files"].items()}


def test_an_archive_made_again_has_the_same_name_parts_and_bytes(tmp_path, capsys):
    file = tmp_path / "mcp.zip"
    assert here(capsys, "vendor", "--zip", str(file), "--as", "my.mcp", *PART)[0] == 0
    before = file.read_bytes()
    code, out, _ = here(capsys, "vendor", "--zip", str(file), "--json")
    assert code == 0 and json.loads(out)["only"] == ["jsonrpc"] and file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.zip"], "nothing is left of making it"
    assert here(capsys, "vendor", "--zip", str(file), "--only", "uritemplate")[0] == 0  # told otherwise
    assert "my/mcp/uritemplate/__init__.py" in zipfile.ZipFile(str(file)).namelist()


@pytest.mark.parametrize("content", [b"mine", b""])
def test_a_file_of_somebody_else_is_not_replaced_unless_told_so(content, tmp_path, capsys):
    file = tmp_path / "mcp.zip"
    file.write_bytes(content)
    code, out, err = here(capsys, "vendor", "--zip", str(file), *PART)
    assert (code, out) == (1, "") and "was not made by vendor" in one_line_of(err) and file.read_bytes() == content
    assert here(capsys, "vendor", "--zip", str(file), "--force", *PART)[0] == 0 and zipfile.is_zipfile(str(file))


@pytest.mark.parametrize("words, why", [
    ([], "vendor FOLDER, or vendor --zip FILE"), (["lib", "--zip", "x.zip"], "vendor FOLDER, or vendor --zip FILE"),
    (["--zip", "x.zip", "--check"], "are for a folder"), (["--zip", "x.zip", "--as", "a-b"], "no name that can be"),
    (["--zip", "x.zip", "--only", "nothing"], "there is no nothing in this package; there are auth, "),
    (["x", "--only", "stdio"], "there is no stdio in this package; did you mean stdio-server? there are auth, "),
    (["x", "--only", "tasks,client"], "tasks is a part to add to another: --only stdio-server,tasks"),
    (["x", "--only", "clinet"], "there is no clinet in this package; did you mean client? there are auth, "),
])
def test_an_archive_takes_no_wrong_options(words, why, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = here(capsys, "vendor", *words)
    assert (code, out) == (2, "") and why in one_line_of(err) and not list(tmp_path.iterdir())


def test_parts_are_small_and_can_be_put_together(tmp_path, capsys):
    sizes = {}
    for only in ("server", "client", "server,client", "jsonschema", "transports.lines.stdio"):
        assert here(capsys, "vendor", str(tmp_path), "--as", "x", "--force", "--only", only)[0] == 0
        sizes[only] = set(tree(tmp_path / "x"))
    assert not [path for path in sizes["server"] if path.startswith(("client/", "cli/", "host/", "crosscheck/"))]
    assert not [path for path in sizes["client"] if path.startswith(("server/", "cli/", "host/"))]
    assert sizes["server,client"] == sizes["server"] | sizes["client"]
    assert {path.split("/")[0] for path in sizes["jsonschema"]} == {"jsonschema", parts.MANIFEST, *parts.ALWAYS}
    assert any(path.endswith(".json") for path in sizes["jsonschema"] if path != parts.MANIFEST)
    assert json.loads((tmp_path / "x" / parts.MANIFEST).read_text())["only"] == ["transports.lines.stdio"]


def test_every_import_by_name_is_understood():
    """What `import_module` gets begins with a constant, or is a name in the folder of the caller."""
    found = parts.files()
    modules = {parts.module_of(path): path for path in found if path.endswith(".py")}
    for module, path in modules.items():
        calls = b"import_module(" in found[path] and [
            node for node in ast.walk(ast.parse(found[path]))
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module"]
        if calls and module and module[0] not in ("cli",):
            assert imports(module, path.endswith("__init__.py"), found[path], frozenset(modules))
    messages = imports(("methods",), False, found["methods.py"], frozenset(modules))
    assert {("messages", "tools"), ("messages", "tasks")} <= set(messages)


def test_it_works_from_inside_an_archive(tmp_path):
    """A zip archive with the package, as `make pyz` makes."""
    with zipfile.ZipFile(str(tmp_path / "x.pyz"), "w") as archive:
        for path, data in parts.files().items():
            archive.writestr("mcp_ref/" + path, data)
        archive.writestr("mcp_ref/__pycache__/errors.cpython-311.pyc", b"x")
        archive.writestr("mcp_ref/%s" % parts.MANIFEST, b"{}")
    out = fresh(tmp_path, "sys.path.insert(0, 'x.pyz')\nfrom mcp_ref.cli import main\n"
                          "assert main(['vendor', 'out', '--only', 'jsonschema']) == 0\n"
                          "assert main(['vendor', 'out', '--as', 'whole']) == 0\n"
                          "sys.exit(main(['vendor', 'out', '--check']) + main(['vendor', 'out/whole', '--diff']))")
    assert "copied" in out
    found = tree(tmp_path / "out" / "whole")
    del found[parts.MANIFEST]
    assert found == tree(ROOT / "mcp_ref")
