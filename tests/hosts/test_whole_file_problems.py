"""What is wrong with a text says its line where it has one."""

from gatewright.hosts.whole_file import CannotEdit, Unreadable


def test_a_problem_names_its_line_where_there_is_one() -> None:
    assert str(Unreadable("expected `,`", 3)) == "line 3: expected `,`"
    assert str(Unreadable("not text")) == "not text"
    assert str(CannotEdit("no place")) == "no place"
