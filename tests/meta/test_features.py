"""A revision has an attribute for each row of FEATURES and of VALUES, and no others: `diff` shows them all."""
from mcp_ref.revisions import FEATURES, VALUES, Revision


def test_a_revision_declares_exactly_the_features() -> None:
    declared = {name for name in Revision.__annotations__ if name not in ("name", "rank", "era")}
    assert declared == {feature.name for feature in FEATURES} | set(VALUES)
