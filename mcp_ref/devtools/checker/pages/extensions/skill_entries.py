"""Rules of skills in what a server gives (page extensions/skills/skills): entries, resources and files.

An entry describes a skill, each of its files is a resource, and what is read has to be what the entry says.
"""

import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from .....messages.extensions.skills import DYNAMIC
from .....methods import LIST_RESOURCES, LIST_SKILLS, READ_RESOURCE
from .....wiretrace import SERVER
from .....yaml import FENCE, YamlError, read_front_matter
from ...bounds import Forgetful
from ...listed import PagedList, new_items
from ...observed import RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import is_integer, items, masked, members, short, typed
from .skill_methods import (
    ENTRIES, FILE, FORM, LISTED, MOST_BYTES, MOST_FILES, SKILL, START, TEXT, UNDECLARED, Entry, bytes_of, content,
    declared, difference, digest_of, entry, file, new_entries, owners, read_uri, root_of, segments, skills,
)

UNDECIDED.update({
    "skills.no-assumed-name-uniqueness": "what a host takes for granted is inside it",
    "skills.same-name-disambiguated": "the registry of a host, and what its user sees of it, leave no message",
    "skills.name-namespace-per-origin": "the registry of a host, and what its user sees of it, leave no message",
    "skills.no-silent-shadowing": "which skill a name leads to is decided inside the host",
})

_NAME = re.compile(r"(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\Z")
_REG_NAME = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*\Z")
_SEGMENT = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+\Z")
_MOST = 16
"""Findings about one result."""
_SCHEME = "skill://"
_FOREIGN = ("http", "https", "file", "data", "about")

Judge = Callable[[Mapping[str, Any]], Union[None, bool, Broken]]


def _each(message: Message, judge: Judge) -> Verdict:
    """Judge each entry of a result that is new: a `Broken`, True for one that keeps the rule, None for nothing."""
    if message.sender != SERVER or message.request is None or message.again:
        return None
    known = declared(message)
    if not known:
        return UNDECLARED if known is None else None
    found: List[Union[str, Broken]] = []
    judged = False
    for where, skill in new_entries(message):
        verdict = judge(skill)
        judged = judged or verdict is not None
        if isinstance(verdict, Broken) and len(found) < _MOST:
            found.append(verdict._replace(where="%s.%s" % (where, verdict.where) if verdict.where else where))
    return found or (KEPT if judged else None)


def _uri(skill: Mapping[str, Any]) -> str:
    uri = skill.get("uri")
    return uri if isinstance(uri, str) and not masked(uri) else ""


def _scene(**changes: Any) -> str:
    """Return the scene of an entry that is changed in the trace that breaks a rule."""
    return START + """
    C #1 skills/list {}
  + S #1 {"skills": [%s]}
  - S #1 {"skills": [%s]}
""" % (entry(), entry(**changes))


def _moved(uri: str, name: str) -> Dict[str, Any]:
    """Return the members of a skill with another URI and name."""
    return {"uri": uri + FILE, "frontmatter": {"name": name, "description": "Refund a customer"},
            "resources": [file(uri + FILE, TEXT)]}


# The URI


@rule("skills.skill-md-at-root", on=RESULT, method=ENTRIES, scene=_scene(
    uri=SKILL + "/README.md", resources=[file(SKILL + "/README.md", TEXT)]))
def at_root(message: Message) -> Verdict:
    """The entry of a skill is that of the `SKILL.md` at its root."""
    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        uri = _uri(skill)
        return None if not uri else uri.endswith(FILE) or Broken("the URI is %s" % short(uri), "uri")

    return _each(message, judge)


@rule("skills.uri-scheme", on=RESULT, method=ENTRIES,
      reading="%s belong to no domain of a server's own" % ", ".join(_FOREIGN),
      scene=_scene(**_moved("https://example.com/skills/refunds", "refunds")))
def scheme(message: Message) -> Verdict:
    """A skill has the scheme for skills, or one of its server's own domain."""
    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        uri = _uri(skill)
        name = uri.partition(":")[0].lower()
        return None if not uri else name not in _FOREIGN or Broken("the scheme %s" % name, "uri")

    return _each(message, judge)


def _named(skill: Mapping[str, Any]) -> "tuple[str, Any]":
    """Return the last segment of a skill's path, and the name in its frontmatter."""
    uri = _uri(skill)
    last = root_of(uri).rpartition("/")[2] if uri.endswith(FILE) else ""
    return last, members(skill.get("frontmatter")).get("name")


@rule("skills.entry-uri-ends-with-name", "skills.path-ends-with-name", on=RESULT, method=ENTRIES,
      scene=_scene(frontmatter={"name": "returns", "description": "Refund a customer"}))
def ends_with_name(message: Message) -> Verdict:
    """The path of a skill ends with its name."""
    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        last, name = _named(skill)
        if not last or not isinstance(name, str) or masked(name):
            return None
        return last == name or Broken("the path ends with %s, and the name is %s" % (
            short(last, 40), short(name, 40)), "uri")

    return _each(message, judge)


@rule("skills.name-rules", on=RESULT, method=ENTRIES, scene=_scene(**_moved("skill://acme/My_Skill", "My_Skill")))
def name_rules(message: Message) -> Verdict:
    """The name of a skill has up to 64 lower-case letters, digits and single hyphens inside."""
    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        last, _ = _named(skill)
        return None if not last else _NAME.match(last) is not None or Broken("the name %s" % short(last), "uri")

    return _each(message, judge)


@rule("skills.authority-reg-name", on=RESULT, method=ENTRIES, follows="skills.name-rules",
      scene=_scene(**_moved("skill://acme:80/refunds", "refunds")))
def authority(message: Message) -> Verdict:
    """The first segment of the path of a skill is a name that may stand in place of a host."""
    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        uri = _uri(skill)
        first = segments(uri)[:1]
        if not uri.startswith(_SCHEME) or not first:
            return None
        return _REG_NAME.match(first[0]) is not None or Broken("the authority %s" % short(first[0]), "uri")

    return _each(message, judge)


@rule("skills.prefix-segments-valid", on=RESULT, method=ENTRIES,
      scene=_scene(**_moved("skill://acme/all bills/refunds", "refunds")))
def prefixes(message: Message) -> Verdict:
    """The other segments before the name of a skill may stand in the path of a URI."""
    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        between = segments(_uri(skill))[1:-1] if _uri(skill).startswith(_SCHEME) else []
        wrong = [each for each in between if _SEGMENT.match(each) is None]
        return None if not between else not wrong or Broken("the segment %s" % short(wrong[0]), "uri")

    return _each(message, judge)


# The files


@rule("skills.entry-resources-required", on=RESULT, method=ENTRIES, scene=_scene(resources="static"))
def required(message: Message) -> Verdict:
    """An entry has the files of the skill, or says that they are dynamic."""
    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        value = skill.get("resources")
        if isinstance(value, list) or value == DYNAMIC:
            return True
        said = short(value) if isinstance(value, str) else typed(value)
        return Broken("resources is %s" % (said if "resources" in skill else "missing"), "resources")

    return _each(message, judge)


def _files(skill: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    return [each for each in items(skill.get("resources")) if isinstance(each, dict)]


def _uris(skill: Mapping[str, Any]) -> List[str]:
    return [each["uri"] for each in _files(skill) if isinstance(each.get("uri"), str)]


@rule("skills.entry-resources-within-skill", on=RESULT, method=ENTRIES, follows="skills.skill-md-at-root",
      scene=_scene(resources=[file(SKILL + FILE, TEXT), file("skill://acme/billing/a.md", FORM)]))
def within(message: Message) -> Verdict:
    """The files of an entry are in the folder of its skill."""
    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        root = root_of(_uri(skill)) + "/"
        if root == "/" or not _uris(skill):
            return None
        outside = [uri for uri in _uris(skill) if not masked(uri) and (
            not uri.startswith(root) or ".." in uri[len(root):].split("/"))]
        return not outside or Broken("the file %s" % short(outside[0], 80), "resources")

    return _each(message, judge)


@rule("skills.entry-resources-size", on=RESULT, method=(*ENTRIES, READ_RESOURCE),
      scene=_scene(resources=[{"uri": SKILL + FILE, "digest": file("", TEXT)["digest"]}]))
def sized(message: Message) -> Verdict:
    """Each file of an entry has its size in bytes."""
    if message.method == READ_RESOURCE:
        return _sized_as_said(message)

    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        wrong = [each for each in _files(skill) if not is_integer(each.get("size")) or each["size"] < 0]
        if not _files(skill):
            return None
        return not wrong or Broken("the size of %s is %s" % (
            short(wrong[0].get("uri")), short(wrong[0]["size"]) if "size" in wrong[0] else "missing"), "resources")

    return _each(message, judge)


def _sized_as_said(message: Message) -> Verdict:
    """Judge the size of a file that has the digest of its entry."""
    uri = read_uri(message)
    now = bytes_of(message) if uri and message.sender == SERVER and declared(message) else None
    for each in owners(message, uri) if now is not None else ():
        file = each.files.get(uri) if each.files is not None else None
        if file is not None and now is not None and file.get("digest") == digest_of(now):
            return KEPT if file.get("size") == len(now) else Broken("%s has %d bytes, and its entry says %s" % (
                short(uri, 80), len(now), short(file.get("size"), 20)), "result.contents")
    return None


@rule("skills.limits-kept-by-server", on=RESULT, method=ENTRIES, scene=_scene(
    resources=[file(SKILL + FILE, TEXT), file(SKILL + "/all.bin", FORM, size=MOST_BYTES)]))
def limits(message: Message) -> Verdict:
    """A skill has at most 512 files, and 16 MiB in all."""
    def judge(skill: Mapping[str, Any]) -> Union[None, bool, Broken]:
        files = items(skill.get("resources"))
        total = sum(each["size"] for each in _files(skill) if type(each.get("size")) is int and each["size"] > 0)
        if not files:
            return None
        if len(files) > MOST_FILES:
            return Broken("%d files" % len(files), "resources")
        return total <= MOST_BYTES or Broken("%.1f MiB" % (min(total, 2 ** 80) / 2 ** 20), "resources")

    return _each(message, judge)


# Names in a list


class Names:
    """The names of skills in the runs through lists that go on, by the index of the first request."""

    def __init__(self) -> None:
        self.runs: "Forgetful[int, Dict[str, str]]" = Forgetful(_RUNS)


_RUNS = 8
_NAMES = 16384


def _names(message: Message) -> "Optional[Dict[str, str]]":
    """Return the URIs of the skills of a list so far, by their names; None if its first page was not seen."""
    listing: Optional[PagedList] = message.notes.get("listing")
    if listing is None:
        return None
    runs = message.session.state(Names).runs
    if listing.pages == 1:
        runs[listing.first.index] = {}
    found: Optional[Dict[str, str]] = runs.get(listing.first.index)
    return found


@rule("skills.names-unique-in-listing", on=RESULT, method=LIST_SKILLS, scene=START + """
    C #1 skills/list {}
    S #1 {"skills": [%s], "nextCursor": "b"}
    C #2 skills/list {"cursor": "b"}
  + S #2 {"skills": [%s]}
  - S #2 {"skills": [%s]}
""" % (entry(), entry(**_moved("skill://acme/returns", "returns")), entry(**_moved("skill://acme/refunds", "refunds"))))
def unique(message: Message) -> Verdict:
    """No two skills of a list have the same name."""
    names = _names(message) if message.sender == SERVER and declared(message) else None
    if names is None:
        return None
    found: List[Union[str, Broken]] = []
    for place, skill in enumerate(items(message.result.get("skills"))):
        uri, name = _uri(members(skill)), members(members(skill).get("frontmatter")).get("name")
        if uri and isinstance(name, str) and not masked(name) and len(names) < _NAMES:
            if names.setdefault(name, uri) != uri and len(found) < _MOST:
                found.append(Broken("%s is %s, too" % (short(name, 40), short(names[name], 80)),
                                    "result.skills[%d].frontmatter.name" % place))
    return found or KEPT


# `SKILL.md` as a resource


def _resource(kept: str, broken: str) -> str:
    return START + """
    C #1 skills/list {}
    S #1 {"skills": [%s]}
    C #2 resources/list {}
  + S #2 {"resources": [{"uri": "%s/SKILL.md", %s}]}
  - S #2 {"resources": [{"uri": "%s/SKILL.md", %s}]}
""" % (entry(), SKILL, kept, SKILL, broken)


def _resources(message: Message, judge: "Callable[[Mapping[str, Any], Optional[Entry]], Verdict]") -> Verdict:
    """Judge each new resource of a list that is the `SKILL.md` of a skill of the scheme for skills."""
    if message.sender != SERVER or not declared(message):
        return None
    found: List[Union[str, Broken]] = []
    verdict: Verdict = None
    for place, each in new_items(message):
        uri = each.get("uri")
        if isinstance(uri, str) and uri.startswith(_SCHEME) and uri.endswith(FILE) and not masked(uri):
            one = judge(each, skills(message).entries.get(uri))
            verdict = verdict or one
            if isinstance(one, Broken) and len(found) < _MOST:
                found.append(one._replace(where="result.resources[%d].%s" % (place, one.where)))
    return found or verdict


_FIELDS = '"name": "refunds", "description": "Refund a customer", "mimeType": "text/markdown"'


@rule("skills.skill-md-mime-type", on=RESULT, method=LIST_RESOURCES,
      scene=_resource(_FIELDS, _FIELDS.replace("markdown", "plain")))
def mime_type(message: Message) -> Verdict:
    """A `SKILL.md` is Markdown."""
    def judge(resource: Mapping[str, Any], _: Optional[Entry]) -> Verdict:
        kind = resource.get("mimeType")
        fits = isinstance(kind, str) and kind.partition(";")[0].strip().lower() == "text/markdown"
        return KEPT if fits else Broken("mimeType is %s" % (short(kind) if kind else "missing"), "mimeType")

    return _resources(message, judge)


def _same(resource: Mapping[str, Any], skill: Optional[Entry], name: str) -> Verdict:
    """Judge whether a member of a resource is that of the frontmatter."""
    said = members(skill.skill.get("frontmatter")).get(name) if skill is not None else None
    if not isinstance(said, str) or masked(said) or masked(resource.get(name)):
        return CannotTell("the entry of the skill") if skill is None else None
    return KEPT if resource.get(name) == said else Broken(
        "%s, and the frontmatter has %s" % (short(resource.get(name) or "nothing", 40), short(said, 40)), name)


@rule("skills.skill-md-resource-name", on=RESULT, method=LIST_RESOURCES,
      scene=_resource(_FIELDS, _FIELDS.replace('"refunds"', '"SKILL.md"')))
def resource_name(message: Message) -> Verdict:
    """A `SKILL.md` among the resources has the name of its skill."""
    return _resources(message, lambda resource, skill: _same(resource, skill, "name"))


@rule("skills.skill-md-resource-description", on=RESULT, method=LIST_RESOURCES,
      scene=_resource(_FIELDS, _FIELDS.replace('"Refund a customer"', '"A file"')))
def resource_description(message: Message) -> Verdict:
    """A `SKILL.md` among the resources has the description of its skill."""
    return _resources(message, lambda resource, skill: _same(resource, skill, "description"))


_PREFIX = "io.modelcontextprotocol.skills/"


@rule("skills.meta-prefix", on=RESULT, method=LIST_RESOURCES,
      reading="a key without a prefix that has the name and the value of a field of the frontmatter shows that field",
      scene=_resource(_FIELDS + ', "_meta": {"io.modelcontextprotocol.skills/name": "refunds"}',
                      _FIELDS + ', "_meta": {"name": "refunds"}'))
def meta_prefix(message: Message) -> Verdict:
    """Fields of the frontmatter in the `_meta` of a `SKILL.md` have the prefix of the extension."""
    def judge(resource: Mapping[str, Any], skill: Optional[Entry]) -> Verdict:
        meta = members(resource.get("_meta"))
        said = members(skill.skill.get("frontmatter")) if skill is not None else {}
        bare = [key for key in meta if key in said and meta[key] == said[key]]
        if bare:
            return Broken("the key %s" % short(bare[0], 40), "_meta")
        return KEPT if any(key.startswith(_PREFIX) for key in meta) else None

    return _resources(message, judge)


_OPENING = re.compile(FENCE + r"[ \t]*(?:[\r\n]|\Z)")
_CHANGED = 3
"""Contents of a file, none of which is that of the entry at the time, which show that it is made anew each time."""


def _read(message: Message) -> "Optional[Tuple[str, bytes]]":
    """Return the URI and the content of a file that a server with skills gives; None if it was not recorded as it was.
    """
    uri = read_uri(message)
    if not uri or message.sender != SERVER or message.again or not declared(message):
        return None
    found = bytes_of(message)
    return None if found is None else (uri, found)


_READ = START + LISTED + """
    C #1 resources/read {"uri": "skill://acme/billing/refunds/SKILL.md"}
  + S #1 %s
  - S #1 %s
"""


@rule("skills.skill-md-frontmatter", on=RESULT, method=READ_RESOURCE,
      scene=_READ % (content(SKILL + FILE, TEXT), content(SKILL + FILE, "# Refunds\n")))
def has_frontmatter(message: Message) -> Verdict:
    """A `SKILL.md` begins with frontmatter that has a name and a description."""
    found = _read(message)
    if found is None or found[0] not in skills(message).entries:
        return None
    try:
        text = found[1].decode("utf-8").lstrip("\ufeff")
    except UnicodeDecodeError:
        return Broken("it is no text", "result.contents")
    if not _OPENING.match(text):
        return Broken("it has no frontmatter", "result.contents")
    try:
        fields = read_front_matter(text)[0]
    except YamlError:
        return CannotTell("what a complete reader of YAML makes of the frontmatter")
    lacking = [name for name in ("name", "description") if name not in fields]
    return Broken("its frontmatter has no %s" % lacking[0], "result.contents") if lacking else KEPT


_OTHER = TEXT.replace("Refund a customer", "Refund a client")


@rule("skills.entry-frontmatter-identical", on=RESULT, method=READ_RESOURCE, follows="skills.skill-md-frontmatter",
      reading="a `SKILL.md` with the digest of its entry is the one that the entry describes", scene=START + """
    C #91 skills/list {}
  + S #91 {"skills": [%s]}
  - S #91 {"skills": [%s]}
    C #1 resources/read {"uri": "skill://acme/billing/refunds/SKILL.md"}
  + S #1 %s
  - S #1 %s
""" % (entry(), entry(resources=[file(SKILL + FILE, _OTHER)]), content(SKILL + FILE, TEXT),
       content(SKILL + FILE, _OTHER)))
def identical(message: Message) -> Verdict:
    """The frontmatter of an entry is that of the `SKILL.md`."""
    found = _read(message)
    known: Optional[Entry] = skills(message).entries.get(found[0]) if found is not None else None
    if found is None or known is None:
        return None
    described = members(known.files.get(found[0])) if known.files is not None else {}
    if described.get("digest") != digest_of(found[1]):
        return CannotTell("whether the file is the one that the entry describes")
    name = difference(known, found[1])
    if name is None:
        return CannotTell("what a complete reader of YAML makes of the frontmatter")
    return Broken("%s is another one than in the entry" % short(name, 40), "result.contents") if name else KEPT


@rule("skills.entry-resources-complete", on=RESULT, method=(*ENTRIES, READ_RESOURCE),
      reading="a file that was there before an entry, and is there after it, belongs to it", scene=START + """
    C #1 skills/list {}
  + S #1 {"skills": [%s]}
  - S #1 {"skills": [%s]}
""" % (entry(), entry(resources=[file(SKILL + "/forms/a.md", FORM)])))
def complete(message: Message) -> Verdict:
    """The files of an entry are all files of the skill, its `SKILL.md` among them, each once."""
    if message.method == READ_RESOURCE:
        return _also_there(message)
    found: List[Union[str, Broken]] = []
    judged = False
    for where, skill in new_entries(message) if message.sender == SERVER and declared(message) else ():
        uris = [each.get("uri") for each in items(skill.get("resources")) if isinstance(each, dict)]
        texts = [each for each in uris if isinstance(each, str)]
        if not isinstance(skill.get("resources"), list) or not isinstance(skill.get("uri"), str):
            continue
        judged = True
        places = {each: place for place, each in enumerate(texts)}
        twice = next((each for place, each in enumerate(texts) if places[each] != place), None)
        if skill["uri"] not in texts:
            found.append(Broken("SKILL.md is not among the files", where + ".resources"))
        elif twice is not None:
            found.append(Broken("%s is there twice" % short(twice, 80), where + ".resources"))
    return found[:_FINDINGS] or (KEPT if judged else None)


_FINDINGS = 16


def _also_there(message: Message) -> Verdict:
    """Judge a file that is read, and is not in the entry of its skill."""
    uri, asked, known = read_uri(message), message.request, skills(message)
    if not uri or asked is None or message.sender != SERVER or not declared(message) or not items(
            message.result.get("contents")):
        return None
    for each in owners(message, uri):
        if each.files is None:
            continue
        if uri in each.files:
            return KEPT
        since = known.served.get(uri)
        if since is not None and since < each.asked and asked.index > each.index:
            return Broken("%s was served before and after the entry, which does not have it" % short(uri, 80),
                          "params.uri")
    return None


@rule("skills.dynamic-resources", on=RESULT, method=READ_RESOURCE,
      reading="a file that had %d contents, none of them that of its entry, is made anew" % _CHANGED, scene=START + """
    C #91 skills/list {}
  + S #91 {"skills": [%s]}
  - S #91 {"skills": [%s]}
    C #1 resources/read {"uri": "skill://acme/billing/refunds/SKILL.md"}
    S #1 %s
    C #2 resources/read {"uri": "skill://acme/billing/refunds/SKILL.md"}
  + S #2 %s
  - S #2 %s
    C #3 resources/read {"uri": "skill://acme/billing/refunds/SKILL.md"}
  + S #3 %s
  - S #3 %s
""" % (entry(resources=[file(SKILL + FILE, TEXT)]), entry(), content(SKILL + FILE, TEXT + "1"),
       content(SKILL + FILE, TEXT), content(SKILL + FILE, TEXT + "2"),
       content(SKILL + FILE, TEXT), content(SKILL + FILE, TEXT + "3")))
def dynamic(message: Message) -> Verdict:
    """A skill whose files change all the time says that they are dynamic."""
    found = _read(message)
    if found is None:
        return None
    uri, now = found
    for each in owners(message, uri):
        described = each.files.get(uri) if each.files is not None else None
        if described is None:
            continue
        if described.get("digest") == digest_of(now):
            return KEPT
        before: Tuple[str, ...] = skills(message).contents.get(uri, ())
        others = {each for each in (*before, digest_of(now)) if each != described.get("digest")}
        new = digest_of(now) not in before
        return Broken("%s had %d contents, and none has the digest" % (short(uri, 80), len(others)),
                      "result.contents") if new and len(others) == _CHANGED else None
    return None
