"""A command line becomes words, or the name of what is in the way."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell_syntax import (
    MAX_BYTES,
    Unacceptable,
    Word,
    by_grammar,
    is_plain,
    read,
)
from tests.costs import DOUBLED, grows

PLAIN = {
    "ls": [["ls"]],
    "  ls   -la  ": [["ls", "-la"]],
    "/usr/bin/wc -l 10": [["/usr/bin/wc", "-l", "10"]],
    "cat 'a b' \"c d\"": [["cat", "a b", "c d"]],
    "echo 'it; is | fine' \"& too\"": [["echo", "it; is | fine", "& too"]],
    "echo a\\ b \\$x \\(": [["echo", "a b", "$x", "("]],
    'echo "a\\$b" "c\\"d" "\\\\e" "f\\n"': [["echo", "a$b", 'c"d', "\\e", "f\\n"]],
    'grep "x$" a$': [["grep", "x$", "a$"]],
    "find . ! -name x": [["find", ".", "!", "-name", "x"]],
    "cat f'o'o\"b\"ar": [["cat", "foobar"]],
    "diff /t/{a,b}.txt": [["diff", "/t/a.txt", "/t/b.txt"]],
    "x -{r,f} {}": [["x", "-r", "-f", "{}"]],
    "awk '{print $1}'": [["awk", "{print $1}"]],
    "echo $'": None,
    "date +%Y": [["date", "+%Y"]],
    "ls ~/x a#b": [["ls", "~/x", "a#b"]],
    "test a = b": [["test", "a", "=", "b"]],
    "sort k=v": [["sort", "k=v"]],
    "echo {1..3} x{01..10}y": [["echo", "1", "x01y"]],
    "cut -d$'\\t' -f1": [["cut", "-d\t", "-f1"]],
    "tr $'\\n' $'a\\'b'": [["tr", "\n", "a'b"]],
}

REFUSED = {
    "ls; id": "list",
    "ls && id": "list",
    "ls || id": "list",
    "ls &": "background",
    "ls | wc": "pipeline",
    "ls > x": "redirected_statement",
    "ls 2>/dev/null": "redirected_statement",
    "cat < x": "redirected_statement",
    "cat <<< x": "herestring_redirect",
    "echo $(id)": "command_substitution",
    "echo `id`": "command_substitution",
    'echo "$(id)"': "command_substitution",
    'echo "`id`"': "command_substitution",
    "echo x$(id)y": "command_substitution",
    "cat <(id)": "process_substitution",
    "echo $HOME": "simple_expansion",
    'echo "$HOME"': "simple_expansion",
    "echo ${x:-y}": "expansion",
    "echo a${x}": "expansion",
    "echo $((1+1))": "arithmetic_expansion",
    "echo $'\\x41'": "ansi_c_string",
    "echo 'a'$": "expansion",
    "echo \\\\$": "expansion",
    "echo {a$,b}c": "gap",
    "find . {-exec$,./b}Zz x {} +": "gap",
    "sort {-o$,}Z x": "gap",
    'echo $"a"': "expansion",
    'echo "a$\'"': "expansion",
    "A=b ls": "variable_assignment",
    "A=b": "variable_assignment",
    "(ls)": "subshell",
    "{ ls; }": "compound_statement",
    "! ls": "negated_command",
    "f() { ls; }": "function_definition",
    "for i in a; do ls; done": "for_statement",
    "while true; do ls; done": "while_statement",
    "if true; then ls; fi": "if_statement",
    "case x in y) ls;; esac": "case_statement",
    "[ -f x ]": "test_command",
    "[[ -f x ]]": "test_command",
    "export A=b": "declaration_command",
    "unset A": "unset_command",
    "ls # rest": "comment",
    "'ls' x": "program_name",
    "l\\s x": "program_name",
    "$x y": "program_name",
    "* x": "program_name",
    "-la": "program_name",
    "{ls,-la}": "syntax_error",
    "ls {a..z}": "brace_expression",
    "ls {a,{b,c}}": "brace_expression",
    "ls -{1..3}": "brace_expression",
    "ls {1..3}{a..b}": "brace_expression",
    "echo $'\\101'": "ansi_c_string",
    "echo $'\\u0041'": "ansi_c_string",
    "ls 'x'{a,b}": "brace_expression",
    "ls -delet\\e{,x}": "brace_expression",
    "ls !!": "history_expansion",
    "ls !-2": "history_expansion",
    "ls (": "syntax_error",
    "ls |": "syntax_error",
    "| ls": "syntax_error",
    "ls 'a": "syntax_error",
    "": "empty",
    "   ": "empty",
    "ls\nid": "control_character",
    "ls\tx": "control_character",
    "ls \x00": "control_character",
    "ls \u202e": "control_character",
    "ls ；id": "control_character",
    "ls ｜ id": "control_character",
    "ls ＄(id)": "control_character",
}


@pytest.mark.parametrize(("line", "words"), [one for one in PLAIN.items() if one[1]])
def test_plain_commands_become_the_words_of_the_program(line: str, words: list[list[str]]) -> None:
    assert [[word.text for word in one] for one in read(line, pipes=False)] == words


@pytest.mark.parametrize(("line", "what"), REFUSED.items())
def test_everything_else_is_refused_by_its_name(line: str, what: str) -> None:
    """MGP-4.5-1: metacharacters where a shell would read them, in whatever construct."""
    with pytest.raises(Unacceptable) as problem:
        read(line, pipes=False)
    assert problem.value.what == what


def test_pipes_pass_where_they_are_allowed() -> None:
    found = read("ls | sort -u |& wc", pipes=True)
    assert [[word.text for word in one] for one in found] == [["ls"], ["sort", "-u"], ["wc"]]


@pytest.mark.parametrize(
    "line", ["ls | wc > x", "ls | ! wc", "ls | (wc)", "a=1 | ls", "ls | wc; id", "ls | wc &"]
)
def test_only_plain_commands_stand_between_pipes(line: str) -> None:
    with pytest.raises(Unacceptable):
        read(line, pipes=True)


def test_words_say_what_the_shell_would_still_do_to_them() -> None:
    (words,) = read("ls *.txt '*.txt' \\*.txt a?b [x]y", pipes=False)
    assert words[1:] == [
        Word("*.txt", glob=True),
        Word("*.txt", bare=False),
        Word("*.txt", bare=False),
        Word("a?b", glob=True),
        Word("[x]y", glob=True),
    ]


def test_a_line_that_nobody_types_is_not_parsed() -> None:
    with pytest.raises(Unacceptable) as problem:
        read("ls " + "a" * MAX_BYTES, pipes=False)
    assert problem.value.what == "too_long"
    with pytest.raises(Unacceptable):
        read("ls " + "{a,b}" * 20, pipes=False)


def test_plain_text_has_nothing_that_acts_or_becomes_an_operator() -> None:
    assert is_plain("añb – “c” 日本")
    assert not is_plain("a\u200bb")
    assert not is_plain("a\u00a0b")
    assert not is_plain("a；b")
    assert is_plain("echo '完了！' \"（株）\"")
    assert is_plain('echo "\\"；"')
    assert not is_plain("echo '！'！")
    assert not is_plain("echo \\'；id\\'")
    assert not is_plain("echo $'\\'；id")
    assert not is_plain("echo '＇；id'")
    assert not is_plain('echo "＄x"')
    assert not is_plain('echo "｀id｀"')


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        words = read(text, pipes=True)
    except Unacceptable:
        words = [[Word("refused")]]
    assert all(words)


@given(
    st.lists(
        st.text(alphabet=st.characters(categories=["L", "N", "P", "S"]), min_size=1), min_size=1
    )
)
def test_quoted_words_come_back_as_they_are(words: list[str]) -> None:
    line = "echo " + " ".join("'" + word.replace("'", "") + "'" for word in words)
    if is_plain(line):
        (found,) = read(line, pipes=False)
        assert [word.text for word in found[1:]] == [word.replace("'", "") for word in words]


@pytest.mark.parametrize(
    ("line", "longer"),
    [("ls " + "a" * (MAX_BYTES - 3), "a"), ("echo '" + "; " * 63 + ";'", "';'")],
)
def test_a_line_may_be_as_long_and_as_busy_as_the_bound(line: str, longer: str) -> None:
    assert len(read(line, pipes=False)) == 1
    with pytest.raises(Unacceptable) as problem:
        read(line + longer, pipes=False)
    assert problem.value.what == "too_long"


def test_braces_may_multiply_up_to_a_bound() -> None:
    (words,) = read("ls {" + ",".join("a" * 32) + "}", pipes=False)
    assert len(words) == 33
    with pytest.raises(Unacceptable) as problem:
        read("ls {" + ",".join("a" * 33) + "}", pipes=False)
    assert problem.value.what == "brace_expression"


_PIECES = (
    "if then elif else fi for while until do done case esac in select function time coproc declare typeset export "
    "readonly local unset unsetenv test let eval exec source ls wc /bin/ls ./x .. . true break trap command builtin "
    "A=b A= =b x+=1 a=b=c == = != - -- -a --b=c 1 12 0x1f 1.5 -1 %1 %s @ a@b + ++ +x , :: a:b a/b 2 a1 : | ||"
).split()
_QUOTED = [
    "'a b'", '"a b"', "'a|b'", '"a|b"', "'$a'", '"$a"', '"`a`"', "''", '""', "'a''b'", "'a'\"b\"", "a'b'", "'a'b", "'\"'", "\"'\"", "'*'", '"*"', '"{a,b}"', "'~'", '"!a"', "'!a'", '"\\a"',
    "'", '"', "'é'", '"#"', "'-x'", "'a='", "a='b'", "--a='b'", "ls", "|", "find", "test", "if", "-name", "==", "'=='", "=", "'a'|", "|'a'", "echo",
]  # fmt: skip
_lines = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=7).map(" ".join),
    st.text("aZ09_./:=,+%@ |-", max_size=14),
    st.lists(st.sampled_from(_QUOTED), max_size=7).map(" ".join),
    st.text("a /='\"|$`\\*!#&-", max_size=12).map("ls ".__add__),
)


def _verdict(text: str, pipes: bool, *, grammar: bool) -> list[list[Word]] | str:
    try:
        return by_grammar(text.encode(), pipes=pipes) if grammar else read(text, pipes=pipes)
    except Unacceptable as problem:
        return problem.what


@given(_lines, st.booleans())
def test_a_line_of_plain_characters_is_read_as_the_grammar_reads_it(text: str, pipes: bool) -> None:
    assert _verdict(text, pipes, grammar=False) == _verdict(text, pipes, grammar=True)


def test_only_what_has_one_reading_is_read_without_the_grammar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bytes] = []

    def by_nobody(source: bytes, *, pipes: bool) -> list[list[Word]]:
        asked.append(source)
        raise Unacceptable("asked")

    monkeypatch.setattr("gatewright.validators.shell_syntax.by_grammar", by_nobody)
    assert len(read("cat -n a.txt | sort", pipes=True)) == 2
    assert read("grep 'a | b' x", pipes=True) == [
        [Word("grep"), Word("a | b", bare=False), Word("x")]
    ]
    others = [
        "if a",
        "A=b ls",
        "ls ==",
        "ls 'a'b",
        "ls 'a''b'",
        "ls 'a",
        'ls "$a"',
        'ls "a!"',
        "ls *",
        "ls\n",
        "ls | | wc",
        "-a",
        "ls~",
        "a | test x",
    ]
    for text in others:
        with pytest.raises(Unacceptable):
            read(text, pipes=True)
    assert [text.encode() for text in others if text != "ls\n"] == asked


@pytest.mark.parametrize(
    "unit", ["[$", "\\n$", ",$", ")", ",)", "~)", "|<<", "{$", "]$ ", " ==", " =~", "a?"]
)
@pytest.mark.parametrize("end", ["", "\\", "'"])
def test_the_grammar_takes_a_long_line_as_long_as_it_is(unit: str, end: str) -> None:
    """Where nothing fits its parser looks to the end from every place."""

    def work(size: int) -> Callable[[], object]:
        source = (unit * (size // len(unit)) + end).encode()
        return lambda: _refusal(source)

    assert grows(work(2048), work(8192)) <= DOUBLED**2


def _refusal(source: bytes) -> str:
    try:
        by_grammar(source, pipes=False)
    except Unacceptable as problem:
        return problem.what
    return ""


@pytest.mark.parametrize(
    "unit",
    ["'a b' ", '"a b" ', "é* ", "{a,b} ", "[a-z]? ", "$'a\\n' ", "a\\ b ", '"it\'s" ', "a=b ", "'$1 ~ /x+/' "],
)  # fmt: skip
def test_a_long_line_that_has_one_reading_is_read(unit: str) -> None:
    few, many = ("ls " + unit * (size // len(unit.encode())) for size in (100, 4000))
    (short,), (long,) = read(few, pipes=False), read(many, pipes=False)
    assert set(long) == set(short)
    assert len(long) > 10 * len(short)


def test_what_the_parser_would_read_too_often_is_a_syntax_error() -> None:
    assert _refusal(b"ls" + b" ==" * 10) == "=="
    assert _refusal(b"ls" + b" ==" * 100) == "syntax_error"


FORMER = ["~+", "~-", "~1", "~+1", "~-2", "~0"]


@pytest.mark.parametrize("folder", FORMER)
@pytest.mark.parametrize(
    "line",
    [
        "cat {}/shadow",
        "cat {}",
        "cat x {}/shadow | head",
        "cat {}/'shadow'",
        "cat {{{}/shadow,x}}",
        "cd {}",
        "wc -l < {}/shadow",
        "for f in {}/shadow; do cat $f; done",
    ],
)
def test_a_folder_where_the_shell_was_is_none_that_is_known(line: str, folder: str) -> None:
    """MGP-4.5-1: behind `cd /etc && cd ..` the shell puts `/etc` in place of `~-`."""
    validator = prepare({"allow": ["inspect"]})
    assert validator.judge(line.format(folder)) is not None
    assert validator.judge("cd /etc && cd .. && " + line.format(folder)) is not None


def test_other_tildes_are_homes_and_revisions() -> None:
    for line in ("cat ~/notes", "git show HEAD~1", "cat a~", "cat 'x' ~/notes", "cat './~-'"):
        assert prepare({"allow": ["inspect"]}).judge(line) is None
