"""Three hosts on three addresses of loopback, with gunicorn and two workers each, behind nginx with TLS; a Redis."""
import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import time
from typing import Dict, Iterator, List, Optional

from redis_process import SECONDS, Redis, free_port

HERE = pathlib.Path(__file__).resolve().parent
SHOWN = HERE.parents[1] / "examples" / "deploy"
ISSUER, KEY = "https://auth.example.com", "a key that signs the tokens of a test"
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
STARTING = 120.0


def token_for(subject: str, resource: str) -> str:
    """A token of the issuer, good for three hours, because a host's clock may be an hour off."""
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": resource, "sub": subject, "iat": now - 7200, "exp": now + 3 * 3600}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
             for part in ({"alg": "HS256", "typ": "at+jwt"}, claims)]
    signature = hmac.new(KEY.encode(), b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


class Host:
    """One host; it may be killed and started again."""

    def __init__(self, cluster: "Cluster", address: str, variables: Dict[str, str]) -> None:
        self.cluster, self.address, self.variables = cluster, address, variables
        self.port = free_port(address)
        self._process: "Optional[subprocess.Popen[bytes]]" = None

    def start(self) -> None:
        """Start its workers, as the unit of systemd does, with this address instead of its socket."""
        (command,) = [line for line in (SHOWN / "mcp.service").read_text(encoding="utf-8").splitlines()
                      if line.startswith("ExecStart=")]
        words = command.split("bin/gunicorn ")[1].replace("app:application", "load_app:application").split()
        with open(self.cluster.folder / ("host %s.log" % self.address), "ab") as log:
            self._process = subprocess.Popen(
                [self.cluster.python, "-m", "gunicorn", "--bind", "%s:%d" % (self.address, self.port), *words],
                cwd=str(HERE), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=dict(self.cluster.settings, MCP_TEST_HOST=self.address, **self.variables))

    def wait(self) -> None:
        """Wait until it serves."""
        end = time.monotonic() + STARTING
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                probe = http.client.HTTPConnection(self.address, self.port, timeout=SECONDS)
                probe.request("GET", "/.well-known/oauth-protected-resource/mcp", headers={"Host": self.cluster.name})
                status = probe.getresponse().status
                probe.close()
                if status == 200:
                    return
            assert self._process and self._process.poll() is None and time.monotonic() < end, "a host did not start"
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill all its processes at once, as if the machine had lost its power."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(SECONDS)


class Cluster:
    """All of it. ``hour_off``: the variables of the last host, whose clock is wrong."""

    def __init__(self, folder: pathlib.Path, python: str, nginx: str, slow: float, wrong: Dict[str, str]) -> None:
        self.folder, self.python, self.nginx = folder, python, nginx
        self.redis = Redis(folder / "redis")
        self.name = "127.0.0.1:%d" % free_port()
        self.url = "https://%s/mcp" % self.name
        self.settings = dict(
            os.environ, PYTHONPATH=str(SHOWN.parents[1]), PYTHONDONTWRITEBYTECODE="1", MCP_URL=self.url,
            MCP_ISSUER=ISSUER, MCP_TOKEN_KEY=KEY, REDIS_URL=self.redis.url, MCP_REF_STATE_KEYS="0123456789abcdef" * 2,
            MCP_TEST_SLOW=str(slow), MCP_POLL_AFTER="0.5")
        self.hosts = [Host(self, address, wrong if address == ADDRESSES[-1] else {}) for address in ADDRESSES]

    def _front(self) -> "subprocess.Popen[bytes]":
        """nginx with the configuration that is shown, and the addresses of this test."""
        certificate, key = str(self.folder / "mcp.crt"), str(self.folder / "mcp.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS)
        text = (SHOWN / "nginx.conf").read_text(encoding="utf-8")
        for number, host in enumerate(self.hosts, 1):
            text = text.replace("10.0.0.%d:8000" % number, "%s:%d" % (host.address, host.port))
        for old, new in (("listen 443 ssl", "listen %s ssl" % self.name), ("/etc/nginx/mcp.crt", '"%s"' % certificate),
                         ("/etc/nginx/mcp.key", '"%s"' % key)):
            assert old in text, old
            text = text.replace(old, new)
        places = "".join("%s_temp_path t;" % kind for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        conf = self.folder / "nginx.conf"
        conf.write_text("daemon off; master_process off; pid nginx.pid; error_log error.log error;\n"
                        "events { worker_connections 4096; }\nhttp { log_format resumed '$upstream_addr $status';\n"
                        "access_log resumed.log resumed if=$http_last_event_id; %s\n%s}\n" % (places, text),
                        encoding="utf-8")
        return subprocess.Popen([self.nginx, "-p", str(self.folder), "-e", "stderr", "-c", str(conf)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def trusting(self) -> ssl.SSLContext:
        """What a client needs to trust this nginx."""
        return ssl.create_default_context(cafile=str(self.folder / "mcp.crt"))

    @contextlib.contextmanager
    def running(self) -> Iterator["Cluster"]:
        """Start all of it, and end it."""
        started: "List[subprocess.Popen[bytes]]" = []
        try:
            self.redis.start()
            for host in self.hosts:
                host.start()
            started.append(self._front())
            for host in self.hosts:
                host.wait()
            end = time.monotonic() + SECONDS
            address, port = self.name.split(":")
            while True:
                with contextlib.suppress(OSError):
                    socket.create_connection((address, int(port)), SECONDS).close()
                    break
                assert time.monotonic() < end and started[0].poll() is None, "nginx did not start"
                time.sleep(0.02)
            yield self
        finally:
            for process in started:
                process.terminate()
                process.wait(SECONDS)
            for host in self.hosts:
                host.kill()
            self.redis.kill()
