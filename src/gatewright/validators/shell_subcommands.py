"""Table of read-only subcommands and their refused options for validator `sandbox`: `git`, `kubectl`, `docker`, `pip`, `apt` and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.validators.shell_options import Program, shaped
from gatewright.validators.shell_readers import READERS
from gatewright.validators.shell_syntax import Word

__all__ = ["WITH_SUBCOMMANDS"]

_NONE = Program()


def _reading(names: str, program: Program = _NONE) -> dict[str, Program]:
    return dict.fromkeys(names.split(), program)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# `--ext-diff` and `--textconv` run programs that a repository's settings name.
# What walks through commits knows the options of `diff`, even `blame`; signatures are checked by a program of the settings.
# So they are by what a format shows of them, and by sorting.
_GIT_SIGNATURE = Pattern(
    r".*%[-+ ]?G.*|.*%\(\*?signature.*|(?:--sort=)?[-*]*signature(?::.*)?", DOTALL
).fits
_GIT_OUTPUT = Program(
    long=("output", "ext-diff", "textconv", "show-signature"),
    words=frozenset({"output"}),
    refused=_GIT_SIGNATURE,
)
_GIT_REMOTE = shaped(r"-n|--all|--push", r"\w[\w.-]*")
"""Of a remote by its name. A URL instead of a name would be asked."""
_GIT_CHOOSING = _words("--contains --no-contains --merged --no-merged --points-at --list")
_GIT_PLAIN = _words(
    "--list --all --remotes --verbose --quiet --ignore-case --omit-empty --color --no-color --column --no-column "
    "--abbrev --no-abbrev"
)
_GIT_KEYED = _words("--sort")
_GIT_NOT_CHOOSING = ("no-list", "no-points-at")
"""They take back what an option before them chose."""
_GIT_SCOPES = _words(
    "--global --system --local --worktree --includes --show-origin --show-scope --name-only -z --null"
)
_GIT_GETS = _words("--get --get-all --get-regexp --list -l")
_GIT_NAME = Pattern(r"[A-Za-z][\w-]*\..+|list")
"""A setting's name has a dot; without one it may be a command (`edit`)."""


def _git_config(words: Sequence[Word]) -> str | None:
    """Looking values up, by an option or as a single name; a name and a value would be stored."""
    rest = [word.text for word in words if word.text not in _GIT_SCOPES]
    if rest[:1] and rest[0] in _GIT_GETS:
        return "option" if any(text.startswith("-") for text in rest[1:]) else None
    return None if len(rest) == 1 and _GIT_NAME.fits(rest[0]) else "option"


_GIT = {
    **_reading(
        "log diff show diff-tree whatchanged shortlog range-diff blame annotate rev-list",
        _GIT_OUTPUT,
    ),
    **_reading(
        "status rev-parse describe ls-files ls-tree merge-base count-objects name-rev "
        "show-ref version cherry check-ignore check-attr show-branch"
    ),
    "for-each-ref": Program(refused=_GIT_SIGNATURE),
    # `expire` and `delete` would be operands.
    "reflog": _GIT_OUTPUT._replace(operands=0),
    "cat-file": Program(long=("textconv", "filters")),
    "grep": Program(short="O", valued="efABCm", long=("open-files-in-pager", "textconv")),
    "branch": Program(
        short="dDmMcCuf",
        long=(
            "delete",
            "move",
            "copy",
            "force",
            "set-upstream-to",
            "unset-upstream",
            "edit-description",
            "create-reflog",
            *_GIT_NOT_CHOOSING,
        ),
        operands=0,
        choosing=_GIT_CHOOSING,
        plain=_GIT_PLAIN,
        keyed=_GIT_KEYED,
        refused=_GIT_SIGNATURE,
    ),
    "tag": Program(
        short="adefsuvFm",
        long=(
            *("delete", "edit", "force", "annotate", "sign", "local-user", "message", "verify"),
            *_GIT_NOT_CHOOSING,
        ),
        operands=0,
        # `-n` takes no value from the next word, and lists.
        choosing=_GIT_CHOOSING | {"-l", "-n"},
        plain=_GIT_PLAIN,
        keyed=_GIT_KEYED,
        refused=_GIT_SIGNATURE,
    ),
    "remote": Program(
        subs=_reading("show get-url", _GIT_REMOTE), leading=_words("-v --verbose"), alone=True
    ),
    "stash": Program(subs=_reading("list show", _GIT_OUTPUT)),
    "worktree": Program(subs=_reading("list")),
    "submodule": Program(subs=_reading("status summary")),
    "config": Program(check=_git_config),
}

_GIT = {
    name: one._replace(known=READERS[f"git.{name}"]) if f"git.{name}" in READERS else one
    for name, one in _GIT.items()
}
for _outer in ("stash", "worktree", "submodule"):
    _inner = {
        name: one._replace(known=READERS[f"git.{_outer}-{name}"])
        for name, one in (_GIT[_outer].subs or {}).items()
    }
    _GIT[_outer] = _GIT[_outer]._replace(subs=_inner)

_SECRETS = Pattern(r"(?:.*,)?secrets?(?:[./,].*)?", IGNORECASE).fits
_ELSEWHERE = tuple(
    "kubeconfig kuberc token server raw flatten as as-group as-uid as-user-extra user username password profile profile-output cache-dir log-file "
    "log-dir client-key client-certificate certificate-authority insecure-skip-tls-verify".split()
)
"""Options that lead to another cluster or act for somebody else, those that write a file, and those that show keys."""
_KUBECTL_FILES = Program(
    refused=_SECRETS, long=(*_ELSEWHERE, "filename", "kustomize"), short="sfk", valued="nlocL"
)
# `-f` of `logs` takes no value.
_KUBECTL_GET = Program(refused=_SECRETS, long=_ELSEWHERE, short="s", valued="nlco")
_KUBECTL = {
    **_reading("get describe", _KUBECTL_FILES),
    **_reading("logs top version explain api-resources api-versions", _KUBECTL_GET),
    "cluster-info": Program(operands=0, long=_ELSEWHERE),
    "config": Program(
        subs=_reading("current-context get-contexts get-clusters view", _KUBECTL_GET)
    ),
    "rollout": Program(subs=_reading("status history", _KUBECTL_FILES)),
    "auth": Program(subs=_reading("can-i whoami", _KUBECTL_GET)),
}

_PODMAN_ELSEWHERE = Program(
    long=tuple(
        "cdi-spec-dir config conmon connection cpu-profile db-backend default-mounts-file events-backend hooks-dir host identity imagestore "
        "memory-profile module network-cmd-path network-config-dir out registries-conf remote root runroot runtime runtime-flag ssh "
        "storage-driver storage-opt tls-ca tls-cert tls-key tlscacert tlscert tlskey tmpdir trace url volumepath".split()
    )
)
"""Options of `podman` itself, which it takes behind a subcommand as well: another host, another program, a file that is written."""
_DOCKER_OF = {
    "container": "ls list logs inspect top stats port diff",
    "image": "ls list inspect history",
    "volume": "ls list inspect",
    "network": "ls list inspect",
    "context": "ls list inspect show",
    "system": "df info",
    "compose": "ps ls images logs top port version",
}
_DOCKER = {
    **_reading(
        "ps images logs inspect version info stats top port diff history", _PODMAN_ELSEWHERE
    ),
    **{
        name: Program(
            subs=_reading(subs, _PODMAN_ELSEWHERE), leading_valued=_words("-p --project-name")
        )
        for name, subs in _DOCKER_OF.items()
    },
}

_QUERY_ONLY = Program(short="HM", long=("host", "machine", "root", "image"))
_SYSTEMCTL = _reading(
    "status list-units list-unit-files list-timers list-sockets is-active is-enabled is-failed show cat "
    "list-dependencies get-default",
    _QUERY_ONLY,
)
# Every subcommand of `pip` takes the options of all: an index, a proxy, a file that is written, a program for keys.
_PIP_PLAIN = (
    r"--(?:verbose|quiet|no-color|no-input|isolated|disable-pip-version-check|no-python-version-warning|local|user|path(?:=.*)?|all|"
    r"exclude(?:=.*)?|exclude-editable|include-editable"
)
_PIP = Program(
    subs={
        "list": shaped(
            rf"-[oulevq]+|{_PIP_PLAIN}|outdated|uptodate|editable|pre|not-required|format(?:=\w+)?)"
        ),
        "show": shaped(rf"-[fvq]+|{_PIP_PLAIN}|files)"),
        **_reading("freeze check", shaped(rf"-[lvq]+|{_PIP_PLAIN})")),
    }
)
_APT = Program(short="ocps", valued="t", long=("option", "config-file", "pkg-cache", "src-cache"))
# A package by its name: by an address, a repository or an alias it would be fetched from there.
_NPM = shaped(
    r"--json|-g|--global|--all|--long|-l|--depth(=\d+)?|--parseable",
    r"(?:@[\w.-]+/)?[\w.-]+(?:@[\w.^~<>=*| -]*)?|[\w.\[\]-]+",
)
WITH_SUBCOMMANDS: Mapping[str, Program] = MappingProxyType(
    {
        # No `-c` and no `-C`: settings can name programs (`core.pager`), and so can another repository's.
        "git": Program(
            subs=_GIT, leading=_words("--no-pager --no-optional-locks --literal-pathspecs")
        ),
        "kubectl": Program(
            subs=_KUBECTL, leading_valued=_words("-n --namespace --context --cluster")
        ),
        "docker": Program(subs=_DOCKER),
        "podman": Program(subs=_DOCKER),
        "systemctl": Program(
            subs=_SYSTEMCTL,
            leading=_words("--user --system --no-pager --failed --all -a --full -l --no-legend"),
            leading_valued=_words("--type -t --state --property -p --output -o --lines -n"),
            alone=True,
        ),
        "timedatectl": Program(
            subs=_reading("status show list-timezones", _QUERY_ONLY), alone=True
        ),
        "loginctl": Program(
            subs=_reading("list-sessions list-users show-user", _QUERY_ONLY), alone=True
        ),
        "hostnamectl": Program(subs=_reading("status", _QUERY_ONLY), alone=True),
        "localectl": Program(
            subs=_reading("status list-locales list-keymaps", _QUERY_ONLY), alone=True
        ),
        "resolvectl": Program(subs=_reading("status query statistics"), alone=True),
        "pip": _PIP,
        "pip3": _PIP,
        "npm": Program(subs=_reading("ls list view outdated root prefix", _NPM)),
        "apt": Program(subs=_reading("list show search policy", _APT)),
        "apt-cache": Program(
            subs=_reading("search show policy depends rdepends madison showpkg", _APT)
        ),
    }
)
"""Program → what of it is refused."""
