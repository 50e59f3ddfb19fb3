"""Skills that a server has: which folders are skills, their entries, and what is refused at registration."""
import hashlib
import os

import pytest

from mcp_ref import Server
from mcp_ref.protocol.extensions import MAX_SKILL_BYTES, MAX_SKILL_FILES
from mcp_ref.server import BadSkill, Cache
from tests.support.patience import WAIT
from tests.support.scripted import ScriptedPeer
from tests.support.serving import ask
from tests.support.skill_folders import PDF, make_folder, skill, write

STATELESS = "2026-07-28"
SKILLS = "io.modelcontextprotocol/skills"


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path)


def listed(peer):
    return {each["uri"]: each for each in ask(peer, "skills/list")["result"]["skills"]}


@pytest.fixture
def peer(folder):
    server = Server("skilled")
    server.skills(folder)
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS)
        yield peer


def file_entry(uri, data):
    return {"uri": uri, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}


@pytest.mark.spec(
    "skills.list-implemented", "skills.resources-capability", "skills.skill-md-at-root", "skills.path-ends-with-name",
    "skills.uri-scheme", "skills.entry-frontmatter-identical", "skills.entry-uri-ends-with-name",
    "skills.entry-resources-required", "skills.entry-resources-complete", "skills.entry-resources-within-skill",
    "skills.entry-resources-size", "skills.list-result-type-complete", "skills.list-cache-hints",
    "skills.names-unique-in-listing")
def test_a_client_that_declares_nothing_gets_each_skill_with_all_its_files(peer):
    discovered = ask(peer, "server/discover")["result"]["capabilities"]
    assert discovered["extensions"] == {SKILLS: {"directoryRead": True}} and "resources" in discovered
    result = ask(peer, "skills/list")["result"]
    assert result["resultType"] == "complete" and result["ttlMs"] == 0 and result["cacheScope"] == "private"
    found = {each["uri"]: each for each in result["skills"]}
    assert list(found) == ["skill://acme/billing/refunds/SKILL.md", "skill://acme/billing/refunds/inner/SKILL.md",
                           "skill://pdf/SKILL.md"]
    assert found["skill://pdf/SKILL.md"] == {
        "uri": "skill://pdf/SKILL.md",
        "frontmatter": {"name": "pdf", "description": "Fill in forms.", "license": "MIT",
                        "metadata": {"version": "2.1", "parts": [1, None]}},
        "resources": [file_entry("skill://pdf/SKILL.md", PDF.encode()),
                      file_entry("skill://pdf/logo.png", b"\x89PNG\xff\0"),
                      file_entry("skill://pdf/references/FORMS.md", "h\u00e9llo\r\n".encode("utf-8"))]}
    outer, inner = list(found.values())[:2]
    assert [each["uri"] for each in outer["resources"]] == [outer["uri"], inner["uri"]]
    assert [each["uri"] for each in inner["resources"]] == [inner["uri"]]


@pytest.mark.spec("skills.get-implemented", "skills.get-result-type-complete",
                  "skills.get-unknown-skill-error", "skills.informative-errors")
def test_one_entry_is_that_of_the_list_and_an_unknown_one_is_an_error(peer):
    wanted = listed(peer)["skill://pdf/SKILL.md"]
    result = ask(peer, "skills/get", {"uri": wanted["uri"]})["result"]
    assert result["skill"] == wanted and result["resultType"] == "complete"
    assert "nextCursor" not in result
    for uri in ("skill://pdf", "skill://pdf/references/FORMS.md", "skill://no/SKILL.md", "skill://PDF/SKILL.md",
                "skill://pdf/../pdf/SKILL.md", "", "x" * 3000):
        error = ask(peer, "skills/get", {"uri": uri})["error"]
        assert error["code"] == -32602 and "No skill is served at" in error["message"]


@pytest.mark.spec("skills.get-cache-hints", "skills.list-cache-hints")
@pytest.mark.parametrize("cache, hints", [
    (None, (0, "private")), (Cache(60, "public"), (60000, "public")), (Cache(0.5, "private"), (500, "private")),
])
def test_the_hints_of_the_author_go_with_the_list_and_with_one_entry(folder, cache, hints):
    server = Server("skilled")
    server.skills(folder, cache=cache)
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS)
        for method, params in (("skills/list", {}), ("skills/get", {"uri": "skill://pdf/SKILL.md"})):
            result = ask(peer, method, params)["result"]
            assert (result["ttlMs"], result["cacheScope"]) == hints, method


@pytest.mark.spec("skills.meta-prefix")
def test_what_is_said_of_a_file_beside_the_entry_has_the_prefix_of_skills(peer):
    """Nothing is, at present."""
    described = ask(peer, "resources/list")["result"]["resources"]
    described += ask(peer, "resources/directory/read", {"uri": "skill://pdf"})["result"]["resources"]
    described += ask(peer, "resources/read", {"uri": "skill://pdf/SKILL.md"})["result"]["contents"]
    assert len([each for each in described if each["uri"] == "skill://pdf/SKILL.md"]) == 3
    keys = [key for each in described for key in each.get("_meta", {})]
    assert all(key.startswith("io.modelcontextprotocol.skills/") for key in keys)


@pytest.mark.spec("skills.skill-md-mime-type", "skills.skill-md-resource-name", "skills.skill-md-resource-description",
                  "skills.read-unknown-file-error")
def test_files_are_ordinary_resources_of_every_revision(folder):
    server = Server("skilled")
    server.skills(folder)
    for revision in ("2024-11-05", "2025-11-25", STATELESS):
        with ScriptedPeer.of_server(server) as peer:
            peer.handshake(revision)
            resources = {each["uri"]: each for each in ask(peer, "resources/list")["result"]["resources"]}
            main = resources["skill://pdf/SKILL.md"]
            assert (main["name"], main["description"], main["mimeType"]) == ("pdf", "Fill in forms.", "text/markdown")
            assert "skill://pdf/.git/config" not in resources
            for uri, content in (("skill://pdf/SKILL.md", PDF), ("skill://pdf/references/FORMS.md", "h\u00e9llo\r\n")):
                assert ask(peer, "resources/read", {"uri": uri})["result"]["contents"][0]["text"] == content
            code = ask(peer, "resources/read", {"uri": "skill://pdf/no.md"})["error"]["code"]
            assert code == (-32602 if revision == STATELESS else -32002)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25"])
def test_earlier_revisions_have_no_skills(folder, revision):
    server = Server("skilled")
    server.skills(folder)
    with ScriptedPeer.of_server(server) as peer:
        assert "extensions" not in peer.handshake(revision)["capabilities"]
        assert ask(peer, "skills/list")["error"]["code"] == -32601


@pytest.mark.spec("skills.directory-read-implemented", "skills.directory-result-type-complete",
                  "skills.directory-read-every-directory")
def test_each_folder_has_its_direct_children(peer):
    children = {}
    for uri in ("skill://acme", "skill://acme/billing", "skill://acme/billing/refunds", "skill://pdf",
                "skill://pdf/references"):
        result = ask(peer, "resources/directory/read", {"uri": uri})["result"]
        assert result["resultType"] == "complete" and "nextCursor" not in result
        children[uri] = [(each["uri"], each["name"], each["mimeType"]) for each in result["resources"]]
    folder = "inode/directory"
    assert children == {
        "skill://acme": [("skill://acme/billing", "billing", folder)],
        "skill://acme/billing": [("skill://acme/billing/refunds", "refunds", folder)],
        "skill://acme/billing/refunds": [("skill://acme/billing/refunds/SKILL.md", "SKILL.md", "text/markdown"),
                                         ("skill://acme/billing/refunds/inner", "inner", folder)],
        "skill://pdf": [("skill://pdf/SKILL.md", "SKILL.md", "text/markdown"),
                        ("skill://pdf/logo.png", "logo.png", "image/png"),
                        ("skill://pdf/references", "references", folder)],
        "skill://pdf/references": [("skill://pdf/references/FORMS.md", "FORMS.md", "text/markdown")]}
    declared = peer.call("discover", "server/discover", {})["result"]["capabilities"]["extensions"]
    assert declared["io.modelcontextprotocol/skills"] == {"directoryRead": True}


@pytest.mark.spec("skills.directory-read-error")
@pytest.mark.parametrize("uri", [
    "skill://pdf/SKILL.md", "skill://pdf/", "skill://no", "skill://pdf/.git", "skill://pdf/..", "skill://", "skill:",
    "file:///etc", "", "skill://acme/billing/refunds/inner/", "skill://%70df",
])
def test_what_is_no_folder_is_refused(peer, uri):
    assert ask(peer, "resources/directory/read", {"uri": uri})["error"]["code"] == -32602


@pytest.mark.spec("skills.get-answers-unlisted", "skills.internal-error-code")
def test_a_change_of_the_files_is_in_the_next_answer(peer, folder):
    before = listed(peer)
    write(folder, "pdf/references/FORMS.md", "other")
    write(folder, "new/SKILL.md", skill("new"))
    (folder / "acme/billing/refunds/inner/SKILL.md").unlink()
    new = ask(peer, "skills/get", {"uri": "skill://new/SKILL.md"})["result"]["skill"]
    assert new["frontmatter"]["name"] == "new"
    after = listed(peer)
    assert set(after) == {"skill://acme/billing/refunds/SKILL.md", "skill://pdf/SKILL.md", "skill://new/SKILL.md"}
    assert after["skill://pdf/SKILL.md"]["resources"][2] == file_entry("skill://pdf/references/FORMS.md", b"other")
    assert after["skill://pdf/SKILL.md"]["resources"][:2] == before["skill://pdf/SKILL.md"]["resources"][:2]
    assert len(after["skill://acme/billing/refunds/SKILL.md"]["resources"]) == 1


def test_a_skill_that_was_broken_later_is_left_out_and_logged_and_the_others_stay(peer, folder, caplog):
    write(folder, "pdf/SKILL.md", "---\nname: pdf\ndescription: &x y\n---\n")
    assert "skill://pdf/SKILL.md" not in listed(peer) and len(listed(peer)) == 2
    assert ask(peer, "skills/get", {"uri": "skill://pdf/SKILL.md"})["error"]["code"] == -32602
    said, = {record.getMessage() for record in caplog.records if "SKILL.md" in record.getMessage()}
    assert "line 3: anchors" in said
    write(folder, "pdf/SKILL.md", PDF)
    assert "skill://pdf/SKILL.md" in listed(peer)


@pytest.mark.spec("skills.format-conformance", "skills.name-rules", "skills.limits-kept-by-server")
@pytest.mark.parametrize("path, content, reason", [
    ("pdf/SKILL.md", "no front matter", "line 1: there is no front matter: begin the file with a line ---"),
    ("pdf/SKILL.md", "\ufeff" + PDF, "line 1: there is a byte order mark before ---"),
    ("pdf/SKILL.md", " " + PDF, "line 1: there are spaces before ---"),
    ("pdf/SKILL.md", "---\nname: pdf\n---\n", "description is a text"),
    ("pdf/SKILL.md", "---\ndescription: x\n---\n", "name is 1 to 64"),
    ("pdf/SKILL.md", skill("other"), "they have to be equal"),
    ("pdf/SKILL.md", "---\nname: pdf\ndescription: [a]\n---\n", "description is a text"),
    ("pdf/SKILL.md", skill("pdf", "x" * 1025), "1 to 1024 characters"),
    ("pdf/SKILL.md", "---\nname: pdf\ndescription: a: b\n---\n", "line 3: a colon"),
    ("pdf/SKILL.md", b"---\nname: pdf\ndescription: \xff\n---\n", "line 3: this is no UTF-8"),
    ("Pdf/SKILL.md", skill("Pdf"), "name is 1 to 64"), ("a--b/SKILL.md", skill("a--b"), "name is 1 to 64"),
    ("-a/SKILL.md", skill("-a"), "name is 1 to 64"), ("a_b/SKILL.md", skill("a_b"), "name is 1 to 64"),
    ("n" * 65 + "/SKILL.md", skill("n" * 65), "name is 1 to 64"),
])
def test_a_folder_with_a_skill_that_nobody_could_load_is_refused_with_file_and_line(folder, path, content, reason):
    file = write(folder, path, content)
    server = Server("skilled")
    with pytest.raises(BadSkill) as caught:
        server.skills(folder)
    assert str(file) in str(caught.value) and reason in str(caught.value)
    assert server.extensions is None and not server.has_feature("resources")


@pytest.mark.spec("skills.limits-kept-by-server")
def test_the_limits_of_a_skill_are_those_that_every_host_takes(tmp_path):
    write(tmp_path, "many/SKILL.md", skill("many"))
    for number in range(MAX_SKILL_FILES - 1):
        write(tmp_path, "many/%d" % number, b"")
    Server("x").skills(tmp_path)
    write(tmp_path, "many/one-more", b"")
    with pytest.raises(BadSkill, match="it has 513 files"):
        Server("x").skills(tmp_path)
    write(tmp_path, "many/one-more", b"").unlink()
    size = (tmp_path / "many/SKILL.md").stat().st_size
    with open(str(tmp_path / "many/0"), "wb") as file:
        file.truncate(MAX_SKILL_BYTES - size)
    Server("x").skills(tmp_path)
    with open(str(tmp_path / "many/1"), "wb") as file:
        file.truncate(1)
    with pytest.raises(BadSkill, match="bytes together"):
        Server("x").skills(tmp_path)


@pytest.mark.spec("skills.directory-read-implemented", "skills.authority-reg-name", "skills.prefix-segments-valid")
def test_a_folder_may_be_one_skill_and_may_have_a_prefix(folder, tmp_path):
    server = Server("skilled")
    server.skills(folder / "pdf", prefix="acme tools/v1", cache=Cache(60, "public"))
    write(tmp_path, "more/other/SKILL.md", skill("other"))
    server.skills(tmp_path / "more", prefix="more")
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS)
        result = ask(peer, "skills/list")["result"]
        assert [each["uri"] for each in result["skills"]] == [
            "skill://acme%20tools/v1/pdf/SKILL.md", "skill://more/other/SKILL.md"]
        assert (result["ttlMs"], result["cacheScope"]) == (60000, "public")
        for uri, child in (("skill://acme%20tools", "skill://acme%20tools/v1"),
                           ("skill://acme%20tools/v1", "skill://acme%20tools/v1/pdf"),
                           ("skill://more", "skill://more/other"),
                           ("skill://more/other", "skill://more/other/SKILL.md")):
            result = ask(peer, "resources/directory/read", {"uri": uri})["result"]
            assert [each["uri"] for each in result["resources"]] == [child]
    with pytest.raises(ValueError, match="already"):
        server.skills(tmp_path / "more", prefix="more")
    for prefix in ("/a", "a//b", "a/", "..", "a/..", "a/./b"):
        with pytest.raises(ValueError, match="prefix"):
            Server("x").skills(folder, prefix=prefix)
    with pytest.raises(BadSkill, match="no SKILL.md"):
        Server("x").skills(folder / "pdf" / "references")
    with pytest.raises(ValueError, match="no folder"):
        Server("x").skills(folder / "none")


def test_a_long_list_has_pages_and_an_entry_is_on_one(tmp_path):
    for number in range(25):
        write(tmp_path, "s%02d/SKILL.md" % number, skill("s%02d" % number))
        write(tmp_path, "s%02d/a" % number, "x")
    server = Server("skilled", page_size=10)
    server.skills(tmp_path)
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS)
        params, pages = {}, []
        while params is not None:
            result = ask(peer, "skills/list", params)["result"]
            pages.append(result["skills"])
            params = {"cursor": result["nextCursor"]} if "nextCursor" in result else None
        assert list(map(len, pages)) == [10, 10, 5]
        assert [each["frontmatter"]["name"] for page in pages for each in page] == ["s%02d" % n for n in range(25)]
        assert all(len(each["resources"]) == 2 for page in pages for each in page)
        for method in ("skills/list", "resources/directory/read"):
            assert ask(peer, method, {"cursor": "no", "uri": "skill://s01"})["error"]["code"] == -32602


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="this platform has no links")
def test_links_lead_nowhere_which_is_logged_once(folder, tmp_path, caplog):
    write(tmp_path, "secret/SKILL.md", skill("secret"))
    os.symlink(str(tmp_path / "secret"), str(folder / "secret"))
    os.symlink(str(tmp_path / "secret" / "SKILL.md"), str(folder / "pdf" / "link.md"))
    server = Server("skilled")
    server.skills(folder)
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS)
        found = listed(peer)
        assert "skill://secret/SKILL.md" not in found
        assert all("link" not in each["uri"] for each in found["skill://pdf/SKILL.md"]["resources"])
        assert ask(peer, "resources/read", {"uri": "skill://pdf/link.md"})["error"]["code"] == -32602
        listed(peer)
    said = sorted(record.getMessage() for record in caplog.records if "links not served" in record.getMessage())
    assert len(said) == 2 and str(folder / "pdf" / "link.md") in said[0] and str(folder / "secret") in said[1]
    (tmp_path / "linked").mkdir()
    os.symlink(str(tmp_path / "secret"), str(tmp_path / "linked" / "secret"))
    with pytest.raises(BadSkill, match="no SKILL.md .*; links are not followed: .*secret"):
        Server("x").skills(tmp_path / "linked")


def test_the_list_is_kept_while_many_ask_and_files_change(folder):
    import threading

    server = Server("skilled")
    server.skills(folder)
    extension = server._features["skills"]
    errors, done = [], threading.Event()

    def ask_again():
        while not done.is_set():
            extension.refresh()
            if extension.listing.get("skill://pdf/SKILL.md") is None:
                errors.append("lost")

    threads = [threading.Thread(target=ask_again) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(50):
        write(folder, "other%d/SKILL.md" % number, skill("other%d" % number))
    done.set()
    for thread in threads:
        thread.join(WAIT)
    extension.refresh()
    assert not errors and len(extension.listing) == 53
