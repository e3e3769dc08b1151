from __future__ import annotations

import time
from typing import Any

import pytest

from gatewright.discovery.index import STRATEGIES, Entry, Found, ToolIndex
from gatewright.transport.slices import whole

FILES = [
    Entry("f/read", "f", "read_file", "Read the contents of a file", ("path",), ("data/files",)),
    Entry("f/remove", "f", "delete_file", "Delete a file from disk", ("path",), ("data/files",)),
    Entry("f/dir", "f", "directory_list", "List the entries of a directory", (), ("data",)),
]
OTHERS = [
    Entry(
        "o/mail", "o", "send_email", "Send a message to somebody", ("to", "subject"), ("people",)
    ),
    Entry("o/weather", "o", "weather_forecast", "Temperature and rain for a city", ("city",)),
    Entry(
        "o/stock", "o", "get_stock_price", "Current price of a share", ("symbol",), (), ("bourse",)
    ),
]

LETTERS = str.maketrans("0123456789", "bcdfghjklm")


@pytest.fixture(scope="module")
def full() -> ToolIndex:
    return filled()


def filled() -> ToolIndex:
    made = ToolIndex()
    whole(made.put("f", FILES))
    whole(made.put("o", OTHERS))
    return made


def answer(made: ToolIndex, query: str, **how: Any) -> Found:
    return whole(made.search(query, **how))


def found(made: ToolIndex, query: str, **how: Any) -> list[str]:
    return [hit.tool_id for hit in answer(made, query, **how).hits]


def test_a_tool_is_found_until_its_server_is_dropped() -> None:
    """MGP-16.4-1."""
    made = filled()
    assert found(made, "read file")[:1] == ["f/read"]
    made.drop("f")
    assert "f/read" not in found(made, "read file")
    assert len(made) == 3


def test_a_new_list_of_a_server_takes_the_place_of_the_old_one() -> None:
    """MGP-16.4-1."""
    made = filled()
    whole(made.put("f", [Entry("f/unzip", "f", "unzip_archive", "Unpack an archive")]))
    assert found(made, "unpack archive")[:1] == ["f/unzip"]
    assert "f/read" not in found(made, "read file", limit=10)


def test_the_old_tools_are_found_until_the_new_ones_are_all_there() -> None:
    made = filled()
    steps = made.put("f", [Entry("f/new", "f", "read_file", "Read a file"), *FILES[1:]])
    next(steps)
    assert found(made, "read file")[0] == "f/read"
    whole(steps)
    assert found(made, "read file")[0] == "f/new"


def test_of_two_lists_that_are_put_at_a_time_the_later_one_holds() -> None:
    made = filled()
    earlier = made.put("f", FILES)
    next(earlier)
    whole(made.put("f", FILES[1:]))
    whole(earlier)
    assert "f/read" not in found(made, "read file", limit=10)


def test_what_is_listed_again_and_again_does_not_pile_up() -> None:
    made = filled()
    many = [Entry(f"m/{one}", "m", f"tool_{one}", "does something") for one in range(600)]
    for _ in range(6):
        whole(made.put("m", many))
    assert len(made._entries) < 4 * len(many)
    assert found(made, "read file")[0] == "f/read"


@pytest.mark.parametrize("query", ["read_file", "readFile", "read file", "READ FILE"])
@pytest.mark.parametrize("strategy", ["keyword", "auto"])
def test_a_name_is_found_however_it_is_spelled(full: ToolIndex, query: str, strategy: str) -> None:
    """MGP-16.4-3."""
    assert found(full, query, strategy=strategy)[0] == "f/read"


@pytest.mark.parametrize("query", ["raed fiel", "reed_file", "readd file", "rea file"])
@pytest.mark.parametrize("strategy", ["keyword", "auto"])
def test_a_misspelt_name_is_found(full: ToolIndex, query: str, strategy: str) -> None:
    """MGP-16.4-3."""
    assert found(full, query, strategy=strategy)[0] == "f/read"


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("get rid of a document", "f/remove"),
        ("is it going to pour tomorrow", "o/weather"),
        ("write to my colleague", "o/mail"),
    ],
)
@pytest.mark.parametrize("strategy", ["semantic", "auto"])
def test_an_intent_without_the_words_of_the_tool_finds_it(
    full: ToolIndex, query: str, tool: str, strategy: str
) -> None:
    """MGP-16.4-4."""
    assert tool in found(full, query, strategy=strategy, limit=2)


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("Datei löschen", "f/remove"),
        ("Wettervorhersage für Berlin", "o/weather"),
        ("leer el contenido de un archivo", "f/read"),
        ("envoyer un courriel", "o/mail"),
        ("このファイルを読んで", "f/read"),
        ("股票价格", "o/stock"),
    ],
)
def test_an_intent_in_another_language_finds_the_tool(
    full: ToolIndex, query: str, tool: str
) -> None:
    """MGP-16.5-4."""
    assert found(full, query)[0] == tool


def test_a_parent_category_contains_its_children(full: ToolIndex) -> None:
    """MGP-16.4-5."""
    assert set(found(full, "data", strategy="category")) == {"f/read", "f/remove", "f/dir"}
    assert set(found(full, "data/files", strategy="category")) == {"f/read", "f/remove"}
    assert found(full, "read file", categories=("Data/Files",))[0] == "f/read"
    assert "f/read" not in found(full, "read file", categories=("people",))
    assert "f/read" not in found(full, "read file", categories=("dat",))
    assert set(found(full, "", categories=("data",))) == {"f/read", "f/remove", "f/dir"}


@pytest.mark.parametrize(
    ("query", "how"),
    [
        ("z " * 1000, {"strategy": "category"}),
        ("data", {"strategy": "category"}),
        ("read", {"categories": [f"{'z' * 500}{one}" for one in range(100)]}),
        (" ".join(f"t{one}h readx" for one in range(64)), {}),
        (" ".join(["天地玄黄宇宙洪荒" * 24] * 10), {}),
    ],
)
def test_no_query_holds_the_loop(query: str, how: dict[str, Any]) -> None:
    """What is done for tools and words is done in steps, and its size is not a product of what is asked and what there is."""
    made = ToolIndex()
    deep = "/".join("abcdefgh")
    whole(
        made.put(
            "s",
            [
                Entry(f"s/{n}", "s", f"read_{n}", "Read data", (), (f"data/{n % 9}", deep))
                for n in range(4000)
            ],
        )
    )
    steps, longest = made.search(query, may=lambda _: True, **how), 0.0
    while True:
        began = time.thread_time()
        if next(steps, steps) is steps:
            break
        longest = max(longest, time.thread_time() - began)
    assert longest < 0.05  # a step takes 5 ms on a machine that has nothing else to do


def test_what_a_server_listed_once_leaves_nothing_behind() -> None:
    """However often it lists other tools, in words that nobody knows."""
    made = filled()

    def lists(round_: int) -> None:
        whole(
            made.put(
                "s",
                [
                    Entry(f"s/{n}", "s", "tool", f"{round_ * 1100 + n:06}".translate(LETTERS))
                    for n in range(1100)
                ],
            )
        )

    sizes = []
    for round_ in range(12):
        lists(round_)
        sizes.append((len(made._spelling), len(made._postings), len(made._entries)))
    assert max(sizes[6:]) <= max(sizes[:6])
    assert found(made, "raed file")[:1] == ["f/read"]


def test_the_slots_of_a_list_that_is_not_taken_up_are_had_again() -> None:
    made = filled()
    for _ in range(20):
        steps = made.put("s", [Entry(f"s/{n}", "s", "same", "Words") for n in range(600)])
        for _ in range(600):
            next(steps)
        steps.close()
        whole(made.put("t", FILES))
    assert len(made._entries) < 6000


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_answer_says_by_which_strategy(full: ToolIndex, strategy: str) -> None:
    """MGP-16.5-1."""
    assert answer(full, "data", strategy=strategy).strategy == strategy


def test_scores_go_down_from_one(full: ToolIndex) -> None:
    """MGP-16.5-1."""
    hits = answer(full, "read a file", limit=10).hits
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1
    assert all(0 <= score <= 1 for score in scores)


def test_what_may_not_be_seen_is_not_found_and_changes_nothing(full: ToolIndex) -> None:
    """MGP-16.5-6. The answer is the one of an index that never had it."""
    without = ToolIndex()
    whole(without.put("f", FILES[1:]))
    whole(without.put("o", OTHERS))
    for query in ("read file", "raed", "contents", "get a file", "Datei", "zzz"):
        hidden = answer(full, query, may=lambda tool: tool != "f/read", limit=10)
        assert hidden == answer(without, query, limit=10), query


def test_who_may_see_is_asked_once_for_a_view_and_again_for_new_tools() -> None:
    made, asked = filled(), []

    def may(tool: str) -> bool:
        asked.append(tool)
        return tool != "f/read"

    for _ in range(3):
        assert "f/read" not in found(made, "zzz read file", may=may, view="ann", limit=3)
    assert asked.count("f/remove") <= 1 + 3  # once for the view, and for each answer that has it
    whole(made.put("n", [Entry("n/secret", "n", "read_file", "Read a file")]))
    assert "n/secret" not in found(made, "read file", may=lambda tool: tool[0] != "n", view="ann")


@pytest.mark.parametrize(
    "query",
    ["", "   ", "?!", "the of and", "\ud800", "a" * 100_000, "😀" * 50, "\u0301", "read \u05a9 x"],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_any_text_is_a_query(full: ToolIndex, query: str, strategy: str) -> None:
    assert answer(full, query, strategy=strategy).total >= 0


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert answer(ToolIndex(), "read") == Found((), 0, "auto")


def test_an_unknown_strategy_is_refused(full: ToolIndex) -> None:
    with pytest.raises(ValueError, match="strategy"):
        found(full, "read", strategy="dowsing")


def test_an_entry_is_exported_with_what_the_index_holds(full: ToolIndex) -> None:
    """MGP-16.4-2."""
    held = full.export("o/stock")
    assert held["server_id"] == "o"
    assert held["keywords"] == ["bourse"]
    assert sum(one * one for one in held["embedding"]) == pytest.approx(1, abs=0.05)
    assert set(held) == {
        "tool_id", "server_id", "name", "description", "categories", "keywords", "embedding",
    }  # fmt: skip
    with pytest.raises(KeyError):
        full.export("o/none")


def test_any_text_is_a_tool() -> None:
    texts = ("\u0301", "\u0301 \u05a9", "\ud800", "\ufe0f", "ﷺ" * 50, "İ", "\u3099ー")
    made = filled()
    odd = [Entry(f"w/{n}", "w", one, one, (one,), (one,), (one,)) for n, one in enumerate(texts)]
    whole(made.put("w", odd))
    assert found(made, "read file")[0] == "f/read"


def test_a_server_that_comes_back_with_the_same_list_is_found_at_once() -> None:
    made = filled()
    changes = made.changes
    whole(made.put("f", []))
    assert "f/read" not in found(made, "read file", limit=10)
    assert len(made) == len(OTHERS)
    whole(made.put("f", FILES))
    assert found(made, "read file")[0] == "f/read"
    assert made.changes == changes
    whole(made.put("f", []))
    made.drop("f")
    assert made.servers == {"o"}


def test_those_that_fit_as_well_have_an_order_that_no_start_changes() -> None:
    listed = {
        one: [Entry(f"{one}/go", one, "read_file", "Read a file")]
        for one in ("qqxa", "qqxb", "qqxc")
    }
    orders = []
    for servers in (sorted(listed), sorted(listed, reverse=True)):
        index = ToolIndex()
        for one in servers:
            whole(index.put(one, listed[one]))
        orders.append([hit.tool_id for hit in whole(index.search("read file")).hits])
    assert orders == [["qqxa/go", "qqxb/go", "qqxc/go"]] * 2


def test_how_hidden_tools_are_spelled_hides_nothing_that_is_seen() -> None:
    shown = [Entry("v/1", "v", "tool", "words of zorbley"), Entry("v/2", "v", "other", "thing")]
    hidden = [Entry(f"h/{n}", "h", f"zorblet{chr(97 + n)}", "x") for n in range(26)]
    answers = []
    for listed in ([], hidden):
        index = ToolIndex()
        whole(index.put("h", listed))
        whole(index.put("v", shown))
        answers.append(whole(index.search("zorblet", may=lambda tool: tool.startswith("v/"))))
    assert [one.tool_id for one in answers[0].hits] == ["v/1"]
    assert answers[1] == answers[0]
