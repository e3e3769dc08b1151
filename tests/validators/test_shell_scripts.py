"""Scripts of sed and awk: what only transforms passes, what runs, writes or cannot be read does not."""

import pytest

from gatewright.validators.shell_scripts import awk_rule, sed_rule


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
