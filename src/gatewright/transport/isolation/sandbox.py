"""`prepare`: command line that starts a child in a bubblewrap sandbox; `Sandbox` signals into it, removes its cgroup; `missing`: absent tools.

As root no user namespace is made: the binds are made as root, and a `strict` child gets a user id of its own by setpriv(1). Anybody
else makes a user namespace, in which no further one can be made. The command line is, with what is not needed left out:

    sh -c 'echo 0 > GROUP/tasks; exec "$@"' · bwrap OPTIONS · setpriv TO-ITS-USER · prlimit BOUNDS · the program

Options travel through a descriptor that bwrap closes, so that nobody reads variables in the list of processes, and no variable that
was meant for the child has a loader run code before it is isolated.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from gatewright.transport.isolation.cgroups import Group, make_group
from gatewright.transport.isolation.mounts import HOME, mounts
from gatewright.transport.isolation.rules import CannotIsolate, Isolation
from gatewright.transport.isolation.seccomp import MACHINES, seccomp_filter
from gatewright.transport.isolation.user_ids import UserInUse, user_id
from gatewright.transport.launch import INHERITED, child_environment, locate

__all__ = ["Sandbox", "means", "missing", "prepare"]

log = logging.getLogger(__name__)

_OWN = frozenset({"HOME", "TMPDIR", "USER", "LOGNAME", "SHELL", "PATH"})
"""Variables of ours that say something about us; the child has its own."""
_LOADER = ("LD_", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_")
"""Variables that have a program run or read something before it begins."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_KEEPERS = 3
"""Processes in the group that are not the child's: bwrap, the reaper of the sandbox, and one for the moment between them."""
_JOIN = 'for one in $1; do echo 0 > "$one" || exit 125; done; shift; exec "$@"'
_TOOLS = {"bwrap": "bubblewrap", "prlimit": "util-linux", "setpriv": "util-linux"}
"""Program → the package that has it, under Debian, Fedora, Arch and Alpine alike."""


_NO_GROUP = Group()
_LOOK_S = 0.02
_LOOKS = 250
"""How often, and how many times, it is tried to remove what is left of a sandbox."""


class Sandbox:
    """One child that is to be started, then one that runs. `descriptors` are handed to it, and closed by `started`."""

    def __init__(
        self,
        command: list[str],
        descriptors: tuple[int, ...],
        group: Group = _NO_GROUP,
        user: UserInUse | None = None,
    ) -> None:
        self.command = command
        self.descriptors = descriptors
        self._group = group
        self._user = user

    def started(self) -> None:
        """The child has its own copies of the descriptors, or never will."""
        descriptors, self.descriptors = self.descriptors, ()
        for one in descriptors:
            os.close(one)

    def signal(self, pid: int, number: signal.Signals) -> bool:
        """Send a signal to all processes inside. `pid` is that of the outermost one, which hands nothing on. False where nobody is
        inside."""
        # The first generation is the reaper of the sandbox, whose death ends it all.
        inside = [one for reaper in _children(pid) for one in _offspring(reaper)]
        for one in inside:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, number)
        return bool(inside)

    def remove_soon(self, done: Callable[[], None], tries: int = _LOOKS) -> None:
        """Remove what is left of it outside, and call `done`: at once, or from the loop when its processes, which have been killed,
        had the moment that they need for that."""
        if self.remove():
            done()
        elif tries:
            loop = asyncio.get_running_loop()
            loop.call_later(_LOOK_S, self.remove_soon, done, tries - 1)
        else:
            log.error("these control groups could not be removed: %s", self._group.folders)
            done()

    def remove(self) -> bool:
        """Remove what is left of it outside. False while something is still on its way out: try again."""
        if not self._group.remove():
            return False
        if self._user is not None:
            self._user.over()
        return True


def missing() -> str:
    """Why no child can be isolated on this machine, as far as that can be seen without trying; empty where it can."""
    if sys.platform != "linux":
        return "servers are isolated by Linux namespaces, which this system does not have"
    if os.uname().machine not in MACHINES:
        return f"there is no system call filter for {os.uname().machine} processors"
    needed = [one for one in _TOOLS if one != "setpriv" or os.geteuid() == 0]
    for program in needed:
        if shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_PATH}") is None:
            package = _TOOLS[program]
            return f"{program} is not installed; install it: `apt-get install {package}`, or by another system's package {package}"
    return ""


def means() -> tuple[object, ...]:
    """What a sandbox is made by: equal as long as nothing of it was replaced. A proof that a level holds is one for these."""
    files = ("/bin/sh", *map(_tool, (*_TOOLS, "env")))
    return (os.uname(), os.geteuid(), *((one, _state(one)) for one in files))


def _state(file: str) -> tuple[int, ...]:
    try:
        one = Path(file).stat()
    except OSError:
        return ()
    # Who replaces a program can set its times back, but not that of the change itself.
    return (one.st_dev, one.st_ino, one.st_size, one.st_mode, one.st_mtime_ns, one.st_ctime_ns)


def prepare(
    rules: Isolation, command: str, args: Sequence[str], env: Mapping[str, str], cwd: str | None
) -> Sandbox:
    """A sandbox for one child; `command`, `args`, `env` and `cwd` are as for `launch`. Raises `CannotStart`.

    Whoever starts it calls `started` and, once it has ended, `remove` until that is done.
    """
    if why := missing():
        raise CannotIsolate(f"isolation {rules.level!r} cannot be given here: {why}")
    here = str(Path(cwd or "").absolute())
    inherited = child_environment(env)
    program = locate(command, inherited["PATH"], here)
    root = os.geteuid() == 0
    variables = _variables(rules, inherited, env, program)
    dropped = root and rules.level == "strict"
    user = user_id(Path(rules.state), rules.name) if dropped else os.getuid()
    later = {name: value for name, value in variables.items() if name.startswith(_LOADER)}
    options = [
        *_namespaces(rules, root=root),
        *mounts(rules, program, args, variables["PATH"], here, searched="/" not in command),
    ]
    for name, value in variables.items():
        if name not in later:
            options += ["--setenv", name, value]
    group = make_group(secrets.token_hex(6), rules.memory_bytes, rules.processes + _KEEPERS)
    try:
        held = _held(options, user, variables["HOME"], routes=rules.network)
    except (OSError, ValueError) as problem:
        group.remove()
        raise CannotIsolate(f"its sandbox cannot be described: {problem}") from None
    inside = [program, *args]
    if later:
        inside = [_tool("env"), *(f"{name}={value}" for name, value in later.items()), *inside]
    inside = [_tool("prlimit"), *_limits(rules, group), "--", *inside]
    if root:
        inside = [_tool("setpriv"), *_to_user(user if dropped else None), "--", *inside]
    whole = [_tool("bwrap"), "--args", str(held[-1]), "--", *inside]
    if group.entries:
        joins = " ".join(map(str, group.entries))
        whole = ["/bin/sh", "-c", _JOIN, "sh", joins, *whole]
    return Sandbox(
        whole, held, group, UserInUse(Path(rules.state), rules.name) if dropped else None
    )


def _namespaces(rules: Isolation, *, root: bool) -> list[str]:
    found = ["--die-with-parent", "--new-session", "--clearenv"]
    found += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    found += ["--hostname", "sandbox"]
    if not rules.network:
        found.append("--unshare-net")
    if not root:
        return [*found, "--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    found += ["--cap-drop", "ALL"]
    for one in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):  # what setpriv needs, and gives up
        found += ["--cap-add", one]
    return found


def _to_user(user: int | None) -> list[str]:
    nothing = ["--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
    return nothing if user is None else ["--reuid", str(user), "--regid", str(user), *nothing]


def _limits(rules: Isolation, group: Group) -> list[str]:
    found = {"nofile": rules.open_files, "core": 0}
    if rules.file_bytes is not None:
        found["fsize"] = rules.file_bytes
    if rules.cpu_s is not None:
        found["cpu"] = rules.cpu_s
    # Where no group bounds them all, each by itself. Address space would count what is only reserved.
    if "memory" not in group.bounds:
        found["data"] = rules.memory_bytes
    if "pids" not in group.bounds:
        found["nproc"] = rules.processes
    return [f"--{name}={most}:{most}" for name, most in found.items()]


def _variables(
    rules: Isolation, inherited: Mapping[str, str], given: Mapping[str, str], program: str
) -> dict[str, str]:
    """The whole environment of the child."""
    found = {"HOME": HOME, "TMPDIR": "/tmp", "USER": "server", "LOGNAME": "server"}  # noqa: S108
    if rules.level == "confined":
        found |= {
            name: inherited[name] for name in INHERITED if name in inherited and name not in _OWN
        }
        found["PATH"] = inherited["PATH"]
    else:
        found |= {"HOME": "/tmp", "PATH": f"{Path(program).parent}:{_PATH}"}  # noqa: S108
    return {**found, **given}


def _tool(name: str) -> str:
    """A program of the system, wherever the child's PATH leads."""
    return shutil.which(name, path=_PATH) or name


def _held(options: Sequence[str], user: int, home: str, *, routes: bool) -> tuple[int, ...]:
    """Descriptors of what bubblewrap reads, its options last of all. Raises `OSError`, `ValueError`."""
    files = {
        "/etc/passwd": f"server:x:{user}:{user}::{home}:/bin/sh\n",
        "/etc/group": f"server:x:{user}:\n",
    }
    held: list[int] = []
    whole = list(options)
    try:
        held.append(_descriptor(seccomp_filter(os.uname().machine, routes=routes)))
        whole += ["--seccomp", str(held[-1])]
        for file, content in files.items():
            held.append(_descriptor(content.encode()))
            whole += ["--perms", "0444", "--file", str(held[-1]), file]
        whole += ["--remount-ro", "/"]
        if any("\0" in one for one in whole):  # what follows it would be an option of its own
            raise ValueError("a variable or a path has a NUL")
        held.append(_descriptor(b"".join(os.fsencode(one) + b"\0" for one in whole)))
    except BaseException:
        for one in held:
            os.close(one)
        raise
    return tuple(held)


def _descriptor(content: bytes) -> int:
    """A file in memory, at its beginning."""
    descriptor = os.memfd_create("gatewright")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _children(pid: int) -> Iterable[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, listed.read_text().split())
    return found


def _offspring(pid: int) -> Iterable[int]:
    for child in _children(pid):
        yield child
        yield from _offspring(child)
