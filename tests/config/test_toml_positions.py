"""Where statements of a TOML text stand."""

from gatewright.config.toml_positions import Statement, statements


def test_every_statement_has_its_lines_and_its_kind() -> None:
    text = (
        'a.b = 1\n# no statement\n[[s]]\nlong = [\n  1, # one\n]\n\n[s."x.y"]\nz = """\n[no]\n"""\n'
    )
    assert list(statements(text)) == [
        Statement(("a", "b"), 1, 1, False, 2),
        Statement(("s", 0), 3, 3, True, 1),
        Statement(("s", 0, "long"), 4, 6, False, 1),
        Statement(("s", 0, "x.y"), 8, 8, True, 2),
        Statement(("s", 0, "x.y", "z"), 9, 11, False, 1),
    ]


def test_a_last_line_without_an_end_is_a_line() -> None:
    assert [(one.first, one.last) for one in statements("a = 1\nb = [\n2]")] == [(1, 1), (2, 3)]


def test_nothing_has_no_statements() -> None:
    assert list(statements("\n# a comment\n\n")) == []
