"""Folders of skills that tests serve."""
import pathlib
from typing import Union

PDF = """---
name: pdf
description: Fill in forms.
license: MIT
metadata: {version: '2.1', parts: [1, null]}
---
# PDF
"""


def write(folder: pathlib.Path, path: str, content: Union[str, bytes]) -> pathlib.Path:
    """Write one file below the folder, given as text or bytes."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return file


def skill(name: str, description: str = "Does something.") -> str:
    """The `SKILL.md` of a small skill."""
    return "---\nname: %s\ndescription: %s\n---\n# %s\n" % (name, description, name)


def make_folder(path: pathlib.Path) -> pathlib.Path:
    """A folder with a skill, one below folders, one inside of another, and what belongs to none."""
    made = path / "skills"
    write(made, "pdf/SKILL.md", PDF)
    write(made, "pdf/references/FORMS.md", "h\u00e9llo\r\n")
    write(made, "pdf/logo.png", b"\x89PNG\xff\0")
    write(made, "pdf/.git/config", "secret")
    write(made, "acme/billing/refunds/SKILL.md", skill("refunds"))
    write(made, "acme/billing/refunds/inner/SKILL.md", skill("inner"))
    write(made, "README.md", "not a skill")
    return made
