"""The figures of the house are what they say."""

from __future__ import annotations

from pathlib import Path

from benchmarks.house import imports, logical, recorded


def test_statements_and_comment_lines_are_counted() -> None:
    text = '"""Doc."""\n\n# why\nx = (\n    1,\n    2,\n)  # beside\nif x:\n    # here\n    y = 1; z = 2\n'
    assert logical(text) == (4, 2)


def test_an_import_is_that_of_a_file_of_the_package_wherever_it_stands(tmp_path: Path) -> None:
    modules = {name: tmp_path / f"{name}.py" for name in ("a.b", "a.c", "a.d", "a")}
    one = tmp_path / "one.py"
    one.write_text("import json\nimport a.b\nfrom a import c\ndef f():\n    from a.d import x\n")
    assert imports(one, modules) == set(modules.values())


async def test_one_call_is_followed_from_the_request_to_the_answer(tmp_path: Path) -> None:
    call = await recorded(tmp_path)
    names = {Path(one).name for one in call.files}
    assert {"http_connection.py", "kernel.py", "pipe_link.py", "call_records.py"} <= names
    assert len(call.entered) >= len(call.files) > 20
