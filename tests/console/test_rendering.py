"""Foreign text in a page: escaped, with what it hides marked."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.console import rendering
from gatewright.console.definition_diff import Kind, Line
from gatewright.console.held_definitions import HeldDefinition, HeldDetail
from gatewright.console.host_shapes import From
from gatewright.console.rendering import (
    FOLD_CHARS,
    arguments,
    duration,
    element_id,
    environment,
    exactly,
    foreign,
    is_short,
    line,
    pieces,
    took,
    when,
    whole,
)
from gatewright.console.whole_texts import MOST_CHARS
from gatewright.hosts.offered import ImportedServer, ImportPlan
from tests.costs import lines_run

_TAG = re.compile(r"<[^>]*>")
OURS = {"span", "div", "pre", "details", "summary", "em", "bdi"}


def tags(html: str) -> set[str]:
    return {found.strip("</>").split()[0] for found in _TAG.findall(html)}


@given(st.text(max_size=200))
def test_whatever_a_text_says_it_makes_no_markup(text: str) -> None:
    for html in (str(foreign(text)), str(line(text)), str(arguments(text))):
        assert tags(html) <= OURS
        assert not re.search(r"[\u200b-\u200f\u202a-\u202e\u2066-\u2069\x00-\x08]", html)


def test_hidden_characters_are_marked_and_line_ends_kept() -> None:
    assert str(foreign("a\u202eb\nc")) == 'a<span class="ctl">U+202E</span>b\nc'
    assert str(line("a\nb")) == 'a<span class="ctl">\\n</span>b'


def test_a_letter_carries_few_marks_and_the_others_are_named() -> None:
    """A pile of them is painted over what stands above and below; languages have two or three."""
    assert str(line("e\u0323\u0302\u0301n")) == "e\u0323\u0302\u0301n"
    piled = str(line("e" + "\u0323\u0302" * 20 + "n"))
    assert piled.startswith('e\u0323\u0302\u0323<span class="ctl">U+0302</span>')
    assert (piled.count("\u0302"), piled.count("U+0302"), piled[-1]) == (1, 19, "n")
    assert str(foreign("e" + "\u0301" * 500)).endswith(
        'e\u0301\u0301\u0301<span class="ctl">U+0301 \u00d7497</span>'
    )
    # One that has no letter would strike through what the page itself says before it.
    assert str(line("\u0338x")) == '<span class="ctl">U+0338</span>x'
    struck = '<span class="ctl">U+0338 \u00d72</span>b'
    assert str(foreign("a\n\u0338\u0338b")) == f"a\n{struck}"
    assert str(line("a \u0338\u0338b")) == f"a {struck}"
    assert str(line("a\u202e\u0338\u0338b")) == f'a<span class="ctl">U+202E</span>{struck}'
    far = "x" * 300 + "e" + "\u0301" * 9
    assert str(whole(far)).endswith('<span class="ctl">U+0301 \u00d76</span>')
    assert not is_short("e\u0301\u0302" * 9 + "e" + "\u0301\u0302" * 110)


def test_text_that_runs_from_right_to_left_turns_nothing_around_it() -> None:
    """`SERVER / TOOL` of two such names stood there as `TOOL / SERVER`."""
    assert str(line("\u05d0/1")) == '<bdi dir="ltr"><bdi>\u05d0</bdi>/1</bdi>'
    assert str(foreign("a \u0661")) == '<bdi dir="ltr">a <bdi>\u0661</bdi></bdi>'
    assert "<bdi" in str(arguments('{"path": "\u0627/etc"}'))
    assert "<bdi" not in str(line("d\u00e9j\u00e0 \u8a9e \u0430"))


def test_parts_of_a_path_that_run_from_right_to_left_keep_their_order() -> None:
    """A sign between two of them runs with them (UAX #9, N1): `/AA/BB` stood there as `/BB/AA`, where somebody decides on it."""
    said = "/srv/\u05d0\u05d1/\u05d2 \u05d3\u05b0.<b>"
    apart = "/srv/<bdi>\u05d0\u05d1</bdi>/<bdi>\u05d2 \u05d3\u05b0</bdi>.&lt;b&gt;"
    assert str(whole(said)) == f'<bdi dir="ltr">{apart}</bdi>'
    assert apart in str(arguments(json.dumps({"path": said})))
    # What is not seen between two is named, and parts them.
    named = '<bdi>\u05d0</bdi><span class="ctl">U+202E</span><bdi>\u05d1</bdi>'
    assert named in str(line("\u05d0\u202e\u05d1"))


def test_marks_are_few_however_much_a_text_hides() -> None:
    assert str(foreign("a" + "\u202e" * 4000 + "b")).endswith(
        '<span class="ctl">U+202E \u00d74000</span>b</details>'
    )
    many = str(foreign("\u202e\u200b" * 8000))
    assert many.count('class="ctl"') < 500
    assert "are not named" in many
    assert "\u202e" not in many
    assert "\u200b" not in many
    assert len(many) < 120_000


def test_a_long_text_is_folded_and_a_very_long_one_cut() -> None:
    folded = str(foreign("x" * (FOLD_CHARS + 1)))
    assert folded.startswith("<details")
    assert folded.count("x" * FOLD_CHARS) == 2
    cut = str(foreign("y" * 300_000))
    assert cut.count("y") < 20_000
    assert "283616 more characters are not shown" in cut
    assert len(line("z" * 1000)) == 241


def test_nothing_of_what_is_decided_on_is_left_out() -> None:
    """Neither hidden characters beyond some number, nor the end of a long name or of a list that takes more room with a member a line."""
    many = str(arguments(json.dumps({"a": "\u202e\u200b" * 4000}, ensure_ascii=False)))
    assert many.count("U+202E") >= 4000
    assert "not named" not in many
    assert "the end" in str(arguments(json.dumps({"n" * 5000 + "the end": 1})))
    assert "the end" in str(arguments(json.dumps({"a": [*[1] * 5000, "the end"]})))
    deep = "[" * 60 + "1," * 7000 + '"the end"' + "]" * 60
    found = str(arguments(f'{{"a": {deep}}}'))
    assert "the end" in found
    assert len(found) < 200_000
    assert str(whole("a\u202e" * 300)).count("U+202E") == 300


@pytest.mark.parametrize("text", ['{"a": "%s"}', "%s"])
def test_nothing_that_is_decided_on_is_folded(text: str) -> None:
    """What stands behind a click was agreed to without one."""
    long = text % ("x" * 10 * FOLD_CHARS)
    assert "<details" not in str(arguments(long))
    made = environment(lambda: 0.0, lambda name: name)
    template = made.from_string("{% from 'lists.html' import difference %}{{ difference(lines) }}")
    kinds: tuple[Kind, ...] = ("same", "added", "removed")
    shown = template.render(lines=[Line(kind, long) for kind in kinds])
    assert "<details" not in shown
    assert shown.count("x" * 10 * FOLD_CHARS) == 3


def test_how_a_server_is_reached_is_shown_to_its_end_before_it_is_imported() -> None:
    """A line that somebody pastes is one that runs here; so is what a variable says."""
    made = environment(lambda: 0.0, lambda name: name)
    words = "npx " + "x" * 500 + " --and-its-end"
    one = ImportedServer(
        id="i" * 300 + "_end", action="add", transport="stdio", target=words, secrets=["s" * 300]
    )
    said = "NODE_OPTIONS=" + "v" * 300 + "_end"
    plan = ImportPlan(source="a", file="b", servers=[one], remarks=[f"`{said}` loads"], digest="")
    given = From(text="{}")
    page = made.get_template("connect/plan.html").render(plan=plan, host="", given=given)
    for text in (one.id, words, *one.secrets, said):
        assert text in page


def test_of_a_definition_that_is_accepted_the_whole_name_is_shown() -> None:
    made = environment(lambda: 0.0, lambda name: name)
    tool = "t" * 300 + "_end"
    one = HeldDefinition(
        id="df_1", server="s", tool=tool, standing="new", why="", digest="d" * 64, since=0.0
    )
    held = HeldDetail(definition=one, lines=[Line("added", "{}")], whole=True)
    page = made.get_template("inbox/definition.html").render(
        held=held, may=lambda power: True, again=False
    )
    assert tool in page.partition("<form")[0]


def test_what_hides_more_than_stands_among_others_is_not_short() -> None:
    assert is_short('{"a": "\u202e"}')
    assert not is_short("x" * (MOST_CHARS + 1))
    assert not is_short("\u202e\u200b" * 101)
    assert not is_short("\\u0001\\u0002" * 101)


def test_arguments_stand_one_below_the_other() -> None:
    html = str(arguments('{"path": "<b>", "n": 1.50, "list": [1]}'))
    assert html.count('class="arg"') == 3
    assert ">1.50<" in html
    assert "&lt;b&gt;" in html


def test_arguments_that_no_text_can_be_are_shown_as_they_are_written() -> None:
    assert '"\\ud800x"' in str(arguments('{"a": "\\ud800x"}')).replace("&#34;", '"')


@pytest.mark.parametrize("text", ["[1]", "nothing", "{}", '{"a": ', "[" * 100_000])
def test_arguments_that_are_no_object_are_shown_as_they_are(text: str) -> None:
    assert str(arguments(text)).startswith("<pre")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (7199, "1 h"), (200_000, "2 d")],
)
def test_times_are_said_in_their_largest_unit(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0.1, "0.1 ms"),
        (9.94, "9.9 ms"),
        (9.96, "10 ms"),
        (994, "994 ms"),
        (996, "1.0 s"),
        (61_000, "61 s"),
    ],
)
def test_what_calls_took_is_said_to_two_digits(ms: float, said: str) -> None:
    assert took(ms) == said


def test_a_moment_has_its_exact_time_beside_it() -> None:
    html = str(when(1_000_000_000.0, 1_000_000_065.0))
    assert ">1 min ago<" in html
    assert 'title="2001-09-09 01:46:40 UTC"' in html
    assert ">in 5 s<" in str(when("2001-09-09T01:46:45Z", 1_000_000_000.0))
    # What was made while the page was is not ahead of it.
    assert [str(when(ahead, 0.0)).partition(">")[2] for ahead in (0.0, 0.9, 1.0)] == [
        "0 s ago</time>",
        "0 s ago</time>",
        "in 1 s</time>",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, ""), (59, "59 s"), (512, "8 min 32 s"), (90_000, "1 d 1 h")]
)
def test_a_time_is_told_in_full(seconds: int, said: str) -> None:
    assert exactly(seconds) == said


def test_templates_escape_by_themselves() -> None:
    made = environment(lambda: 0.0, lambda name: name)
    assert made.from_string("{{ said }}").render(said="<i>") == "&lt;i&gt;"
    assert made.from_string("{{ said | commas }}").render(said=1234) == "1,234"


@pytest.mark.parametrize("member", ['"{n}": "x"', '"{n}": ["\u202e", {{"a": {n}}}]', '"a": {n}'])
def test_what_arguments_take_grows_with_their_members(member: str) -> None:
    """Counted in lines. An agent writes them, and a page shows them."""

    def lines(count: int) -> int:
        text = "{" + ", ".join(member.format(n=n) for n in range(count)) + "}"
        return lines_run(rendering, lambda: arguments(text))

    assert lines(400) <= 4.2 * lines(100)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("do this", [("do this", False)]),
        ("`a b` does; then `c`", [("a b", True), (" does; then ", False), ("c", True)]),
        ("an odd ` one", [("an odd ", False), (" one", True)]),
    ],
)
def test_what_is_to_be_typed_stands_apart(text: str, found: list[tuple[str, bool]]) -> None:
    assert pieces(text) == found


def test_the_id_of_an_element_says_nothing_of_the_text_that_it_is_for() -> None:
    assert element_id("ann") == element_id("ann") != element_id("ann ")
    assert set(element_id('"><script>\ud800')) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    ("says", "called"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
            "Chrome on Linux",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 Edg/156.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1 Version/19.0 Mobile/15E148 Safari/604.1",
            "Safari on iPhone",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; rv:150.0) Gecko/20100101 Firefox/150.0",
            "Firefox on Windows",
        ),
        ("curl/8.5.0", "curl/8.5.0"),
        ("x" * 61, "x" * 60 + "…"),
        ("", ""),
    ],
)
def test_a_browser_is_called_as_people_call_it(says: str, called: str) -> None:
    assert rendering.browser(says) == called
