"""Commands as real processes: on pipes, as scripts see them, and on a terminal, as people do."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gatewright.config import SettingsError
from tests import fork_server
from tests.accepting import accept_file
from tests.cli.schemas import conform

__all__ = ["DEADLINE_S", "Done", "Shell"]

DEADLINE_S = 60.0


_STYLE = re.compile("\x1b\\[[0-9;]*m")


class Done:
    """How a command ended and what it wrote."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def rows(self) -> list[list[str]]:
        """Standard output as tab-separated rows."""
        return [line.split("\t") for line in self.out.splitlines()]

    @property
    def document(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error envelope, the last line of standard error."""
        found: dict[str, str] = json.loads(self.err.splitlines()[-1])["error"]
        return found


class Shell:
    """Runs `gatewright` in a folder of its own, with its own home and state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.accepting = True
        """Whether the person at this shell has accepted the configuration that is found in the folder."""
        self.state = folder / "state"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GATEWRIGHT_STATE": str(self.state),
            "COLUMNS": "200",
            "PYTHONUTF8": "1",
            # So that a run that measures coverage sees into the commands.
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
        }

    def typed(self, words: str) -> str:
        """How a command is shown to somebody who has this environment."""
        return f"GATEWRIGHT_STATE={self.state} gatewright {words}"

    def command(self, *arguments: str) -> list[str]:
        """The whole command line."""
        return [sys.executable, "-m", "gatewright", *arguments]

    def environ(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of a command."""
        return {**self.environment, **(more or {})}

    def run(
        self, *arguments: str, given: str = "", environ: Mapping[str, str] | None = None
    ) -> Done:
        """Run one command on pipes. What it prints as JSON is held against its schema."""
        self.accept()
        ended = fork_server.run(
            self.command(*arguments),
            input=given,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environ(environ),
            timeout=DEADLINE_S,
            check=False,
        )
        conform(arguments, ended.stdout)
        return Done(ended.returncode, ended.stdout, ended.stderr)

    def run_at_terminal(
        self,
        *arguments: str,
        answers: str = "",
        after: str = "",
        then: Callable[[str], None] | None = None,
    ) -> Done:
        """Run one command with all three streams on one terminal; what it shows, without styles, is in `out`.
        Once it has shown `after`, `then` is told what it has shown by then, and after that the answers are typed."""
        self.accept()
        ours, theirs = os.openpty()
        process = fork_server.Popen(
            self.command(*arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self.folder,
            env=self.environ({"TERM": "xterm", "NO_COLOR": "1"}),
            start_new_session=True,
        )
        os.close(theirs)
        shown = b""
        try:
            while True:
                if then is not None and after.encode() in shown:
                    then(_STYLE.sub("", shown.decode()))
                    then = None
                if answers and after.encode() in shown:
                    os.write(ours, answers.encode())
                    answers = ""
                if not (piece := os.read(ours, 65536)):
                    break
                shown += piece
        except OSError:
            pass  # the terminal has nobody left at its other end
        except BaseException:
            process.kill()
            process.wait(DEADLINE_S)
            raise
        finally:
            os.close(ours)
        code = process.wait(DEADLINE_S)
        return Done(code, _STYLE.sub("", shown.decode()), "")

    def write(self, name: str, text: str) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.write_text(text)
        self.accept()
        return path

    def accept(self) -> None:
        """What a person says once of a file: `gatewright config trust`."""
        for name in ("mgp.toml", "mcp.toml"):
            path = self.folder / name
            if self.accepting and path.is_file():
                with contextlib.suppress(SettingsError):  # the command says what is wrong with it
                    accept_file(path, self.environment)
