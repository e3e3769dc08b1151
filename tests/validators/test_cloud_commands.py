"""Commands of cloud tools that read, and others."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

from gatewright.validators import cloud_commands
from gatewright.validators.cloud_commands import CLOUD, cloud_rule

READING = [
    "aws ec2 describe-instances --region x", "aws --profile a --output json iam list-users", "aws s3 ls s3://x", "aws dynamodb scan --table-name x",
    "gcloud compute instances list", "gcloud projects describe x", "gcloud config list", "az vm list -g x", "az account show", "gh pr list", "gh api repos/a/b",
    "gh run view 1 --log", "terraform state list", "terraform show plan.out", "terraform output", "terraform fmt -check -diff", "helm list -A", "helm get notes x",
    "helm status x", "gh auth status", "gh auth status -a", "aws iam list-users --no-paginate", "aws --version",
]  # fmt: skip
OTHER = [
    "aws s3 rm s3://x", "aws ec2 terminate-instances --instance-ids describe-x", "aws secretsmanager get-secret-value --secret-id x", "aws configure export-credentials",
    "aws ecr get-login-password", "aws ec2 describe-instances --endpoint-url http://x", "aws lambda list-functions --cli-input-json file://x", "aws ssm send-command x",
    "gcloud compute instances delete list", "gcloud compute ssh list", "gcloud auth print-access-token", "gcloud secrets versions access latest", "az group delete -n list",
    "az account get-access-token", "az rest --method put", "gh api -XDELETE repos/a/b", "gh api repos/a/b -fa=b", "gh pr merge 1", "gh auth token", "gh pr view 1 -w",
    "terraform apply", "terraform destroy", "terraform state rm show", "terraform providers mirror x", "terraform state pull", "helm upgrade list x", "helm template x --post-renderer y", "aws", "gh",
    "terraform fmt", "terraform fmt -diff", "terraform fmt -check=false", "terraform fmt -check -write",
]  # fmt: skip

REVEALING = [
    "gh auth status -t", "gh auth status -at", "gh auth status --show-t", "terraform output password", "terraform output -json", "terraform output -raw x",
    "terraform output -no-color x", "terraform state show x", "terraform show", "terraform show -json", "terraform show -json plan.out", "helm get values x",
    "helm get all x", "helm get manifest x", "helm status x -o json", "aws glue get-connection --name x", "aws glue get-connections",
    "aws lambda get-function --function-name x", "aws lambda get-function-configuration --function-name x", "aws appsync list-api-keys --api-id x",
    "aws ec2 get-password-data --instance-id x", "az containerapp secret list --show-values", "az containerapp secret list --show",
]  # fmt: skip
ABBREVIATED = [
    "aws s3 ls --endpoint http://x.example", "aws s3 ls --endp=http://x.example", "aws s3 ls --no-verify", "aws iam list-users --cli-input-j {}",
    "gcloud projects list --impersonate x", "gcloud projects list --flags-f x", "gcloud projects list --access-token x", "helm list --kube-a x",
]  # fmt: skip


@pytest.mark.parametrize("line", READING)
def test_what_reads_passes(line: str) -> None:
    assert cloud_rule(line.split()) is None


@pytest.mark.parametrize("line", [*OTHER, *REVEALING, *ABBREVIATED])
def test_everything_else_is_refused(line: str) -> None:
    assert cloud_rule(line.split()) is not None


@pytest.mark.parametrize(
    "verb",
    "create delete update add remove set start stop invoke put attach import restore ssh submit deploy".split(),
)
@pytest.mark.parametrize("name", CLOUD)
def test_no_writing_verb_passes_before_a_reading_word(name: str, verb: str) -> None:
    for last in ("list", "show", "describe", "ls", "view", "status"):
        assert cloud_rule([name, verb, last]) is not None
        assert cloud_rule([name, "compute" if name == "gcloud" else "vm", verb, last]) is not None


_EXAMPLES = tomllib.loads(Path(cloud_commands.__file__).with_name("cloud.toml").read_text())[
    "examples"
]


@pytest.mark.parametrize("line", [line for row in _EXAMPLES for line in row["refused"]])
def test_what_carries_secrets_is_not_shown_as_a_whole(line: str) -> None:
    assert cloud_rule(shlex.split(line)) == "secrets"


@pytest.mark.parametrize("line", [line for row in _EXAMPLES for line in row["passes"]])
def test_single_members_of_it_and_names_are_shown(line: str) -> None:
    assert cloud_rule(shlex.split(line)) is None


@pytest.mark.parametrize(
    "choice",
    ["Environment", "Environment.Name", "*", "@", "[Runtime,Environment]", "Functions[]", "to_string(@)", "{a:Environment,b:Runtime}", "", "Variables.Name"],
)  # fmt: skip
def test_a_choice_of_anything_else_shows_it_too(choice: str) -> None:
    for option in ("--query", "--que"):
        line = ["aws", "lambda", "list-functions", option, choice]
        assert cloud_rule(line) is not None
