"""Output paths of file commands in the preset `develop`: options of cp, mv, patch, rsync, sed, curl and others; git hooks.

Each table is closed: `-abc` are letters without a value, `x:` letters with a text, `x=` letters with a path that is written,
`x!` letters with what is sent; the same of long options, whose names are taken whole. An option that is in no table is refused, and each path has to be
inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gatewright.patterns import Pattern
from gatewright.validators import shell_special as special
from gatewright.validators.shell_syntax import Word
from gatewright.validators.shell_workspace import is_hook, is_written_inside, option_values

__all__ = ["Given", "climbs", "edits_rule", "given", "leads_out", "touches_hook"]

_TABLE = """
mkdir,mkdirp -pvZ m: parents verbose mode:
touch -acfmh d:t:r: no-create date: reference: time: no-dereference
tee -aip append ignore-interrupts output-error
truncate -co s:r: no-create io-blocks reference: size:
sponge -a
mv -fintuvbTZ t=S: force interactive no-clobber update verbose backup target-directory= suffix: no-target-directory strip-trailing-slashes
cp,ditto -aAbdfiHlLnPprRsTuvxcXVZ t=S: archive attributes-only backup force interactive link dereference no-clobber no-dereference preserve
    no-preserve: parents recursive reflink remove-destination sparse: strip-trailing-slashes symbolic-link suffix: target-directory=
    no-target-directory update verbose one-file-system
install -bcCdDpsTv g:m:o:S:t= backup compare directory group: mode: owner: preserve-timestamps strip suffix: target-directory= no-target-directory verbose
ln -bdfFiLnPrsTvhw t=S: backup directory force interactive logical no-dereference physical relative symbolic suffix: target-directory=
    no-target-directory verbose
patch -bcflnNRstuvEZT p:i:d=o=r=F: strip: input: directory= output= reject-file= dry-run reverse forward backup verbose quiet silent force batch
    unified context normal ignore-whitespace fuzz: remove-empty-files no-backup-if-mismatch merge posix
curl -fsSLkIiGgvONq#012346jlR X:H:A:u:m:e:w:b:r:y:Y:z:C:o=D=c=d!F!T! fail fail-with-body fail-early silent show-error location insecure head include get
    globoff verbose remote-name compressed no-buffer http1.0 http1.1 http2 http3 ipv4 ipv6 tlsv1.2 tlsv1.3 progress-bar no-progress-meter create-dirs
    parallel remote-time request: header: user-agent: user: max-time: connect-timeout: retry: retry-delay: retry-max-time: retry-connrefused
    retry-all-errors referer: write-out: cookie: range: max-redirs: max-filesize: limit-rate: continue-at: cacert: oauth2-bearer: resolve: connect-to:
    output= output-dir= dump-header= cookie-jar= data! data-raw! data-binary! data-urlencode! data-ascii! json! form! form-string! upload-file! url-query!
wget -qvcNSrpkmExL t:T:w:Q:l:U:A:R:D:I:X:O=o=a=P= quiet verbose no-verbose continue timestamping no-clobber recursive level: page-requisites convert-links
    mirror adjust-extension no-parent no-check-certificate server-response spider show-progress progress: tries: timeout: wait: user-agent: header:
    output-document= output-file= append-output= directory-prefix= save-cookies= load-cookies: keep-session-cookies post-data! post-file! body-data!
    body-file! method! max-redirect: accept: reject: domains: retry-connrefused limit-rate: no-cookies no-cache compression: https-only
    ca-certificate: user: password: no-host-directories cut-dirs: force-directories no-directories inet4-only inet6-only waitretry: random-wait
    dns-timeout: connect-timeout: read-timeout:
http,https,xh,httpie,curlie -vbhjfdcFSI p:s:a:A:o= ignore-stdin json form body headers verbose print: pretty: style: timeout: follow check-status download
    continue output= auth: auth-type: stream quiet offline
sed -nErsuz e= quiet silent regexp-extended separate null-data unbuffered posix debug sandbox expression=
rsync -avzrultpogDhPnqWxSHAXEiucRIymbKkL0J archive verbose compress recursive delete delete-after delete-before delete-during delete-excluded
    dry-run progress stats human-readable exclude: include: exclude-from: include-from: partial update ignore-existing existing size-only checksum
    times perms links copy-links safe-links info: bwlimit: max-size: min-size: inplace prune-empty-dirs relative itemize-changes chmod: owner group
    no-owner no-group no-perms no-times quiet mkpath backup suffix: backup-dir= log-file= temp-dir= partial-dir= link-dest= one-file-system hard-links
    remove-source-files whole-file cvs-exclude devices specials omit-dir-times numeric-ids
"""


class Given(NamedTuple):
    """The words of a command, read by its table."""

    operands: list[str]
    placed: list[str]
    """Values that are paths which are written."""
    said: list[tuple[str, str]]
    """Options whose values are texts, each with its value."""
    sent: list[str]
    """Values that are sent away."""
    target: str | None
    """The folder that an option names for all operands."""

    def with_value(self, known: _Options, option: str, value: str) -> Given:
        """This, with the value of one more option."""
        if option in known.texts:
            self.said.append((option, value))
        else:
            (self.placed if option in known.paths else self.sent).append(value)
        return self._replace(target=value) if option in _AS_FOLDER else self


class _Options(NamedTuple):
    plain: frozenset[str]
    texts: frozenset[str]
    paths: frozenset[str]
    sent: frozenset[str]


def _read(words: list[str]) -> _Options:
    kinds: dict[str, set[str]] = {"": set(), ":": set(), "=": set(), "!": set()}
    for word in words:
        if word[0] == "-":
            kinds[""].update(word[1:])
        elif word[1:2] in {":", "=", "!"}:
            for letter, sign in zip(word[::2], word[1::2], strict=True):
                kinds[sign].add(letter)
        else:
            kinds[word[-1] if word[-1] in ":=!" else ""].add(word.rstrip(":=!"))
    return _Options(*(frozenset(kinds[sign]) for sign in ("", ":", "=", "!")))


_TARGETS: Mapping[str, _Options] = MappingProxyType(
    {
        name: _read(entry.split()[1:])
        for entry in _TABLE.strip().replace("\n    ", " ").split("\n")
        for name in entry.split()[0].split(",")
    }
)
_AS_FOLDER = frozenset({"t", "target-directory"})


def given(name: str, texts: Sequence[str]) -> Given | None:
    """What stands on a command's line; None where one of its options is not known."""
    known, rest = _TARGETS[name], list(texts)
    found = Given([], [], [], [], None)
    while rest:
        text = rest.pop(0)
        if text == "--":
            found.operands.extend(rest)
            break
        if text[:1] != "-" or text == "-":
            found.operands.append(text)
            continue
        for option, value in _options_of(text, known):
            if option in known.plain:
                continue
            if option not in known.texts | known.paths | known.sent:
                return None
            found = found.with_value(known, option, value if value is not None else _next(rest))
    return found


def _next(rest: list[str]) -> str:
    return rest.pop(0) if rest else ""


def _options_of(text: str, known: _Options) -> list[tuple[str, str | None]]:
    """The options in one word, each with what stands behind it in the word."""
    if text.startswith("--"):
        name, sign, value = text[2:].partition("=")
        # One letter behind two dashes is no letter.
        return [(name if len(name) > 1 else "", value if sign else None)]
    found: list[tuple[str, str | None]] = []
    for at, letter in enumerate(text[1:], 2):
        if letter not in known.plain:
            return [*found, (letter, text[at:] or None)]
        found.append((letter, None))
    return found


_IN_PLACE = Pattern(r"-[nErsuz]*i(?:\.[\w~]+)?|--in-place(?:=\.[\w~]+)?")


def edits_rule(texts: Sequence[str]) -> str | None:
    """What speaks against `sed`, in place of files inside, with scripts that only transform."""
    in_place = any(map(_IN_PLACE.fits, texts))
    found = given("sed", [one for one in texts if not _IN_PLACE.fits(one)])
    if found is None:
        return "option"
    # BSD takes the next word for the ending of copies; GNU takes an empty one there for the script.
    first = (in_place and found.operands[:1] == [""]) + (not found.placed)
    scripts = [*found.placed, *found.operands[:first]]
    rule = special.sed([word for one in scripts for word in (Word("-e"), Word(one))])
    if rule or not in_place:
        return rule
    return None if all(map(is_written_inside, found.operands[first:])) else "outside"


_LEFT_OUT = Pattern(
    r"--(?:exclude|ignore|skip|no-)[\w-]*(?:=.*)?|-x|-not|-path|-i?name|-prune|-m|--message(?:=.*)?|-k"
)
_OUTPUT = Pattern(r"-[A-Za-z]*o|--out\w*(?:-\w+)*")


def touches_hook(texts: Sequence[str]) -> bool:
    """Whether an argument of a program that does not only read is a hook or a setting of an agent, or what it puts out is written outside."""
    before = ""
    for text in texts:
        if not _LEFT_OUT.fits(before) and not _LEFT_OUT.fits(text):
            if any(map(is_hook, option_values(text))):
                return True
            option, sign, value = text.partition("=")
            said = value if sign and _OUTPUT.fits(option) else text if _OUTPUT.fits(before) else ""
            if said and said != "/dev/null" and said[0] != "-" and not is_written_inside(said):
                return True
        before = text
    return False


def climbs(text: str) -> bool:
    """Whether a path in a word leads above, wherever it begins."""
    return any(".." in one.split("/") for one in option_values(text))


def leads_out(text: str) -> bool:
    """Whether an operand is an absolute path, but for a file below `/tmp`, or climbs out."""
    if text.startswith("-") or is_written_inside(text):
        return False
    return text.startswith(("/", "~")) or ".." in text.split("/")
