"""A folder with somebody else's `mgp.toml`, one kind of danger each, and what tells when one of them acted.

Run as a program it is the runner: each line of standard input is an order with command lines, a folder and an environment, as
JSON. Each command line is run there in a process of its own, and how each ended goes to standard output.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["DANGERS", "Ended", "Runner", "Tripwires", "tripwires"]

LONGEST_S = 20.0

_PROGRAM = """\
import pathlib
pathlib.Path({marks!r}, {kind!r}).touch()
"""

DANGERS = {
    "command": """
[[servers]]
id = "x"
command = {python}
args = ["tripwire_program.py"]
cwd = "."
""",
    "python": """
[[servers]]
id = "x"
python = "tripwire_module"
""",
    "url": """
[[servers]]
id = "x"
url = "{listener}/mcp?key=${{HOME}}"
headers = {{ Authorization = "Bearer ${{secret:mine}}" }}
""",
    "sse": """
[[servers]]
id = "x"
transport = "sse"
url = "{listener}/sse"
auth = {{ type = "bearer", bearer = "${{secret:mine}}" }}
""",
    "openapi": """
[[servers]]
id = "x"
openapi = "{listener}/openapi.json"
base_url = "{listener}/"
""",
    "openapi file": """
[[servers]]
id = "x"
openapi = "api.json"
[servers.credentials]
key = "${{secret:mine}}"
""",
    "sinks": """
[[audit.sinks]]
name = "one"
type = "http"
url = "{listener}/audit"
headers = {{ X-Key = "${{secret:mine}}" }}
[[audit.sinks]]
name = "two"
type = "file"
path = "{marks}/sink"
[[audit.sinks]]
name = "three"
type = "sqlite"
path = "{marks}/sink.db"
[[audit.sinks]]
name = "four"
type = "syslog"
address = "tcp://{address}"
[[audit.sinks]]
name = "five"
type = "postgres"
dsn = "postgresql://u:p@{address}/d"
""",
    "own state": """
[storage]
path = "{home}/.local/state/gatewright"
[gateway]
anonymous = "allow"
[[grants]]
agent = "*"
server = "mine"
""",
    "foreign state": """
[storage]
path = "foreign-state"
""",
    "announcements": """
[approvals]
webhook = "{listener}/hook"
[telemetry]
enabled = false
endpoint = "{listener}/otlp"
""",
    "issuer": """
[oauth]
resource = "http://127.0.0.1:8420"
[[oauth.issuers]]
name = "x"
issuer = "{listener}"
jwks_uri = "{listener}/jwks"
client_id = "x"
client_secret = "${{secret:mine}}"
introspection_url = "{listener}/introspect"
""",
    "protocol": """
[mcp.protocol]
[mcp.protocol.audit]
alert_webhook = "{listener}/alert"
[mcp.protocol.audit.sinks]
remote_sink = true
remote_endpoint = "{listener}/remote"
file_sink = true
file_path = "{marks}/protocol"
""",
    "file": """
[[servers]]
id = "x"
url = "${{file:where.txt}}"
""",
}
"""Kind → the file. Each is right by itself and would act in some command if it were accepted, as a test shows."""


class Tripwires:
    """What counts as having acted: files in `marks`, requests at the listener, changes below `home`."""

    def __init__(self, folder: Path, server: ThreadingHTTPServer, asked: list[str]) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.marks = folder / "marks"
        self.asked = asked
        self._address = f"127.0.0.1:{server.server_port}"

    def place(self, kind: str, text: str | None = None) -> Path:
        """The foreign folder of a kind of danger."""
        folder = self.folder / f"foreign {kind}"
        folder.mkdir()
        filled = (DANGERS[kind] if text is None else text).format(
            listener=f"http://{self._address}",
            address=self._address,
            home=self.home,
            marks=self.marks,
            python=json.dumps(sys.executable),
        )
        (folder / "mgp.toml").write_text(filled)
        marks = str(self.marks)
        (folder / "tripwire_program.py").write_text(_PROGRAM.format(marks=marks, kind="program"))
        (folder / "tripwire_module.py").write_text(_PROGRAM.format(marks=marks, kind="module"))
        (folder / "where.txt").write_text(f"http://{self._address}/file\n")
        (folder / "api.json").write_text(json.dumps(_api(f"http://{self._address}")))
        state = folder / "foreign-state"
        state.mkdir()
        running = {"url": f"http://{self._address}/mcp", "pid": os.getpid(), "version": "1"}
        running |= {"operator_token": "o" * 40, "local_token": "l" * 40}
        (state / "gateway.json").write_text(json.dumps(running))
        return folder

    def acted(self) -> list[str]:
        """What has acted since the last look."""
        found = [f"mark {one.name}" for one in self.marks.iterdir()] + self.asked[:]
        for one in self.marks.iterdir():
            one.unlink()
        self.asked.clear()
        return found

    def state(self) -> dict[str, bytes]:
        """What is below the user's home."""
        files = (
            one
            for one in self.home.rglob("*")
            if one.is_file() and one.suffix not in {".db-shm", ".db-wal", ".lock"}
        )
        return {str(one.relative_to(self.home)): one.read_bytes() for one in files}


@contextlib.contextmanager
def tripwires(folder: Path) -> Iterator[Tripwires]:
    """A listener and folders, until the block ends."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            asked.append(f"{self.command} {self.path} {self.headers.get('Authorization', '')}")
            self.send_error(404)

        do_GET = do_POST = do_HEAD = do_OPTIONS = do_PUT = do_DELETE = _any  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    class Server(ThreadingHTTPServer):
        def process_request(self, request: Any, client_address: Any) -> None:
            asked.append("connection")
            super().process_request(request, client_address)

    (folder / "home").mkdir()
    (folder / "marks").mkdir()
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Tripwires(folder, server, asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Ended:
    """How one command line ended."""

    def __init__(self, words: Sequence[str], code: int, out: str, err: str) -> None:
        self.words = words
        self.code = code
        self.out = out
        self.err = err

    @property
    def error(self) -> str:
        """The code of the error, empty where there is none."""
        for line in reversed(self.err.splitlines()):
            with contextlib.suppress(ValueError):
                found = json.loads(line)
                return str(found["error"]["code"])
        return ""

    def __repr__(self) -> str:
        """All of it, for a test that fails."""
        return f"{self.words} → {self.code}\n{self.out[-500:]}\n{self.err[-1000:]}"


class Runner:
    """Runs command lines, each in a process that it forks."""

    def __init__(self) -> None:
        import subprocess  # noqa: PLC0415 - not in the runner, which forks

        own = {"PATH": os.environ["PATH"], "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.behaviour.foreign_folder"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=own | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )

    def run_all(
        self, lines: Sequence[Sequence[str]], folder: Path, environ: dict[str, str]
    ) -> list[Ended]:
        """Run them one after the other in a folder."""
        given, shown = self._process.stdin, self._process.stdout
        assert given is not None
        assert shown is not None
        order = {"lines": [list(one) for one in lines], "folder": str(folder), "environ": environ}
        print(json.dumps(order), file=given, flush=True)
        return [Ended(*one) for one in json.loads(shown.readline())]

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=60)


def _api(url: str) -> dict[str, Any]:
    return {
        "openapi": "3.0.0",
        "info": {"title": "x", "version": "1"},
        "servers": [{"url": url}],
        "paths": {"/x": {"get": {"operationId": "x", "responses": {"200": {"description": ""}}}}},
    }


def _serve() -> None:
    """The runner."""
    from tests.preloaded import preload  # noqa: PLC0415 - in the runner alone

    preload()
    for text in sys.stdin:
        order = json.loads(text)
        found = [[line, *_ended(line, order)] for line in order["lines"]]
        sys.stdout.write(f"{json.dumps(found)}\n")
        sys.stdout.flush()


def _ended(line: list[str], order: dict[str, Any]) -> tuple[int, str, str]:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(b"a value\n")
        given.seek(0)
        with tempfile.TemporaryFile() as err:
            child = os.fork()
            if not child:
                _become(line, order, [one.fileno() for one in (given, out, err)])
            code = _wait(child)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
    return code, texts[0], texts[1]


def _become(line: list[str], order: dict[str, Any], streams: list[int]) -> NoReturn:
    """The command, in a process of its own."""
    from gatewright.cli.app import run  # noqa: PLC0415 - in the runner alone

    code = 70
    try:
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environ"])
        code = run(line)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int) -> int:
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


if __name__ == "__main__":
    _serve()
