"""What every template of the console keeps to: no markup inside an attribute, no wait that calls put off for ever, forms that know their list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gatewright import console

TEMPLATES = sorted((Path(console.__file__).parent / "templates").rglob("*.html"))
_MARKUP = ("line", "foreign", "when", "since", "arguments")
"""Filters that give markup."""
_TEXT = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_TAG = re.compile(r"<[a-z][a-z0-9]*(?:[^<>{}\"]|\{\{.*?\}\}|\{%.*?%\}|\"[^\"]*\")*>", re.DOTALL)
_VALUE = re.compile(r"=\"([^\"]*)\"")
_TRIGGER = re.compile(r"hx-trigger=\"([^\"]*)\"")
_LISTS = ("#list", "#running", "#signed-in")
_OF_CALLS = ("changed-live", "changed-audit", "changed-sessions", "changed-limits")

every = pytest.mark.parametrize(
    "template", TEMPLATES, ids=lambda one: f"{one.parent.name}-{one.stem}"
)


@every
def test_no_attribute_has_markup_in_it(template: Path) -> None:
    """What is put into one is text: what marks a character that nobody sees would end the attribute, or stand in it."""
    for tag in _TAG.findall(template.read_text(encoding="utf-8")):
        for value in _VALUE.findall(tag):
            for text in _TEXT.findall(value):
                filters = [one.strip().partition("(")[0] for one in text.split("|")[1:]]
                last = next(
                    (one for one in reversed(filters) if one in (*_MARKUP, "striptags")), ""
                )
                assert last not in _MARKUP, f"{text} in {tag[:80]}"


@every
def test_no_part_waits_until_calls_pause(template: Path) -> None:
    """`delay` begins anew with each event, so it never ends while calls come; what changes with each call is fetched now and then."""
    for trigger in _TRIGGER.findall(template.read_text(encoding="utf-8")):
        for one in trigger.split(","):
            if "changed-" in one:
                assert "delay:" not in one, trigger
            if any(topic in one for topic in _OF_CALLS):
                assert "throttle:" in one, trigger


@every
def test_a_form_that_is_answered_with_a_list_says_which(template: Path) -> None:
    """Else the list comes back as it is first shown: unsorted, unfiltered, from its first page on."""
    text = template.read_text(encoding="utf-8")
    for form in re.findall(r"<form[^>]*hx-post=[^>]*>.*?</form>", text, re.DOTALL):
        if any(f'hx-target="{one}"' in form for one in _LISTS):
            assert "[name=place]" in form or "place(" in form, form[:200]


@every
def test_a_command_is_typed_as_it_works_for_this_gateway(template: Path) -> None:
    """With its configuration, say: it is copied into another folder. Whoever is not signed in is told no path of this machine."""
    text = template.read_text(encoding="utf-8")
    if template.name not in ("sign_in.html", "open.html"):
        assert "<code>gatewright" not in text
