"""The feature table of the README is printed from FEATURES; `python3 tests/meta/test_readme_features.py` writes it."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from mcp_ref.revisions import FEATURES, REVISIONS, VALUES, Revision  # noqa: E402

README = ROOT / "README.md"
PLACE = re.compile(r"(?<=<!-- features -->\n).*?(?=<!-- /features -->)", re.DOTALL)


def table() -> str:
    """The table in Markdown."""
    lines = ["| | %s |" % " | ".join(map(str, REVISIONS)), "|---|" + "---|" * len(REVISIONS)]
    for feature in FEATURES:
        cells = ["x" if getattr(revision, feature.name) else "" for revision in REVISIONS]
        lines.append("| %s | %s |" % (feature.name.replace("_", " "), " | ".join(cells)))
    for name, values in VALUES.items():
        lines.append("| %s | %s |" % (name.replace("_", " "), " | ".join(map(str, values))))
    return "\n".join(lines) + "\n"


def test_the_table_is_that_of_the_code() -> None:
    found = PLACE.search(README.read_text(encoding="utf-8"))
    assert found is not None and found.group() == table()


def test_a_revision_declares_exactly_the_features() -> None:
    declared = {name for name in Revision.__annotations__ if name not in ("name", "rank", "era")}
    assert declared == {feature.name for feature in FEATURES} | set(VALUES)


if __name__ == "__main__":
    README.write_text(PLACE.sub(lambda _: table(), README.read_text(encoding="utf-8")), encoding="utf-8")
