"""Scenes about the extensions of skills and apps [2026-07-28 extensions/skills/skills], [2026-07-28
extensions/apps/apps]: everything that is named is read, for the checker to see it."""

from typing import Any, Dict, List, Tuple

from ....methods import CALL_TOOL, GET_SKILL, LIST_SKILLS, LIST_TOOLS, READ_DIRECTORY, READ_RESOURCE, SKILLS
from ..scenes import NotExamined, Said, scene
from ..stage import SceneStage
from ..talk import ExaminerConversation

_APPS = "io.modelcontextprotocol/ui"
_ABLE: Dict[str, Any] = {"extensions": {_APPS: {"mimeTypes": ["text/html;profile=mcp-app"]}}}
"""The capabilities of a client that shows apps."""
_MOST = 5
"""The skills, directories and apps that are looked at."""


def _skills(talk: ExaminerConversation) -> List[Dict[str, Any]]:
    """Return the entries of the list of skills. Raises `NotExamined` without the extension."""
    extensions = talk.capabilities.get("extensions")
    if not isinstance(extensions, dict) or SKILLS not in extensions:
        raise NotExamined("the server does not declare the extension %s" % SKILLS)
    found = [each for _, items in talk.pages(LIST_SKILLS, "skills") for each in items]
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("uri"), str)][:_MOST]


@scene("skills", provokes="skills.skill-md-at-root skills.entry-resources-complete skills.dynamic-resources "
       "skills.get-answers-unlisted", only=lambda revision: revision.stateless)
def skills(stage: SceneStage) -> Said:
    """Each skill of the list is got and read with its files, twice."""
    talk = stage.talk
    for each in _skills(talk):
        files = each.get("resources")
        named = [file.get("uri") for file in (files if isinstance(files, list) else ()) if isinstance(file, dict)]
        talk.request(GET_SKILL, {"uri": each["uri"]})
        for uri in [each["uri"], *named[:_MOST]] * 2:
            talk.request(READ_RESOURCE, {"uri": uri})
    return None


@scene("skill-directories", provokes="skills.directory-read-error skills.directory-read-every-directory "
       "skills.entry-resources-complete", only=lambda revision: revision.stateless)
def skill_directories(stage: SceneStage) -> Said:
    """The directories of skills are read, and a file, and one that there is not."""
    talk = stage.talk
    entries, settings = _skills(talk), talk.capabilities["extensions"][SKILLS]
    if not isinstance(settings, dict) or settings.get("directoryRead") is not True:
        raise NotExamined("the server does not declare directoryRead")
    for each in entries:
        root = each["uri"].rpartition("/")[0]
        files = each.get("resources")
        named = [str(file.get("uri")) for file in (files if isinstance(files, list) else ()) if isinstance(file, dict)]
        folders = {root, *(uri.rpartition("/")[0] for uri in named if uri.startswith(root + "/"))}
        for uri in [*sorted(folders)[:_MOST], each["uri"], root + "/examiner-no-such-directory"]:
            talk.request(READ_DIRECTORY, {"uri": uri})
    return None


def _page(tool: Any) -> Tuple[str, str]:
    """Return the name of a tool and the URI of its page; empty texts for one that has none."""
    meta = tool.get("_meta") if isinstance(tool, dict) else None
    ui = meta.get("ui") if isinstance(meta, dict) else None
    uri = ui.get("resourceUri") if isinstance(ui, dict) else None
    return (str(tool.get("name")), uri) if isinstance(uri, str) else ("", "")


@scene("apps", provokes="apps.tool-resource-exists apps.result-content-always", needs="tools")
def apps(stage: SceneStage) -> Said:
    """The page of each tool that has one is read, and those tools that may be called are called."""
    with stage.fresh(declared=_ABLE) as talk:
        pages = dict(_page(tool) for _, items in talk.pages(LIST_TOOLS, "tools") for tool in items)
        pages.pop("", None)
        if not pages:
            raise NotExamined("no tool has a page")
        for uri in list(pages.values())[:_MOST]:
            talk.request(READ_RESOURCE, {"uri": uri})
        try:
            allowed = stage.callable(lambda tool: tool.get("name") in pages)
        except NotExamined:
            return None
        for tool, arguments in allowed:
            talk.request(CALL_TOOL, {"name": tool["name"], "arguments": arguments})
    return None
