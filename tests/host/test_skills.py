"""Skills of a host: whose they are, what the user is asked, and that an approval is for one content."""
from functools import partial

import pytest

from mcp_ref import Host, Server
from mcp_ref.client import UnverifiedSkill
from mcp_ref.ext.skills.host import HostSkill
from mcp_ref.host import AskOnce, Denied, Policy, SkillLoad, approval_key
from mcp_ref.messages.extensions.skills import Skill, SkillResource
from tests.support.skill_folders import make_folder, skill, write

URI = "skill://pdf/SKILL.md"
FORMS = "skill://pdf/references/FORMS.md"


def served(path):
    server = Server("the same name")
    server.skills(path)
    return server


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path)


@pytest.fixture
def asked():
    return []


@pytest.fixture
def host(folder, tmp_path, asked):
    def ask(question):
        asked.append(question)
        return "no" not in str(question.skill.entry.frontmatter.get("license"))

    write(tmp_path, "more/pdf/SKILL.md", skill("pdf", "Another one."))
    events = []
    with Host(policy=Policy(skill_load=AskOnce(ask)), audit=events.append) as host:
        host.connect("one", served(folder))
        host.connect("two", served(tmp_path / "more"))
        host.events = events
        yield host


@pytest.mark.spec(
    "skills.identity-is-server-and-uri", "skills.not-keyed-on-uri-alone", "skills.no-assumed-name-uniqueness",
    "skills.same-name-disambiguated", "skills.name-namespace-per-origin", "skills.no-silent-shadowing",
    "skills.server-label-host-assigned", "skills.reads-bound-to-origin", "skills.no-read-on-other-server")
def test_the_same_uri_of_two_servers_is_two_skills(host, asked):
    assert [(each.server, each.uri, each.name) for each in host.skills() if each.name == "pdf"] == [
        ("one", URI, "pdf"), ("two", URI, "pdf")]
    one, two = host.load_skill("one", URI), host.load_skill("two", URI)
    assert one.text != two.text and [each.server for each in asked] == ["one", "two"]
    assert one.skill.definition != two.skill.definition
    with pytest.raises(UnverifiedSkill):
        two.read("references/FORMS.md")  # only server one has it
    assert one.read("references/FORMS.md")
    with pytest.raises(LookupError):
        host.load_skill("the same name", URI)


@pytest.mark.spec("skills.origin-tagged")
def test_what_a_model_gets_names_the_server_above_the_text(host):
    loaded = host.load_skill("two", URI)
    head, _, text = loaded.for_model().partition("\n\n")
    assert "'two'" in head and URI in head and text == loaded.text


@pytest.mark.spec("skills.approval-bound-to-resources", "skills.approval-revoked-on-change",
                  "skills.loading-gated-by-approval")
@pytest.mark.parametrize("change", [
    lambda folder: write(folder, "pdf/references/FORMS.md", "changed"), lambda folder: write(folder, "pdf/new", ""),
    lambda folder: (folder / "pdf/logo.png").unlink(),
    lambda folder: write(folder, "pdf/SKILL.md", skill("pdf", "Another.")),
], ids=["changed", "added", "removed", "front matter"])
def test_an_approval_is_remembered_until_the_files_change(host, asked, folder, change):
    for _ in range(2):
        host.load_skill("one", URI)
    assert [each.changed for each in asked] == [False]
    change(folder)
    for _ in range(2):
        host.load_skill("one", URI)
    assert [each.changed for each in asked] == [False, True]
    assert len({approval_key(each) for each in asked}) == 2


@pytest.mark.spec("skills.dynamic-approval-not-persistent")
def test_an_approval_of_generated_files_is_for_one_time(host, asked, monkeypatch):
    from mcp_ref.client.client import Client

    plain = Client.skill

    def generated(self, uri):
        entry = plain(self, uri)
        entry.resources = "dynamic"
        return entry

    monkeypatch.setattr(Client, "skill", generated)
    for _ in range(2):
        assert host.load_skill("one", URI).text
    assert len(asked) == 2 and asked[0].skill.definition == ""
    generated = [HostSkill("one", Skill(uri, {"name": "pdf"}, "dynamic")) for uri in (URI, "skill://x/pdf/SKILL.md")]
    assert len({approval_key(SkillLoad(each, False)) for each in generated}) == 2


def test_nothing_is_read_that_the_policy_did_not_allow(host, asked, folder):
    write(folder, "pdf/SKILL.md", "---\nname: pdf\ndescription: x\nlicense: no\n---\n")
    reads = []
    client = host.clients["one"]
    plain = client.read_resource
    client.read_resource = lambda *arguments, **options: reads.append(arguments) or plain(*arguments, **options)
    for _ in range(2):
        with pytest.raises(Denied, match="loading skill://pdf/SKILL.md was denied"):
            host.load_skill("one", URI)
    assert reads == [] and len(asked) == 2
    last = [event for event in host.events if event["event"] == "skill"][-1]
    assert (last["server"], last["uri"], last["decision"]) == ("one", URI, "denied")


def test_a_host_without_a_function_for_skills_lists_them_and_loads_none(folder):
    with Host() as host:
        host.connect("one", served(folder))
        host.connect("plain", Server("plain"))
        assert len(host.skills()) == 3 and isinstance(host.skills("one")[0].description, str)
        with pytest.raises(Denied, match="skill_load"):
            host.load_skill("one", URI)


@pytest.mark.spec("skills.permissions-not-widened", "skills.allowed-tools-ignored", "skills.reserved-metadata-ignored")
def test_a_skill_that_asks_for_tools_gets_none(host, folder):
    text = skill("pdf").replace("description", "allowed-tools: one__remove\nmetadata: {io.modelcontextprotocol/x: 1}\n"
                                "description")
    write(folder, "pdf/SKILL.md", text)
    loaded = host.load_skill("one", URI)
    assert loaded.skill.entry.frontmatter["allowed-tools"] == "one__remove"
    server = Server("tools")
    called = []
    server.tool(lambda: called.append(1), name="remove")
    host.connect("three", server)
    with pytest.raises(Denied):
        host.call_tool("three__remove")
    assert called == []


@pytest.mark.spec("skills.identity-is-server-and-uri", "skills.approval-bound-to-resources")
@pytest.mark.parametrize("server, change", [
    ("two", {}), ("one", {"uri": "skill://other/pdf/SKILL.md"}), ("one", {"frontmatter": {"name": "pdf"}}),
    ("one", {"resources": []}), ("one", {"resources": [SkillResource(URI, "sha256:" + "1" * 64, 1)]}),
    ("one", {"resources": [SkillResource("skill://other/pdf/SKILL.md", "sha256:" + "0" * 64, 1)]}),
], ids=["server", "uri", "front matter", "fewer files", "digest", "URI of a file"])
def test_an_approval_is_for_one_server_uri_and_content(server, change):
    """[2026-07-28 extensions/skills/skills §Skill URIs]"""
    entry = dict(uri=URI, frontmatter={"name": "pdf", "description": "x"},
                 resources=[SkillResource(URI, "sha256:" + "0" * 64, 1)])
    one, other = HostSkill("one", Skill(**entry)), HostSkill(server, Skill(**dict(entry, **change)))
    assert (one.definition == other.definition) is (change == {})
    once = AskOnce(lambda question: asked.append(question.skill) or True)
    asked = []
    for each in (one, other, one, other):
        once(SkillLoad(each, False))
    assert asked == [one, other] and approval_key(SkillLoad(one, False)) != approval_key(SkillLoad(other, False))


@pytest.fixture
def kept(folder, tmp_path):
    """A host with a cache on disk: the host, the folder of the cache, and the URIs that its servers were asked for."""
    write(tmp_path, "more/pdf/SKILL.md", skill("pdf", "Another one."))
    with Host(policy=Policy(skill_load=lambda question: True), skill_cache=tmp_path / "cache") as host:
        asked = []
        for name, place in (("one", folder), ("two", tmp_path / "more")):
            client = host.connect(name, served(place))
            client.read_resource = partial(
                lambda name, read, uri, *more: asked.append((name, uri)) or read(uri, *more), name,
                client.read_resource)
        yield host, tmp_path / "cache", asked


def files_below(place):
    return sorted(path for path in place.rglob("*") if path.is_file())


@pytest.mark.spec("skills.cache-verified-content", "skills.path-encodes-server", "skills.identity-is-server-and-uri")
def test_files_are_kept_on_disk_as_they_are_read_each_below_its_server(kept):
    """[2026-07-28 extensions/skills/skills §Skill URIs], [2026-07-28 extensions/skills/skills §Lazy Retrieval]"""
    host, cache, asked = kept
    texts = {name: host.load_skill(name, URI).text for name in ("one", "two")}
    assert [path.parent.name for path in files_below(cache)] == ["server-one", "server-two"]
    assert {path.parent.name[7:]: path.read_bytes().decode("utf-8") for path in files_below(cache)} == texts
    assert texts["one"] != texts["two"]
    content = host.load_skill("one", URI).read("references/FORMS.md")
    assert asked == [("one", URI), ("two", URI), ("one", FORMS)] and len(files_below(cache)) == 3
    assert not [path for path in files_below(cache) if path.name.lower() == "skill.md"]
    again = host.load_skill("one", URI)
    assert again.read("references/FORMS.md") == content and len(asked) == 3
    with pytest.raises(UnverifiedSkill):
        again.read("references/none.md")


@pytest.mark.spec("skills.disk-cache-verified")
@pytest.mark.parametrize("spoil", [
    lambda file: file.write_bytes(b"x" * file.stat().st_size), lambda file: file.write_bytes(file.read_bytes() + b"x"),
    lambda file: file.write_bytes(file.read_bytes()[:-1]), lambda file: file.unlink(),
    lambda file: (file.unlink(), file.mkdir()),
], ids=["same size", "longer", "shorter", "gone", "a folder"])
def test_a_kept_file_is_verified_each_time_and_read_again_if_it_differs(kept, spoil):
    """[2026-07-28 extensions/skills/skills §Security Considerations]"""
    host, cache, asked = kept
    loaded = host.load_skill("one", URI)
    content = loaded.read("references/FORMS.md")
    file, = [path for path in files_below(cache) if path.read_bytes() == content]
    spoil(file)
    del asked[:]
    for _ in range(2):
        assert loaded.read("references/FORMS.md") == content
    assert set(asked) == {("one", FORMS)} and len(asked) == (2 if file.is_dir() else 1)
    assert not [path for path in file.parent.iterdir() if path.name.startswith("tmp")]


def test_a_kept_file_of_an_earlier_entry_is_read_anew(kept, folder):
    host, cache, asked = kept
    before = host.load_skill("one", URI)
    assert before.read("references/FORMS.md")
    write(folder, "pdf/references/FORMS.md", "changed")
    del asked[:]
    assert host.load_skill("one", URI).read("references/FORMS.md") == b"changed"
    assert asked == [("one", FORMS)]
    with pytest.raises(UnverifiedSkill, match="FORMS.md"):  # neither the server nor the cache has it any more
        before.read("references/FORMS.md")


@pytest.mark.spec("skills.cache-removed-with-server")
def test_what_is_kept_of_a_server_goes_with_it_and_no_other_does(kept):
    """[2026-07-28 extensions/skills/skills §Security Considerations]"""
    host, cache, asked = kept
    for name in ("one", "two"):
        host.load_skill(name, URI)
    host.disconnect("one")
    assert [path.parent.name for path in files_below(cache)] == ["server-two"]
    host.close()
    assert len(files_below(cache)) == 1


def test_a_disk_that_takes_nothing_costs_a_record_and_no_file_is_lost(folder, tmp_path, caplog):
    write(tmp_path, "cache", b"a file where the folder should be")
    with Host(policy=Policy(skill_load=lambda question: True), skill_cache=str(tmp_path / "cache")) as host:
        host.connect("one", served(folder))
        assert host.load_skill("one", URI).text
        host.disconnect("one")
    assert "%s is not kept in the skill cache" % URI in caplog.text


def test_forgetting_an_approval_asks_again(folder):
    asked = []
    once = AskOnce(lambda question: asked.append(question) or True)
    with Host(policy=Policy(skill_load=once)) as host:
        host.connect("one", served(folder))
        host.load_skill("one", URI)
        assert isinstance(asked[0], SkillLoad)
        once.forget(asked[0])
        host.load_skill("one", URI)
    assert len(asked) == 2


def test_a_skill_is_named_by_the_uri_alone(host):
    with pytest.raises(TypeError, match="host.load_skill"):
        host.load_skill("one", host.skills("one")[0])
