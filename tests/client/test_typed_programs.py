"""The programs in `tests/typed` run as their types say; that type checkers agree is for `make check` to see."""
import importlib.util

import pytest

from tests.meta.facts import ROOT


def program(name):
    """One of the programs, as a module of its own."""
    spec = importlib.util.spec_from_file_location("typed_" + name, str(ROOT / "tests" / "typed" / (name + ".py")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("era", ["2026-07-28", "2025-11-25"])
def test_client_and_server_do_what_their_types_say(era):
    told = dict(program("using").use(program("served").server, era))
    assert told["add"] == (["3"], "3", None)
    assert told["look_around"] == '["5","file:///srv","srv"]'
    assert told["book"] == '{"city":"Oslo","nights":1}'
    assert (told["summarize"], told["discuss"], told["visit"]) == ("said", "said", "accept")
    assert told["by_hand"] == "me asked" if era == "2026-07-28" else told["by_hand"].startswith("LocalProtocolError")
    assert (told["read"], told["note"], told["prompt"]) == ('{"level":1}', "note://a", "user")
    assert (told["complete"], told["vendor"]) == (["python", "perl"], ["q", "q"])
    assert "Unknown prompt: none" in str(told["error"])


def test_host_does_what_its_types_say():
    using = program("using")
    told = using.host({"left": program("served").server, "right": program("served").server})
    texts = dict(told)
    assert {"left__add", "right__book"} <= set(texts["tools"])
    assert (texts["left add"], texts["right add"]) == ("3", "3")
    assert texts["right book"] == '{"city":"right","nights":1}'
    assert texts["left summarize"] == "said"
