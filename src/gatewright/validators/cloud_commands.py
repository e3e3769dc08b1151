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
    options: Pattern[str]
    """What is refused among the options."""


_EVERYWHERE = (
    r"--(?:endpoint-url|profile-file|no-verify-ssl|ca-bundle|cli-input-json|cli-input-yaml|impersonate-service-account|access-token-file|"
    r"account-file|flags-file|credential-file-override|log-http|hostname|with-decryption|show-token|show-secrets?|post-renderer|kubeconfig|"
    r"kube-apiserver|kube-token|kube-as-user|registry-config|repository-config|debug|in-file|plugin-dir|out|web|browser)(?:=.*)?"
)
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
        Pattern(rf"{_EVERYWHERE}|--(?:follow|outfile)(?:=.*)?", DOTALL),
    ),
    "gcloud": _Tool(
        5,
        Pattern(
            rf"(?:alpha |beta )?(?:(?:{_GCLOUD}) ){{1,4}}(?:list|describe|get-iam-policy|read|get-server-config|list-grantable-roles)|info|version|auth list|config (?:list|get|get-value)"
        ),
        Pattern(_EVERYWHERE, DOTALL),
    ),
    "az": _Tool(
        5,
        Pattern(rf"(?:(?:{_AZ}) ){{1,4}}(?:list|show|list-locations|list-sizes|list-usage|list-skus|list-ip-addresses|list-definitions|get-instance-view|exists|query)|version|graph query"),
        Pattern(_EVERYWHERE, DOTALL),
    ),
    "gh": _Tool(
        2,
        Pattern(
            r"(?:pr|issue|run|release|workflow|repo|gist|label|project|ruleset|cache|codespace|org|extension|ssh-key|gpg-key|variable|attestation) (?:list|view|status|diff|checks|watch)|"
            r"status|search (?:code|issues|prs|repos|commits)|auth status|api|run view"
        ),
        Pattern(rf"{_EVERYWHERE}|-[a-zA-Z]*w", DOTALL),
    ),
    "terraform": _Tool(
        2,
        Pattern(r"show(?: [\w./-]+)?|state (?:list|show)(?: .*)?|output(?: \w+)?|version|validate|workspace (?:list|show)|providers(?: schema)?|graph|fmt|metadata functions"),
        Pattern(r"-{1,2}(?:out|state|state-out|write|generate-config-out|backend-config|plugin-dir|chdir)(?:=.*)?", DOTALL),
    ),
    "helm": _Tool(
        2,
        Pattern(r"(?:list|ls|status|history|hist|version|template|lint|verify)|get (?:all|hooks|manifest|metadata|notes|values)|show (?:all|chart|crds|readme|values)|search (?:repo|hub)|repo list|dependency list"),
        Pattern(rf"{_EVERYWHERE}|--(?:output-dir|validate)(?:=.*)?", DOTALL),
    ),
}  # fmt: skip
_SECRET = Pattern(rf"(?:.*[ -])?(?:{_SECRETS})(?:[ -].*)?", IGNORECASE)
_ASSIGNED = Pattern(
    r"-[a-zA-Z]*[fFXH].*|--(?:raw-field|field|method|input|header|silent|cache)(?:=.*)?", DOTALL
)
_TOKENS = Pattern(
    r".*(?:print-(?:access|identity)-token|get-access-token|export-credentials|get-session-token|get-login|get-credentials|auth token|assume-role).*"
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
    if any(map(tool.options.fits, options)) or any(map(_FROM_FILE.fits, texts)):
        return "option"
    if name == "gh" and words[:1] == ["api"] and any(map(_ASSIGNED.fits, options)):
        return "subcommand"
    if (
        name == "terraform"
        and words[:1] == ["fmt"]
        and not {"-check", "--check", "-diff"}.intersection(options)
    ):
        return "subcommand"
    # Options may stand between a noun and its verb; values then may, too, so that a command has to stand before them. What follows
    # a whole command is what it is about; of the tools whose commands have others below them, nothing follows.
    ends = [len(words)] if name == "terraform" else range(1, min(len(words), tool.depth) + 1)
    told = next((one for end in ends if tool.verbs.fits(one := " ".join(words[:end]))), "")
    if not told:
        return "subcommand"
    return "secrets" if _TOKENS.fits(told) or _holds_values(name, told) else None


def _holds_values(name: str, told: str) -> bool:
    """Whether a command shows what is secret, and not only which secrets there are."""
    lists = told.endswith((" list", " ls")) or " list-" in told or " describe-" in told
    return (
        bool(_SECRET.fits(told)) and not lists and not (name == "gh" and told.startswith("ssh-key"))
    )
