"""Rules of the extension for skills (page extensions/skills/skills): capabilities, methods, types of results, errors.
"""

import json
import re
from typing import Any, Callable, Dict, Optional

from ....messages.extensions.skills import DIRECTORY_READ
from ....methods import DISCOVER, GET_SKILL, LIST_SKILLS, READ_DIRECTORY, READ_RESOURCE, SKILLS
from ....wiretrace import CLIENT, SERVER
from ...observed import ERROR, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import masked, short
from ..basic.errors import says_complete
from ..server.caching import hints_missing
from ..server.errorcodes import INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, code_and_text, internal
from ..server.lists import STALE, stale
from .skill_state import (
    FILE, METHODS, UNDECLARED, Entry, declared, digest_of, owners, read_uri, root_of, skills,
)
from .task_errors import says_something

UNDECIDED.update({
    "skills.scheme-is-no-proof": "what a host takes for a skill is inside it",
    "skills.reserved-metadata-ignored": "a party that passes over what it does not know does nothing that shows",
    "skills.empty-list-proves-nothing": "a host that asks for no skill after an empty list may have no use for one",
    "skills.load-by-uri": "whether a host was given a URI, and by whom, leaves no message",
})

TEXT = "---\nname: refunds\ndescription: Refund a customer\n---\n# Refunds\n"
FORM = "Fill in the form.\n"
SKILL = "skill://acme/billing/refunds"


def entry(uri: str = SKILL + FILE, frontmatter: Optional[Dict[str, Any]] = None, resources: Any = ...) -> str:
    """Return the entry of a skill, as JSON: of two files, or of ``resources``; None leaves these away."""
    files = [file(SKILL + FILE, TEXT), file(SKILL + "/forms/a.md", FORM)] if resources is ... else resources
    made = {"uri": uri, "frontmatter": frontmatter or {"name": "refunds", "description": "Refund a customer"}}
    return json.dumps(made if files is None else {**made, "resources": files})


def file(uri: str, text: str, size: Optional[int] = None) -> Dict[str, Any]:
    """Return a file of an entry, with its size or another one."""
    return {"uri": uri, "digest": digest_of(text.encode()), "size": len(text) if size is None else size}


def content(uri: str, text: str) -> str:
    """Return the result of reading a file, as JSON."""
    return json.dumps({"contents": [{"uri": uri, "text": text, "mimeType": "text/markdown"}]})


SERVES = '{"resources": {}, "tools": {}, "extensions": {"%s": {"directoryRead": true}}}' % SKILLS
DISCOVERED = """
    C #90 server/discover {}
    S #90 {"ttlMs": 60000}
"""
START = "\n    on stdio 2026-07-28 server=%s%s" % (SERVES, DISCOVERED)
LISTED = """
    C #91 skills/list {}
    S #91 {"skills": [%s], "ttlMs": 60000}
""" % entry()


# Capabilities, and the methods that they promise


@rule("skills.resources-capability", on=RESULT, method=DISCOVER, scene="""
  + on stdio 2026-07-28 server={"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}
  - on stdio 2026-07-28 server={"extensions": {"io.modelcontextprotocol/skills": {}}}
    C #1 server/discover {}
    S #1 {}
""")
def has_resources(message: Message) -> Verdict:
    """A server with skills has resources."""
    capabilities = message.result.get("capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    if message.sender != SERVER or not isinstance(extensions, dict) or not isinstance(extensions.get(SKILLS), dict):
        return None
    return KEPT if isinstance(capabilities, dict) and isinstance(capabilities.get("resources"), dict) else Broken(
        "skills without resources", "result.capabilities.resources")


def _implemented(message: Message, promised: Optional[bool]) -> Verdict:
    """Judge whether a method that was promised is there."""
    if message.sender != SERVER or promised is False:
        return None
    if promised is None:
        return UNDECLARED
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != METHOD_NOT_FOUND:
        return None
    return STALE if stale(message) else Broken("the method is not found", "error.code")


_METHOD = START + """
    C #1 %s
  + S #1 %s
  - S #1 !-32601 "Method not found"
"""


@rule("skills.list-implemented", on=(RESULT, ERROR), method=LIST_SKILLS, party=SERVER,
      scene=_METHOD % ("skills/list {}", '{"skills": []}'))
def lists_skills(message: Message) -> Verdict:
    """A server with skills lists them."""
    return _implemented(message, declared(message))


@rule("skills.get-implemented", on=(RESULT, ERROR), method=GET_SKILL, party=SERVER,
      scene=_METHOD % ('skills/get {"uri": "%s"}' % (SKILL + FILE), '{"skill": %s}' % entry()))
def gets_skills(message: Message) -> Verdict:
    """A server with skills gives the entry of each."""
    return _implemented(message, declared(message))


def reads_directories(message: Message) -> Optional[bool]:
    """Return whether the server has declared that it reads directories; None if that is not known."""
    settings = message.settings(SERVER, SKILLS)
    return settings.get(DIRECTORY_READ) is True if settings is not None else declared(message)


@rule("skills.directory-read-implemented", on=(RESULT, ERROR), method=READ_DIRECTORY, party=SERVER,
      scene=_METHOD % ('resources/directory/read {"uri": "%s"}' % SKILL, '{"resources": []}'))
def directories(message: Message) -> Verdict:
    """A server that declares that it reads directories does so."""
    return _implemented(message, reads_directories(message))


@rule("skills.no-undeclared-directory-read", on=REQUEST, method=READ_DIRECTORY, scene="""
  + on stdio 2026-07-28 server={"resources": {}, "extensions": {"io.modelcontextprotocol/skills": \
{"directoryRead": true}}}
  - on stdio 2026-07-28 server={"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}
    C #90 server/discover {}
    S #90 {"ttlMs": 60000}
    C #1 resources/directory/read {"uri": "skill://a"}
    S #1 !-32602 "No such directory"
""")
def only_declared(message: Message) -> Verdict:
    """A client reads directories only where the server has declared that it can."""
    known = reads_directories(message)
    if message.sender != CLIENT or known is None:
        return CannotTell("the capabilities of the server") if known is None else None
    if known:
        return KEPT
    return STALE if message.connection.http and stale(message) else Broken("directoryRead was not declared", "method")


# Results


def _complete(message: Message) -> Verdict:
    if message.sender != SERVER or message.request is None or declared(message) is not True:
        return None
    return says_complete(message)


def _type_of(id: str, method: str, params: str, result: str) -> Callable[[Message], Verdict]:
    """Return the rule that results of a method are complete."""
    def is_complete(message: Message) -> Verdict:
        return _complete(message)

    is_complete.__doc__ = "A result of `%s` is of the type complete." % method
    return rule(id, on=RESULT, method=method, follows="jsonrpc.result-type-required", scene=START + """
    C #1 %s %s
  + S #1 %s
  - S #1 {"resultType": "skill", %s
""" % (method, params, result, result[1:]))(is_complete)


_type_of("skills.list-result-type-complete", LIST_SKILLS, "{}", '{"skills": []}')
_type_of("skills.get-result-type-complete", GET_SKILL, '{"uri": "%s"}' % (SKILL + FILE), '{"skill": %s}' % entry())
_type_of("skills.directory-result-type-complete", READ_DIRECTORY, '{"uri": "%s"}' % SKILL, '{"resources": []}')


def _hints_of(id: str, method: str, params: str, result: str) -> Callable[[Message], Verdict]:
    """Return the rule that results of a method have hints."""
    def hints(message: Message) -> Verdict:
        return hints_missing(message) if declared(message) else None

    hints.__doc__ = "A result of `%s` says how long it may be kept, and by whom." % method
    return rule(id, on=RESULT, method=method, scene=START + """
    C #1 %s %s
  + S #1 {%s, "ttlMs": 60000, "cacheScope": "public"}
  - S> {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", %s, "ttlMs": 60000}}
""" % (method, params, result, result))(hints)


_hints_of("skills.list-cache-hints", LIST_SKILLS, "{}", '"skills": []')
_hints_of("skills.get-cache-hints", GET_SKILL, '{"uri": "%s"}' % (SKILL + FILE), '"skill": %s' % entry())


# Requests and errors


@rule("skills.get-names-skill-md", on=REQUEST, method=GET_SKILL, scene=START + """
  + C #1 skills/get {"uri": "skill://acme/billing/refunds/SKILL.md"}
  - C #1 skills/get {"uri": "skill://acme/billing/refunds"}
    S #1 !-32602 "Unknown skill"
""")
def names_file(message: Message) -> Verdict:
    """A client asks for a skill by the URI of its `SKILL.md`."""
    uri = message.params.get("uri")
    if message.sender != CLIENT or not isinstance(uri, str) or masked(uri) or not declared(message):
        return None
    return KEPT if uri.endswith(FILE) else Broken("the URI is %s" % short(uri), "params.uri")


_WORDS = "the cause is read off the text of the error"
_NONE = re.compile(
    r"\b(?:not found|no such|not exist|unknown (?:skill|resource|file|directory|uri)|not a (?:directory|skill))\b",
    re.IGNORECASE)
_LEGACY = -32002


def _unknown(message: Message) -> Verdict:
    """Judge the code of an error that says that there is nothing of the kind."""
    code, text = code_and_text(message)
    if message.sender != SERVER or not declared(message):
        return None
    if code == INVALID_PARAMS:
        return KEPT
    if code == METHOD_NOT_FOUND or (code != _LEGACY and _NONE.search(text) is None):
        return None
    return Broken("error %s says: %s" % (short(code), short(text)), "error.code")


@rule("skills.get-unknown-skill-error", on=(RESULT, ERROR), method=GET_SKILL, party=SERVER, reading=_WORDS,
      follows="errors.no-32002", scene=START + """
    C #1 skills/get {"uri": "skill://none/SKILL.md"}
  + S #1 !-32602 "Unknown skill"
  - S #1 !-32603 "Unknown skill"
""")
def get_unknown(message: Message) -> Verdict:
    """Asking for a skill that is not there is answered with the code of invalid params."""
    if message.kind == ERROR:
        return _unknown(message)
    if message.sender != SERVER or not declared(message) or message.result.get("resultType") != "complete":
        return None
    return Broken("a result without a skill", "result.skill") if message.result.get("skill") is None else None


_SOON = 60.0
"""Seconds after an entry was sent within which its skill is still there."""


def _is_fresh(found: Entry, message: Message) -> bool:
    return message.time - found.time <= _SOON


@rule("skills.get-answers-unlisted", on=(RESULT, ERROR), method=GET_SKILL, party=SERVER,
      reading="a skill whose entry came less than a minute before is served", scene=START + LISTED + """
    C #1 skills/get {"uri": "skill://acme/billing/refunds/SKILL.md"}
  + S #1 {"skill": %s}
  - S #1 !-32602 "Unknown skill"
""" % entry())
def answers(message: Message) -> Verdict:
    """A server gives the entry of each skill that it serves."""
    uri, asked = read_uri(message), message.request
    found: Optional[Entry] = skills(message).entries.get(uri)
    if found is None or asked is None or message.sender != SERVER or asked.index < found.index or not declared(message):
        return None
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != INVALID_PARAMS or not _is_fresh(found, message):
        return None
    return Broken("%s has an entry, and is not found" % short(uri), "params.uri")


@rule("skills.directory-read-error", on=(RESULT, ERROR), method=READ_DIRECTORY, party=SERVER, reading=_WORDS,
      follows="errors.no-32002", scene=START + LISTED + """
    C #1 resources/directory/read {"uri": "skill://acme/billing/refunds/forms/a.md"}
  + S #1 !-32602 "Not a directory"
  - S #1 {"resources": []}
""")
def no_directory(message: Message) -> Verdict:
    """Reading a directory that is none is answered with the code of invalid params."""
    if message.kind == ERROR:
        return _unknown(message)
    uri = read_uri(message)
    for each in owners(message, uri) if uri and declared(message) and message.sender == SERVER else ():
        if each.files is not None and uri in each.files and message.result.get("resultType") == "complete":
            if any(other.startswith(uri + "/") for other in each.files):
                return None
            return Broken("%s is a file" % short(uri), "params.uri")
    return None


@rule("skills.directory-read-every-directory", on=(RESULT, ERROR), method=READ_DIRECTORY, party=SERVER,
      reading="a folder of a skill whose entry came less than a minute before is served", scene=START + LISTED + """
    C #1 resources/directory/read {"uri": "skill://acme/billing/refunds/forms"}
  + S #1 {"resources": [{"uri": "skill://acme/billing/refunds/forms/a.md", "name": "a.md"}]}
  - S #1 !-32602 "Not a directory"
""")
def each_directory(message: Message) -> Verdict:
    """A server that reads directories reads each folder of its skills."""
    uri, asked = read_uri(message), message.request
    if not uri or asked is None or message.sender != SERVER or not reads_directories(message):
        return None
    if "cursor" in asked.params:
        return None
    for each in owners(message, uri + "/"):
        if each.files is None or asked.index < each.index or not any(
                other.startswith(uri + "/") for other in each.files):
            continue
        if message.kind == RESULT:
            return KEPT
        if message.error.get("code") == INVALID_PARAMS and _is_fresh(each, message):
            return Broken("%s is a folder of the skill %s" % (short(uri), short(root_of(each.uri))), "params.uri")
    return None


@rule("skills.read-unknown-file-error", on=ERROR, method=READ_RESOURCE, reading=_WORDS,
      follows=("resources.not-found-32602", "errors.no-32002"), scene=START + LISTED + """
    C #1 resources/read {"uri": "skill://acme/billing/refunds/none.md"}
  + S #1 !-32602 "No such file"
  - S #1 !-32603 "No such file"
""")
def read_unknown(message: Message) -> Verdict:
    """Reading a file of a skill that is not there is answered with the code of invalid params."""
    uri = read_uri(message)
    if not uri or not (uri.startswith("skill://") or owners(message, uri)):
        return None
    return _unknown(message)


_ERRORS = START + """
    C #1 skills/list {}
  + S #1 !-32603 "Internal error"
  - S #1 !%d "%s"
"""


@rule("skills.internal-error-code", on=ERROR, method=METHODS, reading=_WORDS,
      scene=_ERRORS % (-32700, "Internal error"))
def internal_code(message: Message) -> Verdict:
    """An internal error of a method of skills has the code of internal errors."""
    return internal(message)


@rule("skills.informative-errors", on=ERROR, method=METHODS, scene=_ERRORS % (INTERNAL, " "))
def informative(message: Message) -> Verdict:
    """The error of a method of skills says something."""
    return says_something(message)
