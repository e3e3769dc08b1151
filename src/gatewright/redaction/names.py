"""Which names say that their value is a secret, and which values can be one.

A name is read as its words (`awsSecretAccessKey` is aws, secret, access, key). What counts is what the name is a name
*of*: `token_type`, `secretName` and `max_tokens` hold no secret, and opaque handles that a client has to give
back (`nextPageToken`) must arrive as they are.

A value is not judged by its entropy alone: hashes, ids and versions are as random as keys. Randomness counts only
beside a name or a vendor.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

from gatewright.redaction.foreign import is_foreign_name, is_foreign_word

__all__ = ["is_example", "is_secret_name", "looks_chosen", "looks_random", "may_be_secret"]

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_ALONE = frozenset(
    "password passwd passwort pwd passphrase passcode secret secrets token apikey authtoken accesstoken "
    "authorization cookie credential credentials jwt bearer privatekey secretkey accesskey clientsecret "
    "mnemonic passwords tokens apikeys pass authkey apitoken userpass pgpassword psk kennwort "
    "contrasena senha seedphrase recoverycode recoverycodes htpasswd preshared".split()
)
"""Words that name a secret by themselves."""

_BEFORE_KEY = frozenset(
    "api access secret private auth account signing encryption encrypt master shared license service app "
    "application consumer storage deploy admin client subscription session ssh rsa hmac crypt webhook "
    "customer integration rest sas user functions host write ingest ingestion activation personal preshared".split()
)
"""Words that make a secret of the `key` after them."""

_TRAILING = frozenset(
    "value values string text base64 b64 header raw plain plaintext data env var prod production dev "
    "test staging live old new current default here base".split()
)
"""Words after the name that change nothing."""

_NOT = re.compile(
    r"(?:next|prev|previous|page|paging|continuation|continue|sync|start|delta|cursor|progress|cancel|"
    r"eos|bos|pad|unk|mask|sep|cls|stop|special|input|output|prompt|completion|total|max|min|num|"
    r"public|primary_public|design|syntax|forgot|reset|show|hide|no|has|is|enable|disable|require|"
    r"allow|invalid|missing|wrong|expired|change|confirm_?email)"
)
"""Words before the name that make something else of it."""

_PLACEHOLDER = re.compile(
    r"""
    (?: \#[0-9a-fA-F]{3,8} | [*•·.x#?_\-X0]+ | (.)\1{3,}
    | <.* | \[.* | \{.* | \$[({A-Za-z_].* | %[({]?[A-Za-z_]+[)}]?[sd%]?
    | (?:your|my|the|some|an?|insert|enter|replace|put)[-_ ].{0,40} | yours?
    | .*(?:redacted|placeholder|example|xxxx|\*\*\*|your[-_]|change[-_]?me|dummy|removed|hidden|masked|sample[-_]|fake[-_]).*
    | !(?:Ref|vault|Sub|GetAtt|ImportValue|Join|env\w*|secret|file|reference)\b.*
    | pk_(?:test|live|prod)_\w+ | same-origin | include | omit
    | (?:null|none|nil|undefined|true|false|yes|no|n/a|na|empty|unset|default|string|str|number|int|integer|
        bool|boolean|object|array|required|optional|any|bytes|text|password|passwd|pwd|pass|secret|token|
        api[-_ ]?key|key|value|username|user|hidden|required\??|basic|bearer|oauth2?|jwt|apikey|void|
        unknown|invalid|missing|incorrect|expired|test|testing|env|type|function|await|async|return|new|const|self)[!?]?
    )""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(
    r"[A-Za-z_][\w.:]*(?:\(.*\)|\[.*\]|->.*|::.*|\?\..*|[(\[])"  # a call, an index
    r"|(?:self|this|os|process|config|settings|env|ctx|context|args|options|request|req|res|params|props|"
    r"state|data|user|options|opts|secrets|vars|var|local|module|input|event|app|api|conf|cfg)"
    r"(?:\.[A-Za-z_]\w*)+;?"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"  # the name of a variable
    r"|/(?:[a-z.][a-z._-]*\d{0,2}(?:/|$))*|(?:~|\.{1,2})/.*|[A-Za-z]:\\.*"  # a path
    r"|(?:env|file|secret|vault|op|ref|keychain|arn|ssm|gcp|aws|azure|kms|sops)[:+].*"  # a reference
    r"|https?:.*",
    re.DOTALL,
)
_CALL = re.compile(r"[A-Za-z_$][\w$.]*[(\[{]|[({\[]|[brfuBRFU]{1,2}\Z|\W+\Z|--")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$.]*[.:]?")
_WORDLIKE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[A-Za-z][a-z]*(?:[-_.' ][A-Za-z][a-z]*)+[.!?:,]*")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGEST = re.compile(
    r"(?:sha\d{1,3}|md5|blake\w+|etag|crc32)[-:~=].*|(?:0x)?[0-9a-fA-F]+", re.IGNORECASE
)
_VERSION = re.compile(r"v?\d+(?:[.\-+:T/]\w{1,10})+Z?")
_RANGE = re.compile(r"[\^~<>=v ]*\d+(?:\.(?:\d+|x|\*)){1,3}(?:-[a-z]+[.\d]*)?")
_SEPARATORS = re.compile(r"[-_./+=~:,@]+")
_WORD_OR_NUMBER = re.compile(r"[A-Z]?[a-z]+\d{0,2}|[A-Z]{1,12}|\d+|v\d+|")
_TURN = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])")


@lru_cache(4096)
def is_secret_name(name: str) -> bool:
    """Whether a member, a variable or a header of this name holds a secret."""
    if is_foreign_name(name):
        return True
    words = [word.lower() for word in _WORDS.findall(name)][-8:]
    while len(words) > 1 and (words[-1] in _TRAILING or words[-1].isdigit()):
        words.pop()
    if not words:
        return False
    if words[-1] in {"key", "keys"} and len(words) > 1:
        return words[-2] in _BEFORE_KEY or words[-2] in _ALONE
    if words[-1] not in _ALONE and "".join(words[-2:]) not in _ALONE:
        return words[-1] == "auth" and len(words) <= 2 and name[:1] in "_x"
    return not any(_NOT.fullmatch(word) for word in words[:-1])


def may_be_secret(value: str, *, quoted: bool) -> bool:
    """Whether the value of a secret's name is one, and not a placeholder, a reference, a type or prose.

    `quoted` is for values whose end is certain. Others may be a word of a sentence, so they must look made.
    """
    if len(value) < (6 if value.isdigit() else 4):
        return False
    if _PLACEHOLDER.fullmatch(value) or _CODE.fullmatch(value) or _RANGE.fullmatch(value):
        return False
    if is_foreign_word(value):
        return False
    if " " in value.strip():
        return any(letter.isdigit() for letter in value) and value.count(" ") <= 6
    if quoted:
        return True
    if _WORDLIKE.fullmatch(value):
        return looks_random(value, 16)
    return not (value.isdigit() or _CALL.match(value) or _is_identifier(value))


def looks_random(value: str, least: int = 10, *, digests: bool = False) -> bool:
    """Whether a text of `least` characters or more was made by a machine to be guessed by nobody.

    Hashes, ids and the like are not meant unless `digests` says so.
    """
    if len(value) < least or _PLACEHOLDER.fullmatch(value) or _CODE.fullmatch(value):
        return False
    if "://" in value or _VERSION.fullmatch(value) or _is_identifier(value):
        return False
    if not digests and (_UUID.fullmatch(value) or _DIGEST.fullmatch(value)):
        return False
    if all(_WORD_OR_NUMBER.fullmatch(part) for part in _SEPARATORS.split(value)):
        return len(value) >= 20 and value.isalpha() and not _reads_like_words(value)
    return len(_TURN.findall(value)) >= 2 and _entropy(value) >= (2.6 if len(value) < 20 else 3.0)


def looks_chosen(value: str) -> bool:
    """Whether this is what a person takes for a password: letters, and digits or signs among them."""
    if not 6 <= len(value) <= 128 or _PLACEHOLDER.fullmatch(value) or _CODE.fullmatch(value):
        return False
    if "://" in value or _VERSION.fullmatch(value) or _UUID.fullmatch(value) or _NOTED.match(value):
        return False
    digits = sum(letter.isdigit() for letter in value)
    if not digits or not any(letter.isalpha() for letter in value):
        return False
    signs = sum(letter in "!#$%&*+?^~;@" for letter in value.rstrip("!?;*"))
    if _CALL.match(value):
        return False
    if signs or looks_random(value, 12):
        return True
    if _DIGEST.fullmatch(value):
        return len(value) >= 32 and value.isalnum()
    return len(value) >= 8 and digits >= 2 and not _RESERVED.fullmatch(value)


_NOTED = re.compile(
    r"[$@%&({\[<+/~-]|[.]+/|\d+\Z|https?:|(?:sha|md|aes|rsa|utf|oauth|hs|rs|es|ed|tls|x)[-_]?\d+",
    re.IGNORECASE,
)
"""How references, options and the names of algorithms begin."""
_RESERVED = re.compile(
    r"[A-Z][A-Z0-9_]*_[A-Z0-9_]+|[a-z_]+\d{1,2}|[\w-]+(?:/[\w.-]+)+|[\d.:,/-]+\w{0,12}|\d+[a-z-]+"
)


def _is_identifier(value: str) -> bool:
    """Whether this is what programs call something: words joined by case or underscores."""
    if not _IDENTIFIER.fullmatch(value):
        return False
    pieces = _WORDS.findall(value)
    humps = not value.isupper() and any(one[0].isupper() for one in pieces[1:])
    if not (humps or "_" in value or "." in value):
        return False
    if not _ALONE.isdisjoint(one.lower() for one in pieces) or pieces[-1] in {"Key", "key"}:
        return True
    numbered = any(letter.isdigit() for letter in value)
    if "." in value and not numbered:
        return True
    least = 4 if numbered else 3.3
    return sum(map(len, pieces)) >= least * len(pieces)


def is_example(token: str) -> bool:
    """Whether a token of a known form is only the picture of one, as documentation shows it."""
    return len(set(token[-16:])) < 5 or _PICTURED.search(token) is not None


_PICTURED = re.compile(
    r"(?i:example|examplekey)\Z|(?i:[-_](?:your|my|some|the)[-_])|(?i:placeholder)"
)


def _reads_like_words(value: str) -> bool:
    """Whether vowels come as often as in words."""
    runs = re.findall(r"[^aeiouyAEIOUY]+", value)
    return max(map(len, runs), default=0) < 6


def _entropy(value: str) -> float:
    """Bits a character, of the value's own letters."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())
