"""A table against its shape: what fits, what is told, and that nothing is told twice."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from gatewright.config import SettingsError
from gatewright.config.build import build
from gatewright.config.check import Report, read_list, read_table
from gatewright.config.documents import parse

FILE = Path("/project/mgp.toml")


class Inner(msgspec.Struct, frozen=True):
    size: Annotated[int, Meta(ge=1)] = 1


class Shape(msgspec.Struct, frozen=True):
    name: str
    mode: Literal["a", "b"] | Inner | None = None
    inner: Inner | None = None
    names: tuple[str, ...] = ()
    inners: dict[str, Inner] = {}
    ratio: float = 0.5


def report(text: str) -> Report:
    return Report(parse(text, FILE))


def read(text: str) -> tuple[dict[str, object] | None, list[str]]:
    found = report(text)
    table = read_table(found.document.data, Shape, (), found)
    return table, [str(problem) for problem in found.errors]


def test_what_fits_comes_back_converted_and_only_what_was_written() -> None:
    text = 'name = "n"\nmode = "b"\nnames = ["x"]\nratio = 1\n[inner]\nsize = 2\n[inners.i]\n'
    assert read(text) == (
        {
            "name": "n",
            "mode": "b",
            "inner": Inner(2),
            "names": ("x",),
            "inners": {"i": Inner()},
            "ratio": 1.0,
        },
        [],
    )


def test_a_union_takes_the_member_that_the_value_can_have_meant() -> None:
    assert read('name = "n"\nmode = { size = 3 }\n') == ({"name": "n", "mode": Inner(3)}, [])
    _, told = read('name = "n"\nmode = { size = 0 }\n')
    assert told == [
        (
            f"{FILE}:2: mode.size: 0 does not fit here; "
            "write a whole number from 1, for example size = 1"
        )
    ]


def test_one_wrong_value_hides_none_of_the_others() -> None:
    table, told = read('mode = "c"\nnames = [1, "x", 2]\nratio = "r"\ninner = 5\ninners = 6\n')
    assert table == {}
    assert [line.split(";")[0] for line in told] == [
        f"{FILE}: name: this key is missing",
        f'{FILE}:1: mode: "c" does not fit here',
        f"{FILE}:4: inner: 5 where a table belongs",
        f"{FILE}:2: names.0: 1 does not fit here",
        f"{FILE}:2: names.2: 2 does not fit here",
        f"{FILE}:5: inners: 6 where a table belongs",
        f'{FILE}:3: ratio: "r" does not fit here',
    ]


def test_a_long_value_is_told_short() -> None:
    _, (told,) = read(f'name = "n"\nratio = "{"x" * 5000}"\n')
    assert len(told) < 200


def test_a_list_of_tables_is_read_or_told() -> None:
    found = report("a = [1]\nb = 2\n")
    assert read_list([1], "a", found) == [1]
    assert read_list(2, "b", found) == []
    assert [str(problem) for problem in found.errors] == [
        f"{FILE}:2: b: 2 where an array of tables belongs; write [[b]] for each"
    ]


def test_a_label_names_an_element_by_its_id_where_it_has_one() -> None:
    found = report('[[servers]]\nid = "one"\n[[servers]]\nid = 5\n')
    assert found.label(("servers", 0, "mgp", "x")) == "servers.one.mgp.x"
    assert found.label(("servers", 1, "id")) == "servers.1.id"
    assert found.label(("servers", 7)) == "servers.7"


def problems(text: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        build([parse(text, FILE)], {}, Path("/state"))
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[gateway]\nport = "x"\n',
            (
                ':2: gateway.port: "x" does not fit here; '
                "write a whole number from 0 to 65535, for example port = 8420"
            ),
        ),
        (
            '[gateway]\nanonymous = "maybe"\n',
            (
                ':2: gateway.anonymous: "maybe" does not fit here; '
                'write one of "deny", "allow", for example anonymous = "deny"'
            ),
        ),
        (
            "[gateway]\nunprefixed = 1\n",
            (
                ":2: gateway.unprefixed: 1 does not fit here; "
                "write true or false, for example unprefixed = true"
            ),
        ),
        (
            "[limits]\ncall_timeout_s = nan\n",
            (
                ":2: limits.call_timeout_s: nan does not fit here; "
                "write a number above 0 to 86400, for example call_timeout_s = 1"
            ),
        ),
        (
            '[gateway]\nallowed_origins = "x"\n',
            (
                ':2: gateway.allowed_origins: "x" where a list belongs; '
                'write a list of texts in quotes, for example allowed_origins = ["one", "two"]'
            ),
        ),
        (
            "[gateway]\nallowed_origins = [1]\n",
            (
                ":2: gateway.allowed_origins.0: 1 does not fit here; write a text in quotes "
                'that is not empty, at most 128 characters, for example 0 = "text"'
            ),
        ),
        (
            '[limits]\ncalls = "10/s"\n',
            ':2: limits.calls: "10/s" where a table belongs; write [limits.calls] and keys below',
        ),
        ("gateway = 5\n", ":1: gateway: 5 where a table belongs; write [gateway] and keys below"),
        (
            "[servers]\na = 1\n",
            ":1: servers: a table where an array of tables belongs; write [[servers]] for each",
        ),
        (
            "servers = [1]\n",
            ":1: servers.0: 1 where a table belongs; write [[servers]] and keys below",
        ),
        ("profiles = 1\n", ":1: profiles: profiles are tables; write [profiles.NAME]"),
        (
            '[profiles."a/b"]\n',
            ":1: profiles.a/b: a profile's name is part of a URL; use letters, digits and -",
        ),
        ('[gateway]\nname = "a\\u0000"\n', ":2: gateway.name: the text contains a NUL character"),
        ('[storage]\npath = ""\n', ":2: storage.path: "),
    ],
)
def test_a_wrong_value_is_told_with_file_line_key_and_what_to_write(text: str, told: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(f"{FILE}{told}")


def test_a_table_that_nobody_knows_is_told_with_its_line() -> None:
    """An array of tables has no line of its own, and neither has a table of which only inner ones are written."""
    text = '[gateway]\nport = 1\n\n[[server]]\nid = "a"\n\n[limit.calls]\nper_s = 1\n'
    found = build([parse(text, FILE)], {}, Path("/state"))
    assert [str(one).split(": this")[0] for one in found.warnings] == [
        f"{FILE}:4: server",
        f"{FILE}:7: limit",
    ]
