"""The figures of the house are what they say."""

from __future__ import annotations

from pathlib import Path

from benchmarks.house import PREPARED, SOURCE, imports, logical, recorded

PAGE = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")


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


async def test_a_prepared_call_enters_far_less(tmp_path: Path) -> None:
    call = await recorded(tmp_path, prepared=True)
    names = {Path(one).name for one in call.files}
    assert {"http_connection.py", "straight.py", "prepared.py", "pipe_link.py"} <= names
    assert not {"kernel.py", "served_request.py"} & names
    assert len(call.entered) < 110


def _way() -> list[str]:
    """The files and folders of the picture in ARCHITECTURE.md, from the client to the tool server."""
    picture = PAGE.partition("## The path of a call")[2].split("```")[1]
    line = next(one for one in picture.splitlines() if "─▶" in one)
    return [step.strip("─ ").removesuffix(".handle").removesuffix("/…") for step in line.split("▶")]


async def test_the_picture_of_the_way_is_the_way_that_a_recorded_call_takes(tmp_path: Path) -> None:
    call = await recorded(tmp_path)
    way = _way()
    assert way[0] == "mcp/server"
    assert way[-1] == "transport"
    files = [Path(one).relative_to(SOURCE).with_suffix("").as_posix() for one in call.entered]
    at = 0
    for step in way:
        later = [n for n, file in enumerate(files) if n >= at and file.startswith(step)]
        assert later, f"{step} is not entered after {way[: way.index(step)]}"
        at = later[0]


def test_what_prepares_calls_is_small() -> None:
    """At most nine hundred logical lines, beside what gates and filters say themselves."""
    counted = [logical((SOURCE / one).read_text(encoding="utf-8"))[0] for one in PREPARED]
    assert min(counted) > 0
    assert sum(counted) <= 900
