"""Recognises values on a shell line: cloud metadata, local addresses, URLs, packages, Go modules, harmless variables, `make` settings."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.validators.network import url_rule

__all__ = [
    "is_harmless_variable",
    "is_local",
    "is_metadata",
    "is_module",
    "is_package",
    "is_project_setting",
    "is_url",
    "may_hold_metadata",
]

_SCHEME = Pattern(r"([A-Za-z][A-Za-z0-9+.-]*):(?://)?(.*)", DOTALL)
_AUTHORITY = Pattern(r"(?:[^/?#@\\]*@)?(\[[^\]]*\]|[^/?#:\\]*)(?::[^/?#]*)?.*", DOTALL)
_NUMBERS = Pattern(r"(?:0[xX][0-9a-fA-F]+|\d+)(?:\.(?:0[xX][0-9a-fA-F]+|\d+)){0,3}")
_METADATA_NAMES = Pattern(
    r"(?:.*\.)?(?:metadata(?:\.google(?:\.internal)?|\.azure(?:\.internal|\.com)?|\.goog|\.packet\.net|\.platformequinix\.com|\.oraclecloud\.com|\.internal)?|"
    r"instance-data(?:\..*)?|169-254-169-254\..*|.*169[.-]254[.-]169[.-]254.*|.*a9fea9fe.*|kubernetes\.default(?:\..*)?)\.?",
    IGNORECASE,
)
_LINK_LOCAL = (0xA9FE0000, 0xFFFF0000)
_OTHERS = frozenset({0x646464C8, 0xC0000012, 0xA83F8110})
"""100.100.100.200, 192.0.0.18 and 168.63.129.16, where other clouds answer."""


def _host_of(text: str) -> str:
    """The host of a URL, or of what a program takes for one."""
    found = _SCHEME.fullmatch(text)
    rest = found[2] if found is not None and ("//" in text[: text.find(":") + 3] or not found[2][:1].isdigit()) else text  # fmt: skip
    host = _AUTHORITY.fullmatch(rest.lstrip("/"))
    return "" if host is None else host[1].strip("[]").rstrip(".").casefold()


def is_metadata(text: str) -> bool:
    """Whether a URL or host is that of a cloud's metadata, however it is spelled."""
    host = _host_of(text)
    if _METADATA_NAMES.fits(host):
        return True
    number = _number(host)
    if number is None and not host.isascii():
        return url_rule(f"http://{host}/") == "internal_address"
    return number is not None and ((number & _LINK_LOCAL[1]) == _LINK_LOCAL[0] or number in _OTHERS)


def _number(host: str) -> int | None:
    """The IPv4 address that a host is, in whatever base and however many pieces."""
    if ":" in host:
        return _mapped(host.partition("%")[0])
    if not _NUMBERS.fits(host):
        return None
    try:
        pieces = [_piece(one) for one in host.split(".")]
    except ValueError:
        return None
    *heads, last = pieces
    value = last
    for at, head in enumerate(heads):
        value += head << (8 * (3 - at))
    return value & 0xFFFFFFFF


def _piece(text: str) -> int:
    folded = text.casefold()
    if folded.startswith("0x"):
        return int(folded, 0)
    return int(text, 8) if text.startswith("0") and len(text) > 1 else int(text)


def _mapped(host: str) -> int | None:
    try:
        address = IPv6Address(host)
    except ValueError:
        return None
    packed = int(address)
    if packed >> 112 == 0xFD00 and (packed >> 96) & 0xFFFF == 0x0EC2:
        return _LINK_LOCAL[0]
    if packed >> 118 == 0xFE80 >> 6:
        return _LINK_LOCAL[0]
    # Mapped, compatible, and those that gateways translate.
    inner = address.ipv4_mapped or address.sixtofour or IPv4Address(packed & 0xFFFFFFFF)
    return int(inner)


_MENTIONED = Pattern(r"[^\s,;'\"=@<>|]+")


def may_hold_metadata(text: str) -> bool:
    """Whether some piece of a text is such an address."""
    return any(is_metadata(one[0]) for one in _MENTIONED.finditer(text) if "." in one[0] or ":" in one[0] or one[0][:1].isdigit()) if _HINT.within(text) else False  # fmt: skip


_HINT = Pattern(r"169|254|metadata|instance-data|a9fe|0x|100\.100|fd00|fe80|ffff|::|025|2852|\d{8}|168\.63|192\.0\.0", IGNORECASE)  # fmt: skip
_LOCAL = Pattern(r"localhost|127(?:\.\d{1,3}){1,3}|::1|0\.0\.0\.0|host\.docker\.internal|(?:[\w-]+\.)+localhost", IGNORECASE)  # fmt: skip


_STRANGE = Pattern(r"[\\{}*\s\x00-\x1f]|\[[^\]:]*\]")


def is_local(text: str) -> bool:
    """Whether a URL or host is this machine, for every client: some read a backslash, blanks or braces before the host otherwise."""
    return not _STRANGE.within(text) and _LOCAL.fits(_host_of(text))


def is_url(text: str) -> bool:
    """Whether a text begins like a URL of the web, or is a host."""
    scheme = _SCHEME.fullmatch(text)
    if "::" in text and "[" not in text:
        return False
    if scheme is not None and "//" in text:
        return scheme[1].casefold() in {"http", "https", "ftp", "ftps", "ssh", "git", "git+ssh", "ws", "wss", "grpc", "redis", "postgres", "postgresql", "mysql", "mongodb"}  # fmt: skip
    return not text.startswith(("/", "~", "."))


_PACKAGE = Pattern(
    r"(?:@[a-z0-9][\w.-]*/)?[A-Za-z0-9_][\w.-]*(?:\[[\w,.-]*\])?(?:(?:@|==|~=|>=|<=|!=|>|<|=|:)[\w.*^~<>=!,|+ -]*)?",
    IGNORECASE,
)
_FILED = Pattern(r"(?:\./)?[\w.@-]+(?:/[\w.@-]+)*/?(?:\[[\w,.-]*\])?")
_ALIAS = Pattern(r".*(?:npm|file|link|git|github|gitlab|bitbucket|gist|https?|ssh|workspace-root|portal|patch|jsr):.*", IGNORECASE | DOTALL)  # fmt: skip


_NODE = ("npm", "pnpm", "yarn", "bun")


def is_package(text: str, *, of: str = "") -> bool:
    """Whether a text is a package of the registry by its plain name and version, or a folder inside."""
    if _ALIAS.fits(text):
        return False
    if _PACKAGE.fits(text):
        return True
    if not of.startswith(_NODE) and _FILED.fits(text) and ".." not in text:
        return True
    inside = (text.startswith(("./", ".[")) or text == ".") and ".." not in text
    return inside and (text in {".", "./"} or bool(_FILED.fits(text)))


_MODULE = Pattern(r"(?:\.|\./\.\.\.|\.(?:/[\w.-]+)+|\.\.\.|all|[a-z0-9.-]+\.[a-z]{2,}(?:/[\w.~-]+)*(?:/\.\.\.)?|[a-z][\w.-]*(?:/[\w.-]+)*(?::[\w.^~*|<>=@ -]+)?)(?:@[\w.^~+-]+)?", IGNORECASE)  # fmt: skip


def is_module(text: str) -> bool:
    """Whether a text is a module of Go by its plain path."""
    return bool(_MODULE.fits(text)) and ".." not in text.replace("...", "")


_VARIABLE = Pattern(
    r"(?:LC_[A-Z]+|LANG|LANGUAGE|TZ|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|TERM|COLORTERM|CI|DEBUG|VERBOSE|PORT|HOST|"
    r"NODE_ENV|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PYTHONUTF8|PYTHONIOENCODING|PYTHONWARNINGS|RUST_LOG|RUST_BACKTRACE|CGO_ENABLED|GOOS|GOARCH|"
    r"GO111MODULE|DEBIAN_FRONTEND|DJANGO_SETTINGS_MODULE|FLASK_APP|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|HUSKY|DOCKER_BUILDKIT|"
    r"CMAKE_BUILD_TYPE|(?:[A-Z][A-Z0-9]*_)*(?:ENV|LEVEL|DEBUG|TEST|TESTS|SEED|TIMEOUT|MODE|VERBOSE|WORKERS|THREADS|COUNT|SKIP)|"
    r"(?:TEST|SKIP|VITE|NEXT_PUBLIC|REACT_APP|JEST)_[A-Z0-9_]+)=.*",
    DOTALL,
)
_VALUED = Pattern(
    r"(?:CC|CXX|LD|AR)=(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|ld|lld|ar|llvm-ar|ccache)(?:-\d+)?|RUSTFLAGS=-[DWA] ?\w[\w-]*(?: -[DWA] ?\w[\w-]*)*|"
    r"(?:C|CXX|CPP|LD)FLAGS=(?:-[OgWDI][\w=.+-]*(?: -[OgWDI][\w=.+-]*)*)?|NODE_OPTIONS=(?:--max-old-space-size=\d+|--no-warnings|--trace-warnings|"
    r"--experimental-vm-modules|--enable-source-maps|[ ])+|(?:GIT_)?(?:EDITOR|SEQUENCE_EDITOR|PAGER)=(?:true|:|cat)|GOFLAGS=(?:-mod=\w+|-v|[ ])*|"
    r"GIT_TERMINAL_PROMPT=[01]|PIP_[A-Z_]*=(?:[01]|true|false)|npm_config_(?:yes|loglevel)=\w+|GIT_(?:OPTIONAL_LOCKS|PAGER_IN_USE)=[01]|"
    r"(?:DATABASE|REDIS|API|BASE|APP|TEST|SERVER|MONGO|POSTGRES|DB)_(?:URL|URI|HOST)=[\w:/@.+-]*(?:localhost|127\.0\.0\.1|memory|\.db|\.sqlite3?)[\w:/@.?=&+-]*"
)
_LOADED = Pattern(
    r"(?:[A-Z0-9]+_)*?(?:BASH|KSH|ZSH|SH|VIRTUAL)_ENV|ENV|(?:LD|DYLD)_.*|PATH|[A-Z]*PATH|.*_PATH|.*OPTIONS?|.*OPTS?|.*FLAGS|(?:.*_)?(?:SHELL|EDITOR|PAGER|BROWSER|COMMAND|CMD|"
    r"EXEC|PROGRAM|WRAPPER|LINKER|RUNNER|HOOK|HOOKS|INIT|STARTUP|RC|RCFILE|PROXY|REGISTRY|INDEX|INDEX_URL|MIRROR|SOURCE|CONFIG|CONF|HOME|DIR|ROOT|PREFIX|LIB|LIBS|"
    r"PRELOAD|ASKPASS|TEMPLATE|PROMPT|PLUGINS?|CC|CXX|LD|AR|AS|RUSTC|CARGO|MAKE|PYTHON|NODE|RUBY|PERL|JAVA|PHP|GO|SSH|GIT|RSH|KUBECONFIG|PROFILE|ENDPOINT\w*|CA|CERT\w*)|"
    r"(?:GIT|PIP|UV|NPM|YARN|PNPM|CARGO|DOCKER|AWS|GCP|GOOGLE|AZURE|KUBE|HELM|XDG|JAVA|MAVEN|GRADLE|COMPOSER|GEM|BUNDLE|CONDA|PERL|RUBY|RUBYLIB|PYTHON|NODE|LUA|BASH|ZSH|"
    r"PS\d|SSH|GPG|CURL|WGET|LESS|MAN|JAVA_TOOL|SYSTEMD|SUDO|CLAUDE|ANTHROPIC|OPENAI|CODEX|GEMINI|MAKE|M4|TAR|ZIP|UNZIP|GREP|RIPGREP|FZF|JQ|PSQL|PG|MYSQL|SQLITE|"
    r"TF|TERRAFORM|ANSIBLE|VAGRANT|CMAKE|CTEST|NINJA|MESON|GO|DENO|BUN|PHP|R|JULIA|OPENSSL|SSL|GCONV|LOCPATH|NLSPATH|MALLOC|GLIBC|TMP|TEMP)(?:_.*|[A-Z0-9]*)|"
    r"IFS|USER|LOGNAME|HOSTNAME|OLDPWD|PWD|CDPATH|FPATH|GLOBIGNORE|TMPDIR|npm_config_.*|.*[a-z].*"
)
"""Names of what a shell, a loader, an interpreter or a build runs, or takes its code, its settings or its packages from."""
_PLAIN = Pattern(r"[\w.,+-]{0,64}")
_INSIDE = Pattern(r"[\w.][\w./-]*")


def is_harmless_variable(variable: str, *, writes: bool) -> bool:
    """Whether no program takes code from what `NAME=value` says. A path for code may lead inside, where the workspace's own code runs
    anyway."""
    name, _, value = variable.partition("=")
    if name == "PYTHONPATH":
        return writes and all(_INSIDE.fits(part) and ".." not in part for part in value.split(":"))
    if _VALUED.fits(variable):
        return True
    if _LOADED_FIRST.fits(name):
        return False
    if _VARIABLE.fits(variable):
        return not _LEADING.within(value)
    return writes and bool(_PLAIN.fits(value)) and not _LOADED.fits(name)


_LEADING = Pattern(r"^[/~]|\.\.|[$`;|&<>(){}\x00]")
"""In the value of a harmless name: what leads elsewhere, or what a shell behind the program would run."""
_LOADED_FIRST = Pattern(
    r"(?:[A-Z0-9]+_)*?(?:BASH|KSH|ZSH|SH|VIRTUAL)_ENV|ENV|(?:LD|DYLD)_.*|POSIXLY_CORRECT"
)
_COMMANDS = Pattern(r"CC|CXX|LD|AR|AS|CPP|\.?SHELL\w*|MAKE|(?:GNU)?(?:MAKE)?M?FLAGS|MAKEFILES|PYTHON|PYTHON3|NODE|NPM|GO|CARGO|RUSTC|JAVA|RM|CP|MV|INSTALL|DESTDIR|PREFIX|prefix")  # fmt: skip
_PLAIN_SETTING = Pattern(r"[\w.,+:=/ @-]*")


def is_project_setting(text: str) -> bool:
    """Whether `NAME=value` behind `make` sets a plain value of the project, and no path or program from elsewhere."""
    name, _, value = text.partition("=")
    name = name.rstrip(":+?")
    if not _PLAIN_SETTING.fits(value) or value.startswith(("/", "~")) or ".." in value:
        return False
    if _VALUED.fits(f"{name}={value}"):
        return True
    return not _COMMANDS.fits(name) and not (_LOADED.fits(name) and "/" in value)
