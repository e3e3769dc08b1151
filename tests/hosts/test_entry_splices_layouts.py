"""Connect and disconnect in any TOML and YAML that a program may have written: exact, or refused."""

import io
from typing import Any

import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gatewright.hosts.edit import entries
from gatewright.hosts.entry_splices import Record, apply, take_back
from gatewright.hosts.host_table import HOSTS, Host
from gatewright.hosts.whole_file import CannotEdit

NAME = "gatewright"
ENTRY = {"name": NAME, "url": "http://127.0.0.1:8420/mcp", "args": ["a"], "env": {"A": "1"}}
QUICK = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))

_KEYS = st.sampled_from(["a", "b c", "é", "1", "true", "a.b", "x-y", "gatewright2", "#"])
_SCALARS = st.one_of(
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from(
        ["", "x", "two words", "line\nline\n", "# no", "[x]", "é", "- a", "'", '"', "yes"]
    ),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=6,
)
_MAPS = st.dictionaries(_KEYS, _VALUES, max_size=3)
_SERVERS = st.dictionaries(_KEYS, _MAPS, max_size=3)


@st.composite
def _documents(draw: st.DrawFn, container: str, *, listed: bool) -> dict[str, Any]:
    found = list(draw(_MAPS).items())
    if draw(st.booleans()):
        servers = draw(_SERVERS)
        inside: Any = [{"name": key, **one} for key, one in servers.items()] if listed else servers
        found.insert(draw(st.integers(0, len(found))), (container, inside))
    return dict(found)


def _laid_out(text: str, newline: str, end: str) -> str:
    return (text.rstrip("\n") + end if end != "\n" else text).replace("\n", newline)


def _holds(host: Host, text: str) -> bool:
    """Whether the text came back as it was; False where no entry could be made in it."""
    try:
        after, step = apply(host, text, NAME, ENTRY)
    except CannotEdit:
        return False
    assert entries(host, after) == {**entries(host, text), NAME: ENTRY}
    record = Record(host=host.id, file="somewhere", steps=(step,))
    assert take_back(host, after, record, NAME)[0] == text
    edited, _ = take_back(host, after + "\n# since\n", record, NAME)
    assert edited == text + "\n# since\n"
    return True


@QUICK
@given(
    data=st.data(),
    id=st.sampled_from(["goose", "continue"]),
    flow=st.sampled_from([False, False, None, True]),
    indents=st.sampled_from([(2, 2, 0), (2, 4, 2), (4, 6, 4), (3, 2, 0)]),
    newline=st.sampled_from(["\n", "\r\n"]),
    end=st.sampled_from(["\n", "", "\n\n# end\n"]),
)
def test_any_yaml_comes_back_byte_for_byte_or_is_left_alone(
    data: st.DataObject,
    id: str,
    flow: bool | None,
    indents: tuple[int, int, int],
    newline: str,
    end: str,
) -> None:
    host = HOSTS[id]
    document = data.draw(_documents(host.container[0], listed=host.listed))
    writer: Any = YAML()
    writer.default_flow_style = flow
    writer.map_indent, writer.sequence_indent, writer.sequence_dash_offset = indents
    out = io.StringIO()
    writer.dump(document, out)
    done = _holds(host, _laid_out(out.getvalue(), newline, end))
    assert done or flow is not False or not document, "a file in blocks has a place"


@QUICK
@given(
    data=st.data(),
    newline=st.sampled_from(["\n", "\r\n"]),
    end=st.sampled_from(["\n", "", "\n\n# end\n"]),
)
def test_any_toml_comes_back_byte_for_byte(data: st.DataObject, newline: str, end: str) -> None:
    host = HOSTS["codex"]
    document = data.draw(_documents(host.container[0], listed=False))
    text = tomlkit.dumps(document)
    assert _holds(host, _laid_out(text, newline, end))
