"""`Places`: every place of the templates that shows a foreign text, found in their sources; each is fed with hostile texts when a page is made."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup

from gatewright import console
from gatewright.console.whole_texts import MOST_CHARS

__all__ = ["Places"]

_TEMPLATES = Path(console.__file__).parent / "templates"
_DECIDED_ON = ("whole", "arguments")
"""Filters that leave nothing out: what they are given is a page of a text at most."""
_FOREIGN = re.compile(r"\|\s*(line|foreign|arguments|whole)\b")
Filter = Callable[..., Markup]


class Places:
    """Of one environment, before it has loaded a template."""

    def __init__(self, environment: Environment, texts: Sequence[str]) -> None:
        self._texts = texts
        self._filters: dict[str, Any] = environment.filters
        self.shown = dict.fromkeys(self._every(), 0)
        """Every place, `TEMPLATE: EXPRESSION`, and how many texts it has shown."""
        environment.loader = FunctionLoader(self._source)

    def _every(self) -> Iterator[str]:
        for path in sorted(_TEMPLATES.rglob("*.html")):
            name = path.relative_to(_TEMPLATES).as_posix()
            source = path.read_text(encoding="utf-8")
            for number, found in enumerate(_FOREIGN.finditer(source)):
                yield _named(name, number, source, found)

    def _source(self, name: str) -> str:
        source = (_TEMPLATES / name).read_text(encoding="utf-8")
        numbers = itertools.count()

        def numbered(found: re.Match[str]) -> str:
            place = _named(name, next(numbers), source, found)
            filter_name = f"{found[1]}_{len(self._filters)}"
            self._filters[filter_name] = self._fed(place, found[1])
            return f"| {filter_name}"

        return _FOREIGN.sub(numbered, source)

    def _fed(self, place: str, name: str) -> Filter:
        real: Filter = self._filters[name]
        most = MOST_CHARS if name in _DECIDED_ON else None

        def fed(said: Any, **how: Any) -> Markup:
            if not isinstance(said, str) or not said:
                return real(said, **how)  # a number, say
            at = self.shown[place]
            self.shown[place] += 1
            return real(self._texts[at % len(self._texts)][:most], **how)

        return fed


def _named(template: str, number: int, source: str, found: re.Match[str]) -> str:
    begin = max(source.rfind("{{", 0, found.start()), source.rfind("{%", 0, found.start()))
    return f"{template} {number}: {source[begin + 2 : found.start()].strip()[:60]}"
