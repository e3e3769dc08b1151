"""Table of programs that `sandbox` in allow-list mode accepts, and the rule that judges one command by it.

A program that is not here is refused in that mode. Adding one means reading its manual for options that
write a file, run a program, change the host or open a connection, and naming them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gatewright.patterns import ASCII, DOTALL, NEVER, Pattern
from gatewright.validators import shell_special as special
from gatewright.validators.shell_options import Program, option_rule, shaped
from gatewright.validators.shell_readers import READERS
from gatewright.validators.shell_subcommands import WITH_SUBCOMMANDS
from gatewright.validators.shell_syntax import Word

__all__ = ["PROGRAMS", "program_name", "program_rule", "starts_too_many"]

_HARMLESS = """
    apropos arch b2sum base32 basename basenc bc bzcat bzgrep cal cat cd cksum clear cmp col colrm
    column comm csvcut csvgrep csvjoin csvjson csvlook csvsort csvstack csvstat cut df diff dig dir
    dircolors dirname dpkg-query du duf egrep envsubst exa expand expr eza factor false fgrep fmt fold
    free getcap getconf getenforce getfacl grep groups hd head hexdump host hostid id iostat join jq
    pushd popd dirs pdfinfo
    last lastb locale locate logname look ls lsattr lsb_release lsblk lscpu lsd lsipc lslocks lslogins
    lsmem lsmod lsns lspci lsusb lzcat lzgrep md5 md5sum modinfo mpstat ncal nl nproc nslookup numfmt od
    paste pathchk pgrep pidof ping ping6 plocate pr printenv ps pstree pwd pwdx readelf readlink
    realpath rev runlevel seq sestatus sha1sum sha224sum sha256sum sha384sum sha3sum sha512sum shasum
    size sleep stat strings sum sw_vers tabs tac tail toe tokei tput tr tracepath traceroute true tsort
    tty type ul uname unexpand uptime users uuidgen vdir vmstat w wc whatis whereis which who whoami
    whois xzcat xzgrep yes zcat zcmp zdiff zegrep zfgrep zgrep zipinfo zstdgrep
""".split()

_NONE = Program()
_TEXT = Program(textual=True)


def _only_first(*allowed: str) -> Program:
    """A program whose first argument has to be one of these, and which gets no other option."""

    def rule(words: Sequence[Word]) -> str | None:
        known = bool(words) and words[0].text in allowed
        return None if known and not any(w.text.startswith("-") for w in words[1:]) else "option"

    return Program(check=rule)


def _to_output(words: Sequence[Word]) -> str | None:
    """A compressor that keeps its file: it lists, tests, or writes to its output."""
    options = [word.text for word in words if word.text.startswith("-") and word.text != "-"]
    kept = any(one in _KEEPING_LONG or set(one) & set("clt") for one in options)
    known = all(one in _KEEPING_LONG or _COMPRESSING.fits(one) for one in options)
    return None if kept and known else "option"


_KEEPING_LONG = frozenset({"--stdout", "--to-stdout", "--list", "--test"})
_COMPRESSING = Pattern(r"-[cdfkltvqn1-9]+|--(decompress|uncompress|keep|force|verbose|quiet)")


def _to_text(words: Sequence[Word]) -> str | None:
    """A document's text, written to the output: without the second operand a file beside the first one is."""
    texts = [word.text for word in words]
    known = all(_TO_TEXT.fits(one) for one in texts if one.startswith("-") and one != "-")
    return None if known and texts[-1:] == ["-"] else "option"


_TO_TEXT = Pattern(r"-(?:layout|raw|nopgbrk|bbox|htmlmeta|q|[flrxyWH]|enc|eol)")
_OPENSSL = {
    "version": shaped("-[a-z]"),
    # Without `-provider-path` and what else loads code.
    "list": shaped(r"-(?:1|verbose|commands|(?:standard|digest|cipher)-commands|[a-z-]+-(?:algorithms|methods|managers|generators|instances)|"
                   r"encoders|decoders|store-loaders|providers|disabled|objects)", NEVER),
    "dgst": shaped(r"-(?:md5|sha\d+(?:-\d+)?|blake2\w+|hex|r|c|binary)"),
    **dict.fromkeys(("x509", "req", "crl"), shaped(
        r"-(?:in|inform|noout|text|subject|issuer|dates|enddate|startdate|fingerprint|serial|pubkey|modulus|purpose|hash|email|ext|"
        r"nameopt|checkend|sha\d+|verify)")),
}  # fmt: skip
_TAGS = (
    "ImageSize ImageWidth ImageHeight DateTimeOriginal CreateDate ModifyDate Make Model FileType FileSize MIMEType Orientation Title Author "
    "Duration All GPSLatitude GPSLongitude GPSPosition Software ColorSpace LensModel ISO"
)
_NO_URL = r"(?:[a-zA-Z]:)?[\w./ =,-]*|[\w.-]*=[\w./ =,:-]*"
"""Of `ffprobe`: a colon stands behind one letter or a sign that no scheme has, as `http:x` is an address, too."""
_SQLITE = Pattern(
    r"-{1,2}(?:readonly|header|noheader|csv|json|column|line|list|markdown|box|table|bail|batch|safe)"
)
_SQLITE_SHOWS = Pattern(
    r"\.(?:schema|tables|indexes|indices|databases|dbinfo|fullschema|show|version)(?: [\w %]*)?|\s*(?i:select|with|explain|pragma)\s[^;]*;?\s*",
    DOTALL,
)
_SQLITE_BEYOND = Pattern(r"(?i).*(?:edit|load_extension|readfile|writefile|fsdir|fts3_tokenizer|lsdir|attach|insert|update|delete|replace|writable_schema)\b.*", ASCII | DOTALL)  # fmt: skip


def _database(words: Sequence[Word]) -> str | None:
    """One question to a database that is opened for reading, or what it is made of."""
    texts = [word.text for word in words]
    options = [one for one in texts if one.startswith("-")]
    operands = [one for one in texts if not one.startswith("-")]
    if not all(map(_SQLITE.fits, options)) or not {"-readonly", "--readonly"}.intersection(options):
        return "option"
    shows = len(operands) == 2 and _SQLITE_SHOWS.fits(operands[1])
    return None if shows and not _SQLITE_BEYOND.fits(operands[1]) else "operand"


_PAGER = shaped(r"-[aceEfFgGiIJmMnNqQrRsSuUwWX]+|-\d+|--(no-init|quit-if-one-screen|chop-long-lines)",
                r"[^+].*|\+([GgF]|\d+|/.*)")  # fmt: skip
"""Without the commands that a pager would run at its start, files of keys, and files that it writes."""


def _mount(words: Sequence[Word]) -> str | None:
    """What is mounted, maybe of one type."""
    texts = [word.text for word in words]
    return (
        None if not texts or texts == ["-l"] or (texts[0] == "-t" and len(texts) == 2) else "option"
    )


_HEXDUMP_VALUED = frozenset("-c -cols -g -l -len -s -skip -seek -o".split())


def _hexdump(words: Sequence[Word]) -> str | None:
    """`xxd` that only shows: it knows no clusters, its options end at an operand, and it writes the second one."""
    texts = [word.text for word in words]
    while texts and texts[0].startswith("-") and texts[0] not in {"-", "--"}:
        option = texts.pop(0)
        option = option.removeprefix("-") if option.startswith("--") else option
        # Only its first letter counts.
        if option.startswith("-r"):
            return "option"
        if option in _HEXDUMP_VALUED:
            del texts[:1]
    return None if len(texts) <= (2 if texts[:1] == ["--"] else 1) else "operand"


def _judged(words: Sequence[Word], appended: bool) -> str | None:
    return program_rule(words, appended=appended)


_DESCRIBED: dict[str, Program] = {
    "echo": _TEXT,
    "printf": Program(short="v", textual=True),
    # `-o` and `-T` write files, `--compress-program` runs a program.
    "sort": Program(short="oT", valued="kStT", long=("output", "compress-program", "temporary-directory", "files0-from")),
    "shuf": Program(short="o", valued="in", long=("output",)),
    # A second operand is the file that it writes.
    "uniq": Program(valued="fsw", operands=1),
    # Its values are the next words, wherever in a cluster their letter stands.
    "tree": Program(short="oR", long=("output",)),
    "file": Program(short="Cm", valued="FfeP", long=("compile", "magic-file")),
    "xxd": Program(check=_hexdump),
    "hostname": Program(short="Fb", long=("file", "boot"), operands=0),
    "man": Program(short="PHTXZptC", long=("pager", "html", "browser", "preprocessor", "gxditview", "troff",
                   "ditroff", "config-file"), valued="sSMLmeEr"),
    "dmesg": Program(short="CcDEn", long=("clear", "read-clear", "console-off", "console-on", "console-level")),
    # Apart from reading, it shrinks, rotates and signs the journal.
    "journalctl": Program(short="M", valued="unpogtDSUFc", long=("vacuum-size", "vacuum-time", "vacuum-files", "rotate", "flush", "sync",
                          "relinquish-var", "smart-relinquish-var", "setup-keys", "update-catalog", "force",
                          "cursor-file", "machine", "root", "image")),
    "history": shaped(NEVER, r"\d+"),
    "lshw": Program(words=frozenset({"dump"})),
    "findmnt": _NONE,
    "sdiff": Program(short="o", valued="wI", long=("output", "diff-program")),
    "sar": Program(short="o", valued="fisenP"),
    "ss": Program(short="KDNF", valued="fA", long=("kill", "diag", "net", "filter")),
    "netstat": _NONE,
    "ifconfig": Program(operands=1),
    "arp": Program(short="sdfD", valued="iH", long=("set", "delete", "file"), operands=1),
    "route": Program(operands=0),
    "lsof": Program(short="D", valued="cdegikpSTu"),
    "yq": Program(short="is", valued="oIp", long=("inplace", "in-place", "split-exp", "split-exp-file", "from-file"),
                  refused=Pattern(r"(?:.*\W)?load(_\w+)?\s*\(.*", DOTALL).fits),
    "xmllint": Program(words=frozenset({"o", "output", "shell", "load-trace"})),
    "pdftotext": Program(check=_to_text),
    "openssl": Program(subs=_OPENSSL),
    "jar": _only_first("tf", "tvf", "-tf", "-tvf"),
    "ar": _only_first("t", "tv", "-t", "-tv"),
    "exiftool": shaped(r"-(?:json|j|csv|X|g\d?|G\d?|s{1,3}|S|a|n|u|U|l|fast\d?|q|ee|" + _TAGS.replace(" ", "|") + ")"),
    "ffprobe": shaped(
        r"-(?:v|loglevel|hide_banner|show_(?:entries|format|streams|chapters|packets|frames|error|programs)|of|print_format|select_streams|i|pretty|"
        r"count_frames|count_packets|unit|sexagesimal|read_intervals)", _NO_URL),
    "sqlite3": Program(check=_database),
    "unzip": _only_first("-l", "-v", "-Z", "-t", "-p", "-lv"),
    **dict.fromkeys("gzip gunzip bzip2 bunzip2 xz unxz".split(), Program(check=_to_output)),
    "top": Program(check=lambda words: None if any("b" in w.text.partition("n")[0] for w in words
                   if w.text.startswith("-")) else "option"),
    "dpkg": _only_first("-l", "-L", "-s", "-S", "-p", "--list", "--listfiles", "--status", "--search"),
    "rpm": _only_first("-q", "-qa", "-qi", "-ql", "-qf", "-qc", "-qd", "-qR"),
    "crontab": _only_first("-l"),
    "kill": _only_first("-l"),
    "sysctl": shaped(r"-[aAnNebx]+|--(all|names|values|ignore|binary)", r"[\w./*-]+"),
    "iptables": _only_first("-L", "-S", "-nL", "-vnL"),
    "mount": Program(check=_mount),
    "swapon": _only_first("-s", "--show", "--summary"),
    **dict.fromkeys(("less", "more", "zless", "zmore"), _PAGER),
    "diff3": Program(long=("diff-program",)),
    "nm": Program(long=("plugin",)),
    "objdump": Program(long=("plugin",)),
    "rg": Program(long=("pre", "pre-glob", "hostname-bin")),
    "ag": Program(long=("pager",)),
    "ack": Program(long=("pager", "ackrc", "env", "output", "create-ackrc")),
    "bat": Program(long=("pager", "config-file", "generate-config-file"), refused=Pattern("cache").fits),
    "fd": Program(short="xX", valued="detESc", long=("exec", "exec-batch")),
    "zstdcat": Program(short="oD", long=("rm", "output-dir-flat", "output-dir-mirror", "trace")),
    "iconv": Program(short="o", valued="ft", long=("output",)),
    "xsv": Program(short="o", long=("output",)),
    "base64": Program(short="o", valued="w", long=("output",)),
    "in2csv": Program(long=("write-sheets",)),
    "getent": Program(refused=Pattern("g?shadow").fits),
    "lastlog": Program(short="CSR", valued="btu", long=("clear", "set", "root")),
    "units": Program(short="L", valued="dfou", long=("log",)),
    "pidstat": Program(short="e", valued="CGpT"),
    "pmap": Program(short="nN", valued="AC", long=("create-rc", "create-rc-to")),
    "nstat": Program(short="dr", valued="t", long=("scan", "reset", "interval")),
    "cloc": shaped(r"--(by-file|by-file-by-lang|json|yaml|xml|csv|md|quiet|hide-rate|sum-one|vcs=git|"
                   r"(exclude|include|not-match|match|fullpath|max)[a-z-]*(=.*)?)"),
    "test": Program(check=special.tested),
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
    "nice": Program(check=special.wrapper(_judged, r"-n ?\d+|-\d+|--adjustment=\d+")),
    "stdbuf": Program(check=special.wrapper(_judged, r"-[ioe] ?[L0]|-[ioe] ?\d+[KM]?")),
    "timeout": Program(check=special.wrapper(_judged, r"--foreground|-v|--preserve-status|-k ?\d+[smhd]?|-s ?[A-Z]+",
                       r"\d+(\.\d+)?[smhd]?")),
}  # fmt: skip


def _only(*allowed: str) -> Program:
    return Program(
        check=lambda words: None if len(words) == 1 and words[0].text in allowed else "inline_code"
    )


# `python -v` would run what it is sent, `node version` a file of that name.
_INTERPRETERS = {
    **dict.fromkeys("python python3 rustc deno ruff".split(), _only("-V")),
    **dict.fromkeys("ruby node php lua gcc julia bun".split(), _only("-v")),
    **dict.fromkeys(("java", "javac"), _only("-version")),
    "perl": _only("-v", "-V"),
    "go": _only("version"),
    "cargo": _only("-V", "version"),
    "R": _only(),
}
_SAYING_VERSIONS = frozenset(
    """
    bash zsh fish make cmake ninja g++ clang aws az gcloud psql mysql redis-cli curl wget yarn pnpm pytest
    tox poetry uv gem bundle ansible vim nano tmux rsync dotnet swift split csplit sudo helm terraform
    """.split()
)
"""Programs that do other things, but say without any danger which version they are."""


def _of_known_options(name: str, program: Program) -> Program:
    by_options = program.check is None and program.subs is None
    return program._replace(known=READERS[name]) if by_options and name in READERS else program


PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {
        name: _of_known_options(name, program)
        for name, program in {
            **dict.fromkeys(_HARMLESS, _NONE),
            **_INTERPRETERS,
            **_DESCRIBED,
            **WITH_SUBCOMMANDS,
        }.items()
    }
)
"""Program → what of it is refused."""

_FOLDERS = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"})


def program_name(word: str) -> str:
    """The program that a first word means; a path outside the system's folders stays as it is."""
    folder, slash, name = word.rpartition("/")
    return name if slash and folder in _FOLDERS else word


_MOST_STARTED = 32
_STARTING = frozenset(
    "time nice timeout env stdbuf xargs command -exec -execdir -ok -okdir".split()
)


def starts_too_many(words: Sequence[Word]) -> bool:
    """Whether a command names what starts another one more often than rules descend."""
    return len(words) > _MOST_STARTED and (
        sum(program_name(word.text) in _STARTING for word in words) > _MOST_STARTED
    )


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
        asked = len(words) == 2 and words[1].text == "--version"
        return None if asked and words[0].text in _SAYING_VERSIONS else "unknown_program"
    if appended and program.closed:
        return "unknown_arguments"
    return option_rule(program, words[1:])
