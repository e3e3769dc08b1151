"""Quoted here-documents are data, wherever they end; others are refused."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_heredocs import without_heredocs
from gatewright.validators.shell_syntax import Unacceptable, root_of


def plain(text: str) -> str:
    source = text.encode()
    return without_heredocs(source, root_of(source)).decode()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("cat > a <<'E'\nrm -rf / ; `id`\nE\nls", "cat > a \n\nls"),
        ("cat <<'E' | sh\nid\nE", "cat  | sh\n"),
        ('tee a <<"E" && ls\nx\nE', "tee a  && ls\n"),
        ("git commit -m \"$(cat <<'E'\nfix: `a` $b\nE\n)\"", 'git commit -m "message"'),
        ("ls", "ls"),
    ],
)
def test_only_the_document_is_taken_out(text: str, left: str) -> None:
    assert plain(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "cat <<E\n$(id)\nE",
        "sh <<'E'\nid\nE",
        "python - <<'E'\nid\nE",
        "rm \"$(cat <<'E'\n/\nE\n)\"",
        "cat <<'A B'\nx\nA B",
    ],
)
def test_other_documents_stay_refused(text: str) -> None:
    source = text.encode()
    try:
        left = without_heredocs(source, root_of(source))
    except Unacceptable:
        return
    assert b"$(" in left  # which is refused where it stands
