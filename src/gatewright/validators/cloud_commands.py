"""Tells reading from other commands of cloud tools: aws, gcloud, az, gh, terraform, helm, heroku and others, by their verbs.

Their commands are nouns and, last, a verb. A command reads where its verb is known to read and no option leads elsewhere, writes a file or
shows a secret. Verbs follow the reference pages of AWS CLI 2, gcloud 480, Azure CLI 2.61, GitHub CLI 2.52, Terraform 1.9 and Helm 3.15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from gatewright.patterns import DOTALL, IGNORECASE, Pattern

__all__ = ["CLOUD", "cloud_rule"]


class _Tool(NamedTuple):
    depth: int
    """How many words a command has at most, the verb among them."""
    verbs: Pattern[str]
    """A command that reads: its words, joined by blanks."""
    options: tuple[str, ...]
    """Long options that are refused, without dashes; so is every beginning of one, which several of these tools take for it."""
    letters: str = ""
    """Refused short options."""


_EVERYWHERE = tuple(
    """
    endpoint-url profile-file no-verify-ssl ca-bundle cli-input-json cli-input-yaml impersonate-service-account access-token-file account-file
    flags-file credential-file-override log-http hostname with-decryption show-token show-secret show-secrets show-values include-value
    include-values post-renderer kubeconfig kube-apiserver kube-token kube-as-user registry-config repository-config debug in-file plugin-dir
    out web browser
    """.split()
)
_HARMLESS = frozenset({"profile", "output", "account", "log"})
"""Whole names that are beginnings of refused ones."""
_SECRETS = r"secrets?|secretsmanager|credentials?|keys?|keyvault|tokens?|passwords?|kms|ssh-keys?|access-keys?|connection-string|publishing-profile"
_GCLOUD = (
    "compute|instances|disks|images|snapshots|zones|regions|networks|firewall-rules|addresses|subnets|routers|machine-types|forwarding-rules|backend-services|"
    "url-maps|health-checks|instance-groups|managed|instance-templates|ssl-certificates|projects|container|clusters|node-pools|operations|iam|roles|"
    "service-accounts|policies|logging|logs|sinks|metrics|configurations|sql|databases|backups|users|storage|buckets|objects|run|services|revisions|jobs|"
    "functions|pubsub|topics|subscriptions|dns|managed-zones|record-sets|app|versions|artifacts|repositories|docker|packages|builds|triggers|asset|billing|"
    "accounts|organizations|folders|resource-manager|tags|scheduler|tasks|queues|spanner|bigtable|dataproc|dataflow|monitoring|dashboards|"
    "redis|filestore|composer|environments|ai|endpoints|models|deployment-manager|deployments|source|repos|secrets|kms|keyrings|keys"
)
_AZ = (
    "vm|vmss|group|account|storage|container|blob|share|aks|nodepool|acr|repository|network|vnet|nsg|rule|subnet|public-ip|lb|nic|route-table|dns|zone|record-set|a|"
    "monitor|metrics|activity-log|log-analytics|workspace|webapp|functionapp|function|appservice|plan|sql|server|db|cosmosdb|redis|postgres|mysql|flexible-server|"
    "disk|image|snapshot|resource|role|assignment|definition|policy|ad|user|sp|app|keyvault|secret|key|deployment|sub|provider|feature|tag|lock|cognitiveservices|"
    "iot|hub|eventhubs|namespace|servicebus|queue|topic|sig|identity|repos|pipelines|build|runs|boards|work-item|devops|project|private-dns|vpn-connection|"
    "vnet-gateway|application-gateway|front-door|cdn|profile|endpoint|containerapp|bicep|advisor|recommendation|backup|vault|job|item|security|alert|maps|search|service"
)
_TOOLS = {
    "aws": _Tool(
        2,
        Pattern(
            r"s3 ls|s3api (?:list|head)-[a-z0-9-]+|s3api get-bucket-[a-z-]+|sts get-caller-identity|logs (?:tail|filter-log-events|get-log-events|describe-[a-z-]+)|"
            r"configure list(?:-profiles)?|[a-z0-9-]+ (?:describe|list|search|lookup|batch-describe)-[a-z0-9-]+|"
            r"(?:ec2|cloudwatch|ce|iam|lambda|dynamodb|cloudformation|route53|sqs|sns|cloudtrail|costexplorer|budgets|stepfunctions|glue|athena|"
            r"service-quotas|organizations|pricing|resourcegroupstaggingapi|health|support|config|guardduty|securityhub|ecs|eks|ecr|rds|elbv2|autoscaling)"
            r" get-[a-z0-9-]+|dynamodb (?:scan|query|get-item|batch-get-item)|[a-z0-9-]+ wait [a-z-]+"
        ),
        (*_EVERYWHERE, "follow", "outfile"),
    ),
    "gcloud": _Tool(
        5,
        Pattern(
            rf"(?:alpha |beta )?(?:(?:{_GCLOUD}) ){{1,4}}(?:list|describe|get-iam-policy|read|get-server-config|list-grantable-roles)|info|version|auth list|config (?:list|get|get-value)"
        ),
        _EVERYWHERE,
    ),
    "az": _Tool(
        5,
        Pattern(rf"(?:(?:{_AZ}) ){{1,4}}(?:list|show|list-locations|list-sizes|list-usage|list-skus|list-ip-addresses|list-definitions|get-instance-view|exists|query)|version|graph query"),
        _EVERYWHERE,
    ),
    "gh": _Tool(
        2,
        Pattern(
            r"(?:pr|issue|run|release|workflow|repo|gist|label|project|ruleset|cache|codespace|org|extension|ssh-key|gpg-key|variable|attestation) (?:list|view|status|diff|checks|watch)|"
            r"status|search (?:code|issues|prs|repos|commits)|auth status|api|run view"
        ),
        _EVERYWHERE,
        "w",
    ),
    "terraform": _Tool(
        2,
        Pattern(r"show(?: [\w./-]+)?|state list(?: .*)?|output|version|validate|workspace (?:list|show)|providers(?: schema)?|graph|fmt|metadata functions"),
        ("out", "state", "state-out", "write", "generate-config-out", "backend-config", "plugin-dir", "chdir"),
    ),
    "helm": _Tool(
        2,
        Pattern(r"(?:list|ls|status|history|hist|version|template|lint|verify)|get (?:hooks|metadata|notes)|show (?:all|chart|crds|readme|values)|search (?:repo|hub)|repo list|dependency list"),
        (*_EVERYWHERE, "output-dir", "validate"),
    ),
}  # fmt: skip
_SECRET = Pattern(rf"(?:.*[ -])?(?:{_SECRETS})(?:[ -].*)?", IGNORECASE)
_ASSIGNED = Pattern(
    r"-[a-zA-Z]*[fFXH].*|--(?:raw-field|field|method|input|header|silent|cache)(?:=.*)?", DOTALL
)
_TOKENS = Pattern(
    r".* (?:get|list|batch-get)-(?:connections?|functions?|function-configuration|api-keys?|password-data|authorization-token)|.*(?:print-(?:access|identity)-token|get-access-token|export-credentials|get-session-token|get-login|get-credentials|auth token|assume-role).*"
)
_BEFORE = frozenset(
    "--profile --region --output --query --project --format --subscription -o -R --repo -n --namespace --kube-context --configuration --verbosity --color".split()
)
_BEFORE_ALONE = frozenset({"--no-cli-pager", "--no-paginate", "--quiet", "--only-show-errors"})
"""Options that may stand before a command, with a value and without."""
_FROM_FILE = Pattern(r"(?:[^=]*=)?(?:fileb?://|@).*", DOTALL)
CLOUD: Mapping[str, str] = MappingProxyType(
    {**{name: name for name in _TOOLS}, "tofu": "terraform", "terragrunt": "terraform"}
)
"""Program → under which name its commands are known."""


def cloud_rule(texts: Sequence[str]) -> str | None:
    """What speaks against a cloud tool's command that only reads: a rule's name, or None. The program is the first word."""
    name = CLOUD[texts[0]]
    tool = _TOOLS[name]
    rest = list(texts[1:])
    while rest and (rest[0].partition("=")[0] in _BEFORE or rest[0] in _BEFORE_ALONE):
        del rest[: 1 if "=" in rest[0] or rest[0] in _BEFORE_ALONE else 2]
    words = list(takewhile(lambda one: not one.startswith("-"), rest))
    options = [one for one in texts[1:] if one.startswith("-")]
    if options in (["--version"], ["--help"]) or words[:1] == ["help"]:
        return None
    if any(_is_refused(tool, one) for one in options) or any(map(_FROM_FILE.fits, texts)):
        return "option"
    if name == "gh" and words[:1] == ["api"] and any(map(_ASSIGNED.fits, options)):
        return "subcommand"
    rule = _option_needed(name, words, rest)
    if rule is not None:
        return rule
    # Options may stand between a noun and its verb; values then may, too, so that a command has to stand before them. What follows
    # a whole command is what it is about; of the tools whose commands have others below them, nothing follows.
    ends = [len(words)] if name == "terraform" else range(1, min(len(words), tool.depth) + 1)
    told = next((one for end in ends if tool.verbs.fits(one := " ".join(words[:end]))), "")
    if not told:
        return "subcommand"
    return "secrets" if _TOKENS.fits(told) or _holds_values(name, told) else None


def _is_refused(tool: _Tool, option: str) -> bool:
    """Whether a word with a dash is, or begins, a refused option."""
    name = option.lstrip("-").partition("=")[0]
    if option[1:2] != "-" and tool is not _TOOLS["terraform"]:
        return any(one in tool.letters for one in name)
    return name not in _HARMLESS and any(one.startswith(name) for one in tool.options)


_CHECKS = frozenset("-check --check -diff --diff -recursive --recursive -no-color".split())


def _option_needed(name: str, words: list[str], rest: list[str]) -> str | None:
    """What speaks against a command that shows secrets, or writes, by its options or for want of one."""
    options = {one for one in rest if one.startswith("-")}
    operands = len(rest) - len(options)
    if name == "terraform" and words[:1] == ["fmt"]:
        return None if options & {"-check", "--check"} and options <= _CHECKS else "subcommand"
    if name == "terraform" and words[:1] in (["output"], ["show"]):
        # A value by its name is written as it is, and so is JSON; without a plan it is the state that is shown.
        fine = options <= {"-no-color"} and operands == (1 if words[0] == "output" else 2)
        return None if fine else "secrets"
    if name == "gh" and words[:2] == ["auth", "status"]:
        return None if options <= {"-a", "--active"} else "secrets"
    # In other notations than the table stands what a release was installed with.
    if name == "helm" and words[:1] == ["status"] and any(one.startswith(("-o", "--o")) for one in options):  # fmt: skip
        return "secrets"
    return None


def _holds_values(name: str, told: str) -> bool:
    """Whether a command shows what is secret, and not only which secrets there are."""
    lists = told.endswith((" list", " ls")) or " list-" in told or " describe-" in told
    return (
        bool(_SECRET.fits(told)) and not lists and not (name == "gh" and told.startswith("ssh-key"))
    )
