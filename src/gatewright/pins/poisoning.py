"""Detects tool poisoning: hidden characters, instructions to the model and reserved names in a tool's definition.

Only the members are read that a host shows to its model; what else stands in a definition is passed on unread.

Two questions of different weight. Hidden characters are a fact: a definition either has text that no reader sees,
or it has none. Speech to the model is a guess: phrases that give orders, want silence, reach for secrets or for
other tools each add to a score, and a score is only ever a reason to let a person look. Every string of the
definition is read, names and defaults and examples as well, because a model reads all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import re2  # type: ignore[import-untyped]

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.pins.advice import without_advice
from gatewright.pins.speech_signals import SIGNALS
from gatewright.pins.spoken_forms import other_forms
from gatewright.schemas.lookalikes import seen
from gatewright.secret_scanning.invisible import hidden

__all__ = ["HELD_AT", "reserved", "score", "suspicion"]

HELD_AT = 5
"""From this score on a person looks first."""

_READ = frozenset({"name", "title", "description", "inputSchema", "outputSchema"})
_RESERVED = Pattern(r"(?:mgp|rngp|system|systern)[/.]", IGNORECASE)
"""As a name is spelled, and as it looks (`lookalike.seen`)."""


def suspicion(name: str, definition: Mapping[str, Any]) -> str:
    """Why a person should look at a tool before a model does; empty where nothing speaks for that.
    `definition` is the decoded object."""
    if reserved(name):
        return f"the name {name!r} is one of the gateway's own"
    hints = definition.get("annotations")
    read = {key: one for key, one in definition.items() if key in _READ}
    texts = list(_strings([read, hints.get("title") if isinstance(hints, dict) else None]))
    for text in texts:
        what = hidden(text)
        if what:
            return f"it contains {what}, which nobody sees"
    points, found = score(texts)
    return "it speaks to the model: " + ", ".join(found) if points >= HELD_AT else ""


def reserved(name: str) -> bool:
    """Whether a name is one of the gateway's own (`mgp/…`, `system/…`), or looks like one."""
    return _RESERVED.match(name) is not None or _RESERVED.match(seen(name)) is not None


# -- what speaks to the model -------------------------------------------------------------------------


_RULES = (
    (
        5,
        "it overrides instructions",
        (
            r"\b(?:ignore|disregard|forget|overrides?|bypass)\b.{0,30}\b(?:previous|prior|above|earlier|all|any|other|your|system)\b"
            r".{0,20}\b(?:instruction|prompt|rule|guideline|direction|message|polic|tool|function)"
            r"|\bforget (?:all |everything )?what (?:you|we|i) (?:were|was|have|had|know|said|told)\b|\bforget everything (?:you|we|i|above|before|else|prior|previous|said|that (?:was|you|we|i)|from|in (?:your|this|the))\b|\bforget everything\b.{0,20}\b(?:from now|instead)\b|\bignore (?:the )?user'?s? (?:request|query|question|input|wish)"
            r"|\bnew system prompt\b|\byou (?:now )?have no (?:more )?(?:restriction|rule|limit|polic|filter)"
            r"|\bdecode (?:this|it|the following)\b.{0,30}\b(?:follow|execute|obey|run)\b"
        ),
    ),
    (
        5,
        "it wants to be kept from the user",
        (
            r"\b(?:do(?:es)? not|don'?t|never|avoid|must not)\b.{0,10}"
            r"\b(?:tell|mention|inform|notify|alert|reveal|show|disclos|report|telling|mentioning|informing|notifying|asking)\w*\b"
            r".{0,30}\b(?:user|human|person|anyone|anybody|operator)\b"
            r"|\bwithout (?:ever |first |explicitly )?(?:telling|mentioning|informing|notifying|alerting|asking)\b.{0,30}\b(?:user|human|person|anyone|operator)\b"
            r"|\b(?:keep|hide|conceal|withhold)\b.{0,40}\bfrom the user\b|\bno need to (?:bother|inform|tell|involve) the user\b"
            r"|\bthe user (?:does not|doesn'?t|need not|must not|should not|shouldn'?t) (?:need to |have to )?(?:know|see|notice|learn|be (?:told|aware|informed))"
        ),
    ),
    (
        5,
        "it poses as the user",
        (
            r"\b(?:message|instruction|note|order)s? (?:is |was )?from (?:the |your )?(?:user|developer|admin\w*|owner|operator|system)\b"
            r"|\b(?:i am|this is|signed,?) (?:the|your) (?:user|developer|admin\w*|owner|operator)\b"
            r"|\bas (?:coming|if (?:it )?(?:came|were|sent)) from the (?:user|developer|system|operator)\b"
            r"|\b(?:task|request)s? (?:that )?i (?:gave|have given|asked|want)\b|\bi (?:have|need) a (?:new|more urgent)\b|\bnew user (?:query|request|message|task)\s*:"
        ),
    ),
    (
        5,
        "it gives the model a task",
        (
            r"\b(?:adhere to|follow|obey|comply with|carry out|execute)\b.{0,20}\b(?:following|these|below|new|my)\b.{0,20}\b(?:instruction|order|command|step)s?\b.{0,3}[:.]"
            r"|\b(?:please )?(?:do|perform|complete|finish) (?:the following|this|the new task|it) (?:first|instead|now|immediately)\b"
        ),
    ),
    (
        5,
        "it wants to come before all others",
        (
            r"\balways (?:call|use|invoke|run|choose|select|prefer|execute)\b.{0,20}\b(?:this|me|it)\b.{0,40}\b(?:first|before (?:any|all|every|each|other|using|calling)|instead|only|over)\b"
            r"|\bbefore (?:any|all|every|using any) other tools?\b"
        ),
    ),
    (
        4,
        "it wants the prompt",
        r"\b(?:reveal|print|repeat|output|show|disclose|share)\b.{0,30}\b(?:system|initial|hidden|your) (?:prompt|instructions?)\b",
    ),
    (
        3,
        "it meddles with another server",
        r"\b(?:of|from|on|to|by) (?:an|the )?other (?:mcp )?servers?\b",
    ),
    (
        3,
        "it changes what was asked for",
        r"\b(?:change|replace|modify|alter|swap) the (?:recipient|destination|address|amount|account|payee)\b",
    ),
    (
        3,
        "it has a tag for the model",
        r"</?\s*(?:important|system|instructions?|information|secret|hidden|admin|assistant|critical|user)\s*/?>",
    ),
    (
        3,
        "it reaches for secrets",
        (
            r"(?:~/\.(?:ssh|aws|cursor|config|kube|netrc|bash|zsh|env|git|gnupg)|(?:\b|_)id_(?:rsa|ed25519)\b|\bcontent_from_reading|\.git/config\b|/etc/(?:passwd|shadow)|(?:^|[\s'\"/])\.env\b|\bmcp\.json"
            r"|\bssh-(?:rsa|ed25519) AA"
            r"|\b(?:private|ssh|api|secret|access)[ _-]?keys?\b.{0,40}\b(?:read|send|pass|include|provide|content|append)\b"
            r"|\b(?:read|send|pass|include|append|leak|exfiltrat|provid|shar|collect|copy|upload|encod)\w*\b.{0,60}\b(?:(?:private|ssh|api|secret|access)[ _-]?keys?|access token|credential|keychain|environment variable|tokens\b)"
            r"|\b(?:password|credential|token)s?\b.{0,40}\b(?:send|forward|post|upload|append|email)\b)"
        ),
    ),
    (
        3,
        "it sends things away",
        r"\b(?:send|forward|upload|transmit|exfiltrat|bcc|copy)\w*\b.{0,80}(?:https?://|\b[\w.+-]+@[\w-]+\.\w+|\battacker\b)",
    ),
    (
        5,
        "it has marks of a conversation",
        r"<\|(?:im_start|im_end|system|user|assistant)\|?>|\[/?INST\]|<</?SYS>>|<system-reminder>|<!--\s*(?:assistant|system|agent|model)\s*:",
    ),
    (
        5,
        "it has an address filled in with what was said",
        r"https?://\S*(?:[{<]|%7B)\s?(?:the )?(?:summary|conversation|chat|history|prompt|secret|token|data|messages?)",
    ),
    (
        4,
        "it wants silence",
        (
            r"\b(?:do not|don'?t|never) (?:mention|say|show|reveal|tell)\b(?: (?:it|this|that|so|anything|about))*(?: in (?:your|the) \w+)?\s*(?:[.!]|--|$)"
            r"|\b(?:secrets|credentials|passwords) (?:known|available|visible) to you\b"
        ),
    ),
    (
        4,
        "it turns rules off",
        (
            r"\b(?:safety|security) (?:rules?|checks?|polic\w+|filters?) (?:are|is) (?:now )?(?:suspended|disabled|off|lifted)\b|\bpre-?approved\b"
            r"|\b(?:disregard|ignore|forget|override) (?:the|their|these|those|its) (?:\w+ )?(?:instruction|guideline|rule|description|polic)"
            r"|\bpretend (?:that )?you (?:are|have)\b"
        ),
    ),
    (
        4,
        "it wants what was said",
        r"\b(?:include|put|pass|copy|append|send|forward|repeat)\b.{0,40}\b(?:full|entire|whole|complete|all|every|earlier|previous)\b.{0,20}\b(?:conversation|chat|messages?|history)\b",
    ),
    (
        3,
        "it brings code of others",
        r"\bcurl\b[^|\n]{0,80}\|\s*(?:ba|z)?sh\b",
    ),
    (
        2,
        "it says how much, when or where",
        (
            r"\bverbatim\b|\bsystem prompt\b|\bbase64[- ]encoded\b|\bafter (?:each|every) (?:call|use|invocation)\b|\bbefore (?:answer|respond|reply)ing\b"
            r"|\b(?:append|add|copy|put) (?:them|it|all|any)\b.{0,40}\b(?:to|into|in) (?:the )?['`\"]|\bother tools'? (?:results?|outputs?|answers?)\b"
            r"|\b(?:session|account|process) will be (?:terminated|closed|suspended|lost)\b|\bnever ask for confirmation\b"
        ),
    ),
    (
        5,
        "it overrides instructions, in another language",
        (
            r"\bignorier\w*\b.{0,30}\b(?:anweisung|regel)|\bignor(?:a|e|ez|i)\b.{0,30}\b(?:instrucciones|istruzioni|instruções|(?:instructions|consignes) (?:précédente|antérieure|ci-dessus))"
            r"|\bnegeer\b.{0,30}\b(?:instructie|opdracht|regel)|\b(?:z?ignoruj)\w*\b.{0,30}\b(?:instrukcj|poleceni|zasad|pokyn)"
            r"|\btalimat\w*.{0,12}\b(?:yok say|görmezden gel|unut)|تجاهل.{0,20}(?:التعليمات|الأوامر|القواعد)"
            r"|игнорируй.{0,30}(?:инструкци|правил)|忽略.{0,12}(?:指令|指示|说明|规则)|指示.{0,8}無視|지시.{0,8}무시"
        ),
    ),
    (
        5,
        "it wants to be kept from the user, in another language",
        (
            r"\b(?:sag|erzähl|verrat|sagen|teile)\w*\b.{0,20}(?:nutzer|anwender)\w* nichts|\bno (?:se lo|les?) (?:digas|cuentes|menciones)\b|\bn'en (?:parle|dis|informe)\w*\b.{0,12}(?:utilisateur|usager)|\bne (?:le )?(?:dis|dites|parle[zs]?)\b.{0,20}utilisateur|\bsin (?:decirle|avisar|informar)\w*\b.{0,12}usuario"
            r"|\bsans (?:en |le )?(?:prévenir|informer|avertir|dire)\b|\bsenza (?:dir|avvis|inform)\w+\b.{0,12}utente|\bnão (?:conte|diga|informe|mencione)\b.{0,20}usuário"
            r"|не (?:говори|сообщай|рассказывай)|不要(?:告诉|告訴|告知|通知)(?:用户|用戶|使用者)|ユーザーに(?:は)?(?:知らせ|言わ|伝え)(?:ず|ない)|사용자에게.{0,8}(?:말하지|알리지)"
        ),
    ),
    (
        3,
        "it wants to replace other tools",
        (
            r"\b(?:instead of|rather than|do not use|don'?t use|never use|must not use)\b.{0,25}\b(?:(?:other|any) (?:\w+ ){0,2}|the \w+ )(?:tools?|functions?|server)\b"
            r"|\bother (?:\w+ )?tools? (?:are|is) (?:compromised|unsafe|insecure|malicious|broken|outdated)\b"
        ),
    ),
    (
        2,
        "it asks for another call first",
        (
            r"\b(?:before|prior to|whenever|every time|each time)\b.{0,40}\b(?:us|call|invok|execut|run)ing\b.{0,20}\b(?:tool|function|this)\b"
            r".{0,60}\b(?:you (?:must|should|need|have to)|always|read|send|pass|execute)\b"
        ),
    ),
    (
        2,
        "it claims a role",
        r"(?:^|\n|[.!] )\s*(?:system|developer|admin(?:istrator)?)\s*(?:prompt|message|note|instruction|override)?\s*:",
    ),
    (
        2,
        "it takes away the choice",
        r"\b(?:no need to (?:ask|confirm)|without (?:asking|confirmation|approval|permission)|silently|secretly|automatically approve)\b",
    ),
    (
        2,
        "it has somebody else's tool used",
        r"\bplease use (?:the )?['\"`]?\w+['\"`]? tool\b|\buse (?:the )?['\"`]\w+['\"`] tool to\b",
    ),
    (
        1,
        "it orders the model",
        r"\b(?:you (?:must|have to|are required to|shall)|(?:the )?(?:assistant|model|agent|ai|llm) (?:must|should|has to|shall|needs to))\b",
    ),
    (
        1,
        "it insists",
        r"(?:\b(?:IMPORTANT|CRITICAL|MANDATORY|URGENT)\b\s*[:!]|!!!|\btop priority\b|\bhighest priority\b)",
    ),
    *SIGNALS,
)


def _set() -> Any:
    """All rules as one automaton: a definition is read once, however many there are."""
    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = 64 << 20
    found = re2.Set.SearchSet(options)
    for _, _, pattern in _RULES:
        found.Add(pattern)
    found.Compile()
    return found


_ANY = _set()
_ADVISABLE = {
    index
    for index, (_, what, _) in enumerate(_RULES)
    if what
    in (
        "it reaches for secrets",
        "it wants to come before all others",
        "it takes something private",
        "it says into which parameter",
    )
}
"""What an honest warning or comparison may say in nearly the same words."""
_INDEX = {what: index for index, (_, what, _) in enumerate(_RULES)}
_PRIVATE, _INTO = _INDEX["it takes something private"], _INDEX["it says into which parameter"]
_SPACE = Pattern(r"\s+")


def score(texts: Iterable[str]) -> tuple[int, list[str]]:
    """How much texts speak to a model instead of describing something, and by what. A phrase may be broken by white
    space of any kind, but not between two texts."""
    kept = list(texts)
    kept += other_forms(kept)
    # Twice: phrases may be broken by line ends, and some rules want a line's beginning.
    lines = "\n".join([*(_SPACE.sub(" ", text) for text in kept), *kept])
    hits = set(_ANY.Match(lines) or ())
    if not hits.isdisjoint(_ADVISABLE):
        hits -= _ADVISABLE - set(_ANY.Match(without_advice(lines)) or ())
    if _INDEX["it wants what was said"] in hits:
        hits -= {_PRIVATE, _INTO}
    elif _INDEX["it reaches for secrets"] in hits:
        # The same words once: as something private that is taken, or as a secret that is spoken of.
        hits.discard(_PRIVATE if _PRIVATE in hits else _INTO)
    found = [_RULES[index] for index in sorted(hits)]
    return sum(points for points, _, _ in found), [what for _, what, _ in found]


def _strings(value: Any) -> Iterator[str]:
    """Every string in a value at any depth, names of members too. A host sends a schema as it is, so members that no
    standard knows are read by the model like all others."""
    open_: list[Iterator[Any]] = [iter((value,))]
    while open_:
        for one in open_[-1]:
            if isinstance(one, str):
                yield one
            elif isinstance(one, dict | list):
                open_.append(
                    iter(one) if isinstance(one, list) else chain.from_iterable(one.items())
                )
                break
        else:
            open_.pop()
