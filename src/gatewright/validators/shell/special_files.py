"""Reads commands that pack, copy, show or change files into effects: tar, unzip, dd, ln, chmod, rsync, truncate, head, tree, xxd."""

from __future__ import annotations

from collections.abc import Sequence

from gatewright.patterns import Pattern
from gatewright.validators.shell.call import Call
from gatewright.validators.shell.effects import marked
from gatewright.validators.shell.places import HERE, is_kept, resolve
from gatewright.validators.shell.words import Option, Refused, given
from gatewright.validators.shell_syntax import Word

__all__ = ["archive", "copied", "dd", "ended", "head", "ln", "pdftotext", "rights", "rsync", "tar", "tree", "truncate", "xxd"]  # fmt: skip


_MODES = frozenset("-x -t -c -r -u -A -d --extract --get --list --create --append --update --catenate --concatenate --diff --compare --delete".split())  # fmt: skip


_READING = frozenset({"-t", "--list", "-d", "--diff", "--compare"})


_UNPACKING = frozenset({"-x", "--extract", "--get"})


def tar(call: Call) -> bool:
    """What it lists, packs and unpacks."""
    found, _ = given(call.entry, _dashed(call))
    for operand in found.operands:
        call.seen(operand)
    modes = {one.name for one in found.options} & _MODES
    if len(modes) != 1:
        raise Refused("option", "tar")
    mode = modes.pop()
    packs = mode not in _READING | _UNPACKING
    _enter(call, found.options, "reads_below" if packs else "enters")
    for one in found.options:
        _of_tar(call, one, packs=packs)
    if packs:
        for operand in found.operands:
            call.add_paths("reads_below", operand, "operand")
    else:
        for operand in found.operands:
            call.add("names", resolve(HERE, operand.text, glob=True), operand.text, "operand")
    if mode in _UNPACKING and not any(one.name in _SHOWING for one in found.options):
        call.add("writes_here", call.at.folder, "", mode)
        call.add("unpacks", call.at.folder, "", mode)
    return True


_FOLDERS = frozenset({"-C", "--directory", "--cd"})
_SHOWING = frozenset({"-O", "--to-stdout"})


def _enter(call: Call, options: Sequence[Option], kind: str) -> None:
    for name, _, value in options:
        if name in _FOLDERS and value is not None:
            path = resolve(call.at.folder, value.text, glob=value.glob)
            call.at = call.at._replace(folder=path)
            call.add(kind, path, value.text, name)


def _of_tar(call: Call, option: Option, *, packs: bool) -> None:
    name, opt, value = option
    if name in {"-f", "--file"} and value is not None:
        if ":" in value.text:
            raise Refused("operand", f"tar {value.text}")
        call.add_paths("writes" if packs else "reads", value, name)
    elif name in {"-T", "--files-from"} and packs:
        raise Refused("unknown_arguments", f"tar {name}")
    elif value is not None and opt.kind in {"reads", "writes"}:
        call.add_paths(opt.kind, value, name)
    elif opt.kind == "runs" or opt.does & {"runs", "deletes"}:
        call.add("runs", None, "" if value is None else value.text, name)


def _dashed(call: Call) -> list[Word]:
    """The words of `tar`, whose first may be letters without a dash: their values follow, one after the other."""
    words = list(call.words)
    if not words or words[0].text[:1] == "-" or not words[0].text.isalnum():
        return words
    letters, rest = words[0].text, words[1:]
    options = []
    for letter in letters:
        opt = call.entry.letters.get(letter)
        options.append(Word(f"-{letter}"))
        if opt is not None and opt.takes == 1:
            if not rest:
                raise Refused("option", f"tar {letter}")
            options.append(rest.pop(0))
    return [*options, *rest]


_COUNT = Pattern(r"count=\d{1,6}")


def dd(call: Call) -> list[Word]:
    """Its operands say what is read and written."""
    call.hold(*(one for one in call.given.operands if marked(one.text.partition("=")[0])))
    for one in call.given.operands:
        name, _, value = one.text.partition("=")
        if name == "if" and value == "/dev/zero":
            if not any(_COUNT.fits(other.text) for other in call.given.operands):
                call.add("endless", None, "", "operand")
        elif name == "if":
            call.add_paths("reads", one._replace(text=value), "operand")
        elif name == "of":
            call.add_paths("writes", one._replace(text=value), "operand")
    if not any(one.text.startswith("of=") for one in call.given.operands):
        return []
    call.add("writes_here", call.at.folder, "", "operand")
    return []


def ln(call: Call) -> list[Word]:
    """Where a link is, and what it leads to: for a symbolic one counted from where it lies."""
    operands = list(call.given.operands)
    symbolic = call.has("-s", "--symbolic") and not call.has("-t", "--target-directory")
    if not symbolic or len(operands) != 2:
        return operands
    to, link = operands
    folder = link.text.rpartition("/")[0]
    call.add("writes", resolve(resolve(call.at.folder, folder), to.text), to.text, "operand")
    return [link]


_RIGHTS = Pattern(r"[ugoa,+=rwxXt-]*[+=][rwxXt]*s.*|[0-7]*[2467][0-7]{3}")


def rights(call: Call) -> list[Word]:
    """Rights, but none with which a program runs as somebody else."""
    said = [one.text for one in call.given.operands[:1]] + [one.value.text for one in call.given.options if one.name in {"-m", "--mode"} and one.value]  # fmt: skip
    if any(map(_RIGHTS.fits, said)):
        raise Refused("changes_rights", f"{call.name} {said[0]}")
    return call.given.operands


def rsync(call: Call) -> list[Word]:
    """What it deletes is in the last folder."""
    if any(one.name.startswith("--delete") or one.name == "--del" for one in call.given.options):
        for one in call.given.operands[-1:]:
            call.add_paths("deletes_below", one, "operand")
    return call.given.operands


def truncate(call: Call) -> list[Word]:
    """What is left of a file is nothing, or little."""
    for one in call.given.operands:
        call.add_paths("deletes", one, "operand")
    return call.given.operands


def copied(call: Call) -> list[Word]:
    """What is copied keeps its name: a folder of hooks or settings is one elsewhere as well."""
    for one in call.given.operands[:-1]:
        if is_kept(resolve(HERE, one.text.rstrip("/").rpartition("/")[2], glob=one.glob)):
            raise Refused("outside", f"{call.name} {one.text}")
    return call.given.operands


def head(call: Call) -> list[Word]:
    """The beginning of a file, or of what has no end; `tail +5f` is how old ones say `-f`."""
    if "tail" in call.name and any(map(_FOLLOWS.fits, (one.text for one in call.given.operands[:1]))):  # fmt: skip
        call.add("endless", None, "", "operand")
    if any(one.value is not None and _MUCH.fits(one.value.text) for one in call.given.options):
        call.add("endless", None, "", "operand")
    return call.given.operands


_FOLLOWS = Pattern(r"\+\d*[bcl]?f")
_MUCH = Pattern(r"[-+]?(?:\d{10,}\w*|\d+(?:[GTPEZYRQ]\w*))")


def archive(call: Call) -> list[Word]:
    """What unpacks does so in the folder that an option names, or here."""
    for one in call.given.operands[1:] if call.name != "zip" else ():
        call.add("names", resolve(HERE, one.text, glob=True), one.text, "operand")
    packs = call.name == "zip" or call.has("-l", "-p", "-t", "-v", "-Z", "-c")
    if not packs:
        to = next((one.value for one in call.given.options if one.name == "-d"), None)
        path = call.at.folder if to is None else resolve(call.at.folder, to.text)
        call.add("unpacks", path, "", "operand")
        call.add_paths("reads", call.given.operands[0], "operand") if call.given.operands else None
        return []
    return call.given.operands


def xxd(call: Call) -> list[Word]:
    """It knows no clusters: of `-pl` only the first letter counts. Its options end at the first file: behind that even `-ps` is the name
    of one that it writes."""
    words = [_alone(call, one) for one in call.words]
    found, read = given(call.entry, words, most=1)
    if found.operands and any(one.text[:1] == "-" for one in words[read:]):
        raise Refused("operand", "xxd")
    return words


def _alone(call: Call, word: Word) -> Word:
    text = word.text
    if text[:2] == "--" and text[2:].partition("=")[0] in call.entry.words:
        return word._replace(text=text[1:])
    opt = call.entry.letters.get(text[1:2]) if text[:1] == "-" else None
    whole = opt is None or opt.takes or text[1:].partition("=")[0] in call.entry.words
    return word if whole else word._replace(text=text[:2])


def tree(call: Call) -> list[Word]:
    """Its letters take their values from the next words, wherever in a cluster they stand."""
    for one in call.words:
        letters = one.text[1:-1] if one.text[:1] == "-" != one.text[1:2] else ""
        if any(
            (opt := call.entry.letters.get(letter)) is not None and opt.takes for letter in letters
        ):
            raise Refused("option", f"tree {one.text}")
    return list(call.words)


def pdftotext(call: Call) -> list[Word]:
    """A text that is written to the output leaves nothing here."""
    if [one.text for one in call.given.operands[1:]] == ["-"]:
        call.does.discard("writes_here")
    return call.given.operands


def ended(call: Call) -> list[Word]:
    """Options that end at the first operand: behind that even `--name-only` is a file that is written, or a value that is set."""
    found, read = given(call.entry, call.words, most=1)
    if found.operands and any(one.text[:1] == "-" != one.text for one in call.words[read:]):
        raise Refused("operand", call.name)
    return list(call.words)
