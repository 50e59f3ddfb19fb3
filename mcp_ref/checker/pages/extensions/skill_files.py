"""Rules of what servers give for the files of skills, against their entries (page extensions/skills/skills)."""

import re
from typing import List, Optional, Tuple, Union

from ....messages.extensions.yaml import FENCE, YamlError, read_front_matter
from ....methods import READ_RESOURCE
from ....wiretrace import SERVER
from ...observed import RESULT, Message
from ...rules import KEPT, Broken, CannotTell, Verdict, rule
from ...values import items, members, short
from .skill_methods import FORM, LISTED, SKILL, START, TEXT, content, entry, file
from .skill_state import (
    ENTRIES, FILE, Entry, bytes_of, declared, difference, digest_of, new_entries, owners, read_uri, skills,
)

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
