"""The rules on the whole tree: every file of the repository obeys them."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from itertools import chain
from urllib.parse import urlsplit

from gatewright.app.features import FEATURES
from tests.house_rules import rules, tree

Rule = Callable[[str, str], list[str]]
_OF_SOURCES: tuple[Rule, ...] = (
    rules.first_lines,
    rules.dishonest_exports,
    rules.undocumented_methods,
)
_OF_TESTS: tuple[Rule, ...] = (rules.unreadable_test_names, rules.untested_tests)


def _complaints(rule: Rule, texts: dict[str, str]) -> list[str]:
    return [line for name, text in texts.items() for line in rule(name, text)]


@cache
def _all_complaints() -> Mapping[str, list[str]]:
    """Those of all rules that look at a syntax tree, by the names of the rules: each file is parsed once."""
    sources, tests = tree.modules("src"), tree.test_files()
    exports = {_dotted(name): _all_of(text) for name, text in sources.items()}
    found: dict[str, list[str]] = {}
    for name, text in sources.items():
        for rule in _OF_SOURCES:
            found.setdefault(rule.__name__, []).extend(rule(name, text))
        found.setdefault("private_imports", []).extend(rules.private_imports(name, text, exports))
    for name, text in tree.modules("tests").items():
        found.setdefault("unwanted_marks", []).extend(rules.unwanted_marks(name, text))
        short = name.removeprefix("tests/")
        for rule in _OF_TESTS if short in tests else ():
            found.setdefault(rule.__name__, []).extend(rule(short, text))
    return found


def _report(lines: list[str]) -> str:
    return "\n" + "\n".join(lines)


def _text_files() -> dict[str, str]:
    return {name: text for name in tree.files() if (text := tree.read(name)) is not None}


def test_the_tree_that_is_judged_is_not_empty() -> None:
    assert "call.py" in tree.source_modules()
    assert "house_rules/test_tree.py" in tree.test_files()


def test_no_python_file_is_longer_than_the_limit() -> None:
    found = _complaints(rules.too_long, tree.modules())
    assert not found, _report(found)


def test_no_folder_or_module_is_a_drawer() -> None:
    found = [line for name in tree.files() for line in rules.forbidden_names(name)]
    assert not found, _report(found)


def test_nothing_in_the_source_is_left_for_later() -> None:
    found = _complaints(rules.leftovers, tree.modules("src"))
    assert not found, _report(found)


def test_the_limits_of_size_are_nowhere_silenced() -> None:
    found = _complaints(rules.silenced_limits, tree.modules("src", "tests", "benchmarks"))
    found = [line for line in found if "house_rules/test_rules.py" not in line]
    assert not found, _report(found)


def test_no_file_names_an_index_or_a_path_of_one_machine() -> None:
    words = [*_index_hosts(), f"{tree.ROOT}/", f"{tree.ROOT.parent}/shared"]
    found = [
        line
        for name, text in _text_files().items()
        for line in rules.foreign_addresses(name, text, words)
        if name != "tests/house_rules/rules.py"
    ]
    assert not found, _report(found)


def _index_hosts() -> list[str]:
    """Hosts of the package indexes that this machine is configured to use."""
    commands = [[sys.executable, "-m", "pip", "config", "get", "global.index-url"]]
    if npm := shutil.which("npm"):
        commands.append([npm, "config", "get", "registry"])
    hosts = []
    for command in commands:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        hosts.append(urlsplit(answer.stdout.strip()).hostname or "")
    return [host for host in hosts if host not in {"", "localhost", "127.0.0.1"}]


def test_every_module_has_a_test_file_of_its_name() -> None:
    found = rules.missing_twins(tree.source_modules(), list(tree.test_files()))
    assert not found, _report(found)


def test_every_mirrored_test_file_has_its_module() -> None:
    found = rules.stray_twins(tree.source_modules(), tree.test_files())
    assert not found, _report(found)


WIRING_LINES = 1500


def test_wiring_makes_no_part_complete_from_outside() -> None:
    found = _complaints(rules.late_parts, tree.modules("src/gatewright/app"))
    assert not found, _report(found)


def test_no_feature_is_completed_from_outside() -> None:
    features = {name: text for name, text in tree.modules("src").items() if _is_feature(name)}
    assert len(features) > len(FEATURES)
    found = [one for one in _complaints(rules.late_parts, features) if "sets " in one]
    assert not found, _report(found)


def _is_feature(name: str) -> bool:
    return name.endswith("/feature.py")


def test_wiring_stays_small_enough_to_be_read() -> None:
    written = sum(text.count("\n") for text in tree.modules("src/gatewright/app").values())
    assert written <= WIRING_LINES


def test_every_module_says_honestly_what_it_offers() -> None:
    found = _all_complaints()["dishonest_exports"]
    assert not found, _report(found)


def test_every_module_says_in_its_first_line_what_it_does() -> None:
    found = _all_complaints()["first_lines"] + rules.same_first_lines(tree.modules("src"))
    assert not found, _report(found)


def test_equal_literals_have_one_order() -> None:
    found = rules.reordered_literals(tree.modules("src"))
    assert not found, _report(found)


def test_each_decision_has_a_number_of_its_own_and_a_line_in_the_list() -> None:
    pages = sorted((tree.ROOT / "docs/decisions").glob("[0-9]*.md"))
    numbers = [page.name[:4] for page in pages]
    assert len(numbers) > 70
    assert [one for one in set(numbers) if numbers.count(one) > 1] == []
    listed = (tree.ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    for page in pages:
        assert f"| [{page.name[:4]}]({page.name}) |" in listed
        number = page.name[:4]
        assert page.read_text(encoding="utf-8").startswith((f"# {number}: ", f"# {int(number)}. "))


def test_every_public_method_is_documented_by_itself_or_by_its_base() -> None:
    found = _all_complaints()["undocumented_methods"]
    assert not found, _report(found)


def test_no_module_takes_from_another_what_it_does_not_offer() -> None:
    found = _all_complaints()["private_imports"]
    assert not found, _report(found)


def _dotted(name: str) -> str:
    inner = name.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
    return inner.replace("/", ".")


def _all_of(text: str) -> list[str]:
    begins = max(
        text.find("\n__all__ "), 0
    )  # from there to its end, which stands in a line by itself or ends it
    for node in ast.parse(text[begins : text.find("]\n", begins) + 2]).body if begins else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(each) for each in ast.literal_eval(node.value)]
    return []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    found = _all_complaints()["unwanted_marks"]
    assert not found, _report(found)


def test_every_test_name_in_the_tree_is_a_sentence() -> None:
    found = _all_complaints()["unreadable_test_names"]
    assert not found, _report(found)


def test_every_test_in_the_tree_can_fail() -> None:
    found = _all_complaints()["untested_tests"]
    assert not found, _report(found)


def test_the_tools_hold_the_limits_that_the_house_promises() -> None:
    settings = tomllib.loads(tree.read("pyproject.toml") or "")["tool"]
    lint = settings["ruff"]["lint"]
    assert lint["mccabe"]["max-complexity"] == 8
    assert lint["pylint"]["max-statements"] == 30
    assert {"C90", "PL", "D1"} <= set(lint["select"])
    ignored = {*lint["ignore"], *chain.from_iterable(lint["per-file-ignores"].values())}
    assert not {"C901", "PLR0915"} & ignored
    assert settings["mypy"]["strict"] is True
    assert settings["importlinter"]["contracts"][0]["exhaustive"] is True
