"""One answer to what is this machine, for all who ask."""
import pytest

from mcp_ref.auth.urls import split
from mcp_ref.protocol.links import read_link
from mcp_ref.urls import is_loopback

HERE = ["localhost", "127.0.0.1", "127.255.255.254", "127.0.0.0", "::1"]
ELSEWHERE = ["127.example.com", "127.0.0.1.example.com", "127.1", "127.0.0.256", "127.0.0.01", "128.0.0.1", "0.0.0.0",
             "localhost.example.com", "localhost.", "", "::", "::2", "[::1]", "2130706433", "0x7f.0.0.1", "127.0.0.1 ",
             "127.0.0.1\n", "example.com"]


@pytest.mark.parametrize("host", HERE)
def test_this_machine(host: str) -> None:
    written = "[%s]" % host if ":" in host else host
    assert is_loopback(host)
    assert split("http://%s/" % written, "URL").loopback
    assert read_link("http://%s/" % written, 2000).loopback


@pytest.mark.parametrize("host", ELSEWHERE)
def test_elsewhere(host: str) -> None:
    assert not is_loopback(host)
