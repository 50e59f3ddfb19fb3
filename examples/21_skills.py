"""Skills: folders of instructions that a server ships, and that a host loads when the user allows it.

A skill is a folder with a `SKILL.md`, whose front matter has a name and a description; it is read by the methods of
resources [2026-07-28 extensions/skills/skills]. A model first sees the descriptions alone, and gets the rest when it
needs it.

What a host reads is verified by size and digest, and an approval is for these files: when one changes, the user is
asked again. Front matter is read in a small part of YAML, without aliases and tags.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Host, Server  # noqa: E402
from mcp_ref.client import UnverifiedSkill  # noqa: E402
from mcp_ref.host import AskOnce, Policy, SkillLoad  # noqa: E402
from mcp_ref.server import BadSkill  # noqa: E402

SKILL = """---
name: pdf-forms
description: Fill in PDF forms. Use it when somebody asks for a form.
metadata: {version: "2.1"}
---
# Forms

Read references/FIELDS.md first.
"""
URI = "skill://pdf-forms/SKILL.md"


def ask(question: SkillLoad) -> bool:
    """Stand in for a dialog."""
    skill = question.skill
    print("load %s of %s%s? yes" % (skill.name, skill.server, " (it has changed)" if question.changed else ""))
    return True


def main() -> None:
    """Serve a folder, load its skill, change a file."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place, "pdf-forms")
        (folder / "references").mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")
        fields = folder / "references" / "FIELDS.md"
        fields.write_text("name, date\n", encoding="utf-8")
        server = Server("papers")
        server.skills(place)
        with Session() as session, Host(policy=Policy(skill_load=AskOnce(ask))) as host:
            host.connect("office", server, trace=session)
            print([(skill.server, skill.uri) for skill in host.skills()])
            loaded = host.load_skill("office", URI)
            print(loaded.for_model().splitlines()[0])
            print(loaded.read("references/FIELDS.md").decode("utf-8"), end="")
            fields.write_text("name, date, sum\n", encoding="utf-8")
            try:
                loaded.read("references/FIELDS.md")
                raise SystemExit("a changed file was used")
            except UnverifiedSkill as error:
                print("refused:", str(error)[:60])
            again = host.load_skill("office", URI)
            if again.read("references/FIELDS.md") != b"name, date, sum\n":
                raise SystemExit("the new file was not read")
        (folder / "SKILL.md").write_text(SKILL.replace("pdf-forms", "*name"), encoding="utf-8")
        try:
            Server("papers").skills(place)
            raise SystemExit("front matter with an alias was read")
        except BadSkill as error:
            print("refused:", str(error).rpartition("SKILL.md: ")[2])


if __name__ == "__main__":
    main()
