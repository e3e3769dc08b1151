"""Classifies environment variables by name: those that load code (`LD_PRELOAD`), route traffic (proxies, TLS), or are the gateway's own."""

from __future__ import annotations

from gatewright.patterns import IGNORECASE, Pattern

__all__ = ["is_ours", "loads_code", "moves_traffic"]

# Of loaders, shells, interpreters, package managers, build tools, and of programs that start helpers by a variable.
_CODE = Pattern(
    r"LD_.*|DYLD_.*|_RLD.*|LIBPATH|SHLIB_PATH|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|NLSPATH"
    r"|PATH|PATHEXT|COMSPEC|SHELL|IFS|ENV|BASH_.*|ZDOTDIR|FPATH|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|PSMODULEPATH"
    r"|PYTHON.*|VIRTUAL_ENV|CONDA_.*|PIP_.*|UV_.*|PIPX_.*|POETRY_.*"
    r"|NODE_OPTIONS|NODE_PATH|NODE_REPL_.*|NPM_CONFIG_.*|YARN_.*|PNPM_.*|BUN_.*|DENO_.*|TS_NODE_.*|ELECTRON_.*"
    r"|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|LUA_.*|PHPRC|PHP_INI_SCAN_DIR|R_.*|JULIA_.*"
    r"|JAVA_.*|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|JVM_.*|CLASSPATH|MAVEN_.*|GRADLE_.*|SCALA_.*"
    r"|DOTNET_.*|COREHOST_.*|CORECLR_.*|COR_.*|COMPLUS_.*|NUGET_.*"
    r"|GO(?:FLAGS|PROXY|PATH|ROOT|TOOLCHAIN|SUMDB|NOSUMDB|PRIVATE|INSECURE)|CARGO_.*|RUST.*|CC|CXX|LD|AR|MAKEFLAGS"
    r"|GIT_.*|SSH_ASKPASS|SUDO_ASKPASS|EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|MANPAGER|OPENSSL_.*|GTK_.*|QT_.*"
    r"|PUPPETEER_.*|PLAYWRIGHT_.*|CHROME_.*|SVN_SSH|RSYNC_RSH|CVS_RSH|HG(?:RCPATH|MERGE|EDITOR)?"
    r"|GIO_.*|GST_.*|ERL_.*|TCL(?:LIBPATH|_LIBRARY)|MONO_.*|ANSIBLE_.*|TF_(?:CLI|PLUGIN)_.*"
    r"|PKG_CONFIG.*|KRB5_CONFIG|AWS_CONFIG_FILE"
    r"|DOCKER_.*|CONTAINERS_.*|KUBECONFIG|NIX_.*|GUIX_.*|VK_.*|OCL_.*|HOME|USERPROFILE|APPDATA|XDG_.*|TMPDIR|TEMP|TMP",
    IGNORECASE,
)
_TRAFFIC = Pattern(
    r"(?:HTTPS?|ALL|FTP|WSS?|NO)_PROXY|SSL_CERT_(?:FILE|DIR)|SSLKEYLOGFILE|REQUESTS_CA_BUNDLE|CURL_(?:CA_BUNDLE|HOME)"
    r"|AWS_(?:CA_BUNDLE|SHARED_CREDENTIALS_FILE|ENDPOINT_URL.*)|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED"
    r"|.*_(?:BASE_URL|API_BASE|ENDPOINT)|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN",
    IGNORECASE,
)
_OURS = Pattern(r"GATEWRIGHT_.*|MGP_.*", IGNORECASE)


def loads_code(name: str) -> bool:
    """Whether a variable of this name chooses programs, libraries or modules that a process loads."""
    return _CODE.fullmatch(name) is not None


def moves_traffic(name: str) -> bool:
    """Whether a variable of this name says where connections go, or which certificates count."""
    return _TRAFFIC.fullmatch(name) is not None


def is_ours(name: str) -> bool:
    """Whether a variable of this name belongs to the gateway: its keys and the places of its files."""
    return _OURS.fullmatch(name) is not None
