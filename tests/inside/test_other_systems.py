"""The branches for Windows and macOS, with the calls of the system replaced: nothing here runs on these systems.

Each row names the place of the documentation by which the branch was read.

=======================  ==============================================================================================
what is relied on        where it is said
=======================  ==============================================================================================
a new process group      CPython library reference, subprocess, Windows Constants; Popen.send_signal: CTRL_BREAK_EVENT
                         reaches only a process that was started in a group of its own
no window                the same, CREATE_NO_WINDOW
terminate is all there   CPython library reference, subprocess, Popen.send_signal: SIGTERM is terminate() on Windows
is
exclusive binding        Microsoft Learn, Winsock, Using SO_REUSEADDR and SO_EXCLUSIVEADDRUSE: with the former another
                         program may take the port
locks beyond the end     CPython library reference, msvcrt.locking: from the position of the file, perhaps beyond its
                         end; the file of the lock is empty
proxies of the system    CPython library reference, urllib.request.getproxies: System Configuration on macOS, the
                         registry on Windows, after the environment
short paths of sockets   macOS unix(4): sun_path has 104 bytes, with the NUL
select                   CPython library reference, select.select: on Windows sockets alone
=======================  ==============================================================================================
"""
import importlib.util
import os
import sys
import types

import pytest

from mcp_ref import sqlitefile
from mcp_ref.auth.client import oauth, store
from mcp_ref.cli.use import asking
from mcp_ref.devtools.recorder import shim
from mcp_ref.diagnostics import loghandlers
from mcp_ref.http11.client import connect
from mcp_ref.transports.lines import listener, process, sockets
from mcp_ref.transports.lines.sockets import Address


class Instead:
    """A module in which some names are others."""

    def __init__(self, module, **names):
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name):
        return getattr(self._module, name)


def on(monkeypatch, module, platform="win32", name="nt"):
    """Let a module of ours take this system for another one."""
    for known, changed in (("sys", {"platform": platform}), ("os", {"name": name})):
        if hasattr(module, known):
            monkeypatch.setattr(module, known, Instead({"sys": sys, "os": os}[known], **changed))


def loaded_on(monkeypatch, module, platform, **modules):
    """Our module, read again as another system would."""
    monkeypatch.setattr(sys, "platform", platform)
    for name, fake in modules.items():
        monkeypatch.setitem(sys.modules, name, fake)
    spec = importlib.util.spec_from_file_location(module.__name__ + "_elsewhere", module.__file__)
    made = importlib.util.module_from_spec(spec)
    made.__package__ = module.__package__
    monkeypatch.setitem(sys.modules, spec.name, made)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("platform, wanted", [
    ("win32", {"creationflags": 0x200 | 0x8000000}), ("darwin", {"start_new_session": True})])
def test_a_child_has_a_group_of_its_own(monkeypatch, platform, wanted):
    given = {}
    fake = types.SimpleNamespace(Popen=lambda line, **options: given.update(options), CREATE_NEW_PROCESS_GROUP=0x200,
                                 CREATE_NO_WINDOW=0x8000000)
    on(monkeypatch, process, platform)
    monkeypatch.setattr(process, "subprocess", fake)
    process._popen(["x"], {}, None, [3, 4])
    assert {name: given[name] for name in wanted} == wanted
    assert ("start_new_session" in given) == (platform == "darwin") and given["close_fds"]


class FakeSocket:
    """A socket that remembers its options."""

    made = []

    def __init__(self, *kind):
        self.options = []
        self.made.append(self)

    def setsockopt(self, level, option, value):
        self.options.append(option)

    def __getattr__(self, name):
        return lambda *arguments: None


@pytest.mark.parametrize("platform, option", [("win32", "exclusive"), ("darwin", "reuse"), ("linux", "reuse")])
@pytest.mark.parametrize("bind", ["server", "login"])
def test_a_port_is_bound_so_that_no_other_program_takes_it(monkeypatch, platform, option, bind):
    import socket

    module = listener if bind == "server" else oauth
    on(monkeypatch, module, platform)
    fake = Instead(socket, socket=FakeSocket, SO_EXCLUSIVEADDRUSE="exclusive", SO_REUSEADDR="reuse")
    monkeypatch.setattr(module, "socket", fake)
    FakeSocket.made.clear()
    if bind == "server":
        listener.listen_on_port(Address("", "127.0.0.1", 0))
    else:
        oauth._listener(socket.AF_INET, "127.0.0.1", 0)
    assert FakeSocket.made[0].options == [option]


@pytest.mark.parametrize("taken", [False, True])
def test_tokens_are_locked_by_the_c_library_of_windows(monkeypatch, taken):
    asked = []

    def locking(descriptor, mode, size):
        asked.append((descriptor, mode, size))
        if taken:
            raise OSError(13, "Permission denied")
    elsewhere = loaded_on(monkeypatch, store, "win32", msvcrt=types.SimpleNamespace(locking=locking, LK_NBLCK=2))
    assert elsewhere._lock(7) is not taken
    assert asked == [(7, 2, 1)]


def test_a_system_without_locks_of_files_goes_on(monkeypatch):
    elsewhere = loaded_on(monkeypatch, store, "other", fcntl=None)  # None: importing it fails
    assert elsewhere._lock(7) is True


@pytest.mark.parametrize("platform, longest", [("linux", 107), ("darwin", 103), ("freebsd14", 103)])
def test_the_path_of_a_socket_is_as_long_as_the_system_takes(monkeypatch, platform, longest):
    assert loaded_on(monkeypatch, sockets, platform)._UNIX_PATH_BYTES == longest


def test_owners_and_modes_of_files_are_not_judged_on_windows(monkeypatch, tmp_path):
    path = tmp_path / "open to all"
    path.write_text("")
    path.chmod(0o666)
    with pytest.raises(ValueError):
        sqlitefile._check_file(str(path), os.lstat(str(path)))
    on(monkeypatch, sqlitefile)
    sqlitefile._check_file(str(path), os.lstat(str(path)))
    sqlitefile._check_folder("/no such folder")


def test_a_recorder_on_windows_ends_with_the_code_alone(monkeypatch):
    on(monkeypatch, shim)
    monkeypatch.setattr(shim, "stuck", lambda: False)
    assert [shim.end_as(code) for code in (0, 3, -15)] == [0, 3, -15]


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_console_of_windows_is_not_selected(monkeypatch, cancelled):
    import threading

    on(monkeypatch, asking)
    gone = threading.Event()
    if cancelled:
        gone.set()
    assert asking._wait(0, gone) is not cancelled


@pytest.mark.parametrize("platform, terminal, number", [
    ("win32", True, None), ("win32", False, 7), ("darwin", True, 7)])
def test_a_console_of_windows_gets_text_and_not_bytes(monkeypatch, platform, terminal, number):
    on(monkeypatch, loghandlers, platform)
    stream = types.SimpleNamespace(isatty=lambda: terminal, fileno=lambda: 7)
    assert loghandlers._descriptor(stream) == number


@pytest.mark.parametrize("platform, name, asks", [
    ("win32", "nt", True), ("darwin", "posix", True), ("linux", "posix", False)])
def test_the_proxies_of_the_system_are_asked_for(monkeypatch, platform, name, asks):
    import urllib.request

    asked = []
    monkeypatch.setattr(urllib.request, "getproxies", lambda: asked.append(1) or {})
    monkeypatch.setattr(connect, "sys", Instead(sys, platform=platform))
    monkeypatch.setattr(connect, "os", Instead(os, name=name, environ={}))
    connect.find_proxy(connect.server_url("http://example.com/mcp"))
    assert bool(asked) is asks
