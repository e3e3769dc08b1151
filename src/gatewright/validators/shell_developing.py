"""Table of programs for the preset `develop` of `sandbox`: deleting, editing, packing, git and interpreters, each inside the workspace.

It stands over the tables of the other modes. What is refused whatever follows (sending files away, printing secrets, changing the host,
starting other agents) is listed by its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_builds import BUILDING
from gatewright.validators.shell_options import Program, option_rule, shaped
from gatewright.validators.shell_programs import PROGRAMS
from gatewright.validators.shell_syntax import Word
from gatewright.validators.shell_targets import edits_rule, given
from gatewright.validators.shell_workspace import is_elsewhere, is_inside, is_written_inside

__all__ = ["DEVELOPING", "NODE_TOOLS", "REFUSED_PROGRAMS"]

_REFUSED = {
    "sends_away": """
        rclone s3cmd s4cmd mc azcopy b2 smbclient ngrok cloudflared lt localtunnel bore frpc frps chisel croc wormhole magic-wormhole ffsend sftp ftp
        lftp ncftp tftp mail mailx mutt sendmail msmtp swaks s-nail syncthing websocat telegram-send sshfs davfs2 cadaver aws-s3 gdrive gsutil
        tailscale zrok pagekite serveo onionshare iodine dnscat dnscat2
    """,
    "shows_secrets": """
        vault pass gopass op bw lpass secret-tool keyring kwallet-query security chamber doppler sops age ansible-vault keepassxc-cli gpg gpg2
        git-credential berglas teller infisical dcos mimikatz hashcat john
    """,
    "changes_host": """
        auditctl spctl csrutil xattr launchctl defaults scutil networksetup systemsetup dscl tccutil aa-disable aa-teardown aa-complain semanage
        setsebool semodule chcon restorecon update-rc.d chkconfig rc-update initctl loginctl anacron schtasks reg sc bcdedit netsh icacls wevtutil
        vssadmin firewall-cmd pfctl apparmor_parser sysctl ip ifconfig route nmcli modprobe update-alternatives update-ca-certificates dpkg rpm
        pmset nvram fdesetup profiles softwareupdate grub-install efibootmgr swapoff umount mount losetup cryptsetup lvremove zpool zfs btrfs
    """,
    "runs_agents": "claude codex gemini aider cursor-agent goose opencode amp qwen copilot cody crush droid auggie openhands",
    "changes_shell": """
        export declare typeset readonly local unset let ulimit umask getopts bind complete compgen compopt caller logout disown fg bg jobs wait suspend
        unalias
    """,
    "runs_programs": """
        ansible ansible-playbook ansible-console salt fab pssh clush parallel-ssh dc m4 aria2c crond atd incrontab incrond systemd-socket-activate
        gnuplot expect socat ssh-keygen ssh-add ssh-copy-id mosh lua5 tcc guile racket sbcl clisp swipl ghci bpython ptpython pry radare2 r2
        frida batch at drun dmenu rofi xdg-open open start wscript cscript mshta rundll32 certutil bitsadmin msiexec installutil regsvr32
    """,
    "destroys": "dropdb dropuser mysqladmin mongo mongosh redis-cli etcdctl pulumi heroku flyctl fly doctl eksctl kops vagrant rabbitmqctl blkdiscard",
}
REFUSED_PROGRAMS: Mapping[str, str] = MappingProxyType(
    {name: rule for rule, names in _REFUSED.items() for name in names.split()}
)
"""Program → why it is refused whatever follows."""

NODE_TOOLS = frozenset(
    """
    tsc eslint prettier jest vitest playwright prisma stylelint mocha tsx ts-node next turbo biome @biomejs/biome webpack cypress storybook vite
    rollup esbuild nx lerna lint-staged commitlint babel swc tailwindcss postcss sass karma ava c8 nyc tsup tsd typedoc knip depcheck ncu
    npm-check-updates madge size-limit changeset standard xo oxlint drizzle-kit knex sequelize typeorm ng nest nuxt astro remix gatsby svelte-check
    vue-tsc expo markdownlint cspell jscpd graphql-codegen tslint dprint rimraf mkdirp tap uvu wdio sb parcel snowpack
    """.split()
)
"""Tools of Node.js that check, test and build a project."""

Texts = Sequence[str]


def _by(rule: Callable[[Texts], str | None]) -> Program:
    return Program(check=lambda words: rule([word.text for word in words]))


def _operands(texts: Texts) -> list[str]:
    return [one for one in texts if not one.startswith("-")]


_ALL = frozenset({".", "./", "*", "./*", ".*", ".git", "./.git", "**"})


def _deletes(texts: Texts) -> str | None:
    """Files and folders inside, never the workspace as a whole."""
    if any(one.startswith("--no-p") for one in texts):
        return "recursive_delete"
    operands = _operands(texts)
    fine = operands and all(
        is_written_inside(one) and one.rstrip("/") not in _ALL for one in operands
    )
    return None if fine else "recursive_delete"


def _changes(texts: Texts) -> str | None:
    values = [one.partition("=")[2] for one in texts if one.startswith("--") and "=" in one]
    return (
        None
        if all(map(is_written_inside, [*_operands(texts), *filter(None, values)]))
        else "outside"
    )


def _writes(name: str) -> Program:
    """All that it is given has to be inside."""

    def rule(texts: Texts) -> str | None:
        found = given(name, texts)
        if found is None:
            return "option"
        return None if all(map(is_written_inside, [*found.operands, *found.placed])) else "outside"

    return _by(rule)


def _copies(name: str) -> Program:
    """Only where it goes to has to be inside; an address (`host:path`) is elsewhere."""

    def rule(texts: Texts) -> str | None:
        found = given(name, texts)
        if found is None:
            return "option"
        target = found.target if found.target is not None else next(iter(found.operands[-1:]), "")
        fine = all(map(is_written_inside, [target, *found.placed]))
        return None if fine and not any(":" in one for one in found.operands) else "outside"

    return _by(rule)


def _rights(texts: Texts) -> str | None:
    setting = any(_SETS_ID.fits(one) for one in _operands(texts)[:1])
    return (
        "changes_rights"
        if setting or any(one in {"-R", "--recursive"} and "/" in texts for one in texts)
        else _changes(_operands(texts)[1:])
    )


_SETS_ID = Pattern(r"[ugoa]*[+=][rwxXt]*s.*|0?[2-7]\d{3}")
_PACKS = Pattern(
    r"-?[cxtvzjJafpkhPO]+|-C|--(?:create|extract|list|file|verbose|gzip|bzip2|xz|zstd|directory|exclude|strip-components|"
    r"exclude-vcs|no-same-owner|transform|to-stdout|wildcards)(?:=.*)?"
)


def _packs(texts: Texts) -> str | None:
    if not texts or not all(
        _PACKS.fits(one) for at, one in enumerate(texts) if not at or one.startswith("-")
    ):
        return "option"
    if (
        any(one.startswith("--transform") and one.rstrip().endswith("e") for one in texts)
        or "P" in texts[0]
        # `host:file` is a tape on another machine.
        or any(":" in one for one in texts if not one.startswith("--"))
    ):
        return "option"
    return _changes([one for one in texts[1:] if not one.startswith("--exclude")])


_UNPACKS = Pattern(r"-[qonljvtpxd]+")
_FOUND = frozenset("delete exec execdir prune print print0 o a".split())


def _interpreter(flags: str, modules: str = "") -> Program:
    """A script inside, after options that only change how it is run."""
    known, allowed = Pattern(flags), frozenset(modules.split())

    def rule(texts: Texts) -> str | None:
        rest = list(texts)
        while rest and known.fits(rest[0]):
            del rest[0]
        if rest[:1] == ["-m"] and allowed:
            return None if len(rest) > 1 and rest[1] in allowed else "inline_code"
        if not rest:
            return None if any(one in _TESTING for one in texts) else "inline_code"
        return None if not rest[0].startswith("-") and is_inside(rest[0]) else "inline_code"

    return _by(rule)


_TESTING = frozenset({"--test", "-V", "-v", "--version"})
_MODULES = (
    "pytest unittest mypy ruff black flake8 isort build coverage tox nox venv compileall json.tool pylint doctest timeit cProfile "
    "py_compile django sphinx mkdocs pip_audit pyright bandit pre_commit"
)


def _python(texts: Texts) -> str | None:
    rest = list(texts)
    while rest and _PYTHON_FLAGS.fits(rest[0]):
        del rest[: 2 if rest[0] in {"-W", "-X"} else 1]
    if rest[:2] == ["-m", "pip"]:
        return option_rule(_PIP, [Word(one) for one in rest[2:]])
    return option_rule(_PYTHON, [Word(one) for one in rest]) if rest else "inline_code"


_PYTHON_FLAGS = Pattern(r"-[uBOOqsIEb]+|-W|-X|-[WX]\w[\w:=]*")
_PYTHON = _interpreter("-V|--version", _MODULES)


def _java(texts: Texts) -> str | None:
    bad = any(_JAVA_RUNS.fits(one) for one in texts)
    return "option" if bad or any(map(is_elsewhere, texts)) else None


_JAVA_RUNS = Pattern(
    r"-(?:javaagent|agentlib|agentpath|Xrun|XX:On|XX:Flags|XX:VMOptions|Djava\.security|Djdk\.|Xbootclasspath|-patch-module|-source).*|@.*"
)
_PLACE = r"[\w@][\w.^~@{}/-]*"
_FILE = r"[\w@*][\w.*@ +/-]*|\.|\./[\w.*@ +/-]*|\.[\w][\w./*-]*"


def _go(texts: Texts) -> str | None:
    if texts[:1] == ["run"]:
        script = next((one for one in texts[1:] if not one.startswith("-")), "")
        inner = (
            [
                one
                for one in texts[1:]
                if one.startswith("-") and texts.index(one) < texts.index(script)
            ]
            if script
            else []
        )
        fine = (script.startswith("./") or script == "." or script.endswith(".go")) and is_inside(
            script
        )
        return None if fine and all(one in {"-race", "-v"} for one in inner) else "operand"
    if texts[:1] == ["get"]:
        return None if all(_GO_MODULE.fits(one) for one in texts[1:]) else "operand"
    if texts[:1] == ["generate"]:
        return (
            None
            if all(one in {"-v", "-x", "-n"} or is_inside(one) for one in texts[1:])
            else "operand"
        )
    return option_rule(BUILDING["go"], [Word(one) for one in texts])


_GO_MODULE = Pattern(r"-u|-t|-d|\./\.\.\.|[a-z][\w.-]*\.[a-z]+/[\w./@-]+")


def _cargo(texts: Texts) -> str | None:
    rest = list(texts)
    if rest and _TOOLCHAIN.fits(rest[0]):
        del rest[0]
    if rest[:1] in (["run"], ["r"], ["nextest"]):
        before = rest[1 : rest.index("--")] if "--" in rest else rest[1:]
        return option_rule(BUILDING["cargo"], [Word(one) for one in before if one != "run"])
    return option_rule(BUILDING["cargo"], [Word(one) for one in rest])


_TOOLCHAIN = Pattern(r"\+(?:stable|beta|nightly|[\d.]+)(?:-[\d-]+)?")
_PIP = Program(
    subs={
        **(PROGRAMS["pip"].subs or {}),
        **dict.fromkeys(
            ("install", "uninstall", "wheel", "download"),
            shaped(
                r"-[qvUyedr]+|--(?:quiet|upgrade|yes|editable|requirement|no-deps|no-cache-dir|user|pre|constraint|no-build-isolation|"
                r"break-system-packages|disable-pip-version-check|no-input|dry-run|force-reinstall|group)(?:=[\w.-]+)?|-r[\w][\w./-]*",
                r"[\w.][\w.+/-]*(?:\[[\w, -]+\])?(?:(?:[=<>!~]=?|===)[\w.*,<>=!~ -]+)?",
            ),
        ),
        "cache": shaped("-.*", "info|list|dir"),
    },
    leading=frozenset({"-q", "--quiet", "--disable-pip-version-check"}),
)  # fmt: skip

_GIT_MORE = {
    "commit": Program(short="Ft", valued="mC", long=("file", "template", "pathspec-from-file")),
    "restore": Program(
        check=lambda words: None
        if any(one.text in {"--staged", "-S"} for one in words) and not any(one.text in {"-W", "--worktree", "-SW", "-WS"} for one in words)
        else "option"
    ),
    "stash": Program(
        subs={
            **(PROGRAMS["git"].subs or {})["stash"].subs,  # type: ignore[dict-item]
            **dict.fromkeys(("push", "save", "pop", "apply"), shaped(r"--|-[mukqap]+|--(?:message|include-untracked|keep-index|quiet|index|staged|all)")),
        },
        alone=True,
    ),
    "merge": shaped(r"-[mqn]|--(?:no-ff|ff|ff-only|squash|no-commit|commit|abort|continue|quit|no-edit|edit|quiet|stat|no-stat|allow-unrelated-histories)", ".*"),
    "cherry-pick": shaped(r"-[xnmq]|--(?:no-commit|continue|abort|skip|quit|no-edit|allow-empty|ff)", _PLACE + r"(?:\.\.\.?[\w@][\w.^~/-]*)?|\d"),
    "revert": shaped(r"-[nm]|--(?:no-edit|no-commit|continue|abort|skip|quit)", _PLACE + r"(?:\.\.\.?[\w@][\w.^~/-]*)?|\d"),
    "rebase": shaped(r"-q|--(?:continue|abort|skip|quit|onto|quiet|autostash|no-autostash|autosquash|rebase-merges|root|update-refs)", _PLACE),
    "tag": Program(short="dfsuvF", valued="mn", long=("delete", "force", "sign", "local-user", "verify", "file", "edit")),
    "branch": Program(
        short="DMCf", valued="u", long=("force", "edit-description"), refused=Pattern(r"(?:--sort=)?-?signature.*|.*%\(signature.*", DOTALL).fits
    ),
    "mv": shaped("-[nkv]+", _FILE),
    "rm": shaped(r"-[rqn]+|--(?:cached|quiet|dry-run|ignore-unmatch)", _FILE),
    "apply": shaped(r"-[vR3]+|-p\d|--(?:check|stat|numstat|summary|index|cached|reverse|3way|verbose|whitespace=\w+)", _FILE),
    "reset": shaped("--soft|--mixed|-q|-N|--quiet|--", ".*"),
    "submodule": Program(
        subs={
            **(PROGRAMS["git"].subs or {})["submodule"].subs,  # type: ignore[dict-item]
            "update": shaped(r"-[qNj]\d*|--(?:init|recursive|depth=?\d*|quiet|checkout|no-fetch|jobs=\d+|force)", _FILE),
            "sync": shaped("--recursive|-q", _FILE),
            "init": shaped("-q", _FILE),
        }
    ),
    "bisect": Program(subs=dict.fromkeys("start good bad skip reset log old new terms".split(), shaped("--no-checkout|--first-parent|--", ".*"))),
    "format-patch": shaped(r"-\d+|-[on]|--(?:output-directory=[\w./-]+|stdout|cover-letter|numbered|root)", rf"{_PLACE}(?:\.\.\.?[\w@][\w.^~/-]*)?|{_FILE}"),
    "archive": shaped(r"-[ov]|--(?:format=(?:zip|tar)|output=[\w][\w./-]*|prefix=[\w./-]+|verbose|worktree-attributes)", _FILE + "|" + _PLACE),
    "worktree": Program(subs={"list": Program(), "add": shaped(r"-[bq]|--(?:detach|track|no-track)", _FILE + "|" + _PLACE), "prune": shaped("-n|-v"), "remove": shaped("-", _FILE)}),
    "gc": shaped("--auto|--quiet|-q"),
    "clean": shaped("-[ndx]*n[ndx]*|--dry-run", _FILE),
    "init": shaped(r"-[qb]|--(?:initial-branch=\w[\w/-]*|quiet|bare)", _FILE),
    "lfs": Program(subs=dict.fromkeys("ls-files status pull fetch".split(), Program())),
}  # fmt: skip
_GIT = BUILDING["git"]
_SQUEEZES = Pattern(r"-[cdfkltvq1-9T]+\d*|--(?:decompress|keep|force|stdout|best|fast|list|test)")
_ACTIVATES = Pattern(r"(?:\./)?\.?[\w-]+/(?:bin|Scripts)/activate(?:\.fish|\.csh)?")
_BUN = frozenset(
    "install i add remove rm update outdated test run build pm link audit -v --version".split()
)
_DENO = frozenset(
    "test fmt lint check task run cache doc info bench compile coverage types --version".split()
)
_SCRIPT = Pattern(r"[\w./-]+\.(?:ts|tsx|js|jsx|mjs|cjs)")
_INLINE = Pattern(
    r"-e|-p|-pe|-r|--eval(?:=.*)?|--print(?:=.*)?|--require(?:=.*)?|--import(?:=.*)?|--loader(?:=.*)?|--exec(?:=.*)?"
)
DEVELOPING: Mapping[str, Program] = MappingProxyType(
    {
        "git": _GIT._replace(subs={**(_GIT.subs or {}), **_GIT_MORE}),
        **dict.fromkeys(("rm", "rmdir", "unlink", "shred", "rimraf"), _by(_deletes)),
        **{name: _writes(name) for name in ("mkdir", "touch", "tee", "truncate", "sponge", "mv", "patch", "mkdirp", "ln")},
        **{name: _copies(name) for name in ("cp", "install", "ditto", "rsync")},
        **dict.fromkeys(("chmod", "chown", "chgrp"), _by(_rights)),
        **dict.fromkeys(("sed", "gsed"), _by(edits_rule)),
        **dict.fromkeys(("tar", "bsdtar"), _by(_packs)),
        "unzip": _by(lambda texts: None if all(_UNPACKS.fits(one) for one in texts if one.startswith("-")) and not _changes(texts) else "option"),
        **dict.fromkeys("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd".split(), _by(
            lambda texts: None if not _changes(texts) and all(_SQUEEZES.fits(one) for one in texts if one.startswith("-")) else "option")),
        "yq": PROGRAMS["yq"]._replace(short="s", long=("split-exp", "split-exp-file", "from-file"), known=None),
        "sort": PROGRAMS["sort"]._replace(short="T", valued="kStTo", long=("compress-program", "temporary-directory", "files0-from"), known=None,
                                          refused=lambda text: is_elsewhere(text) and text.startswith(("-o", "--o", "~"))),
        **dict.fromkeys(("pip", "pip3"), _PIP),
        **dict.fromkeys(("python", "python3", "pypy3"), _by(_python)),
        "node": _interpreter(r"--(?:test|check|watch|max-old-space-size=\d+|enable-source-maps|trace-warnings|experimental-[\w-]+|no-warnings|"
                             r"test-reporter=\w+|inspect)|-c|-V|-v|--version"),
        "ruby": _interpreter(r"-[cwW]\d?|-I\w[\w/]*|-v"),
        "php": _interpreter(r"-l|-v|-n"),
        "perl": _interpreter(r"-[cwT]+|-I\w[\w/]*|-v|-V"),
        **dict.fromkeys(("bash", "sh", "zsh", "dash"), _by(
            lambda texts: None if texts[:1] == ["-n"] and len(texts) > 1 and all(map(is_inside, texts[1:])) else "runs_programs")),
        "source": _by(lambda texts: None if len(texts) == 1 and _ACTIVATES.fits(texts[0]) else "runs_programs"),
        ".": _by(lambda texts: None if len(texts) == 1 and _ACTIVATES.fits(texts[0]) else "runs_programs"),
        "set": shaped(r"[-+][euxo]+", "pipefail"),
        "java": _by(_java),
        "go": _by(_go),
        "cargo": _by(_cargo),
        "find": Program(),
        **dict.fromkeys(NODE_TOOLS - {"rimraf", "mkdirp"}, _by(lambda texts: "outside" if any(map(is_elsewhere, texts)) else None)),
        **dict.fromkeys(("tsx", "ts-node"), _by(
            lambda texts: "inline_code" if not _operands(texts) or "-" in texts or any(_INLINE.fits(one) for one in texts) else "outside" if any(map(is_elsewhere, texts)) else None)),
        "bun": _by(lambda texts: None if texts[:1] and (texts[0] in _BUN or _SCRIPT.fits(texts[0])) and "-" not in texts and not any(map(is_elsewhere, texts)) else "inline_code"),
        "deno": _by(lambda texts: None if texts[:1] and texts[0] in _DENO and "-" not in texts and not any(map(is_elsewhere, texts)) else "inline_code"),
        **{name: Program(check=lambda _, rule=rule: rule) for name, rule in REFUSED_PROGRAMS.items() if name not in PROGRAMS},  # type: ignore[misc]
    }
)  # fmt: skip
"""Program → what of it passes in `develop`, in place of the other tables' rules."""
