"""sed, awk, jq, yq, less."""

import pytest

from gatewright.validators.sandbox import prepare

INSPECT = prepare({"allow": ["inspect"]})


@pytest.mark.parametrize(
    "line",
    ["sed -n 1,3p a", "sed -e p -e d a", "awk -F: '{print $1}' a", "awk '{print}' n=1 a", "jq --arg a b '.x == $a' a", "jq -r .a a", "yq '.a' a.yml", "yq a.yml", "less +G a", "echo -n x"],
)  # fmt: skip
def test_what_transforms_text_passes(line: str) -> None:
    assert INSPECT.judge(line) is None


@pytest.mark.parametrize(
    "line",
    ["sed 'w x' a", "sed -i s/a/b/ a", "sed -f x a", "sed p ~/.netrc", "awk '{print > \"x\"}' a", "awk 'BEGIN{ARGV[1]=\"x\"}'", "awk -f x a", "jq --rawfile a ~/.netrc . a",
     "jq --arg a", "jq -f x a", "jq . ~/.netrc", "yq 'load(\"f\")' a", "yq ~/.kube/config", "less '+!id' a", "printf -v x a"],
)  # fmt: skip
def test_what_does_more_is_refused(line: str) -> None:
    assert INSPECT.judge(line) is not None
