"""What a server out in the world can have us ask: judged by the address that is connected to [RFC 9728 §7.7]."""
import socket
import ssl
from typing import Any, Dict, List, Optional

import pytest

from mcp_ref.auth import ClientCredentials, EnterpriseManaged, OAuth, WorkloadIdentity
from mcp_ref.auth.discover import discover, metadata_of
from mcp_ref.auth.fetch import HERE, LINK_LOCAL, PRIVATE, PUBLIC, AddressPolicy, Fetcher, kind_of
from mcp_ref.errors import AuthError, DiscoveryFailed
from mcp_ref.http11.client.connect import Connector
from tests.support.scripted_web import redirect, reply_json

from .test_fetch import PEM, no_proxies, secure  # noqa: F401 (a fixture)

HOME = "https://mcp.example/mcp"
KINDS = {
    PUBLIC: ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "172.32.0.1",
             "100.128.0.1", "2002:808:808::1", "11.0.0.1", "192.169.0.1", "192.0.1.1", "192.88.98.1", "2001:200::1",
             "2620:4f:8001::1", "3ffe::1"],
    PRIVATE: ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.0.1",
              "fc00::1", "fd12:3456::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1", "::10.0.0.1", "fec0::1",
              "198.18.0.1", "192.0.2.1", "203.0.113.9", "240.0.0.1", "255.255.255.255", "224.0.0.1", "239.1.1.1",
              "ff02::1", "ff0e::1", "2001:db8::1", "2001::1", "64:ff9b:1::a00:1", "4000::1",
              # special by IANA's registries, and for some or all versions of Python public
              "192.0.0.9", "192.0.0.192", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.175.48.1", "2001:1::1",
              "2001:4:112::1", "2001:20::1", "2001:30::1", "2620:4f:8000::1", "3fff::1", "3fff:fff::1", "5f00::1",
              "2002:c058:6301::1", "64:ff9b::c058:6301", "198.51.100.1"],
    LINK_LOCAL: ["169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254",
                 "64:ff9b::a9fe:a9fe"],
    HERE: ["127.0.0.1", "127.1.2.3", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0",
           "::7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::", "", "localhost", "127.1", "0x7f.1"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_addresses(kind: int) -> None:
    assert {address: kind_of(address) for address in KINDS[kind]} == dict.fromkeys(KINDS[kind], kind)


class Net:
    """Names and their addresses, and what was connected to; nobody answers but who is in ``webs``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, names: Dict[str, List[str]]) -> None:
        self.names, self.dialled, self.looked_up = names, [], []  # type: ignore[var-annotated]
        self.webs: Dict[str, int] = {}
        self.real = socket.socket.connect
        net = self

        def look_up(host: str, port: int, *more: Any) -> Any:
            net.looked_up.append(host)
            found = net.names.get(host, [host])
            first = found.pop(0) if host in net.names and len(found) > 1 and found[0].startswith("then ") else None
            texts = [first[5:]] if first else [text for text in found if not text.startswith("then ")]
            return [(socket.AF_INET6 if ":" in text else socket.AF_INET, socket.SOCK_STREAM, 6, "", (text, port))
                    for text in texts]

        def connect(sock: socket.socket, address: Any) -> None:
            net.dialled.append(address[0])
            if address[0] not in net.webs:
                raise ConnectionRefusedError("nobody there")
            net.real(sock, ("127.0.0.1", net.webs[address[0]]))
            peers[id(sock)] = address

        peers: Dict[int, Any] = {}
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        monkeypatch.setattr(socket.socket, "connect", connect)
        monkeypatch.setattr(ssl.SSLSocket, "getpeername", lambda sock: (net.dialled[-1], 443))


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch, no_proxies: Any) -> Net:  # noqa: F811
    return Net(monkeypatch, {"mcp.example": ["93.184.216.34"]})


PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody, and costs little to make."""


def fetcher(home: str = HOME, **options: Any) -> Fetcher:
    return Fetcher(ssl_context=PLAIN, reach=AddressPolicy(home, **options))


def asked(url: str, net: Net, made: Optional[Fetcher] = None) -> Exception:
    with pytest.raises(AuthError) as caught:
        (made or fetcher()).get(url)
    return caught.value


NOT_PUBLIC = [address for kind in (PRIVATE, LINK_LOCAL, HERE) for address in KINDS[kind] if address[:1].isalnum()
              and address[-1].isalnum() and "x" not in address and address.count(".") != 1]


@pytest.mark.parametrize("address", NOT_PUBLIC + ["::1", "::ffff:10.0.0.1"])
def test_a_name_that_a_public_server_names_is_not_asked_at_an_inner_address(address: str, net: Net) -> None:
    net.names["as.example"] = [address]
    error = asked("https://as.example/x?code=s3cret", net)
    assert isinstance(error, DiscoveryFailed) and "https://as.example was not asked: its address" in str(error)
    assert address not in net.dialled and "s3cret" not in str(error)
    posted = pytest.raises(DiscoveryFailed, fetcher().post_form, "https://as.example/token", [("a", "b")])
    assert "was not asked" in str(posted.value) and address not in net.dialled


@pytest.mark.parametrize("address", KINDS[PUBLIC])
def test_a_public_address_is(address: str, net: Net) -> None:
    net.names["as.example"] = [address]
    assert "cannot connect" in str(asked("https://as.example/x", net)) and net.dialled == [address]
    assert "mcp.example" not in net.looked_up  # nothing is asked that need not be


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1:8443", "[fd00::1]", "169.254.169.254", "127.0.0.2", "[::1]"])
def test_an_address_that_is_written_out_is_judged_as_well(host: str, net: Net) -> None:
    assert "was not asked" in str(asked("https://%s/x" % host, net)) and net.dialled in ([], ["93.184.216.34"])


def test_of_several_addresses_those_are_taken_that_may_be(net: Net) -> None:
    net.names["as.example"] = ["10.0.0.1", "8.8.8.8", "::1", "8.8.4.4", "169.254.169.254"]
    error = asked("https://as.example/x", net)
    assert "cannot connect to as.example:443" in str(error)
    assert [each for each in net.dialled if each != "93.184.216.34"] == ["8.8.8.8", "8.8.4.4"]


def test_a_name_is_resolved_once_for_each_connection_and_what_was_judged_is_connected_to(net: Net) -> None:
    """DNS rebinding: the next answer is another one, and nobody asks for it."""
    net.names["as.example"] = ["then 8.8.8.8", "127.0.0.1"]
    asked("https://as.example/x", net)
    assert net.dialled == ["8.8.8.8"] and net.looked_up == ["as.example"]
    assert "was not asked" in str(asked("https://as.example/x", net)) and "127.0.0.1" not in net.dialled


@pytest.mark.parametrize("home, address, words", [
    ("10.1.1.1", "10.9.9.9", ""), ("10.1.1.1", "fd00::9", ""), ("10.1.1.1", "8.8.8.8", ""),
    ("10.1.1.1", "127.0.0.1", "is this machine's"), ("10.1.1.1", "169.254.169.254", "is link-local"),
    ("169.254.1.1", "169.254.1.2", ""), ("169.254.1.1", "10.9.9.9", ""), ("169.254.1.1", "::1", "is this machine's"),
    ("127.0.0.1", "127.0.0.9", ""), ("127.0.0.1", "10.9.9.9", ""),
    ("8.8.4.4", "10.9.9.9", "is in a private network"),
])
def test_a_server_leads_to_addresses_of_its_own_kind(home: str, address: str, words: str, net: Net) -> None:
    """Where it is, its TLS connection tells."""
    net.names.update({"mcp.inner": [home], "as.example": [address]})
    with secure() as web:
        net.webs[home] = web.port
        made = Fetcher(ssl_context=_trusting(), reach=AddressPolicy("https://mcp.inner:%d/mcp" % web.port))
        error = str(asked("https://as.example/x", net, made))
    assert (words in error and address not in net.dialled[:-1]) if words else "was not asked" not in error


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(PEM)
    context.check_hostname = False
    return context


def test_a_server_that_only_resolves_to_an_inner_address_does_not_count_as_one(net: Net) -> None:
    """It has to be there, and prove its name by TLS: who owns a name has it resolve to whatever he wants."""
    net.names.update({"mcp.inner": ["10.1.1.1"], "as.example": ["10.9.9.9"]})
    with secure() as web:
        net.webs["10.1.1.1"] = web.port
        # the certificate is localhost's
        made = Fetcher(cafile=PEM, reach=AddressPolicy("https://mcp.inner:%d/mcp" % web.port))
        assert "was not asked" in str(asked("https://as.example/x", net, made)) and "10.9.9.9" not in net.dialled
        assert web.seen() == []
    nobody = Fetcher(cafile=PEM, reach=AddressPolicy("https://mcp.inner/mcp"))
    net.webs.clear()
    assert "was not asked" in str(asked("https://as.example/x", net, nobody)) and "10.9.9.9" not in net.dialled


def test_a_server_on_this_machine_leads_anywhere(net: Net) -> None:
    net.names["as.example"] = ["10.9.9.9"]
    for home in ("http://127.0.0.1:8000/mcp", "http://localhost/mcp", "https://[::1]/mcp"):
        assert "cannot connect" in str(asked("https://as.example/x", net, fetcher(home)))


@pytest.mark.parametrize("address, may", [("10.9.9.9", True), ("fd00::9", True), ("100.64.0.9", True),
                                          ("127.0.0.1", False), ("169.254.169.254", False)])
def test_private_networks_can_be_allowed(address: str, may: bool, net: Net) -> None:
    net.names["as.example"] = [address]
    error = str(asked("https://as.example/x", net, fetcher(private_networks=True)))
    assert ("cannot connect" if may else "was not asked") in error and (address in net.dialled) is may


def test_what_the_user_has_named_is_asked_wherever_it_is(net: Net) -> None:
    net.names.update({"as.example": ["10.9.9.9"], "mcp.example": ["10.1.1.1"], "other.example": ["10.2.2.2"]})
    made = fetcher(own=["https://as.example/tenant"])
    assert "cannot connect" in str(asked("https://as.example/x", net, made))
    assert "cannot connect" in str(asked("https://mcp.example/.well-known/x", net, made))
    assert "was not asked" in str(asked("https://other.example/x", net, made))
    assert "was not asked" in str(asked("https://as.example:8443/x", net, made))


@pytest.mark.parametrize("own", [True, False])
def test_what_the_metadata_of_the_users_issuer_names_is_asked_too(own: bool, net: Net) -> None:
    with secure() as web:
        issuer = "https://as.example:%d" % web.port
        web.serve("/.well-known/oauth-authorization-server", lambda asked: reply_json(
            {"issuer": issuer, "token_endpoint": "https://tokens.example/t", "jwks_uri": "https://keys.example/k"}))
        net.names.update({"as.example": ["8.8.8.8"], "tokens.example": ["10.9.9.9"], "keys.example": ["10.9.9.8"]})
        net.webs["8.8.8.8"] = web.port
        made = Fetcher(ssl_context=_trusting(), reach=AddressPolicy(HOME, [issuer] if own else []))
        assert metadata_of(made, issuer).token_endpoint == "https://tokens.example/t"
        for url in ("https://tokens.example/t", "https://keys.example/k"):
            assert ("cannot connect" if own else "was not asked") in str(asked(url, net, made))


def test_a_redirect_is_judged_as_well(net: Net) -> None:
    with secure() as web:
        web.serve("/a", lambda asked: redirect("/b"))
        origin = "https://as.example:%d" % web.port
        net.names["as.example"] = ["then 8.8.8.8", "127.0.0.1"]
        net.webs["8.8.8.8"] = net.webs["127.0.0.1"] = web.port
        made = Fetcher(ssl_context=_trusting(), reach=AddressPolicy(HOME))
        assert "was not asked" in str(asked(origin + "/a", net, made)) and len(web.seen("/b")) == 0
        assert len(web.seen("/a")) == 1


def test_the_certificate_is_that_of_the_name(net: Net) -> None:
    """The connection goes to an address, TLS asks for the name."""
    with secure() as web:
        net.names.update({"localhost": ["8.8.8.8"], "as.example": ["8.8.8.8"]})
        net.webs["8.8.8.8"] = web.port
        made = Fetcher(cafile=PEM, reach=AddressPolicy(HOME))
        assert made.get("https://localhost:%d/a" % web.port).json("x") == {"safe": True}
        assert "certificate" in str(asked("https://as.example:%d/a" % web.port, net, made))


def test_through_a_proxy_written_addresses_are_judged(net: Net, no_proxies: pytest.MonkeyPatch) -> None:  # noqa: F811
    no_proxies.setenv("https_proxy", "http://10.3.3.3:3128")
    net.names["as.example"] = ["10.9.9.9"]
    assert "cannot connect to 10.3.3.3:3128" in str(asked("https://as.example/x", net))
    assert "as.example" not in net.looked_up
    for host in ("10.9.9.9", "[fd00::1]", "169.254.169.254"):
        assert "was not asked" in str(asked("https://%s/x" % host, net))
    assert set(net.dialled) == {"10.3.3.3"}


def test_where_a_proxy_is_does_not_tell_where_the_server_is(
    net: Net, no_proxies: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch,  # noqa: F811
) -> None:
    no_proxies.setenv("https_proxy", "http://10.3.3.3:3128")
    with secure() as web:
        net.webs["10.3.3.3"] = web.port
        monkeypatch.setattr(Connector, "_tunnel", lambda *arguments: None)
        made = Fetcher(ssl_context=_trusting(), reach=AddressPolicy(HOME))
        assert "was not asked" in str(asked("https://10.9.9.9/x", net, made))
        assert made.get("https://as.example/a").json("x") == {"safe": True}  # by that proxy


def test_verifiers_ask_what_their_author_names(net: Net) -> None:
    net.names["as.example"] = ["10.9.9.9"]
    assert "cannot connect" in str(asked("https://as.example/x", net, Fetcher(ssl_context=PLAIN)))


# -- The whole way -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("place", ["resource_metadata", "authorization_servers", "token_endpoint",
                                   "registration_endpoint"])
def test_no_document_leads_to_an_inner_address(place: str, net: Net) -> None:
    """Every place of discovery: what a public server says is a name, which leads inside."""
    net.names.update({"evil.example": ["10.9.9.9"], "as.example": ["8.8.8.8"]})
    from mcp_ref.auth.discover import parse

    with secure() as web:
        net.webs.update({"93.184.216.34": web.port, "8.8.8.8": web.port})
        evil = "https://evil.example:%d" % web.port
        issuer = evil if place == "authorization_servers" else "https://as.example:%d" % web.port
        home = "https://mcp.example:%d" % web.port
        document = {"resource": home + "/mcp", "authorization_servers": [issuer]}
        web.serve("/.well-known/oauth-protected-resource/mcp", lambda asked: reply_json(document))
        metadata = {"issuer": issuer, "token_endpoint": issuer + "/t", "registration_endpoint": issuer + "/r"}
        if place in metadata:
            metadata[place] = evil + "/x"
        web.serve("/.well-known/oauth-authorization-server", lambda asked: reply_json(metadata))
        made = Fetcher(ssl_context=_trusting(), reach=AddressPolicy(home + "/mcp"))
        challenges = parse(['Bearer resource_metadata="%s/doc"' % evil] if place == "resource_metadata" else [])
        with pytest.raises(DiscoveryFailed, match="https://evil.example:%d was not asked" % web.port):
            found = discover(made, home + "/mcp", challenges)
            made.post_form(found.server.token_endpoint, [])
            made.post_json(found.server.registration_endpoint or "", {})
        assert "10.9.9.9" not in net.dialled


def test_grants_tell_which_servers_are_the_users_own() -> None:
    issuer = "https://as.example"
    assert OAuth().own_servers == [] and OAuth("id", "s", issuer=issuer).own_servers == [issuer]
    assert ClientCredentials("id", "s", issuer=issuer).own_servers == [issuer]
    assert WorkloadIdentity("x", issuer=issuer).own_servers == [issuer]
    company = EnterpriseManaged("id", "s", id_token="t", idp_client_id="x", idp_issuer="https://idp.example",
                                idp_token_endpoint="https://tokens.example/t", issuer=issuer)
    assert company.own_servers == [issuer, "https://idp.example", "https://tokens.example/t"]


@pytest.mark.parametrize("options, may", [({}, False), ({"private_networks": True}, True),
                                          ({"client_id": "x", "issuer": "https://as.example"}, True)])
def test_an_engine_goes_by_its_grant(options: Dict[str, Any], may: bool, net: Net) -> None:
    net.names["as.example"] = ["10.9.9.9"]
    session: Any = OAuth(**options).authorizer(HOME, ssl_context=PLAIN)
    assert ("cannot connect" if may else "was not asked") in str(asked("https://as.example/x", net, session._fetcher))
