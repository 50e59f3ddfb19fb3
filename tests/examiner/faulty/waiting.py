"""The timeouts of the tests, for the programs here: they are run by their path, so the project is not on theirs."""
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[3]))

from tests.support.patience import WAIT, patience  # noqa: E402

__all__ = ["WAIT", "patience"]
