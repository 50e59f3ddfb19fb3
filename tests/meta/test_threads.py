"""The table of all threads, in `mcp_ref.threads`, has those that the package starts, and no others."""
import ast
import functools
import re
from typing import Dict, Set

import mcp_ref.threads
from tests.meta.facts import expect_nothing, nodes_of, python_files, shown

TABLE = set(re.findall(r"^``([a-z-]+)`` ", mcp_ref.threads.__doc__ or "", re.MULTILINE))


@functools.lru_cache(maxsize=None)
def named() -> Dict[str, Set[str]]:
    """The second parts of the names that the code gives to threads, and the files that do."""
    found: Dict[str, Set[str]] = {}
    for path in python_files("mcp_ref"):
        for node in nodes_of(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("mcp-ref:"):
                found.setdefault(node.value.split(":")[1], set()).add(shown(path))
    return found


def test_each_thread_is_in_the_table() -> None:
    assert len(TABLE) > 20
    expect_nothing(["%s of %s is not in the table" % (name, ", ".join(sorted(files)))
                    for name, files in named().items() if name not in TABLE])


def test_the_table_has_no_other_threads() -> None:
    expect_nothing(["nothing starts %s" % name for name in TABLE - set(named())])


def test_a_stack_dump_tells_clients_from_servers() -> None:
    files = named()
    assert not files["request"] & files["selector"]
    assert all("/client/" in file for file in files["request"])
    assert all("/server/" in file for file in files["selector"])
