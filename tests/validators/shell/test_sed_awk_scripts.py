"""Scripts of sed and awk: what only transforms passes, what runs, writes or cannot be read does not."""

import itertools

import pytest

from gatewright.validators.shell.sed_awk_scripts import awk_rule, sed_rule


@pytest.mark.parametrize(
    "script",
    [
        "",
        "p",
        "1,5p",
        "$d",
        "/a/,/b/d",
        "5q",
        "s/a/b/",
        "s/a/b/gI;s|c|d|2p",
        "s,a/b,c,g",
        "/x/!s/[[:space:]]+$//",
        "s/[^,]*,//",
        "y/abc/xyz/",
        "1~2d;N;P;D",
        ":a;N;$!ba;s/\\n/ /g",
        "/x/{s/a/b/;p}",
        "s/\\/a/\\/b/",
        "1i\\ heading",
        "$a the end",
        "# only a comment",
        "1!G;h;$!d",
        "/\\[x\\]/p",
        "s/^[ \\t]*//;s/[\\s,]$//",
        "/[^\\n-]/d",
    ],
)
def test_sed_scripts_that_only_transform_pass(script: str) -> None:
    assert sed_rule(script) is None


@pytest.mark.parametrize(
    "script",
    [
        "e",
        "1e id",
        "e id",
        "w out",
        "/x/w out",
        "W out",
        "r in",
        "R in",
        "s/a/b/e",
        "s/a/b/w out",
        "s/a/b/gew",
        "p;e id",
        "p;w x",
        "{e id}",
        "s/a/b/;1e",
        "s/[/]/g;a/e",
        "s/[\\/]/g;a/e",
        "s.[\\.].g;a.e",
        "s/[\\]/x/;e id #]/",
        "s/[ \\t]*$/x/e",
        "s/[[:x:]/]/g;a/e",
        "/[/;a]/w f",
        "s/a/b",
        "s",
        "v",
        "\\xaxw f",
        "1,2,3p",
        "p}w x",
        "?",
    ],
)
def test_sed_scripts_that_run_or_write_or_cannot_be_read_are_refused(script: str) -> None:
    assert sed_rule(script) == "script"


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        "{ print $1, $NF }",
        "$3 > 100",
        "$3 > 100 {print}",
        '{ if ($1 >= 5) print "a > b | c" }',
        "NR==1 || /x|y/ { n++ } END { print n }",
        'BEGIN { FS=":" } { sum += $2 / 2 } END { printf "%d\\n", sum }',
        "{ print ($1 > 2) }",
        "!seen[$0]++",
        '{ gsub(/["\'>]/, ""); print }',
        "length($0) > 80 # long",
        "{ print substr($0, 3); x = a / b / c }",
        "function f(a) { return a } { print f($1) }",
        "/a\\/b/",
        "{ print $1 }\n$2 > 3",
        "{ print $1\n x = $2 > 3 }",  # the line ends what is printed
        "{ print $1; x = $2 > 3 }",
        "{ print (1); x = $2 > 3 }",
        "/x|y/ { print }",
        "function f(a) { return /x|y/ }",
    ],
)
def test_awk_programs_that_only_compute_pass(program: str) -> None:
    assert awk_rule(program) is None


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN { system("id") }',
        'BEGIN { "id" | getline x }',
        '{ print | "sh" }',
        '{ print $1 > "out" }',
        '{ print $1 >> "out" }',
        '{ printf("%s", $1) > "out" }',
        '{ print ($1) > ("out") }',
        "{ print > $1 }",
        '@load "x"',
        'BEGIN { ARGV[1] = "f"; ARGC = 2 } { print }',
        'BEGIN { SYMTAB["ARGC"] = 2 }',
        '@include "x"',
        'BEGIN { f = "system"; @f("id") }',
        '{ x = a / b | "id" / c }',
        '{ n = 1; x = n / 2; print | "sh /" }',
        "{ x[1] / 2 | y }",
        '{ x = 4 / 2; print | "sh /" }',
        '{ x = "4" / 2; print | "sh /" }',
        '{ x = (4) / 2; print | "sh /" }',
        '{ x = /4/ / 2; print | "sh /" }',
        '{ x++ / 2; print | "sh /" }',
        "{ x = (1 }",
        "{ x = 1) }",
        'BEGIN { while ((getline l < "x") > 0) print l }',
        '{ print "unclosed }',
        "{ print /unclosed }",
        "(((",
        ') print x > "f" (',
        '{ print |& "x" }',
        '{ close("x") }',
    ],
)
def test_awk_programs_that_run_or_write_or_cannot_be_read_are_refused(program: str) -> None:
    assert awk_rule(program) == "script"


@pytest.mark.parametrize(
    "script",
    [
        "#\ne id",
        "# x\nw /tmp/x",
        "a\\\ns/\ne id\n/x/",
        "i text\ne id",
        "c\\\n{\ne id",
        "s§a§b§e",
        "s§a§b§",
    ],
)
def test_a_comment_and_a_text_of_sed_hide_no_line_behind_them(script: str) -> None:
    assert sed_rule(script) == "script"


def test_a_comment_of_sed_before_what_transforms_passes() -> None:
    assert sed_rule("# x\np") is None
    assert sed_rule("p;# x\n# y") is None


@pytest.mark.parametrize(
    "program",
    ['#\nBEGIN{system("id")}', '1 # x\n{print | "sh"}', "#\n@load"],
)
def test_a_comment_of_awk_hides_no_line_behind_it(program: str) -> None:
    assert awk_rule(program) == "script"


def test_a_comment_of_awk_passes() -> None:
    assert awk_rule('# system\n{print $1} # | "sh"') is None


@pytest.mark.parametrize("delimiter", "!\"#$%&'()*+,-./:;<=>?@[]^`{|}~")
def test_every_delimiter_is_read(delimiter: str) -> None:
    said = f"s{delimiter}ab{delimiter}cd{delimiter}"
    assert sed_rule(said + "g") is None
    assert sed_rule(said + "e") == "script"
    assert sed_rule(said + ";e id") == "script"


BEGINS = (
    *("( [ , + - * % ^ ! ~ = < > ? : ; { } || && >= <= == != !~ += -= *= %= ^=".split()),
    *"return print printf do exit".split(),
    *("else", "print 1,", "x;", "{x}"),
)
"""What a regular expression follows, and no division."""
DIVIDES = (
    *('1', ".5", "1e3", "0x1F", '"a"', "x=/a/", "a[1]", "(1)", "f(1)", "$1", "$NF", "x++", "1 y", "x", "NF", "length(1)"),
    *("if_", "x=(1)", "if(1)(2)", "print (1)"),
)  # fmt: skip
"""What a division follows, and no regular expression."""
UNSURE = (
    *("if(1)", "while(1)", "for(;;)", "for(k in a)", "switch(1)", "else if((1))", "do{}while(1)", "$"),
    *("length", "x=++", "x=--", "x++ ++", "if", "while", "for", "switch", "case", "default", "function", "func", "next"),
    *("nextfile", "delete", "break", "in", "int", "rand", "srand", "tolower", "substr", "gensub", "BEGIN", "END", "'", "."),
)  # fmt: skip
JOINTS = ("", " ", "\\\n", " \\\n\t")
ENDS = ("\n", " # c\n\n", ";", "; #c\n", "\r\n")
REGEXES = (
    *('/"/ || system("id") || /"/', '/"/; system("id"); y=/"/', '/"/{system("id")}#"/', '/="/; system("id"); y=/"/'),
    *('/[[:alpha:]/"]/ || system("id") || /"/', '/[\\]/; system("id"); y=/]/', '/[]/"]/ || system("id") || /"/'),
    *('/"/; print 1 > "f"; y=/"/', '/"/; @f("id"); y=/"/'),
)  # fmt: skip
DIVISIONS = ('/2; system("id"); y=4/2', '/ 2; print 1 | "sh"; y=4/2', '/ 2; @f("id"); y = 1 / 2')
PLACES = [
    *itertools.product(BEGINS, (*JOINTS, "#c\n"), REGEXES),
    *itertools.product(DIVIDES, JOINTS, DIVISIONS),
    *itertools.product(DIVIDES, ENDS, REGEXES),
    *itertools.product(UNSURE, (*JOINTS, *ENDS), REGEXES),
    *itertools.product(UNSURE, JOINTS, DIVISIONS),
]


@pytest.mark.parametrize("head", ["", "BEGIN{", "BEGIN{x=1 "])
@pytest.mark.parametrize("end", ["", "}", ")}"])
def test_no_slash_of_awk_hides_what_runs_behind_it(head: str, end: str) -> None:
    """Whether it divides or begins a regular expression: nothing that runs a program becomes part of a text by it."""
    programs = (f"{head}{''.join(place)}{end}" for place in PLACES)
    assert [one for one in programs if awk_rule(one) is None] == []


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN{if(1) /"/ || system("id") || /"/}',
        'BEGIN{x=$/"/; system("id"); y=$/"/}',
        'x\n/"/{system("id")}#"/',
        'BEGIN{x=8 \\\n / 2; system("id"); y=4/2}',
        'BEGIN{x = case /2; system("id"); y = 4/2}',  # a name where there is no `switch`
        'BEGIN{x = length /"/; system("id"); y = /"/}',
        'BEGIN{x = 1 /="/; system("id"); y=/"/}',
        'BEGIN{x = ++/"/; system("id"); y=/"/}',
        '/[[:alpha:]/"]/ || system("id") || /"/',
        '/[\\]/; system("id"); x=/]/',
        'BEGIN{x=1system("id")}',
        '{ print $1,\n$2 > "out" }',
        '{ print $1 \\\n > "out" }',
        '{ print ($1\n) > "out" }',
        "{ x = (1] }",
    ],
)
def test_what_implementations_of_awk_read_differently_is_refused(program: str) -> None:
    assert awk_rule(program) == "script"


@pytest.mark.parametrize(
    "program",
    [
        "{ if ($1 / 2 > 3) print $1 / 2 }",
        "{ if (/a/ || /b/) print; else if ($2 ~ /c/) print $2 / $3 }",
        '{ while (i < 3) { x[i] = $i / 2; i++ } } END { print "done" }',
        '/[^/]+$/ { n++ } END { print n / NR * 100 "%" }',
        'BEGIN { FS = "/" }\n# the last part\n/^[a-z\\/]+$/ { print $NF }\n/x/',
        '$1 ~ /^[0-9]+$/ && !/"/ { s += $1 } END { printf "%.2f\\n", s / NR }',
        'function mean(a, b) {\n  return (a + b) / 2\n}\n/"/ { print mean($1, $2) / 3 }',
        '{ print length($0) / 2, "half" }',
        "{ x /= 2 }",
        '{ x = $1 * \\\n  2 / 4; print "x/y", x }',
        "{ print 1e3 / 0x1F, .5 / 2. }",
        '{ n = split($0, part, /[,;]/); print part[n] / 2 "/" part[1] }',
        '{ gsub(/[[:space:]]+/, " "); print }',
        '{ s = s (s ? "," : "") $1 / 2 }',
    ],
)
def test_divisions_and_regular_expressions_of_awk_pass(program: str) -> None:
    assert awk_rule(program) is None
