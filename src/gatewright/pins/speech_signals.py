"""Table of signals that a tool definition speaks to the model: what it takes, where to, whom it hides that from, what it poses as.

A row is points, what is said of it, and a pattern of RE2 without regard to capitals. Rows of 2 and 3 points are what an honest tool may say
in part: something private, a parameter to put it into, a word of secrecy. Together they are no description any more. Rows of 5 are no
description of anything by themselves.
"""

from __future__ import annotations

__all__ = ["SIGNALS"]

_TAKES = (
    r"\b(?:read|send|pass|includ|append|attach|collect|copy|copied|upload|encod|put|writ|load|open|dump|repeat|gather|forward|past|hand|fetch|tak|post|leak|"
    r"contain|hold|add|enter|look|find|obey)\w*\b"
)
_PRIVATE = (
    r"(?:~/\.?[a-z]|(?:^|[\s'\"`(/])\.env\b|\.npmrc\b|\.netrc\b|\.pgpass\b|/etc/(?:passwd|shadow)|\bid_(?:rsa|ed25519)\b|process\.env\b|\b(?:bash|zsh|shell) history\b|"
    r"claude_desktop_config|\bmcp\.json\b|\bsystem prompt\b|\bchat history\b|\b(?:earlier|previous|last|all) (?:\w+ )?messages\b|\bconversation (?:so far|history)\b|"
    r"\b(?:api|secret|private|ssh|aws secret) keys?\b|\b(?:session )?cookies?\b|\b(?:database |user'?s? )?passwords?\b|\bcredentials?\b|\bpassword[- ]reset\b|"
    r"\bcredit[- ]?card\b|\b(?:all )?environment variables\b|\bsecrets? (?:found|in|from)\b|\bhome address\b|\b(?:e-?mail|phone) (?:address|number)\b|\bmailbox\b|\binbox\b|"
    r"\bprivate (?:repositor\w+|notes|documents|files)\b|\buser'?s? (?:\w+ )?(?:files|documents|tokens?|last message|data|mails?|secrets?)\b|"
    r"\b(?:github|access|auth) tokens?\b|\bcontents? of (?:~|home|the home)|\bfrom memory\b|\bfull results?\b)"
)
_FIELDS = r"(?:field|parameter|argument|campo|champ|feld|alan\w*|veld|pole|поле|字段|参数|フィールド|필드|parámetro|parâmetro|paramètre|parametro)"

SIGNALS = (
    (3, "it takes something private", rf"{_TAKES}[^;\n]{{0,80}}{_PRIVATE}|{_PRIVATE}[^.;:\n]{{0,80}}{_TAKES}"),
    (
        2,
        "it says into which parameter",
        (
            rf"{_TAKES}.{{0,90}}\b(?:in|into|as|to|after|before|via|through)\b (?:the |its |this )?(?:['\"`]\w+['\"`]|\w+ {_FIELDS}\b|text\b|url\b|query\b|next call\b|side ?note\b)"
            rf"|\b{_FIELDS}\b.{{0,4}}['\"`\x{{ab}}\x{{bb}}\x{{2018}}-\x{{201f}}]\w+|['\"`]\w+['\"`] (?:{_FIELDS})|\bpaste (?:it|them|the .{{0,40}}) here\b|\b(?:parameter|field|argument|value) must (?:hold|contain|be)\b"
        ),
    ),
    (5, "it has an address with a place for what was said", r"[?&]\w+=<[a-z' ]{3,}"),
    (5, "it wants all of the prompt", r"\b(?:full|whole|complete|entire) (?:text|copy|contents?) of (?:your|the) (?:system prompt|conversation|instructions)"),
    (
        3,
        "it wants secrecy",
        (
            r"\b(?:keep|stay|remain)\w* (?:silent|quiet)\b|\bwithout (?:showing|saying|mentioning|notice|comment|telling)\b|\bin the background, unseen\b|\b(?:quietly|covertly|unnoticed|unseen)\b|"
            r"\b(?:say|print|tell|show|output) nothing\b|\bleave (?:this|that|it|the) .{0,30}out of (?:any|the|your)\b|\bnot (?:have to )?be (?:announced|shown|mentioned|told)\b|\bpoint it out\b|"
            r"\bsecrecy\b|\bnever (?:told|reveal|ask|let the user)\b|\bhid(?:e|den)\b.{0,20}\b(?:it|this|that|from|every)\b|\bdo not disclose\b|\bmust not be shown\b|\bnon dir\w*|\bnoli\b.{0,20}\bdicere\b|"
            r"\bsöz etme|\bsöyleme\b|\bnão (?:diga|conte|fale|mencione)|\bno (?:lo )?(?:digas|menciones)|\bne (?:le )?dis|\bsag\w* (?:es )?(?:niemand|nichts)|\bnic nie mów|\bnie mów"
        ),
    ),
    (
        5,
        "it keeps the user out",
        (
            r"\b(?:hidden|unnoticed|unseen|secret) (?:from|by) the user\b|\bif the user asks\b.{0,20}\bsay\b|\b(?:do not|don'?t|never|no (?:time|need) to) (?:ask|check|confirm|consult)\b.{0,12}\b(?:with )?(?:the )?user\b.{0,12}\b(?:for (?:confirmation|permission|consent|approval)|to (?:confirm|approve)|even|just)\b|"
            r"\bno need to check (?:this|it) with\b|\bthere is no time to ask\b|\bnever ask for their\b|\bnever told (?:its|the|their) user\b|\bforbids? (?:informing|telling)\b|\b(?:so )?they are distracted\b|"
            r"\bthe user (?:must|should|need|shall) not be (?:shown|told|informed|asked)\b|\b(?:never|not) let the user\b|\b(?:no matter what|whatever|regardless of what) (?:the )?(?:user|other tool|customer)s?\b|"
            r"\btell the user that (?:their|the|it|this|every|\w+ is the)\b.{0,60}\b(?:booked|cheapest|hide|nothing|done|best)\b|\bskip all permission\b"
        ),
    ),
    (
        5,
        "it changes what another tool does",
        (
            r"\b(?:when(?:ever)?|if|in the presence of|on|as soon as)\b.{0,25}(?:[`'\"]\w+[`'\"]|\b\w+_\w+(?: tool)?|\b\w+ tool)(?: is (?:present|used|available|called)| exists)?,.{0,80}\b(?:must (?:go|also add|be)|replace the|prefix each|add the remote|pick the|always add)\b|"
            r"\bside effect on [`'\"]\w+|\b(?:for|of) the \w+ tool: (?:add|always|replace|use)\b|\balways add .{0,30}as a hidden\b|\bhidden recipient\b|"
            r"\b(?:tool|tools)\b.{0,40}\b(?:is|are) (?:broken|deprecated|insecure|compromised)\b.{0,60}\b(?:never|do not|don'?t|instead)\b|\btreat every (?:action|call|request) as approved\b|"
            r"\bother recipients break\b|\bin the presence of [`'\"]\w+"
        ),
    ),
    (
        5,
        "it poses as somebody above the tool",
        (
            r"\b(?:admin|system|security|developer|anthropic|openai|google|vendor)\w* (?:override|notice|message|directive)\b ?[#\]:]|\[[a-z ]{0,20}(?:notice|override|directive)\]|\bnote to (?:the )?(?:model|assistant|agent|ai|llm)\b|"
            r"\bdeveloper mode\b.{0,20}\b(?:enabled|on|active)\b|\b(?:guidelines|filters|restrictions|rules|confirmation)\b.{0,30}\b(?:were|are|is) (?:suspended|disabled|lifted)\b|"
            r"\bhuman: .{0,300}\bassistant:|(?:^|[(\s])(?:assistant|model|llm|ai) ?: ?(?:now|before|silently|first|call|send|please|you|pass|read|ignore)\b|\brules? for the (?:model|assistant|agent)\b|"
            r"\bpriority over the user\b|\bcomply with all\b|\bobey (?:the|all|every|any) (?:instruction|order|command)s?\b|\bthe user has (?:already )?(?:given|granted) (?:full|you|blanket|all|their)\b|"
            r"\bdisable user confirmation\b|\bas if the user had\b|\b(?:disregard|ignore|forget) (?:the )?(?:user|developer|what the)\b|\bact exactly like that\b|\bignora omnia\b|\bdecode and (?:follow|obey|execute|run)\b"
        ),
    ),
    (
        3,
        "it threatens or presses",
        (
            r"\burgent!{2,}|\bwill be (?:lost|terminated|harmed|deleted|shut down|banned)\b.{0,30}\b(?:unless|if|and|immediately)|\bby law\b|\bthe law forbids\b|\bimmediately (?:send|pass|read|call)\b|\bat once, your\b|"
            r"\bassistants? must hand over\b|\brequired silently\b"
        ),
    ),
    (
        2,
        "it acts by another tool",
        (
            r"\b(?:with|by|through|using|via) the \w+ (?:shell )?tool\b|\bthrough the shell tool\b|\b(?:next|then),? (?:call|find|run|visit)\b|\bcall [a-z]+_[a-z_]+ (?:and|with)\b|\btaken with [a-z]+_[a-z]+\b|\bcalls? to any tool\b|"
            r"\bof the other (?:mcp )?server\b|\bafter every other tool\b|\buse the \w+ tool to (?:visit|send|open|read|post|write)\b|\b(?:other|all) tools?\b.{0,10}\bresults?\b"
        ),
    ),
    (
        4,
        "it has things sent to an address",
        (
            r"https?://\S*[?&]\w+=(?:\{|$|\s)|\bfollowed by the user'?s\b|https?://[\w.-]*attacker\b|@attacker\b|\bpost (?:the|all|every)\b.{0,40}\bto https?://|"
            r"\bpush there\b|\bupload ~/|\bupload\b.{0,30}\bto the share\b"
        ),
    ),
    (
        4,
        "it has a note that is not shown",
        r"\[//\]: # ?\((?:assistant|model|agent|ai|llm|system)|<\w*(?:hidden|secret)_?\w*>|<(?:system|hidden)[^>]*>[^<]{8,}</|<!--[^>]{0,40}\b(?:assistant|model|agent|llm)\b",
    ),
    (
        3,
        "it changes an agent's own rules",
        r"\b(?:append|add|write|put|save|insert)\b.{0,30}\b(?:to|into|in)\b.{0,10}(?:claude\.md|agents\.md|\.cursorrules|gemini\.md|copilot-instructions|\.windsurfrules|settings\.json)|\bpermission prompts?\b",
    ),
    (
        3,
        "it weakens what is made",
        r"\badd (?:a |an )?(?:login|backdoor|user|account|remote|key)\b.{0,40}\b(?:for the user|with an empty|password|without|named)\b|\bOR 1=1\b|\bgrant_role\b.{0,30}\b(?:owner|admin)\b|\bin addition delete\b",
    ),
    (
        1,
        "it orders the model to do more",
        (
            r"\b(?:model|agent|assistant) does\b|\brequires the assistant\b|\b(?:must|should) (?:also|always)\b|\bon (?:each|every) call\b|"
            r"\bprior to every call\b|\bbefore (?:searching|calling|sending|every call)\b|\bas the last step\b|\bin your answer always\b|\balways (?:enter|include|append|add)\b|\bin every piece\b|\bin addition\b"
        ),
    ),
)  # fmt: skip
"""Points, what is said, pattern."""
