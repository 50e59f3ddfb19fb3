"""The limits: each is explained where `help` shows it."""
import inspect
import re
from dataclasses import fields

from mcp_ref import Limits


def test_help_says_of_every_limit_in_what_it_is_and_what_it_bounds() -> None:
    rows = re.findall(r"^([a-z_]+) +([A-Za-z/ ]+?)  +(\S.*)$", inspect.getdoc(Limits) or "", re.MULTILINE)
    assert {name for name, _, _ in rows} - {"limit"} == {field.name for field in fields(Limits)}
    assert all(len(what) > 8 for _, _, what in rows)


def test_only_what_differs_is_shown() -> None:
    assert repr(Limits(max_workers=8)) == "Limits(max_workers=8)"
