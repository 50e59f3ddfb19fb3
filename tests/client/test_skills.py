"""Skills as a client loads them: what is verified before it is used, and that nothing is fetched ahead of need."""
import pytest

from mcp_ref import Limits, Server, connect
from mcp_ref.client import UnverifiedSkill
from mcp_ref.codec import decode
from mcp_ref.errors import CapabilityMissing, PeerError, PeerProtocolError
from mcp_ref.messages.extensions.skills import Skill, SkillResource
from mcp_ref.protocol.extensions import MAX_SKILL_BYTES, MAX_SKILL_FILES, digest_of, entry_fault
from mcp_ref.revisions import LATEST
from tests.support.skill_folders import PDF, make_folder, skill, write

URI = "skill://pdf/SKILL.md"
FORMS = "skill://pdf/references/FORMS.md"


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path)


@pytest.fixture
def client(folder):
    server = Server("skilled")
    server.skills(folder)
    with connect(server, era="modern") as client:
        client.asked = []
        request = client.connection.request

        def recorded(method, params=None, *more, **options):
            client.asked.append((method, (params or {}).get("uri")))
            return request(method, params, *more, **options)

        client.connection.request = recorded
        yield client


@pytest.mark.spec("skills.no-prefetch", "skills.load-by-uri", "skills.get-names-skill-md")
def test_a_list_reads_nothing_and_a_skill_is_read_file_by_file(client):
    found = {each.uri: each for each in client.skills()}
    assert client.asked == [("skills/list", None)]
    assert found[URI].frontmatter["description"] == "Fill in forms."
    loaded = client.load_skill(found[URI])
    assert client.asked[1:] == [("resources/read", URI)]
    assert (loaded.name, loaded.text, loaded.root) == ("pdf", PDF, "skill://pdf/")
    assert loaded.files == [URI, "skill://pdf/logo.png", FORMS]
    assert loaded.read("references/FORMS.md") == loaded.read(FORMS) == "h\u00e9llo\r\n".encode("utf-8")
    assert loaded.read("./logo.png") == b"\x89PNG\xff\0"
    del client.asked[:]
    assert client.load_skill("skill://acme/billing/refunds/inner/SKILL.md").name == "inner"
    assert [method for method, _ in client.asked] == ["skills/get", "resources/read"]
    with pytest.raises(PeerError) as caught:
        client.skill("skill://none/SKILL.md")
    assert caught.value.code == -32602


@pytest.mark.spec("skills.read-only-listed-files", "skills.unlisted-read-is-failure", "skills.directory-child-not-read",
                  "skills.directory-does-not-extend-manifest")
@pytest.mark.parametrize("path", [
    "new.md", "../acme/billing/refunds/SKILL.md", "references", "", "/etc/passwd",
    "skill://acme/billing/refunds/SKILL.md",
    "skill://pdf/new.md", "references/../SKILL.md", "skill://pdf/", "file:///etc/passwd", "references//FORMS.md",
])
def test_a_file_that_the_entry_does_not_list_is_not_asked_for(client, folder, path):
    loaded = client.load_skill(URI)
    write(folder, "pdf/new.md", "new")
    assert "skill://pdf/new.md" in [each.uri for each in client.read_directory("skill://pdf")]
    del client.asked[:]
    with pytest.raises(UnverifiedSkill):
        loaded.read(path)
    assert client.asked == []


@pytest.mark.spec("skills.directory-child-not-surfaced")
def test_a_file_that_came_later_is_none_of_a_skill_that_is_loaded(client, folder):
    loaded = client.load_skill(URI)
    before = loaded.files
    write(folder, "pdf/new.md", "new")
    assert "skill://pdf/new.md" in [each.uri for each in client.read_directory(loaded.root.rstrip("/"))]
    assert loaded.files == before and "skill://pdf/new.md" not in before
    assert "skill://pdf/new.md" in client.load_skill(URI).files


@pytest.mark.spec("skills.authority-not-resolved")
def test_no_host_is_looked_up_that_a_uri_seems_to_name(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("looked up or connected to: %r" % (arguments,))

    write(tmp_path, "skills.example.com/pdf/SKILL.md", skill("pdf", "Of somebody."))
    server = Server("skilled")
    server.skills(tmp_path)
    with connect(server, era="modern") as client:
        for name in ("getaddrinfo", "gethostbyname", "create_connection"):
            monkeypatch.setattr("socket." + name, refuse)
        monkeypatch.setattr("socket.socket.connect", refuse)
        assert [each.uri for each in client.skills()] == ["skill://skills.example.com/pdf/SKILL.md"]
        assert client.load_skill("skill://skills.example.com/pdf/SKILL.md").name == "pdf"
        assert [each.uri for each in client.read_directory("skill://skills.example.com")] == [
            "skill://skills.example.com/pdf"]


@pytest.mark.spec("skills.verify-digest-and-size", "skills.unverified-content-unused")
@pytest.mark.parametrize("content, reason", [
    ("h\u00e9llo\n\n", "its digest is"), ("longer than it was", "it has 18 bytes")])
def test_a_file_that_has_changed_is_not_used_until_the_entry_is_fetched_anew(client, folder, content, reason):
    loaded = client.load_skill(URI)
    write(folder, "pdf/references/FORMS.md", content)
    with pytest.raises(UnverifiedSkill, match=reason) as caught:
        loaded.read("references/FORMS.md")
    assert caught.value.uri == FORMS
    assert client.load_skill(URI).read("references/FORMS.md") == content.encode("utf-8")


@pytest.mark.spec("skills.verify-frontmatter", "skills.frontmatter-mismatch-is-failure",
                  "skills.frontmatter-mismatch-not-loaded")
@pytest.mark.parametrize("change, said", [
    ({"description": "Something else."}, "of description"), ({"license": None}, "of license"), ({"more": 1}, "of more"),
    ({"metadata": {"version": 2.1, "parts": [1, None]}}, "of metadata"), ({"metadata": {"version": "2.1"}}, "metadata"),
    ({"metadata": {"version": "2.1", "parts": [True, None]}}, "of metadata"),
])
def test_the_front_matter_has_to_be_that_of_the_entry_field_by_field(client, change, said):
    entry = client.skill(URI)
    entry.frontmatter = {**entry.frontmatter, **change}
    with pytest.raises(UnverifiedSkill, match=said):
        client.load_skill(entry)
    del entry.frontmatter["license"]
    with pytest.raises(UnverifiedSkill, match="says 'MIT' of license; the entry says nothing|" + said):
        client.load_skill(entry)


@pytest.mark.sends_illegal(why="the file is broken after it was listed", rules=lambda text, **_: [
    "skills.skill-md-frontmatter"] * (text == "no front matter" or isinstance(text, bytes)))
@pytest.mark.parametrize("text, said", [
    ("no front matter", "front matter cannot be read: line 1"), (b"---\nname: pdf\n\xff---\n", "no UTF-8"),
    ("---\nname: pdf\ndescription: |\n  x\n y\n---\n", "cannot be read: line 5"),
])
def test_a_skill_whose_front_matter_cannot_be_read_is_not_loaded(client, folder, text, said):
    entry = client.skill(URI)
    data = write(folder, "pdf/SKILL.md", text).read_bytes()
    entry.resources[0] = SkillResource(URI, digest_of(data), len(data))
    with pytest.raises(UnverifiedSkill, match=said):
        client.load_skill(entry)


def resource(uri, **changed):
    return {"uri": uri, "digest": digest_of(b""), "size": 0, **changed}


@pytest.mark.spec("skills.invalid-entry-not-loaded", "skills.limits-supported", "skills.decline-says-why")
@pytest.mark.parametrize("change, said", [
    ({"resources": []}, "not among its files"), ({"resources": [resource(FORMS)]}, "not among its files"),
    ({"resources": [resource(URI), resource(URI)]}, "listed twice"),
    ({"resources": [resource(URI), resource("skill://other/x")]}, "no file of the skill"),
    ({"resources": [resource(URI), resource("skill://pdf/../x")]}, "no file of the skill"),
    ({"resources": [resource(URI), resource("skill://pdf/")]}, "no file of the skill"),
    ({"resources": [resource(URI, digest="sha256:" + "A" * 64)]}, "64 hexadecimal digits"),
    ({"resources": [resource(URI, digest="sha512:" + "a" * 64)]}, "64 hexadecimal digits"),
    ({"resources": [resource(URI, size=-1)]}, "size"),
    ({"resources": [resource(URI, size=MAX_SKILL_BYTES + 1)]}, "bytes together"),
    ({"resources": [resource(URI)] + [resource(URI[:-8] + str(n)) for n in range(MAX_SKILL_FILES)]}, "513 files"),
    ({"frontmatter": {"name": "other", "description": "x"}}, "have to be equal"),
    ({"frontmatter": {"name": "pdf", "description": ""}}, "description"),
    ({"uri": "skill://pdf/references/FORMS.md"}, "have to be equal"),
    ({"uri": "https://pdf"}, "have to be equal"),
])
def test_an_entry_that_breaks_a_rule_is_not_loaded_and_nothing_is_asked(client, change, said):
    plain = {"uri": URI, "frontmatter": {"name": "pdf", "description": "x"}, "resources": [resource(URI)]}
    assert entry_fault(decode(Skill, plain, LATEST)) is None
    entry = decode(Skill, {**plain, **change}, LATEST)
    client.skills()
    del client.asked[:]
    with pytest.raises(UnverifiedSkill, match=said):
        client.load_skill(entry)
    assert client.asked == []


def test_the_largest_skill_is_taken():
    files = [resource(URI, size=MAX_SKILL_BYTES)] + [resource(URI[:-8] + str(n)) for n in range(MAX_SKILL_FILES - 1)]
    entry = {"uri": URI, "frontmatter": {"name": "pdf", "description": "x"}, "resources": files}
    assert entry_fault(decode(Skill, entry, LATEST)) is None


@pytest.mark.spec("skills.dynamic-resources")
def test_a_skill_of_generated_files_is_read_up_to_the_limit_of_bytes(client, folder, monkeypatch):
    entry = client.skill(URI)
    entry.resources = "dynamic"
    loaded = client.load_skill(entry)
    assert loaded.files == [] and loaded.read("logo.png") == b"\x89PNG\xff\0"
    with pytest.raises(UnverifiedSkill, match="no file of the skill"):
        loaded.read("../acme/billing/refunds/SKILL.md")
    monkeypatch.setattr("mcp_ref.protocol.extensions.MAX_SKILL_BYTES", 100)
    with pytest.raises(UnverifiedSkill, match="more than 100 bytes"):
        for _ in range(20):
            loaded.read("logo.png")


@pytest.mark.parametrize("answer", [
    {"skills": 1}, {"skills": [{}]}, {}, {"skills": [{"uri": URI, "frontmatter": {"name": "pdf"}, "resources": []}]},
    {"skills": [{"uri": URI, "frontmatter": {"name": "pdf", "description": "x"}, "resources": "static"}]},
    {"skills": [{"uri": URI, "frontmatter": {"name": "pdf", "description": "x"}}]},
])
@pytest.mark.spec("skills.invalid-entry-not-loaded")
def test_a_malformed_list_is_an_error_that_says_where(client, answer):
    client.connection.request = lambda *arguments, **options: {"resultType": "complete", **answer}
    with pytest.raises(PeerProtocolError, match="skills/list: result"):
        client.skills()


@pytest.mark.spec("skills.no-undeclared-directory-read")
def test_a_server_without_skills_is_not_asked(folder):
    plain = Server("plain")
    plain.directory(folder)
    with connect(plain, era="modern") as client:
        for call in (client.skills, lambda: client.skill(URI), lambda: client.load_skill(URI),
                     lambda: client.read_directory("skill://pdf")):
            with pytest.raises(CapabilityMissing, match="io.modelcontextprotocol/skills"):
                call()
    skilled = Server("skilled")
    skilled.skills(folder)
    with connect(skilled, era="legacy") as client, pytest.raises(CapabilityMissing):
        client.skills()
    with connect(skilled, era="modern") as client:
        assert len(client.skills()) == 3
        client.server_capabilities["extensions"]["io.modelcontextprotocol/skills"] = {}
        with pytest.raises(CapabilityMissing, match="directoryRead"):
            client.read_directory("skill://pdf")


@pytest.mark.spec("skills.get-names-skill-md")
@pytest.mark.parametrize("uri", [
    "skill://pdf", "skill://pdf/", "skill://pdf/references/FORMS.md", "skill://pdf/skill.md", "skill://pdf/MYSKILL.md",
    "skill://pdf/SKILL.md/", "skill://pdf/SKILL.md?x", "SKILL.md", "",
])
def test_only_the_uri_of_a_skill_md_is_asked_for(client, uri):
    """[2026-07-28 extensions/skills/skills §Getting a Skill > Response] MUST"""
    for ask in (client.skill, client.load_skill):
        with pytest.raises(ValueError, match="the URI of its SKILL.md"):
            ask(uri)
    assert client.asked == []


@pytest.mark.spec("skills.empty-list-proves-nothing", "skills.plain-read-is-no-load", "skills.scheme-is-no-proof")
def test_what_is_a_skill_says_the_server_and_not_the_uri(client, folder):
    request = client.connection.request
    client.connection.request = lambda method, params=None, *more, **options: (
        {"resultType": "complete", "skills": [], "ttlMs": 0, "cacheScope": "private"} if method == "skills/list"
        else request(method, params, *more, **options))
    assert client.skills() == []
    assert client.load_skill(URI).name == "pdf"
    write(folder, "notes.md", "x")
    with pytest.raises(ValueError, match="its SKILL.md"):
        client.load_skill("skill://notes.md")
    with pytest.raises(PeerError):
        client.load_skill("skill://notes/SKILL.md")
    assert client.read_resource("skill://notes.md").contents[0].text == "x"


def test_another_entry_than_the_one_that_was_asked_for_is_refused(client):
    wrong = {"uri": "skill://x/SKILL.md", "frontmatter": {"name": "x", "description": "x"}, "resources": "dynamic"}
    client.skills()
    client.connection.request = lambda *arguments, **options: {
        "resultType": "complete", "skill": wrong, "ttlMs": 0, "cacheScope": "private"}
    with pytest.raises(UnverifiedSkill, match="the entry of skill://x/SKILL.md"):
        client.skill(URI)


@pytest.mark.spec("skills.nested-frontmatter-inert")
def test_an_inner_skill_is_a_file_of_the_outer_one_and_a_skill_of_its_own(client):
    outer = client.load_skill("skill://acme/billing/refunds/SKILL.md")
    assert outer.read("inner/SKILL.md").decode() == skill("inner")
    assert outer.name == "refunds" and outer.entry.frontmatter["name"] == "refunds"
    inner = client.load_skill("skill://acme/billing/refunds/inner/SKILL.md")
    assert inner.root == "skill://acme/billing/refunds/inner/"


def test_a_list_without_end_is_given_up_at_max_pages(folder):
    server = Server("skilled")
    server.skills(folder)
    with connect(server, era="modern", limits=Limits(max_pages=3)) as client:
        asked = []
        client.skills()
        client.connection.request = lambda method, params=None, *more, **options: asked.append(params) or {
            "resultType": "complete", "skills": [], "resources": [], "nextCursor": "on", "ttlMs": 0,
            "cacheScope": "private"}
        for call in (client.skills, lambda: client.read_directory("skill://pdf")):
            with pytest.raises(PeerProtocolError, match="more than 3 pages"):
                call()
        assert [each.get("cursor") for each in asked] == [None, "on", "on"] * 2
        assert [each.get("uri") for each in asked[3:]] == ["skill://pdf"] * 3
