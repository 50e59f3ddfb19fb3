"""What the checks of the tree have read is forgotten after the last of them."""
from typing import Optional

import pytest

from tests.meta.facts import forget_trees


def pytest_runtest_teardown(item: pytest.Item, nextitem: Optional[pytest.Item]) -> None:
    if nextitem is None or nextitem.path.parent != item.path.parent:
        forget_trees()
