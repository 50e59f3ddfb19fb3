"""Values of a resource template's variables that lead out of a folder do not reach the function."""
import pytest

from mcp_ref import Server, connect
from mcp_ref.errors import PeerError
from mcp_ref.revisions import REVISIONS

LEADING_OUT = ("..", "../x", "a/../x", "a/..", "..%2Fx", "%2e%2e", "%2E%2E%2Fx", "..%5Cx", "a%5C..%5Cx", "/etc/passwd",
               "%2Fetc", "%5Cx", "%5C%5Chost%5Cshare", "c:%5Cx", "C:/x", "x%00", "%00")
FINE = ("a", "a/b", "a..b", "v1..v2", "..a", "a..", "...", "a/...", "file.tar.gz", "HEAD~3..HEAD", "x:1",
        "a%2Fb", "ab:/c")


@pytest.fixture
def called():
    return []


@pytest.fixture
def server(called):
    server = Server("templates")

    @server.resource("doc://files/{+path}")
    def document(path):
        called.append(path)
        return path

    @server.resource("raw://files/{+path}", unchecked=["path"])
    def raw(path):
        called.append(path)
        return path

    @server.resource("many://x{/parts*}{?names*}")
    def many(parts=None, names=None):
        called.append((parts, names))
        return "many"

    return server


def refusal(client, uri):
    with pytest.raises(PeerError) as caught:
        client.read_resource(uri)
    return caught.value


@pytest.mark.spec("resources.validate-uris")
@pytest.mark.parametrize("value", LEADING_OUT)
def test_a_value_that_leads_out_of_a_folder_is_an_unknown_resource(server, called, value):
    uri = "doc://files/" + value
    with connect(server) as client:
        error = refusal(client, uri)
    assert (error.code, error.data) == (-32602, {"uri": uri})
    assert error.message == "Resource not found: the value of {path} leads out of a folder"
    assert called == []


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_code_is_that_of_the_revision(server, revision):
    with connect(server, revisions=[revision]) as client:
        assert refusal(client, "doc://files/..").code == revision.resource_not_found_code


@pytest.mark.parametrize("value", FINE)
def test_a_value_that_stays_inside_reaches_the_function(server, called, value):
    with connect(server) as client:
        assert client.read_resource("doc://files/" + value).text == value.replace("%2F", "/")
    assert len(called) == 1


@pytest.mark.parametrize("uri", ["many://x/a/%2Fb", "many://x/a/..", "many://x/%2e%2e/b", "many://x/a?names=b&names=..",
                                 "many://x/a?other=%2Fetc", "many://x/a?..=b"])
def test_each_value_of_a_list_is_looked_at(server, called, uri):
    with connect(server) as client:
        assert "leads out of a folder" in refusal(client, uri).message
    assert called == []


@pytest.mark.parametrize("value, got", [("..", ".."), ("a%2F..%2Fb", "a/../b"), ("%2Fetc", "/etc"), ("x%00", "x\0")])
def test_unchecked_variables_get_the_value_as_it_is(server, called, value, got):
    with connect(server) as client:
        assert client.read_resource("raw://files/" + value).text == got
    assert called == [got]


def test_another_template_may_still_read_the_uri(server, called):
    @server.resource("doc://{+anything}", unchecked=["anything"])
    def rest(anything):
        return "rest: " + anything

    with connect(server) as client:
        assert client.read_resource("doc://files/..").text == "rest: files/.."
        assert client.read_resource("doc://files/a").text == "a"


def test_who_does_not_see_a_template_is_not_told_of_its_variables():
    server = Server("templates")

    @server.resource("doc://{+path}", visible=lambda requester: False)
    def hidden(path):
        return path

    with connect(server) as client:
        assert refusal(client, "doc://..").message == "Resource not found"


def test_a_name_that_is_no_variable_is_refused_at_registration():
    server = Server("templates")
    with pytest.raises(ValueError, match="unchecked names pth, and the URI has no such variable"):
        server.resource("doc://{path}", unchecked=["pth"])(lambda path: path)
    with pytest.raises(TypeError, match=r"unchecked is a list of names, such as \['path'\], not a str"):
        server.resource("doc://{path}", unchecked="path")(lambda path: path)
    with pytest.raises(ValueError, match="no such variable"):
        server.resource("config://app", unchecked=["app"])(lambda: "")
