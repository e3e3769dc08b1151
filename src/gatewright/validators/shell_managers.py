"""Table of package and version managers for `sandbox` in deny-list mode: subcommands and options before them that run no other program.

Each of these runs any program by one of its subcommands (`exec`, `run`, `dlx`), so that only subcommands pass that are named here. What
stands before a subcommand has to be named as well: behind an option nobody knows, the next word is its value to one reader and the
subcommand to another. What a package or a project runs by its own scripts is the project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_options import Program

__all__ = ["MANAGERS", "is_folder_inside"]

_CALLING = frozenset(
    "run run-script exec e x r dlx shell sh env tool tools eval repl explore edit open create init node serve task".split()
)
"""Words by which managers run programs. As a value they would be a subcommand to whoever does not know the option: `./run` is none."""
_ELSEWHERE = Pattern(r"[-/~@].*|.*[:\\$].*|(?:.*/)?\.\.(?:/.*)?", DOTALL)


def is_folder_inside(value: str) -> bool:
    """Whether a value is a folder, or a member of a workspace, of the project itself: elsewhere there are scripts from elsewhere."""
    return value != "" and value not in _CALLING and not _ELSEWHERE.fits(value)


_ANY = Program()


def _named(names: str, program: Program = _ANY) -> dict[str, Program]:
    return dict.fromkeys(names.split(), program)


def _manager(subs: Mapping[str, Program], leading: str = "", valued: str = "") -> Program:
    return Program(
        subs=subs,
        leading=frozenset(leading.split()),
        leading_valued=frozenset(valued.split()),
        leading_value=is_folder_inside,
        alone=True,
    )


# What names a program, a file of settings that may name one, or another project. `nopt` takes beginnings of names behind any
# number of dashes, and letters together.
_NODE = Program(
    refused=Pattern(
        r"-+(?:scr|node-o|globalc|userc|onload|init.m|bro|vie|edi|config\.)[\w.-]*(?:=.*)?|-+(?:git|prefix?|shell|dir|cwd|use-yarnrc|yarn-path)(?:=.*)?|"
        r"-[a-zA-Z]*C.*",
        DOTALL,
    ).fits
)
_NODE_SUBS = (
    "run run-script test t install i add remove rm uninstall un update up upgrade outdated ls list ll la why audit start stop "
    "restart root bin pack prune dedupe ping info view version rebuild link unlink"
)
_UV = Program(short="p", long=("python", "directory", "project", "config-file"))
_FOLDERS = Program(short="CP", long=("directory", "project"))
# A module by its address is fetched and run.
_DENO = Program(
    refused=Pattern(r".*://.*|(?:.*=)?(?:data|blob|npm|jsr|node):.*", DOTALL).fits,
    long=("config", "import-map", "eval", "cwd"),
)
_PYENV = _manager(
    _named(
        "local global versions version version-name which whence install uninstall rehash root prefix commands help"
    )
)

MANAGERS: Mapping[str, Program] = MappingProxyType(
    {
        "npm": _manager(
            _named(
                f"{_NODE_SUBS} rum urn tst in ins isntall ci clean-install r show v search explain fund doctor whoami query rb se find",
                _NODE,
            ),
            "-v -s --silent -q --quiet -d --verbose --json --no-color --no-audit --no-fund --offline --prefer-offline --no-progress "
            "-g --global --workspaces --if-present --ignore-scripts",
            "--prefix -C",
        ),
        "pnpm": _manager(
            _named(f"{_NODE_SUBS} fetch import licenses store", _NODE),
            "-v -r --recursive -w --workspace-root -s --silent --no-color --offline --prefer-offline --parallel --stream",
            "--dir -C --filter",
        ),
        "yarn": _manager(
            # A script of the project by its name: those that most projects have.
            _named(
                f"{_NODE_SUBS} build lint format fmt dev check check-types type-check typecheck types docs clean coverage e2e unit "
                "licenses import autoclean",
                _NODE,
            ),
            "-v -s --silent --offline",
            "--cwd",
        ),
        "uv": _manager(
            {
                **_named("sync lock add remove init venv build export tree version cache help", _UV),
                "pip": Program(
                    subs=_named("install uninstall list show freeze check tree compile sync", _UV)
                ),
                "python": Program(subs=_named("list find install uninstall pin dir upgrade")),
                "tool": Program(subs=_named("list dir")),
            },
            "-V -q --quiet -v --verbose -n --no-cache --offline --no-progress --no-config",
            "--directory --project",
        ),
        "poetry": _manager(
            {
                **_named(
                    "install add remove update lock sync show check build version export search about new init help list",
                    _FOLDERS,
                ),
                "env": Program(subs=_named("info list remove")),
            },
            "-V -q --quiet -v -vv -vvv -n --no-interaction --no-ansi --ansi --no-cache --no-plugins",
            "-C --directory -P --project",
        ),
        "pipenv": _manager(
            _named(
                "install uninstall update upgrade lock sync check audit graph verify requirements clean scripts",
                Program(long=("python",)),
            ),
            "-q --quiet -v --verbose --venv --where --envs --support",
        ),
        "pdm": _manager(
            {
                **_named(
                    "install add remove update lock sync list show info build outdated export search init",
                    Program(short="pcg", long=("project", "config", "global")),
                ),
                "venv": Program(subs=_named("list create remove purge"), alone=True),
            },
            "-V -q --quiet -v --verbose",
        ),
        "hatch": _manager(
            {
                **_named("build clean version status test fmt project metadata"),
                "env": Program(subs=_named("show find create remove prune")),
                "dep": Program(subs=_named("show hash")),
            },
            "-q --quiet -v --verbose --no-color --no-interactive",
        ),
        "rye": _manager(
            {
                **_named("sync lock add remove show list fetch init build test fmt lint pin version"),
                "tools": Program(subs=_named("list")),
                "toolchain": Program(subs=_named("list")),
            }
        ),
        "pixi": _manager(_named("install add remove list info tree lock search update init"), "-V -q --quiet -v --verbose --no-progress"),
        "conda": _manager(
            {
                **_named("install create list info search update upgrade remove uninstall clean export compare activate deactivate"),
                "env": Program(subs=_named("list create export update remove")),
            },
            "-V --no-plugins",
        ),
        "mise": _manager(
            _named("ls list current where which install i uninstall outdated upgrade version doctor"), "-V -q --quiet -v --verbose -y --yes"
        ),
        "asdf": _manager(
            {
                **_named("current list latest where which install uninstall info version reshim list-all plugin-list"),
                "plugin": Program(subs=_named("list")),
            }
        ),
        "direnv": _manager(_named("status version help")),
        "bundle": _manager(
            # Every beginning of a subcommand is one, and so is every plugin's.
            _named("install update add remove list show info outdated check lock clean platform licenses doctor version cache help"),
            "--no-color --verbose -V",
        ),
        "deno": _manager(
            {
                **_named("fmt lint check test bench task info doc coverage types clean outdated", _DENO),
                **_named("add remove install uninstall update", Program(short="g", long=("global", "config", "import-map"))),
            },
            "-V -q --quiet",
        ),
        "rustup": _manager(
            {
                **_named("show update check which doc"),
                **_named("toolchain target component override", Program(subs=_named("list add install remove uninstall set unset"))),
            },
            "-V -q --quiet -v --verbose",
        ),
        "volta": _manager(_named("list which install uninstall pin fetch help"), "-v --quiet --verbose"),
        **dict.fromkeys("pyenv rbenv nodenv goenv jenv plenv".split(), _PYENV),
    }
)  # fmt: skip
"""Program → what of it passes in deny-list mode."""
