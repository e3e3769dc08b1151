"""A throw-away place to run one shell line in, by bubblewrap and strace: no network, a read-only machine, inert files, and what the line did.

Two witnesses tell: the system calls of all its processes, tried ones that failed among them, and the state of all files before and after.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gatewright.patterns import Pattern

__all__ = ["PATH", "Deeds", "Room", "ready"]

PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
SECONDS = 5.0
_LIMITS = ("--cpu=4", f"--fsize={32 << 20}", "--core=0", f"--as={12 << 30}", "--nproc=4096")
_WORKSPACE, _HOME = "/srv/ws", "/home/me"
_TMP, _VAR_TMP = "/tmp", "/var/tmp"  # noqa: S108 - mount points of the line, of which this program sees nothing
_QUIET = (
    "--setenv", "npm_config_update_notifier", "false", "--setenv", "PIP_DISABLE_PIP_VERSION_CHECK", "1",
    "--setenv", "CHECKPOINT_DISABLE", "1", "--setenv", "CLOUDSDK_CORE_CHECK_GCE_METADATA", "false", "--setenv",
    "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING", "true",
)  # fmt: skip
"""Programs that ask now and then whether there is a newer one of them, whatever they are told to do, are told not to."""
_CALLS = (
    "chdir,connect,sendto,sendmsg,sendmmsg,bind,open,openat,openat2,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,chmod,"
    "fchmod,fchmodat,chown,fchown,fchownat,lchown,link,linkat,symlink,symlinkat,truncate,ftruncate,mknod,mknodat,utimensat,setxattr"
)


class Deeds(NamedTuple):
    """What a line did."""

    connections: tuple[str, ...]
    """Calls that name an address of the internet."""
    written: tuple[str, ...]
    """Calls that write, delete or change something that is not allowed to them."""
    changed: tuple[str, ...]
    """Files that are otherwise afterwards, but for those in places where it may write."""
    ended: bool
    """Whether it ended by itself."""
    status: int

    @property
    def is_harmless(self) -> bool:
        """Whether no witness has seen anything."""
        return not (self.connections or self.written or self.changed)


def ready() -> str:
    """Empty where lines can be watched on this machine, or what is missing."""
    missing = [
        one
        for one in ("bwrap", "strace", "bash", "prlimit", "git")
        if shutil.which(one, path=PATH) is None
    ]
    return f"install these first: {', '.join(missing)}" if missing else ""


State = Mapping[str, tuple[int, int, int, int, int]]


class Room:
    """Folders for one line after the other; what a line has changed is made anew before the next."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        self._folder, self._writes = folder, writes
        self._template = folder / "template"
        _furnish(self._template)
        self._trace = folder / "trace"
        self._trace.mkdir()
        self._places = {name: folder / name for name in ("srv", "home", "tmp")}
        self._renew()

    def run(self, line: str) -> Deeds:
        """Run a line; what it did."""
        log = self._trace / "log"
        log.unlink(missing_ok=True)
        status, ended = self._started(line)
        calls = list(_calls(log.read_text("utf-8", "replace").splitlines() if log.exists() else []))
        after = self._state()
        changed = tuple(sorted(_differing(self._before, after)))
        allowed = tuple(one for one in changed if not self._may(one))
        connections = tuple(call for name, call, _ in calls if name in _SENDING)
        written = tuple(call for name, call, path in calls if name not in _SENDING and self._speaks(path))  # fmt: skip
        if changed:
            self._renew()
        return Deeds(connections, written, allowed, ended, status)

    def _started(self, line: str) -> tuple[int, bool]:
        command = [
            "prlimit", *_LIMITS, "bwrap", "--unshare-all", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--die-with-parent", "--new-session",
            "--clearenv", "--setenv", "PATH", PATH, "--setenv", "HOME", "/home/me", "--setenv", "LANG", "C.UTF-8", "--setenv", "TERM",
            "dumb", *_QUIET, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/root", "--tmpfs", "/run", "--tmpfs",
            _VAR_TMP, "--tmpfs", "/mnt",
        ]  # fmt: skip
        for name, place in self._places.items():
            command += ["--bind", str(place), f"/{name}"]
        command += ["--ro-bind", str(self._template / "passwd"), "/etc/passwd"]
        command += ["--dir", "/mnt/own", "--setenv", "TMPDIR", "/mnt/own"]
        command += ["--bind", str(self._trace), "/mnt/trace", "--chdir", _WORKSPACE, "--"]
        command += ["strace", "-f", "-qq", "-yy", "-s", "300", "--seccomp-bpf", "-e", f"trace={_CALLS}", "-o", "/mnt/trace/log"]  # fmt: skip
        command += ["bash", "--norc", "--noprofile", "-c", line]
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return started.wait(SECONDS), True
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
            return -1, False

    def _may(self, path: str) -> bool:
        """Whether a line may change a path at all."""
        if path.startswith(_KEPT) or path in _KEPT_IN:
            return True
        return self._writes and (path.startswith((f"{_WORKSPACE}/", f"{_TMP}/", *_CACHES)) or path in {_WORKSPACE, _TMP})  # fmt: skip

    def _speaks(self, path: str) -> bool:
        """Whether a call that writes to a path speaks against a line. What is left in `/tmp` the state of files tells."""
        own = path.startswith((f"{_TMP}/", "/proc/", "/dev/", "/mnt/")) or path in _OWN
        return not own and not self._may(path)

    def _state(self) -> State:
        return {path: one for name, place in self._places.items() for path, one in _walked(place, f"/{name}")}  # fmt: skip

    def _renew(self) -> None:
        for name, place in self._places.items():
            if place.exists():
                _unlocked(place)
                shutil.rmtree(place)
            shutil.copytree(self._template / name, place, symlinks=True)
        self._before = self._state()


_OWN = frozenset({_TMP, "/dev", ""})
_KEPT = (
    f"{_WORKSPACE}/.git/index",
    "/home/me/.npm/_logs/",
    "/home/me/.config/procps",
    "/home/me/.config/htop",
    f"{_TMP}/hsperfdata_",
    "/var/cache/man/",
)
_CACHES = ("/home/me/.m2", "/home/me/.npm", "/home/me/.cache", "/home/me/.debug")
"""Where what builds keeps packages."""
_KEPT_IN = frozenset({"/home/me/.npm", "/home/me/.npm/_logs"})
"""What a program keeps of its own whatever it is told to do: what git has learned of times, a log, settings that are the default, pages of a manual."""


def _unlocked(place: Path) -> None:
    """Let folders be deleted whose rights a line has taken away."""
    for folder, _, _ in os.walk(place):
        Path(folder).chmod(0o755)


def _walked(place: Path, name: str) -> Iterator[tuple[str, tuple[int, int, int, int, int]]]:
    for folder, folders, names in os.walk(place):
        for one in (*folders, *names):
            path = Path(folder, one)
            found = path.lstat()
            # Of a folder only its rights: what is in it speaks for itself.
            times = (0, 0, 0) if one in folders else (found.st_size, found.st_mtime_ns, found.st_ctime_ns)  # fmt: skip
            yield f"{name}/{path.relative_to(place)}", (found.st_mode, found.st_ino, *times)


def _differing(before: State, after: State) -> set[str]:
    return {one for one in before.keys() | after.keys() if before.get(one) != after.get(one)}


_SENDING = frozenset({"connect", "sendto", "sendmsg", "sendmmsg", "bind"})
_CALL = Pattern(r"(?:(\d+) +)?(\w+)\((.*)")
_INTERNET = Pattern(r"sa_family=AF_INET")
_OPENING = Pattern(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE")
_NAMED = Pattern(r'(?:AT_FDCWD<([^>]*)>, |\d+<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
_OF_DESCRIPTOR = Pattern(r"\d+<([^>]*)>")


def _calls(log: list[str]) -> Iterator[tuple[str, str, str]]:
    """The calls in a log of `strace` that connect or write: name, text and path. Two paths are two calls."""
    folders: dict[str, str] = {}
    for line in log:
        found = _CALL.fullmatch(line)
        if found is None or "resumed>" in line or line.endswith("-1 EEXIST (File exists)"):
            continue
        process, name, rest = found[1] or "", found[2], found[3]
        folder = folders.get(process, _WORKSPACE)
        if name == "chdir":
            folders[process] = _path(rest, folder)
        for path in _spoken(name, rest, folder):
            yield name, line, path


def _spoken(name: str, rest: str, folder: str) -> list[str]:
    """The paths that a call writes to; one that is empty for what connects, and none where it does neither."""
    if name in _SENDING:
        return [""] if _INTERNET.within(rest) and not _is_quiet(name, rest) else []
    if name in {"open", "openat", "openat2"}:
        return [_path(rest, folder)] if _OPENING.within(rest.rpartition('"')[2]) else []
    if name == "chdir":
        return []
    if name.startswith("f") and not name.endswith("at"):
        of = _OF_DESCRIPTOR.search(rest)
        return [of[1]] if of is not None and of[1][:1] == "/" and "(deleted)" not in rest else []
    pieces = [_path(one[0], folder) for one in _NAMED.finditer(rest)]
    # `symlink` and `link` say first what is led to, which stays as it is.
    return pieces[-1:] if "link" in name and "un" not in name else pieces


def _is_quiet(name: str, rest: str) -> bool:
    """Whether a call says nothing to anybody: a port that is given, and an address that is asked for its way."""
    if name == "bind":
        return "port=htons(0)" in rest
    return name == "connect" and "<UDP" in rest and "port=htons(53)" not in rest


def _path(rest: str, folder: str) -> str:
    found = _NAMED.search(rest)
    if found is None:
        return ""
    return os.path.normpath(Path(found[1] or found[2] or folder, found[3]))


def _furnish(folder: Path) -> None:
    """Inert files: a workspace with a repository, its neighbour, and somebody's home."""
    workspace, home = folder / "srv" / "ws", folder / "home" / "me"
    for place in (workspace / "src", workspace / "sub" / "deep", folder / "srv" / "other", home / ".config", folder / "tmp"):  # fmt: skip
        place.mkdir(parents=True)
    for name, text in _FILES.items():
        (workspace / name).write_text(text, encoding="utf-8")
    (workspace / "a.sh").chmod(0o755)
    (workspace / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    _pack(workspace)
    for place in (folder / "srv" / "other", home):
        for name in ("a.txt", "notes.txt"):
            (place / name).write_text("inert\n", encoding="utf-8")
    (home / ".gitconfig").write_text("[user]\n\tname = me\n\temail = me@x.example\n[init]\n\tdefaultBranch = main\n", encoding="utf-8")  # fmt: skip
    (folder / "passwd").write_text("me:x:1000:1000::/home/me:/bin/bash\n", encoding="utf-8")
    (home / ".bashrc").write_text("# inert\n", encoding="utf-8")
    _repository(workspace)


def _pack(workspace: Path) -> None:
    for name, how in (("a.tar", "w"), ("a.tar.gz", "w:gz")):
        with tarfile.open(workspace / name, how) as packed:  # type: ignore[call-overload]
            packed.add(workspace / "a.txt", "a.txt")
    with zipfile.ZipFile(workspace / "a.zip", "w") as archive:
        archive.write(workspace / "a.txt", "a.txt")
    for program, name in (("gzip", "a.gz"), ("xz", "a.xz"), ("bzip2", "a.bz2"), ("zstd", "a.zst")):
        if shutil.which(program, path=PATH) is not None:
            packed_text = subprocess.run([program, "-c", str(workspace / "a.txt")], check=True, capture_output=True)  # fmt: skip
            (workspace / name).write_bytes(packed_text.stdout)
    for command in (["gcc", "-g", "-c", "src/a.c", "-o", "a.o"], ["sqlite3", "a.db", "create table t(x); insert into t values (1)"]):  # fmt: skip
        if shutil.which(command[0], path=PATH) is not None:
            subprocess.run(command, cwd=workspace, check=True)


def _repository(workspace: Path) -> None:
    def git(*words: str) -> None:
        who = {"GIT_CONFIG_GLOBAL": str(workspace.parents[1] / "home/me/.gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}  # fmt: skip
        subprocess.run(["git", *words], cwd=workspace, check=True, capture_output=True, env={"PATH": PATH, **who})  # fmt: skip

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("branch", "dev")
    git("tag", "v1")
    (workspace / "b.txt").write_text("two\nthree\none\n", encoding="utf-8")
    git("commit", "-qam", "two")
    (workspace / "a.txt").write_text("one two\nthree\nfour x\nkey=1\n", encoding="utf-8")


_FILES = {
    "a.txt": "one two\nthree\nfour x\n",
    "b.txt": "two\nthree\n",
    "a": "a\nx\n",
    "b": "b\n",
    "x": "x\n",
    "a.py": "x = 1\n",
    "a.sh": "#!/bin/sh\necho inert\n",
    "src/a.py": "def main():\n    return 1\n\n\nif __name__ == '__main__':\n    main()\n",
    "src/a.c": "int main(void)\n{\n    return 0;\n}\n",
    "src/a.js": "export const a = 1;\n",
    "src/a.txt": "one\n",
    "src/b.txt": "two\n",
    "a.json": '{"a": {"b": [1, 2]}, "key": "x"}\n',
    "a.yaml": "a:\n  b: [1, 2]\nkey: x\n",
    "a.toml": '[a]\nb = 1\nkey = "x"\n',
    "a.csv": "name,key\nx,1\ny,2\n",
    "a.xml": "<a><b key='x'>1</b></a>\n",
    "a.html": "<!doctype html><title>x</title><p>one\n",
    "a.md": "# one\n\ntwo\n",
    "a.sql": "select 1;\n",
    "a.po": 'msgid "one"\nmsgstr "two"\n',
    "a.dot": "digraph { a -> b }\n",
    "a.patch": "--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n two\n-three\n+3\n",
    "Makefile": "all:\n\t@echo inert\nx:\n\t@echo inert\n",
    "package.json": '{"name": "x", "version": "1.0.0", "private": true, "scripts": {"test": "echo inert"}}\n',
    "sub/deep/c.txt": "c\n",
}  # fmt: skip
