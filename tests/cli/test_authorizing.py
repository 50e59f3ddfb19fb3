"""The options by which a command gets into an HTTP server that wants a token."""
import argparse
import json
import os
import sys
import webbrowser

import pytest

from mcp_ref.cli.use import connecting
from mcp_ref.cli.use.asking import Gone
from tests.support.auth_server import Browser, browser
from tests.support.authorized import Authorized

from .running import here, one_line_of, run

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SECRET", "the secret")
    with Authorized() as made:
        yield made


@pytest.fixture
def opened(monkeypatch):
    with Browser() as made:
        monkeypatch.setattr(webbrowser, "open", made.open)
        yield made


def hidden(scene, *texts):
    """None of these has a secret of the authorization server in it."""
    assert not [secret for secret in scene.issuing.secrets for text in texts if secret in text]
    return True


def test_a_browser_opens_once_for_each_server_and_not_for_each_command(scene, opened, capsys):
    code, out, err = here(capsys, "tools", scene.protected.url, "--oauth", "--trace")
    assert code == 0 and out.splitlines()[0] == "tools: 2" and hidden(scene, out, err)
    assert "waiting for you to allow access" in err and len(opened.urls) == 1
    code, out, err = here(capsys, "call", scene.protected.url, "echo", "text=hi", "--oauth")
    assert (code, out, err) == (0, "hi\n", "") and len(opened.urls) == 1


def test_tokens_are_kept_in_the_users_folder(scene, opened, capsys, tmp_path):
    assert here(capsys, "tools", scene.protected.url, "--oauth")[0] == 0
    path = connecting.token_file()
    assert path.startswith(str(tmp_path)) and os.path.basename(path) == "tokens.json"
    with open(path, encoding="utf-8") as file:
        content = file.read()
    assert any(secret in content for secret in scene.issuing.secrets)


@POSIX
def test_only_the_user_can_read_them(scene, opened, capsys):
    assert here(capsys, "tools", scene.protected.url, "--oauth")[0] == 0
    path = connecting.token_file()
    assert os.stat(path).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("system, variables, expected", [
    ("win32", {"LOCALAPPDATA": "L"}, ["L"]), ("win32", {}, ["HOME", "AppData", "Local"]),
    ("darwin", {}, ["HOME", "Library", "Application Support"]),
    ("linux", {"XDG_CONFIG_HOME": "X"}, ["X"]), ("linux", {}, ["HOME", ".config"]),
])
def test_each_system_has_a_folder_for_settings(monkeypatch, system, variables, expected):
    for name in ("LOCALAPPDATA", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os.path, "expanduser", lambda path: "HOME")
    monkeypatch.setattr(sys, "platform", system)
    assert connecting.token_file() == os.path.join(*expected, "mcp_ref", "tokens.json")


@pytest.mark.parametrize("file, kept", [("-", False), ("mine.json", True)])
def test_they_are_kept_elsewhere_or_not_at_all(scene, opened, capsys, tmp_path, file, kept):
    mine = tmp_path / "mine.json"
    asked = file if file == "-" else str(mine)
    assert here(capsys, "tools", scene.protected.url, "--oauth", "--token-file", asked)[0] == 0
    assert mine.exists() == kept and not os.path.exists(connecting.token_file())
    here(capsys, "tools", scene.protected.url, "--oauth", "--token-file", asked)
    assert len(opened.urls) == (1 if kept else 2)


def test_without_a_browser_the_page_is_shown_to_be_opened(scene, capsys, monkeypatch):
    with Browser() as later:
        monkeypatch.setattr(webbrowser, "open", lambda url: later.open(url) and False)
        code, out, err = here(capsys, "tools", scene.protected.url, "--oauth")
        assert code == 0 and later.urls[0] in err and "--no-browser" in err


def test_a_person_copies_addresses_where_no_browser_is(scene, capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(connecting, "is_interactive", lambda: True)
    monkeypatch.setattr(connecting, "note", shown.append)
    monkeypatch.setattr(connecting, "ask", lambda question: browser(shown[0].splitlines()[-1].strip()))
    code, out, err = here(capsys, "tools", scene.protected.url, "--oauth", "--no-browser")
    assert code == 0 and scene.authorizations() == 1, err


def test_who_copies_nothing_is_not_let_in(scene, capsys, monkeypatch):
    def nobody(question):
        raise Gone("the input ended")

    monkeypatch.setattr(connecting, "is_interactive", lambda: True)
    monkeypatch.setattr(connecting, "ask", nobody)
    code, out, err = here(capsys, "tools", scene.protected.url, "--oauth", "--no-browser", "--json")
    assert code == 1 and json.loads(out)["error"]["kind"] == "authorization"


def test_without_a_terminal_nobody_copies_addresses(scene):
    done = run("tools", scene.protected.url, "--oauth", "--no-browser")
    assert done.returncode == 1 and "there is none" in one_line_of(done.err)


def test_what_is_known_of_the_client_is_used(scene, opened, capsys):
    scene.issuing.add_client("me", "the secret")
    code, out, err = here(capsys, "tools", scene.protected.url, "--oauth", "--client-id", "me", "--client-secret-env",
                          "SECRET", "--issuer", scene.issuing.issuer, "--scope", "write", "--scope", "read")
    assert code == 0, err
    assert not scene.issuing.seen("/register") and scene.asked()["client_id"] == "me"
    assert {"write", "read"} <= set(scene.asked()["scope"].split())


def test_a_document_may_say_who_it_is(scene, opened, capsys):
    scene.issuing.metadata["client_id_metadata_document_supported"] = True
    url = "https://client.example.com/me.json"
    code, out, err = here(capsys, "tools", scene.protected.url, "--oauth", "--client-metadata", url)
    assert code == 0 and scene.asked()["client_id"] == url, err


def test_a_client_gets_in_by_itself(scene, opened, capsys):
    scene.issuing.add_client("me", "the secret")
    code, out, err = here(capsys, "tools", scene.protected.url, "--client-credentials", "--client-id", "me",
                          "--client-secret-env", "SECRET", "--issuer", scene.issuing.issuer)
    assert code == 0 and scene.posted()["grant_type"] == "client_credentials" and not opened.urls, err


@pytest.mark.parametrize("given", [[], ["--private-networks"]])
@pytest.mark.parametrize("way", [
    ["--oauth"],
    ["--client-credentials", "--client-id", "me", "--client-secret-env", "SECRET", "--issuer", "https://as.example"]])
def test_private_networks_are_asked_for_in_words(way, given, monkeypatch):
    monkeypatch.setenv("SECRET", "the secret")
    parser = argparse.ArgumentParser()
    connecting.auth_options(parser)
    options = parser.parse_args([*way, *given, "--token-file", "-"])
    options.server = "https://mcp.example/mcp"
    assert connecting.authorization(options)["auth"].private_networks is bool(given)


def test_a_token_that_is_there_is_sent(scene, capsys, monkeypatch):
    monkeypatch.setenv("TOKEN", scene.issuing.issue({"aud": scene.protected.url})["access_token"])
    code, out, err = here(capsys, "tools", scene.protected.url, "--token-env", "TOKEN", "--trace")
    assert code == 0 and not scene.authorizations() and hidden(scene, out, err)


def test_without_options_they_are_named(scene, capsys):
    code, out, err = here(capsys, "tools", scene.protected.url)
    assert code == 1 and "--oauth" in one_line_of(err) and "--token-env" in err


@pytest.mark.parametrize("words, complaint", [
    (["--client-id", "me"], "--client-id goes with --oauth or --client-credentials"),
    (["--token-file", "-"], "--token-file goes with --oauth"),
    (["--private-networks"], "--private-networks goes with --oauth"),
    (["--oauth", "--tolerate", "anything"], "tolerate is a list of 'issuer-slash' and 'unannounced-pkce', not ['anyth"),
    (["--token-env", "TOKEN"], "--token-env TOKEN: there is no such environment variable"),
    (["--token-env", "SECRET", "--oauth"], "leave --oauth out"),
    (["--oauth", "--client-id", "me", "--client-secret-env", "TOKEN"], "--client-secret-env TOKEN: there is no such"),
    (["--oauth", "--client-secret-env", "SECRET"], "needs its client_id"),
    (["--oauth", "--issuer", "https://as.example.com"], "issuer="),
    (["--oauth", "--client-metadata", "http://example.com/x"], "http"),
    (["--oauth", "--client-credentials"], "leave --oauth out"),
    (["--client-credentials"], "needs --client-id and --client-secret-env"),
    (["--client-credentials", "--client-id", "me"], "needs --client-id and --client-secret-env"),
    (["--client-credentials", "--client-id", "me", "--client-secret-env", "SECRET"], "needs --issuer"),
    (["--client-credentials", "--client-id", "me", "--client-secret-env", "SECRET", "--issuer", "http://as.example"],
     "not https"),
])
def test_what_makes_no_sense_is_said_in_words(scene, capsys, words, complaint):
    code, out, err = here(capsys, "tools", scene.protected.url, *words)
    assert code == 2 and complaint in one_line_of(err), err
    assert not scene.protected.calls("initialize") + scene.protected.calls("server/discover")


@pytest.mark.parametrize("server", ["python3 server.py", "tcp://127.0.0.1:1", "unix:///tmp/nothing"])
def test_other_servers_know_no_authorization(capsys, server):
    code, out, err = here(capsys, "tools", server, "--oauth")
    assert code == 2 and "--oauth is for servers at http" in one_line_of(err)
