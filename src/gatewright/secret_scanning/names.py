"""Classifies names as naming a secret (`awsSecretAccessKey`) or not (`token_type`), and values as plausible secrets.

A name is read as its words (`awsSecretAccessKey` is aws, secret, access, key). What counts is what the name is a name
*of*: `token_type`, `secretName` and `max_tokens` hold no secret, and opaque handles that a client has to give
back (`nextPageToken`) must arrive as they are.

A value is not judged by its entropy alone: hashes, ids and versions are as random as keys. Randomness counts only
beside a name or a vendor.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from itertools import pairwise

from gatewright.identifier_words import words_of
from gatewright.patterns import ASCII, DOTALL, IGNORECASE, AnyOf, Pattern
from gatewright.secret_scanning.foreign_words import FOREIGN_WORD, is_foreign_name

__all__ = [
    "is_example",
    "is_name_for",
    "is_secret_name",
    "looks_chosen",
    "looks_issued",
    "looks_random",
    "may_be_secret",
]

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

_NOT = Pattern(
    r"(?:next|prev|previous|page|paging|continuation|continue|sync|start|delta|cursor|progress|cancel|"
    r"eos|bos|pad|unk|mask|sep|cls|stop|special|input|output|prompt|completion|total|max|min|num|"
    r"public|primary_public|design|syntax|forgot|reset|show|hide|no|has|is|enable|disable|require|"
    r"allow|invalid|missing|wrong|expired|change|confirm_?email)"
)
"""Words before the name that make something else of it."""

_PLACEHOLDER = Pattern(
    r"\#[0-9a-fA-F]{3,8}|[*•·.x#?_\-X0]+"
    r"|[\w-]{0,12}\.{3,}[\w-]{0,6}|<.*|\[.*|\{.*|\$[({A-Za-z_].*|%[({]?[A-Za-z_]+[)}]?[sd%]?"
    r"|(?:your|my|the|some|an?|insert|enter|replace|put)[-_ ].{0,40}|yours?"
    r"|.*(?:redacted|placeholder|example|xxxx|\*\*\*|your[-_]|change[-_]?me|dummy|removed|hidden|masked|sample[-_]|fake[-_]).*"
    r"|!(?:Ref|vault|Sub|GetAtt|ImportValue|Join|env\w*|secret|file|reference)\b.*"
    r"|pk_(?:test|live|prod)_\w+|same-origin|include|omit"
    r"|(?:null|none|nil|undefined|true|false|yes|no|n/a|na|empty|unset|default|string|str|number|int|integer|"
    r"bool|boolean|object|array|required|optional|any|bytes|text|password|passwd|pwd|pass|secret|token|"
    r"api[-_ ]?key|key|value|username|user|hidden|required\??|basic|bearer|oauth2?|jwt|apikey|void|"
    r"unknown|invalid|missing|incorrect|expired|test|testing|env|type|function|await|async|return|new|const|self)[!?]?",
    IGNORECASE | DOTALL | ASCII,
)
_CODE = Pattern(
    r"[A-Za-z_][\w.:]*(?:\(.*\)|\[.*\]|->.*|::.*|\?\..*|[(\[])"  # a call, an index
    r"|(?:self|this|os|process|config|settings|env|ctx|context|args|options|request|req|res|params|props|"
    r"state|data|user|options|opts|secrets|vars|var|local|module|input|event|app|api|conf|cfg)"
    r"(?:\.[A-Za-z_]\w*)+;?"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"  # the name of a variable
    r"|/(?:[a-z.][a-z._-]*\d{0,2}(?:/|\Z))*|(?:~|\.{1,2})/.*|[A-Za-z]:\\.*"  # a path
    r"|(?:env|file|secret|vault|op|ref|keychain|arn|ssm|gcp|aws|azure|kms|sops)[:+].*"  # a reference
    r"|https?:.*",
    DOTALL,
)
_CALL = Pattern(r"[A-Za-z_$][\w$.]*[(\[{]|[({\[]|[brfuBRFU]{1,2}\Z|\W+\Z|--")
_IDENTIFIER = Pattern(r"[A-Za-z_$][\w$.]*[.:]?")
_WORDLIKE = Pattern(r"[A-Z]?[a-z]+|[A-Z]+|[A-Za-z][a-z]*(?:[-_.' ][A-Za-z][a-z]*)+[.!?:,]*")
_UUID = Pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGEST = Pattern(r"(?:sha\d{1,3}|md5|blake\w+|etag|crc32)[-:~=].*|(?:0x)?[0-9a-fA-F]+", IGNORECASE)
_VERSION = Pattern(r"v?\d+(?:[.\-+:T/]\w{1,10})+Z?")
_RANGE = Pattern(r"[\^~<>=v ]*\d+(?:\.(?:\d+|x|\*)){1,3}(?:-[a-z]+[.\d]*)?")
_NO_SECRET = AnyOf(_PLACEHOLDER, _CODE, _RANGE, FOREIGN_WORD)
_NOT_RANDOM = AnyOf(_PLACEHOLDER, _CODE, _VERSION)
_NOT_CHOSEN = AnyOf(_PLACEHOLDER, _CODE, _VERSION, _UUID)
_SEPARATORS = Pattern(r"[-_./+=~:,@]+")
_WORD_OR_NUMBER = Pattern(r"[A-Z]?[a-z]+\d{0,2}|[A-Z]{1,12}|\d+|v\d+|")


def is_secret_name(name: str) -> bool:
    """Whether a member, a variable or a header of this name holds a secret."""
    return (_is_known_name if len(name) <= _KEPT_NAME else _names_a_secret)(name)


def _names_a_secret(name: str) -> bool:
    if is_foreign_name(name):
        return True
    # What a name is the name of stands at its end.
    words = [word.lower() for word in words_of(name)][-8:]
    while len(words) > 1 and (words[-1] in _TRAILING or words[-1].isdigit()):
        words.pop()
    if not words:
        return False
    if words[-1] in {"key", "keys"} and len(words) > 1:
        return words[-2] in _BEFORE_KEY or words[-2] in _ALONE
    if words[-1] not in _ALONE and "".join(words[-2:]) not in _ALONE:
        # `_auth` of npm and `x-auth`; `auth` alone is a section of settings.
        return words[-1] == "auth" and len(words) <= 2 and name[:1] in "_x"
    return not any(_NOT.fits(word) for word in words[:-1])


def is_name_for(name: str, value: str) -> bool:
    """Whether this says under which name a secret is kept, and not the secret: `API_KEY_HEADER = "X-Api-Key"`."""
    last = words_of(name)[-1:]
    return bool(
        last and last[0].lower() in _NAMING and _NAME_ALONE.fits(value) and is_secret_name(value)
    )


_NAMING = frozenset("header key name field param parameter cookie".split())
_NAME_ALONE = Pattern(r"[A-Za-z]+(?:[-_.][A-Za-z]+)+", ASCII)

_KEPT_NAME = 128
# Long names are foreign text, which would fill the cache.
_is_known_name = lru_cache(4096)(_names_a_secret)


def may_be_secret(value: str, *, quoted: bool) -> bool:
    """Whether the value of a secret's name is one, and not a placeholder, a reference, a type or prose.

    `quoted` is for values whose end is certain. Others may be a word of a sentence, so they must look made.
    """
    if len(value) < (6 if value.isdigit() else 4):
        return False
    if _is_repeated(value) or _NO_SECRET.fits(value):
        return False
    if " " in value.strip():
        return any(letter.isdigit() for letter in value) and value.count(" ") <= 6
    if quoted:
        return True
    if _WORDLIKE.fits(value):
        return looks_random(value, 16)
    return not (value.isdigit() or _CALL.begins(value) or _is_identifier(value))


def looks_random(value: str, least: int = 10, *, digests: bool = False) -> bool:
    """Whether a text of `least` characters or more was made by a machine to be guessed by nobody.

    Hashes, ids and the like are not meant unless `digests` says so.
    """
    if len(value) < least or _is_repeated(value) or "://" in value or _NOT_RANDOM.fits(value):
        return False
    if _is_identifier(value):
        return False
    if not digests and (_UUID.fits(value) or _DIGEST.fits(value)):
        return False
    # Made of words and numbers: an identifier, unless it is one long word that nobody could pronounce.
    if all(_WORD_OR_NUMBER.fits(part) for part in _SEPARATORS.split(value)):
        return len(value) >= 20 and value.isalpha() and not _reads_like_words(value)
    return _turns(value) >= 2 and _entropy(value) >= (2.6 if len(value) < 20 else 3.0)


def looks_issued(value: str) -> bool:
    """Whether this is made as issuers make tokens, with or without a word before it (`secret_…`), and so is no word of a
    protocol or a program."""
    return any(looks_random(one, 16, digests=True) for one in (value, value.rpartition("_")[2]))


def looks_chosen(value: str) -> bool:
    """Whether this is what a person takes for a password: letters, and digits or signs among them."""
    if not 6 <= len(value) <= 128 or _is_repeated(value) or "://" in value:
        return False
    if _NOT_CHOSEN.fits(value) or _NOTED.begins(value):
        return False
    digits = sum(letter.isdigit() for letter in value)
    if not digits or not any(letter.isalpha() for letter in value):
        return False
    signs = sum(letter in "!#$%&*+?^~;@" for letter in value.rstrip("!?;*"))
    if _CALL.begins(value):
        return False
    if signs or looks_random(value, 12):
        return True
    if _DIGEST.fits(value):
        return len(value) >= 32 and value.isalnum()
    return len(value) >= 8 and digits >= 2 and not _RESERVED.fits(value)


_NOTED = Pattern(
    r"[$@%&({\[<+/~-]|[.]+/|\d+\Z|https?:|(?:sha|md|aes|rsa|utf|oauth|hs|rs|es|ed|tls|x)[-_]?\d+",
    IGNORECASE,
)
"""How references, options and the names of algorithms begin."""
_RESERVED = Pattern(
    r"[A-Z][A-Z0-9_]*_[A-Z0-9_]+|[a-z_]+\d{1,2}|[a-z_]+=\d+|[\w-]+(?:/[\w.-]+)+|[\d.:,/-]+\w{0,12}|\d+[a-z-]+"
)


def _is_identifier(value: str) -> bool:
    """Whether this is what programs call something: words joined by case or underscores."""
    if not _IDENTIFIER.fits(value):
        return False
    pieces = words_of(value)
    humps = not value.isupper() and any(one[0].isupper() for one in pieces[1:])
    if not (humps or "_" in value or "." in value):
        return False
    if not _ALONE.isdisjoint(one.lower() for one in pieces) or pieces[-1] in {"Key", "key"}:
        return True
    numbered = any(letter.isdigit() for letter in value)
    if "." in value and not numbered:
        return True
    # Letters for each word: random text falls into pieces of one or two.
    least = 4 if numbered else 3.3
    return sum(map(len, pieces)) >= least * len(pieces)


def is_example(token: str) -> bool:
    """Whether a token of a known form is only the picture of one, as documentation shows it."""
    return len(set(token[-16:])) < 5 or _PICTURED.within(token)


_PICTURED = Pattern(r"(?i:example|examplekey)\Z|(?i:[-_](?:your|my|some|the)[-_])|(?i:placeholder)")


_VOWELS = dict.fromkeys(map(ord, "aeiouyAEIOUY"), "\0")


def _is_repeated(value: str) -> bool:
    return len(value) > 3 and len(set(value.lower())) == 1


def _turns(value: str) -> int:
    """How often letters and digits, or small letters and capitals, follow one another."""
    kinds = [_kind(letter) for letter in value]
    return sum(pair in _TURNS for pair in pairwise(kinds))


def _kind(letter: str) -> str:
    if letter.isascii() and letter.isalpha():
        return "a" if letter.islower() else "A"
    return "0" if letter.isdecimal() else " "


_TURNS = frozenset(pairwise("a0aA0A"))


def _reads_like_words(value: str) -> bool:
    """Whether vowels come as often as in words."""
    return max(map(len, value.translate(_VOWELS).split("\0"))) < 6


def _entropy(value: str) -> float:
    """Bits a character, of the value's own letters."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())
