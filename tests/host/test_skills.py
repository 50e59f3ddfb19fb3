"""Skills of a host: whose they are, what the user is asked, and that an approval is for one content."""
import pytest

from mcp_ref import Host, Server
from mcp_ref.client import UnverifiedSkill
from mcp_ref.host import AskOnce, Denied, Policy, SkillLoad, approval_key
from tests.support.skill_folders import make_folder, skill, write

URI = "skill://pdf/SKILL.md"


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
