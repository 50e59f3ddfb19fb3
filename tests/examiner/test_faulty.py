"""The faulty server and the faulty client without a fault: the checker finds nothing in what they say to each other."""
import contextlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examiner.faulty.faults import CLIENT, REVISIONS, SERVER
from tests.support.patience import WAIT

ROOT = Path(__file__).parents[2]
FAULTY = Path(__file__).parent / "faulty"
PYTHON = sys.executable
KNOWN = {line.split("\t")[0] for line in (ROOT / "mcp_ref" / "requirements.tsv").read_text("utf-8").splitlines()}


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """Revision -> a client of it, and the file of the report on what it and the server say. All work at once."""
    started, folder = {}, tmp_path_factory.mktemp("reports")
    with contextlib.ExitStack() as stack:
        for revision in REVISIONS.values():
            report = folder / revision
            started[revision] = stack.enter_context(subprocess.Popen(
                [PYTHON, str(FAULTY / "client.py"), "--revision", revision, PYTHON, "-m", "mcp_ref", "check", "--out",
                 str(report), "--", PYTHON, str(FAULTY / "server.py")], cwd=str(ROOT))), report
        yield started


@pytest.mark.parametrize("revision", sorted(REVISIONS.values()))
def test_nothing_is_found_over_stdio(revision, clients):
    client, report = clients[revision]
    assert client.wait(WAIT) == 0
    said = report.read_text("utf-8")
    assert "0 violations, 0 warnings" in said and revision in said and int(re.search(r"(\d+)\s+messages", said)[1]) > 60


def test_nothing_is_found_over_http(tmp_path):
    report = tmp_path / "report"
    with subprocess.Popen([PYTHON, str(FAULTY / "server.py"), "--http"], stdout=subprocess.PIPE) as server:
        url = server.stdout.readline().decode().strip()
        with subprocess.Popen([PYTHON, "-m", "mcp_ref", "check", "--out", str(report), "--http", "0", url],
                              cwd=str(ROOT), stderr=subprocess.PIPE) as proxy:
            try:
                shown = re.search(rb"http://127\S+/mcp", proxy.stderr.readline())[0].decode()
                for revision in sorted(REVISIONS.values())[1:]:
                    subprocess.run([PYTHON, str(FAULTY / "client.py"), "--revision", revision, shown], timeout=WAIT,
                                   check=True)
            finally:
                proxy.send_signal(2)
                proxy.communicate(timeout=WAIT)
                server.kill()
    said = report.read_text("utf-8")
    assert "0 violations, 0 warnings" in said and int(re.search(r"(\d+)\s+messages", said)[1]) > 240, said


@pytest.mark.parametrize("table", [SERVER, CLIENT])
def test_rows_are_whole(table):
    assert len({fault.name for fault in table}) == len(table)
    for fault in table:
        assert fault.revisions and set(fault.revisions) <= set(REVISIONS) and fault.transports
        assert all(name in KNOWN or name.startswith("schema.") for name in fault.requirements.split()), fault


def test_every_row_is_in_the_programs():
    code = "".join(path.read_text("utf-8") for path in FAULTY.glob("*.py") if path.name != "faults.py")
    built = {feature + "-unserved" for feature in ("tools", "prompts", "resources")} | {
        feature + "-undeclared" for feature in ("tools", "resources", "prompts", "completions", "logging")}
    missing = [fault.name for fault in SERVER + CLIENT if '"%s"' % fault.name not in code and fault.name not in built]
    assert not missing
