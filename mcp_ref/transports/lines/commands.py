"""The parts of a process to be started: the words of a command, its program, its environment.

POSIX: a command that is a string is split as a shell does it. Windows (tested as functions, not on a Windows): as
programs there split their command lines, with double quotes alone. A batch file (``.bat``, ``.cmd``) is run by
``cmd.exe``, which reads its arguments as a part of its own language; `command_line` quotes them for it, and refuses
what cannot be quoted.
"""

import os
import shlex
import shutil
import sys
from typing import Dict, List, Mapping, NoReturn, Optional, Sequence, Union

from ...errors import ConnectFailed

WINDOWS = sys.platform == "win32"
_NEVER_IN_BATCH = "\"%!\r\n\0"
"""The characters that end a quoted argument for ``cmd.exe``, or that it replaces inside one, even if escaped."""
_PLAIN_IN_BATCH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:\\@+")


# --- Words ------------------------------------------------------------------------------------------------------------

def arguments(command: Union[str, Sequence[str]], windows: bool = WINDOWS) -> List[str]:
    """Return the program and its arguments; a string is split as the system does it, without being given to a shell.

    Raises `ConnectFailed`.
    """
    try:
        words = list(command) if not isinstance(command, str) else (
            split_for_windows(command) if windows else shlex.split(command))
    except ValueError as error:
        raise ConnectFailed("cannot start %r: %s" % (command, error)) from None
    if not words or not words[0]:
        raise ConnectFailed("cannot start a server: the command is empty")
    return words


def split_for_windows(text: str) -> List[str]:
    """Split a command line as the C library of Windows does it; `subprocess.list2cmdline` is the other direction.

    Blanks separate words, unless they stand between double quotes, which may begin and end inside a word. A backslash
    means something before a quote alone: two are one then, and one that is left makes the quote a character. Two
    quotes inside a quotation are one character. Raises ValueError for a quotation that does not end.
    """
    words: List[str] = []
    word, quoted, begun, backslashes = "", False, False, 0
    at = 0
    while at < len(text):
        sign = text[at]
        at += 1
        if sign == "\\":
            backslashes += 1
            continue
        if sign == '"':
            word += "\\" * (backslashes // 2)
            literal = backslashes % 2 == 1
            backslashes = 0
            begun = True
            if literal:
                word += '"'
            elif quoted and text[at:at + 1] == '"':
                word += '"'
                at += 1
            else:
                quoted = not quoted
            continue
        word += "\\" * backslashes
        begun = begun or backslashes > 0
        backslashes = 0
        if sign in " \t\r\n" and not quoted:
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word += sign
            begun = True
    if quoted:
        raise ValueError("No closing quotation")
    if begun or backslashes:
        words.append(word + "\\" * backslashes)
    return words


def command_line(words: Sequence[str], windows: bool = WINDOWS) -> Union[str, List[str]]:
    """Return the argument of `subprocess.Popen` that starts these words, the first of which is the path of a program.

    A list, except for a batch file on Windows. Python's `subprocess` quotes arguments for programs, and ``cmd.exe``
    would run what stands after an ``&`` in one. Raises `ConnectFailed` for an argument that cannot be quoted.
    """
    if not windows or not words[0].rstrip(". ").lower().endswith((".bat", ".cmd")):
        return list(words)
    return " ".join(_quoted_for_batch(word) for word in words)


def _quoted_for_batch(word: str) -> str:
    if word and _PLAIN_IN_BATCH.issuperset(word):
        return word
    if any(sign in word for sign in _NEVER_IN_BATCH):
        raise ConnectFailed(
            "cannot start a batch file with %s in an argument, for cmd.exe would read it as a command: name the program"
            " that the batch file starts (node, python), or pass the value in the environment, by env={...}"
            % " or ".join(repr(sign) for sign in _NEVER_IN_BATCH if sign in word))
    backslashes = len(word) - len(word.rstrip("\\"))
    return '"%s%s"' % (word, "\\" * backslashes)  # the program behind the batch file reads them as `split_for_windows`


# --- The program ------------------------------------------------------------------------------------------------------

def find_program(program: str, env: Mapping[str, str], cwd: Optional[str]) -> str:
    """Return the path of a program as the child would find it.

    Raises `ConnectFailed` that says where it was looked for.
    """
    if os.path.dirname(program):
        path = os.path.join(cwd or "", program)
        found = shutil.which(path)
        if found is None:
            _not_found(program, "it is not executable" if os.path.isfile(path) else "there is no such file",
                       "looked at %s" % os.path.abspath(path))
        return os.path.abspath(found)
    search = env.get("PATH", os.defpath)
    found = shutil.which(program, path=search)
    if found is None:
        _not_found(program, "not found", "looked in the child's PATH: %s" % (search or "(empty)"))
    return os.path.abspath(found)


def _not_found(program: str, problem: str, looked: str) -> NoReturn:
    raise ConnectFailed("cannot start %r: %s; %s" % (program, problem, looked))


# --- The environment --------------------------------------------------------------------------------------------------

_PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "TMPDIR", "TZ")
_PASSED_ON_WINDOWS = (
    "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE",
    "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE", "TZ")
_OWN_PREFIX = "MCP_REF_"
"""The variables of this package, such as the keys that sign request states. A child gets them only by ``env``."""


def child_environment(
    env: Optional[Mapping[str, str]], inherit: Optional[bool], ours: Optional[Mapping[str, str]] = None,
    windows: bool = WINDOWS,
) -> Dict[str, str]:
    """Return the environment of a child: the variables that it inherits, with the entries of ``env`` added or replaced.

    ``inherit`` None: a short list, for a process usually has secrets in its environment that no server needs. It is
    that of the official SDKs, and beside it the language (``LANG``, ``LC_*``), ``TZ`` and ``TMPDIR``. True: all of ours
    but ``MCP_REF_*``. False: nothing. ``ours``: our environment.
    """
    ours = os.environ if ours is None else ours
    if inherit is None:
        found = {name: value for name, value in ours.items()
                 if _is_harmless(name, windows) and not value.startswith("()")}  # a function of the shell
    elif inherit:
        found = {name: value for name, value in ours.items() if not name.upper().startswith(_OWN_PREFIX)}
    else:
        found = {name: value for name, value in ours.items() if windows and name.upper() == "SYSTEMROOT"}
        # nothing starts without it
    found.update(env or {})
    return found


def _is_harmless(name: str, windows: bool) -> bool:
    if windows:  # where names have no case
        return name.upper() in _PASSED_ON_WINDOWS
    return name in _PASSED_ON or name.startswith("LC_")
