"""The table of what goes wrong with servers that are started here: before the start, at its end, while it runs."""

import os
import re
import shutil
from typing import Callable, Optional, Tuple

from ...errors import ConnectionLost, RequestTimeout
from ...transports.lines.process import instead, like_file
from ..output import program
from .evidence import LISTS, Finding, Patient, Symptom, answers_at_the_end, answers_unusably, fails_at

WORDS, PROGRAM, HANDSHAKE = "command", "program", "handshake"
"""Steps."""
_ADDRESS = re.compile(r"(?:\w+://.+|[\w.-]+:\d{1,5}(?:/.*)?)\Z")
_MAKERS = {"npx": "Node.js", "node": "Node.js", "npm": "Node.js", "uvx": "uv", "uv": "uv", "docker": "Docker",
           "deno": "Deno", "bunx": "Bun", "pipx": "pipx"}
"""Programs that start servers -> what brings them."""
_OURS = __name__.partition(".")[0]
_HOME = os.path.abspath(__file__).rpartition(os.sep + os.path.join(*__name__.split(".")))[0]
"""The name of this package, and the folder or archive that it is in."""


# Before the start

def _not_an_address(patient: Patient) -> Finding:
    word = patient.words[0] if patient.step == PROGRAM else ""
    if not _ADDRESS.match(word):
        return None
    scheme = word.partition("://")[0] if "://" in word else ""
    meant = {"ws": "http", "wss": "https"}.get(scheme, "http") + "://" + word.rpartition("://")[2]
    return {"word": patient.quote(word), "meant": patient.quote(meant)}


_MOST_SPACES = 20


def _one_word(patient: Patient) -> Finding:
    word = patient.words[0] if patient.step == PROGRAM and len(patient.words) == 1 else ""
    parts = word.split(" ")
    for stop in range(1, min(len(parts), _MOST_SPACES)):  # a path may have spaces in it
        first = " ".join(parts[:stop])
        if shutil.which(first, path=patient.env.get("PATH")) is not None:
            return {"word": patient.quote(word), "first": first}
    return None


def _no_folder(patient: Patient) -> Finding:
    folder = patient.arguments.get("cwd")
    return {"folder": folder} if patient.step == PROGRAM and folder and not os.path.isdir(folder) else None


def _not_executable(patient: Patient) -> Finding:
    if patient.step != PROGRAM or "it is not executable" not in str(patient.error):
        return None
    path = patient.words[0]
    by = "python3 " if path.endswith(".py") else "node " if path.endswith((".js", ".mjs")) else ""
    return {"path": path, "instead": " Or start it by its interpreter: %s%s" % (by, path) if by else ""}


def _command_not_found(patient: Patient) -> Finding:
    if patient.step != PROGRAM:
        return None
    name = patient.words[0]
    if os.path.dirname(name):
        folder = os.path.abspath(patient.arguments.get("cwd") or os.curdir)
        hint = "it is relative to %s: give the absolute path." % folder
        hint = "Look for a mistake in the path." if os.path.isabs(name) else "Look whether it is there; " + hint
        return {"name": name, "said": patient.said_by(patient.error or OSError()), "hint": hint}
    meant = instead(name, patient.arguments.get("cwd"))
    if meant:
        return {"name": name, "said": "it is a file, not a program", "hint": meant[0].upper() + meant[1:] + "."}
    hint = "Give the absolute path of the program (`which %s` in a terminal where it works)," % name
    hint += " for a host may have a shorter PATH than your shell; or pass --env PATH=..."
    if name in _MAKERS:
        hint = "Install %s. If it is installed: " % _MAKERS[name] + hint[0].lower() + hint[1:]
    if name == "python" and shutil.which("python3", path=patient.env.get("PATH")):
        hint = "Write python3, which is there. " + hint
    return {"name": name, "said": patient.said_by(patient.error or OSError()), "hint": hint}


def _bad_interpreter(patient: Patient) -> Finding:
    path = shutil.which(patient.words[0], path=patient.env.get("PATH")) or patient.words[0]
    if not isinstance(_cause_of(patient), FileNotFoundError) or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        line = file.readline(200).decode("utf-8", "replace").strip()
    return {"path": path, "line": patient.quote(line) or "(empty)"}


def _not_a_program(patient: Patient) -> Finding:
    error = _cause_of(patient)
    return {"path": patient.words[0], "said": patient.quote(error.strerror or str(error))} if isinstance(
        error, OSError) else None


def _cause_of(patient: Patient) -> Optional[BaseException]:
    """Return the system's error when the process was to be started."""
    is_start = patient.step == HANDSHAKE and not any(event.kind == "process" for event in patient.events)
    return patient.error.__cause__ if is_start and patient.error is not None else None


# After its end: by what it wrote on stderr

def _ended(patient: Patient) -> bool:
    return isinstance(patient.error, ConnectionLost) and patient.exit_code is not None


_NO_SCRIPT = (r"can't open file '?((?:(?!can't open file).)+?)'?: \[Errno 2\]"
              r"|^\S*sh: (?:\d+: )?(?:cannot open |can't open )?'?(\S+?)'?: (?:No such file|not found)"
              r"|Cannot find module '(/[^']+)'(?:(?!Cannot find module)[\s\S])*requireStack: \[\]")
_NO_MODULE = (r"^(?:ModuleNotFoundError|ImportError): (.*)|No module named '?([\w.]+)"
              r"|Cannot find (?:module|package) '([^']+)'")
_NO_PACKAGE = (r"npm (?:error|ERR!) (?:code E404|404 )| was not found in the (?:package )?(?:registry|index)"
               r"|No matching distribution found for ")
_NO_NETWORK = (r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|Temporary failure in name resolution"
               r"|Failed to fetch|error sending request")
_SERVES_HTTP = (r"\b(?:running|listening|started|serving|available)\b.{0,60}?https?://\S"
                r"|\blistening (?:on|at)\b.{0,80}?\d{2,5}\b|starting .{0,80}?\bhttp\b")
_SYNTAX = r"(?:File \"([^\"\n]+)\", line (\d+)\n(?:.*\n){0,4}?)?^((?:Syntax|Indentation|Tab)Error\b.*)"
_VARIABLE = (r"^KeyError: '([A-Z][A-Z0-9_]{2,})'"
             r"|\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b[^\n]{0,60}?(?i:not set|missing|required|undefined|must be|not "
             r"found|not defined|empty)"
             r"|(?i:missing|required|set|provide)\b[^\n]{0,60}?\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b")
"""Patterns of what interpreters, package managers and servers write. Their groups hold what it is about; without groups
it is the whole line."""


def _stderr(
    pattern: str, runs: bool = False, flags: int = re.MULTILINE | re.IGNORECASE,
) -> Callable[[Patient], Finding]:
    """Return the function that finds a pattern in what a server wrote on stderr before it ended.

    ``runs``: the server may also run, and answer nothing; then it counts on stdout, too.
    """
    compiled = re.compile(pattern, flags)

    def seen(patient: Patient) -> Finding:
        if patient.step == LISTS or not (_ended(patient) or runs and isinstance(patient.error, RequestTimeout)):
            return None
        text = "\n".join(patient.stderr + (patient.noise if runs else []))
        found = compiled.search(text)
        if found is None:
            return None
        line = text[text.rfind("\n", 0, found.end()) + 1:].partition("\n")[0]
        groups = [patient.quote(part or "") for part in found.groups()]
        interpreter = patient.words[0] if "python" in os.path.basename(patient.words[0]) else "the interpreter"
        quoted = patient.quote(line.strip())
        return {"what": next(filter(None, groups), quoted), "groups": groups, "line": quoted,
                "python": interpreter, "folder": os.path.abspath(patient.arguments.get("cwd") or os.curdir)}
    return seen


def _script_missing(patient: Patient) -> Finding:
    found = _stderr(_NO_SCRIPT)(patient)
    if found is None:
        return None
    like = like_file(os.path.join(found["folder"], found["what"]))
    hint = "Look for a mistake in the path." if os.path.isabs(found["what"]) and found["what"] in patient.words else (
        "Give the absolute path of the script: hosts start servers in a folder of their own. Or set --cwd.")
    return dict(found, hint="Did you mean %s? %s" % (patient.quote(like), hint) if like else hint)


def _import_error(patient: Patient) -> Finding:
    found = _stderr(_NO_MODULE)(patient)
    if found is None:
        return None
    if re.search(r"(?:^|')%s'?$" % _OURS, found["what"]):
        hint = "Put the folder %s beside the script (%s vendor FOLDER), or pass --env PYTHONPATH=%s (in a " \
               "configuration file: env)." % (_OURS, program(), _HOME)
    else:
        hint = "Install it for the very interpreter that starts the server (%s), or start it by that of the virtual " \
               "environment in which it is installed, by absolute path." % found["python"]
    return dict(found, hint=hint)


def _syntax_error(patient: Patient) -> Finding:
    found = _stderr(_SYNTAX)(patient)
    if found is None:
        return None
    path, line, what = found["groups"]
    return dict(found, what=what, place=", in %s, line %s" % (path, line) if path else "")


def _last_line(patient: Patient) -> str:
    return next((patient.quote(line) for line in reversed(patient.stderr) if line.strip()), "nothing")


def _variable_missing(patient: Patient) -> Finding:
    found = _stderr(_VARIABLE, flags=re.MULTILINE)(patient)
    if found is None:
        return None
    name = found["what"]
    ours = " It is set in your shell, but a server gets only what it is given." if os.environ.get(name) else ""
    return dict(found, name=name, ours=ours)


def _killed(patient: Patient) -> Finding:
    code = patient.exit_code
    if not _ended(patient) or code is None or code >= 0:
        return None
    import signal

    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "signal %d" % -code
    hint = {"SIGKILL": "Most often the system had no memory left for it.",
            "SIGSEGV": "It crashed: a compiled module may be of another version of its interpreter."}.get(name, "")
    return {"signal": name, "last": _last_line(patient), "hint": hint}


def _exits_at_once(patient: Patient) -> Finding:
    return {"last": _last_line(patient)} if _ended(patient) and patient.exit_code == 0 else None


def _exits_with_error(patient: Patient) -> Finding:
    if not _ended(patient) or patient.exit_code == 0:
        return None
    last = _last_line(patient) if patient.stderr or not patient.noise else patient.quote(patient.noise[-1])
    more = "" if patient.arguments.get("inherit_env") else (
        " If it works by hand, it may miss an environment variable: try --inherit-env.")
    return {"code": patient.exit_code, "last": last, "more": more}


# What it wrote on stdout

def _noise(*patterns: str, also_ended: bool = False) -> Callable[[Patient], Finding]:
    """Return the function that finds a pattern in what came instead of messages."""
    compiled = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]

    def seen(patient: Patient) -> Finding:
        if patient.step == LISTS or not (isinstance(patient.error, RequestTimeout) or also_ended and _ended(patient)):
            return None
        line = next((line for pattern in compiled for line in patient.noise if pattern.search(line)), None)
        return None if line is None else {"line": patient.quote(line.replace("\0", ""))}
    return seen


def _echoes(patient: Patient) -> Finding:
    ours = {(asked["method"], asked["id"]) for asked in patient.asked}
    return {} if any((request.get("method"), request.get("id")) in ours for request in patient.requests) else None


def _wrong_id(patient: Patient) -> Finding:
    ours = [asked["id"] for asked in patient.asked]
    strange = [answer for answer in patient.answers if answer.get("id") not in ours and answer.get("id") is not None]
    if not isinstance(patient.error, RequestTimeout) or not strange:
        return None
    return {"id": patient.quote(repr(strange[0]["id"])), "ours": ", ".join(map(repr, ours))}


# Silence

def is_silent(patient: Patient) -> bool:
    """Return True if nothing at all came of a server that was given its time."""
    return _timed_out(patient) and not patient.noise and not patient.answers and not answers_unusably(patient)


def _timed_out(patient: Patient) -> bool:
    return patient.step != LISTS and isinstance(patient.error, RequestTimeout)


def _answers_late(patient: Patient) -> Finding:
    allowed = patient.limits.initialize_timeout
    if patient.late is None or patient.late <= allowed:
        return None
    return {"took": "%.1f" % patient.late, "allowed": "%g" % allowed, "twice": "%g" % (2 * allowed)}


def _keeps_answers(patient: Patient) -> Finding:
    return {} if is_silent(patient) and answers_at_the_end(patient) else None


def _silent(patient: Patient) -> Finding:
    if not _timed_out(patient) or answers_unusably(patient):
        return None
    last = "It wrote not one line."
    if patient.stderr:
        last = "The last that it wrote on stderr: %s" % _last_line(patient)
    return {"seconds": "%g" % patient.limits.initialize_timeout, "last": last}


def _stdout_closed(patient: Patient) -> Finding:
    is_it = isinstance(patient.error, ConnectionLost) and patient.exit_code is None and patient.step != LISTS
    return {"said": patient.said_by(patient.error)} if is_it and patient.error else None


TO_STDERR = ("On stdio only messages may go to stdout: print to stderr (Python: print(..., file=sys.stderr) or "
             "logging; JavaScript: console.error), and silence what libraries print.")

TABLE: Tuple[Symptom, ...] = (
    Symptom("bad-command-line", fails_at(WORDS),
            "The command cannot be taken apart into words: {said}.",
            "Close the quotation; or write the command last, after --, as in a shell."),
    Symptom("no-folder", _no_folder,
            "The folder {folder}, in which the server is to be started, does not exist.",
            "Correct --cwd (in a configuration file: cwd)."),
    Symptom("not-an-address", _not_an_address,
            "{word} was taken for a command, since it is no address that is known.",
            "Write {meant}, or https://, tcp://host:port, unix:///path."),
    Symptom("command-with-arguments", _one_word,
            "There is no program {word}: the whole command was given as one word.",
            "Give the program, {first}, and each argument as a word of its own (in a configuration file: command, "
            "and a list of args)."),
    Symptom("not-executable", _not_executable,
            "{path} is a file, but not executable.",
            "chmod +x {path}{instead}"),
    Symptom("command-not-found", _command_not_found,
            "There is no program {name}: {said}.",
            "{hint}"),
    Symptom("bad-interpreter", _bad_interpreter,
            "{path} cannot be started, since the interpreter that its first line names is not there: {line}",
            "Correct the first line, or start it by its interpreter. After a virtual environment was moved or its "
            "Python removed: make it anew."),
    Symptom("not-a-program", _not_a_program,
            "{path} is there, but the system cannot run it: {said}.",
            "Look whether it is for this system and processor; a script needs #! in its first line."),

    Symptom("script-missing", _script_missing,
            "The interpreter runs, but the script {what} is not there (the folder is {folder}).",
            "{hint}"),
    Symptom("syntax-error", _syntax_error,
            "The server's source is wrong: {what}{place}.",
            "Correct it; or start it by a newer interpreter than {python}, if that syntax is newer than it."),
    Symptom("import-error", _import_error,
            "The server needs a module that its interpreter does not have: {what}.",
            "{hint}"),
    Symptom("package-not-found", _stderr(_NO_PACKAGE),
            "The package of the server does not exist: {what}.",
            "Look for a mistake in the name of the package."),
    Symptom("no-network", _stderr(_NO_NETWORK, runs=True),
            "The server, or what downloads it, reaches something on the network not at all: {what}.",
            "Look at the network, and at HTTPS_PROXY: a server gets only a short list of variables (--env "
            "NAME=VALUE, --inherit-env)."),
    Symptom("address-in-use", _stderr("EADDRINUSE|Address already in use", runs=True),
            "The server wants a port that is taken: {what}.",
            "End the other process, or give another port. A server on stdio needs no port."),
    Symptom("bad-arguments", _stderr(r"^usage: (?:(?!^usage: )[\s\S])*?^.*?error: "),
            "The server does not take the arguments that it is given: {what}",
            "Look at its --help."),
    Symptom("variable-missing", _variable_missing,
            "The server misses the environment variable {name}: {line}",
            "Pass it: --env {name}=... (in a configuration file: env).{ours}"),
    Symptom("no-permission", _stderr("PermissionError|EACCES|Permission denied"),
            "The server may not do what it needs: {what}.",
            "Look who owns that file, and as whom the server runs."),
    Symptom("killed", _killed,
            "The server was killed by {signal}. The last that it wrote on stderr: {last}.",
            "{hint}"),
    Symptom("serves-http", _stderr(_SERVES_HTTP, runs=True),
            "The program serves HTTP and not stdio: {what}",
            "Start it yourself and give its URL instead of the command, or look for the option that makes it speak "
            "stdio."),
    Symptom("lsp-framing", _noise(r"^Content-Length: ?\d", also_ended=True),
            "The server frames messages as language servers do: {line}",
            "On stdio of MCP each message is one line of JSON, without a header: correct how the server writes."),
    Symptom("wrong-encoding", _noise("\0", also_ended=True),
            "The server does not write UTF-8, but UTF-16 or the like: {line}",
            "Have it write UTF-8 (Python: sys.stdout.reconfigure(encoding='utf-8'), PYTHONUTF8=1; PowerShell: "
            "[Console]::OutputEncoding)."),
    Symptom("message-on-lines", _noise(r'^\s*[{[]\s*$', r'^\s+"jsonrpc": ', also_ended=True),
            "The server spreads a message over several lines: {line}",
            "Each message is one line: write JSON without indentation and line breaks."),
    Symptom("echoes", _echoes,
            "The program sends back what it is sent.",
            "It is no MCP server (such as cat, or a terminal): look at the command."),
    Symptom("wrong-id", _wrong_id,
            "The server answers with the id {id}, while our requests have {ours}.",
            "An answer repeats the id of its request as it is, a number as a number: correct that in the server."),
    Symptom("invalid-json", _noise(r"^\s*[{[]", also_ended=True),
            "The server writes a line that is no JSON: {line}",
            "Write messages by a JSON library (json.dumps, JSON.stringify), never by printing an object."),
    Symptom("exits-with-error", _exits_with_error,
            "The server ends with code {code}: {last}",
            "Run the command by hand in the same folder to see the whole message.{more}"),
    Symptom("stdout-not-protocol", _noise("", also_ended=True),
            "The server writes to stdout what is no message of the protocol, and answers nothing: {line}",
            TO_STDERR),
    Symptom("exits-at-once", _exits_at_once,
            "The server ends at once with code 0, as if all were done. The last that it wrote on stderr: {last}",
            "Look whether its source starts the server at its end (server.run()), and whether its arguments make it "
            "do something else."),
    Symptom("answers-late", _answers_late,
            "The server answers after {took} s, and was given {allowed} s.",
            "Give it more time: --timeout {twice} (hosts have settings for that). If the first start downloads "
            "something, start it once by hand."),
    Symptom("probe-hangs", lambda patient: None if patient.late is None else {},
            "The server answers initialize, but nothing any more after server/discover, which revisions without a "
            "handshake begin with.",
            "Use --era legacy (in Python: era=\"legacy\"). Its author: answer unknown methods with error -32601."),
    Symptom("keeps-answers", _keeps_answers,
            "The server answers only when its input ends: its answers stay in a buffer.",
            "Flush after each message: print(..., flush=True), or start it by python3 -u or with "
            "PYTHONUNBUFFERED=1; and read line by line, not up to the end."),
    Symptom("never-answers", _silent,
            "The server runs and takes what it is sent, but answered nothing in {seconds} s. {last}",
            "Look whether it speaks MCP on stdio at all, and what it waits for: a download, a login, a lock, a "
            "prompt. --timeout SECONDS waits longer."),
    Symptom("stdout-closed", _stdout_closed,
            "The server runs on, but has closed its stdout: {said}.",
            "It may have gone into the background (a daemon, a wrapper that detaches it): start it in the "
            "foreground."),
)
