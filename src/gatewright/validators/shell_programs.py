"""The programs that the allow-list mode of `sandbox` knows: they read, and what else they can do is refused.

A program that is not here is refused in that mode. Adding one means reading its manual for options that
write a file, run a program, change the host or open a connection, and naming them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gatewright.validators import shell_special as special
from gatewright.validators.shell_options import Program, option_rule
from gatewright.validators.shell_syntax import Word

__all__ = ["PROGRAMS", "program_name", "program_rule"]

_HARMLESS = """
    apropos arch b2sum base32 base64 basename basenc bc bzcat bzgrep cal cat cd cksum clear cloc cmp col
    colrm column comm csvcut csvgrep csvjoin csvjson csvlook csvsort csvstack csvstat cut df diff dig dir
    dirname du duf egrep envsubst exa expand expr eza factor false fgrep fmt fold free getconf getent
    getfacl grep groups hd head hexdump host hostid id in2csv iostat join jq last lastb lastlog locale locate plocate
    logname look ls lsattr lsb_release lsblk lscpu lsd lsipc lslocks lslogins lsmem lsmod lsns lspci lsusb
    lzcat lzgrep md5 md5sum modinfo mpstat ncal nl nproc nslookup nstat numfmt od paste pathchk pgrep pidof
    pidstat ping ping6 pmap pr printenv ps pstree pwd pwdx readelf readlink realpath rev seq sha1sum
    sha224sum sha256sum sha384sum sha3sum sha512sum shasum size sleep stat strings sum sw_vers tabs tac tail
    toe tokei tput tr tracepath traceroute true tsort tty type ul uname unexpand units uptime users uuidgen
    vdir vmstat w wc whatis whereis which who whoami whois xzcat xzgrep yes zcat zcmp zdiff zegrep zfgrep
    zgrep zipinfo zstdgrep
""".split()

_NONE = Program()
_TEXT = Program(textual=True)


def _reading(*names: str, **more: Program) -> dict[str, Program]:
    return dict.fromkeys(names, _NONE) | more


_GIT_OUTPUT = Program(long=("output", "ext-diff", "textconv"), words=frozenset({"output"}))
_GIT = (
    dict.fromkeys(("log", "diff", "show", "diff-tree", "whatchanged", "shortlog"), _GIT_OUTPUT)
    | _reading(
        "status", "rev-parse", "describe", "ls-files", "ls-tree", "blame", "rev-list", "merge-base"
    )
    | _reading(
        "count-objects", "name-rev", "for-each-ref", "show-ref", "version", "cherry", "annotate"
    )
    | {
        "reflog": Program(operands=0, long=("output",)),
        "cat-file": Program(long=("textconv", "filters")),
        "grep": Program(short="O", valued="efABCm", long=("open-files-in-pager",)),
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
            ),
            operands=0,
        ),
        "tag": Program(
            short="adfsuFm",
            long=("delete", "force", "annotate", "sign", "local-user", "message"),
            operands=0,
            valued="n",
        ),
        "remote": Program(operands=0),
        "stash": Program(subs={"list": _NONE, "show": _GIT_OUTPUT}),
        "config": Program(
            check=lambda words: (
                None
                if words and words[0].text in {"--get", "--list", "-l", "--get-all", "--get-regexp"}
                else "option"
            )
        ),
    }
)
_KUBECTL = dict.fromkeys(
    "get describe logs top version explain api-resources api-versions cluster-info".split(),
    Program(
        words=frozenset({"secret", "secrets"}),
        long=("kubeconfig", "token", "server", "raw", "as"),
        short="s",
        valued="nlcof",
    ),
)
_DOCKER = _reading(
    "ps", "images", "logs", "inspect", "version", "info", "stats", "top", "port", "diff", "history"
)
_SYSTEMCTL = dict.fromkeys(("status", "list-units", "list-unit-files", "list-timers", "list-sockets", "is-active",
                      "is-enabled", "is-failed", "show", "cat", "list-dependencies", "get-default"), Program(short="HM", long=("host", "machine", "root", "image")))  # fmt: skip


_QUERY_ONLY = Program(short="HM", long=("host", "machine", "root", "image"))
_NO_LOG = Program(long=("log", "cache-dir", "config-settings", "python"))
_APT = Program(short="oc", long=("option", "config-file"))


def _only_first(*allowed: str) -> Program:
    """A program whose first argument has to be one of these, and which gets no other option."""

    def rule(words: Sequence[Word]) -> str | None:
        known = bool(words) and words[0].text in allowed
        return None if known and not any(w.text.startswith("-") for w in words[1:]) else "option"

    return Program(check=rule)


def _options_of(*allowed: str) -> Program:
    """A program that gets these options, as whole words, and any operands."""
    return Program(
        check=lambda words: (
            None if all(w.text in allowed for w in words if w.text.startswith("-")) else "option"
        )
    )


_NPM = _options_of(
    "--json", "-g", "--global", "--all", "--long", "-l", "--depth=0", "--depth=1", "--parseable"
)


def _less(words: Sequence[Word]) -> str | None:
    return (
        "option" if any(w.text.startswith(("+", "-o", "-O", "-k", "--")) for w in words) else None
    )


def _judged(words: Sequence[Word], appended: bool) -> str | None:
    return program_rule(words, appended=appended)


_DESCRIBED: dict[str, Program] = {
    "echo": _TEXT,
    "printf": Program(short="v", textual=True),
    "sort": Program(short="oT", valued="kStT", long=("output", "compress-program", "temporary-directory")),
    "shuf": Program(short="o", valued="in", long=("output",)),
    "uniq": Program(valued="fsw", operands=1),
    "tree": Program(short="oR", valued="LPIH", long=("output",), words=frozenset({"o"})),
    "file": Program(short="Cm", valued="FfeP", long=("compile", "magic-file")),
    "xxd": Program(short="r", valued="clsgo", words=frozenset({"r", "revert"}), operands=1),
    "hostname": Program(short="Fb", long=("file", "boot"), operands=0),
    "man": Program(short="PHTXZptC", long=("pager", "html", "browser", "preprocessor", "gxditview", "troff",
                   "ditroff", "config-file"), valued="sSMLmeEr"),
    "dmesg": Program(short="CcDEn", long=("clear", "read-clear", "console-off", "console-on", "console-level")),
    "journalctl": Program(short="M", valued="unpogtDSUFcN", long=("vacuum-size", "vacuum-time", "vacuum-files", "rotate", "flush", "sync",
                          "relinquish-var", "smart-relinquish-var", "setup-keys", "update-catalog", "force",
                          "cursor-file", "machine", "root", "image")),
    "lshw": Program(words=frozenset({"dump"})),
    "findmnt": _NONE,
    "sdiff": Program(short="o", valued="wI", long=("output", "diff-program")),
    "sar": Program(short="o", valued="fisenP"),
    "ss": Program(short="KDNF", valued="fA", long=("kill", "diag", "net", "filter")),
    "netstat": _NONE,
    "ifconfig": Program(operands=1),
    "arp": Program(short="sdfD", valued="iH", long=("set", "delete", "file"), operands=1),
    "route": Program(operands=0),
    "lsof": Program(short="D", valued="cdgikMpStTu"),
    "yq": Program(short="is", valued="oIp", long=("inplace", "in-place", "split-exp", "split-exp-file", "from-file")),
    "xmllint": Program(words=frozenset({"o", "output", "shell", "load-trace"})),
    "unzip": _only_first("-l", "-v", "-Z", "-t", "-p", "-lv"),
    "gzip": _only_first("-l", "-t", "-tv", "-lv"),
    "bzip2": _only_first("-t", "-tv"),
    "xz": _only_first("-l", "-t", "-lv"),
    "top": Program(check=lambda words: None if any("b" in w.text.partition("n")[0] for w in words
                   if w.text.startswith("-")) else "option"),
    "timedatectl": Program(subs=dict.fromkeys(("status", "show", "list-timezones"), _QUERY_ONLY)),
    "loginctl": Program(subs=dict.fromkeys(("list-sessions", "list-users", "show-user"), _QUERY_ONLY)),
    "hostnamectl": Program(subs={"status": _QUERY_ONLY}),
    "systemctl": Program(subs=_SYSTEMCTL),
    "git": Program(subs=_GIT),
    "kubectl": Program(subs=_KUBECTL),
    "docker": Program(subs=_DOCKER),
    "podman": Program(subs=_DOCKER),
    "pip": Program(subs=dict.fromkeys(("list", "show", "freeze", "check"), _NO_LOG)),
    "pip3": Program(subs=dict.fromkeys(("list", "show", "freeze", "check"), _NO_LOG)),
    "npm": Program(subs=dict.fromkeys(("ls", "list", "view", "outdated", "root", "prefix"), _NPM)),
    "apt": Program(subs=dict.fromkeys(("list", "show", "search", "policy"), _APT)),
    "apt-cache": Program(subs=dict.fromkeys(("search", "show", "policy", "depends", "rdepends", "madison", "showpkg"), _APT)),
    "dpkg": _only_first("-l", "-L", "-s", "-S", "-p", "--list", "--listfiles", "--status", "--search"),
    "rpm": _only_first("-q", "-qa", "-qi", "-ql", "-qf", "-qc", "-qd", "-qR"),
    "crontab": _only_first("-l"),
    "kill": _only_first("-l"),
    "sysctl": _only_first("-a", "-n"),
    "iptables": _only_first("-L", "-S", "-nL", "-vnL"),
    "mount": Program(valued="t", short="aBFfiMnoORrsTUwLN", long=("all", "bind", "move", "options"), operands=0),
    "less": Program(check=_less),
    "more": Program(check=_less),
    "diff3": Program(long=("diff-program",)),
    "nm": Program(long=("plugin",)),
    "objdump": Program(long=("plugin",)),
    "rg": Program(long=("pre", "pre-glob", "hostname-bin")),
    "ag": Program(long=("pager",)),
    "ack": Program(long=("pager", "ackrc", "env")),
    "bat": Program(long=("pager", "config-file", "generate-config-file"), words=frozenset({"cache"})),
    "fd": Program(short="xX", valued="detESc", long=("exec", "exec-batch")),
    "zstdcat": Program(short="oD", long=("rm", "output-dir-flat", "output-dir-mirror")),
    "iconv": Program(short="o", valued="ft", long=("output",)),
    "xsv": Program(short="o", long=("output",)),
    # Bash evaluates the subscript of a name behind these.
    "test": Program(words=frozenset({"v", "R"})),
    "find": Program(check=special.find),
    "date": Program(check=special.date),
    "sed": Program(check=special.sed),
    "awk": Program(check=special.awk),
    "gawk": Program(check=special.awk),
    "mawk": Program(check=special.awk),
    "nawk": Program(check=special.awk),
    "tar": Program(check=special.tar),
    "ip": Program(check=special.ip),
    "command": Program(check=special.command),
    "env": Program(check=special.env(_judged)),
    "xargs": Program(check=special.xargs(_judged)),
    "time": Program(check=special.wrapper(_judged, "-p")),
    "nice": Program(check=special.wrapper(_judged, r"-n\d+|-\d+|--adjustment=\d+")),
    "stdbuf": Program(check=special.wrapper(_judged, r"-[ioe][L0]|-[ioe]\d+[KM]?")),
    "timeout": Program(check=special.wrapper(_judged, r"--foreground|-v|--preserve-status|-k\d+[smhd]?",
                       r"\d+(\.\d+)?[smhd]?")),
}  # fmt: skip

_VERSION_ONLY = Program(
    check=lambda words: (
        None
        if len(words) == 1 and words[0].text in {"-V", "-v", "-version", "version"}
        else "inline_code"
    )
)
_INTERPRETERS = "python python3 perl ruby node php lua java javac go rustc gcc cargo ruff deno bun R julia".split()

PROGRAMS: Mapping[str, Program] = MappingProxyType(
    dict.fromkeys(_HARMLESS, _NONE) | dict.fromkeys(_INTERPRETERS, _VERSION_ONLY) | _DESCRIBED
)
"""Program → what of it is refused."""

_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/")


def program_name(word: str) -> str:
    """The program that a first word means; a path outside the system's folders stays as it is."""
    for folder in _FOLDERS:
        if word.startswith(folder):
            return word[len(folder) :]
    return word


def program_rule(
    words: Sequence[Word], known: Mapping[str, Program] = PROGRAMS, *, appended: bool = False
) -> str | None:
    """What speaks against one command: a rule's name, or None.

    `appended` says that arguments nobody can see now will follow, so that only a program none of whose
    arguments is refused may get them.
    """
    if not words:
        return "empty"
    program = known.get(program_name(words[0].text))
    if program is None:
        return "unknown_program"
    if appended and program.closed:
        return "unknown_arguments"
    return option_rule(program, words[1:])
