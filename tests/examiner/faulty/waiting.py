"""The timeouts of the tests, for the programs in this folder, which are started by path from anywhere."""
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[3]))

from tests.support.patience import WAIT, patience  # noqa: E402

__all__ = ["WAIT", "patience"]
