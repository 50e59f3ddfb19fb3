"""Manners of a guest: the package prints nothing, changes nothing of the process, and leaves nothing behind.

Each conversation runs in a fresh interpreter, where nothing is set up that could hide it: warnings are errors, and
`logging` has no handler, so that any warning without one would show on standard error.
"""
import ast
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Dict, Iterator, List

import pytest

from tests.meta.facts import PACKAGE, ROOT, expect_nothing, python_files, shown, tree_of
from tests.support.patience import WAIT

PRELUDE = r'''
import gc, locale, logging, os, signal, sys, threading, warnings
sys.path.insert(0, ROOT)

def facts():
    """Everything of the process that is not the package's."""
    root = logging.getLogger()
    return {
        "root logger": (root.level, list(root.handlers), list(root.filters), root.disabled, root.manager.disable),
        "logging": (logging.lastResort, logging.raiseExceptions, logging.getLoggerClass(),
                    logging.getLogRecordFactory()),
        "warnings": (list(warnings.filters), warnings.showwarning),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "wake-up": signal.set_wakeup_fd(-1),
        "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook, sys.displayhook, sys.breakpointhook,
                  sys.gettrace(), sys.getprofile(), threading._trace_hook, threading._profile_hook),
        "locale": locale.setlocale(locale.LC_ALL, None),
        "paths": (list(sys.path), list(sys.meta_path), list(sys.path_hooks), os.getcwd(), dict(os.environ)),
        "streams": (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled(),
                   threading.stack_size()),
        "sockets": sys.modules["socket"].getdefaulttimeout() if "socket" in sys.modules else None,
        "threads": threading.enumerate(),
        "descriptors": sorted(fd for fd in map(int, os.listdir("/dev/fd")) if open_fd(fd)),
        "mask": (lambda mask: (os.umask(mask), mask)[1])(os.umask(0o22)),
        "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, []),
    }

def open_fd(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False

def expect_the_same(before, grace=2):
    gc.collect()
    for thread in set(threading.enumerate()) - set(before["threads"]):
        thread.join(grace)  # it may be in its last instructions
    after = facts()
    changed = ["%s: %r, now %r" % (name, before[name], after[name]) for name in before if before[name] != after[name]]
    names = [name for name in logging.root.manager.loggerDict
             if not (name + ".").startswith(PACKAGE + ".") and not PACKAGE.startswith(name + ".")]
    foreign = [name for name in names if name.partition(".")[0] not in ("concurrent", "asyncio", "app")]
    levels = [name for name, logger in logging.root.manager.loggerDict.items()
              if name.startswith(PACKAGE) and isinstance(logger, logging.Logger) and logger.level]
    assert not changed and not foreign and not levels, (changed, foreign, levels)
'''

EVERYTHING = r'''
import importlib, pathlib, pkgutil
before = facts()
package = importlib.import_module(PACKAGE)
for found in pkgutil.walk_packages(package.__path__, PACKAGE + "."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
expect_the_same(before)
'''

TALK = r'''
import importlib
before = facts()
logging.getLogger(PACKAGE + ".usercode").addHandler(logging.NullHandler())  # `fail` raises, and it is as it should be
package = importlib.import_module(PACKAGE)
memory = importlib.import_module(PACKAGE + ".transports.memory")

def made(**options):
    server = package.Server("polite", **options)

    @server.tool
    def add(a: int, b: int, ctx: package.Context) -> int:
        "Add."
        ctx.log("info", {"sum": a + b})
        ctx.progress(1, 2)
        return a + b

    @server.tool
    def fail() -> str:
        raise RuntimeError("password=hunter2")

    @server.resource("test://text")
    def text() -> str:
        return "text"

    @server.prompt
    def hello() -> str:
        return "hello"

    return server

def walk(client, own):
    assert client.call_tool("add", {"a": 1, "b": 2}, progress=lambda *step: None).structured_content == {"result": 3}
    assert client.submit_tool("add", {"a": 1, "b": 2}).result().structured_content == {"result": 3}
    assert client.call_tool("fail").is_error
    assert [client.read_resource("test://text").contents[0].text] == ["text"]
    assert client.get_prompt("hello").messages
    assert [tool.name for tool in client.tools()] == ["add", "fail"] if own else list(client.tools())
    try:
        client.request("no/such")
    except package.McpError:
        pass
    try:
        client.request("tools/call", {"name": 5})
    except package.McpError:
        pass
    client.set_log_level("error")
    client.ping()
'''

MEMORY = TALK + r'''
server = made()
handler = server.log_handler()
logging.getLogger("app").addHandler(handler)
near, far = memory.pair()
connection = server.connect(far)
with package.Client(on_log=lambda *said: None, era="%s").open(near) as client:
    walk(client, True)
    logging.getLogger("app").error("password=hunter2")
    for nonsense in (b"{", b"[]", b'{"jsonrpc":"2.0","method":"nonsense"}', b'{"jsonrpc":"2.0","id":99,"result":{}}'):
        client.connection.transport.write([nonsense])
    client.ping()
    counted = connection.counters.snapshot()
    refused = "unknown" if client.revision.handshake else "refused"  # without a session there is nothing to announce
    assert counted["malformed message"] == 2 and counted[refused + " notification"] == 1, counted
connection.close()
assert connection.wait_closed(20)
logging.getLogger("app").removeHandler(handler)
handler.close()
expect_the_same(before)
'''

CHILD = TALK + r'''
with package.connect([sys.executable, "-c", SERVE], on_log=lambda *said: None, stderr=False) as client:
    walk(client, True)
expect_the_same(before)
'''

SOCKET = TALK + r'''
server = made()
listener = server.listen("tcp://127.0.0.1:0", idle_after=0.01)
with package.connect(listener.address) as client:
    walk(client, True)
with package.connect(listener.address) as client:
    client.ping()
listener.close()
expect_the_same(before)
'''

SERVE = "import logging, sys\nsys.path.insert(0, ROOT)\nPACKAGE = %r\n" + TALK.replace("before = facts()\n", "") + '''
print("printed by a server")
server = made()
server.run()
'''


def run(code: str, package: str = "mcp_ref", root: pathlib.Path = ROOT) -> None:
    """Run code in a fresh interpreter, which must print nothing."""
    names = "ROOT, PACKAGE, SERVE = %r, %r, %r\n" % (str(root), package, _served(package, root))
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-X", "dev", "-c", names + PRELUDE + code], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, universal_newlines=True, timeout=WAIT)
    assert not done.stderr, done.stderr
    assert (done.returncode, done.stdout) == (0, "")


def _served(package: str, root: pathlib.Path) -> str:
    return "ROOT = %r\n" % str(root) + SERVE % package


@pytest.mark.parametrize("code", [EVERYTHING, MEMORY % "legacy", MEMORY % "modern", SOCKET],
                         ids=["import", "memory", "memory without sessions", "socket"])
def test_the_process_is_as_before_and_nothing_was_printed(code: str) -> None:
    run(code)


def test_a_child_is_gone_with_all_that_belonged_to_it_and_what_it_printed_is_its_own() -> None:
    """Its standard error is kept for error messages; none of it is shown where that is not wanted."""
    run(CHILD)


def test_a_copy_under_another_name_has_the_same_manners(tmp_path: pathlib.Path) -> None:
    (tmp_path / "plugins").mkdir()
    target = tmp_path / "plugins" / "mcp"
    shutil.copytree(str(PACKAGE), str(target), ignore=shutil.ignore_patterns("__pycache__"))
    run(MEMORY % "legacy" + COPY, "plugins.mcp", tmp_path)


COPY = r'''
server = made()
handler = server.log_handler()
near, far = memory.pair()
connection = server.connect(far)
import queue
said = queue.Queue()
logging.getLogger().addHandler(handler)
with package.Client(on_log=lambda level, data, logger: said.put(logger), era="legacy").open(near) as client:
    client.ping()
    for name in (PACKAGE, PACKAGE + ".peer", "mcp_ref.peer", "plugins", "plugins.mcp_other"):
        logging.getLogger(name).error("x")
    assert [said.get() for _ in range(3)] == ["mcp_ref.peer", "plugins", "plugins.mcp_other"]
    connection.close()
logging.getLogger().removeHandler(handler)
'''


def test_the_checker_of_manners_sees_bad_ones() -> None:
    for deed in ("print('x')", "logging.warning('x')", "warnings.warn('x')"):
        with pytest.raises(AssertionError):
            run("before = facts()\n%s\nexpect_the_same(before)" % deed)
    run("for deed in %r:\n" % (DEEDS,) + """
    before = facts()
    exec(deed)
    try:
        expect_the_same(before, grace=0.01)
    except AssertionError:
        continue
    sys.exit("nobody saw " + deed)
""")


DEEDS = (
    "logging.getLogger().addHandler(logging.NullHandler())", "warnings.simplefilter('ignore')",
    "signal.signal(signal.SIGTERM, lambda *a: None)", "os.dup(1)", "os.umask(0o77)", "sys.excepthook = len",
    "threading.Thread(target=threading.Event().wait, daemon=True).start()", "os.environ['X'] = '1'",
    "sys.path.append('x')", "sys.setrecursionlimit(500)", "signal.pthread_sigmask(signal.SIG_BLOCK, [10])",
    "locale.setlocale(locale.LC_ALL, 'C.UTF-8')", "os.chdir('..')", "sys.stderr = sys.stdout", "gc.disable()",
    "logging.getLogger('foreign')", "logging.getLogger(PACKAGE).setLevel(10)",
)


# --- by reading the code ----------------------------------------------------------------------------------------------

PRINTING = ("cli/", "devtools/crosscheck.py", "__main__.py", "testing/")
"""What is run as a program may print, and may be told by signals to stop; what tests run may say why they failed."""
OWNER = ("server/serving/process.py", "devtools/recorder/shim.py", "devtools/examiner/clients/stub.py")
"""The owners of the process: `Server.run`, `Server.run_http`, the shim around a server, the process that a client under
examination starts. They take signals, and say a word to a person."""
FORBIDDEN: Dict[str, str] = {
    "print": "prints", "sys.stdout.write": "prints", "sys.stderr.write": "prints", "traceback.print_exc": "prints",
    "logging.basicConfig": "configures logging for all", "logging.disable": "configures logging for all",
    "logging.captureWarnings": "configures logging for all", "logging.setLoggerClass": "configures logging for all",
    "logging.getLogger": "may print: use packagelog.get_logger", "logging.warning": "logs at the root",
    "logging.error": "logs at the root", "logging.info": "logs at the root",
    "logging.debug": "logs at the root", "logging.exception": "logs at the root", "logging.log": "logs at the root",
    "logging.critical": "logs at the root", "logging.addLevelName": "names a level for all",
    "warnings.simplefilter": "filters the warnings of others", "warnings.filterwarnings": "filters those of others",
    "warnings.resetwarnings": "filters those of others", "signal.signal": "takes a signal",
    "signal.set_wakeup_fd": "takes the signals", "locale.setlocale": "changes the locale", "os.chdir": "changes folder",
    "os.umask": "changes the mask", "os.putenv": "changes the environment",
    "socket.setdefaulttimeout": "changes every socket",
    "sys.setrecursionlimit": "changes a limit of all", "sys.setswitchinterval": "changes a limit of all",
    "threading.stack_size": "changes every thread", "gc.disable": "changes the collector",
    "gc.set_threshold": "changes the collector", "sys.settrace": "traces all", "threading.settrace": "traces all",
    "faulthandler.enable": "takes signals", "random.seed": "changes what others draw",
}
ASSIGNED = ("sys.excepthook", "threading.excepthook", "sys.unraisablehook", "sys.displayhook", "sys.path",
            "sys.stderr", "sys.stdin", "logging.raiseExceptions", "logging.lastResort", "warnings.showwarning",
            "os.environ", "json.encoder", "json.decoder")


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of names and attributes; "" for anything else."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return before and before + "." + node.attr
    return node.id if isinstance(node, ast.Name) else ""


def bad_manners(tree: ast.AST) -> Iterator[str]:
    """Line and deed of each call and assignment that changes what is not ours, or prints."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in FORBIDDEN:
                yield "%d: %s %s" % (node.lineno, name, FORBIDDEN[name])
            if name == "get_logger" and not re.search("__name__|USERCODE", "".join(map(ast.dump, node.args))):
                yield "%d: a logger that is not named after the module" % node.lineno
            if name.startswith(("sys.path.", "os.environ.")) and not name.endswith((".get", ".copy", ".items")):
                yield "%d: %s" % (node.lineno, name)
        targets = [node.target] if isinstance(node, ast.AugAssign) else getattr(node, "targets", [])
        for target in targets:
            name = dotted(target.value if isinstance(target, ast.Subscript) else target)
            if name in ASSIGNED:
                yield "%d: %s is changed" % (getattr(node, "lineno"), name)


def test_the_code_prints_nothing_and_configures_nothing() -> None:
    libraries = [path for path in python_files("mcp_ref")
                 if not path.relative_to(PACKAGE).as_posix().startswith(
                     (*PRINTING, "diagnostics/packagelog.py", "diagnostics/loghandlers.py", *OWNER))]
    assert len(libraries) > 80
    expect_nothing(["%s:%s" % (shown(path), deed) for path in libraries for deed in bad_manners(tree_of(path))])


@pytest.mark.parametrize("line, found", [
    ("print('x')", 1), ("logging.getLogger()", 1), ("logging.getLogger('x')", 1), ("get_logger(__name__)", 0),
    ("get_logger(__name__.rpartition('.')[0])", 0), ("get_logger('x')", 1), ("get_logger()", 1),
    ("sys.path.insert(0, 'x')", 1), ("os.environ['x'] = 'y'", 1),
    ("os.environ.get('x')", 0), ("sys.path += ['x']", 1), ("signal.signal(2, f)", 1), ("x.print('x')", 0),
    ("sys.excepthook = f", 1), ("printer = print", 0), ("json.encoder.x = 1", 0),
])
def test_the_reader_of_manners_sees_bad_ones(line: str, found: int) -> None:
    deeds: List[str] = list(bad_manners(ast.parse(line)))
    assert len(deeds) == found, deeds
