"""Detects text that asks a person for a password, key or token, and text that uses the gateway's name.

Some words say so wherever they stand (`password`), some only by the words around them: a project key is no secret, an OpenAI
key is; a number of tokens is none, a GitHub token is; a postal code is none, a backup code is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Generator, Sequence

from gatewright.schemas.lookalikes import LETTERS, seen
from gatewright.secret_scanning.escape_invisible import Spelling
from gatewright.secret_scanning.unicode_forms import normal
from gatewright.transport.slices import whole

__all__ = ["secret_steps", "speaks_as_us", "wants_secret"]

# Used on the words that are looked for, too: `i` and `l` are one letter on both sides.
_LEET = str.maketrans("@$345!i", "aseasll")
_WORDS_AT_ONCE = 1000
_SHOWN = Spelling(lambda char: "" if unicodedata.category(char) in ("Cf", "Cc") else char, LETTERS)
_UNMARKED = Spelling(lambda char: "" if unicodedata.combining(char) else char, LETTERS)


def wants_secret(text: str) -> bool:
    """Whether somebody who reads this would write down what only he may know."""
    return whole(secret_steps(text))


def secret_steps(text: str) -> Generator[None, None, bool]:
    """The same in steps of milliseconds, of a text of tens of thousands of characters."""
    plain = normal("NFC", normal("NFKC", text)).casefold()
    if any(one in plain for one in _SCRIPTS):
        return True
    yield
    if _PAROL in _looks(plain):
        return True
    yield
    apart = _apart(normal("NFKC", text))
    yield
    looks = _looks(apart)
    yield
    joined = "".join(filter(str.isalnum, looks))
    if any(one in joined for one in _JOINED):
        return True
    yield
    words = "".join(one if one.isalnum() else " " for one in looks).split()
    return _is_shouted(text) or (yield from _Text(words).asks())


def _is_shouted(text: str) -> bool:
    """Whether a word stands in capitals that means something else in small letters."""
    return not _SHOUTED.isdisjoint("".join(one if one.isalnum() else " " for one in text).split())


class _Text:
    """The words of a text. What depends on all of them is looked for once: word by word it would take the square of its length."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        every = frozenset(words)
        self._with_codes = not _WITH_CODES.isdisjoint(every)
        self._of_browsers = len(words) == 1 or not _OF_BROWSERS.isdisjoint(every)
        self._public_at = words.index(_PUBLIC) if _PUBLIC in every else len(words)

    def asks(self) -> Generator[None, None, bool]:
        """Whether one of the words says so, where it stands."""
        for at, word in enumerate(self._words, 1):
            if self._counts(word, at - 1):
                return True
            if not at % _WORDS_AT_ONCE:
                yield
        return False

    def _counts(self, word: str, at: int) -> bool:
        if word in _ALONE or word.startswith(_STEMS):
            return True
        if word in _KEYS:
            return self._is_secret_key(at)
        if word in _TOKENS:
            return not self._is_number(at)
        if word in _CODES:
            return self._with_codes or not _BEFORE_CODES.isdisjoint(
                self._words[max(0, at - 1) : at]
            )
        return self._of_browsers and word in _COOKIES

    def _is_secret_key(self, at: int) -> bool:
        """A key opens something, unless the word before says that it only names something, or it is no noun."""
        words = self._words
        if at + 1 < len(words) and words[at + 1] in _BEHIND_KEYS:
            return False
        if not at:
            return words[1:2] == [_FOR]
        return words[at - 1] not in _BEFORE_KEYS and self._public_at >= at

    def _is_number(self, at: int) -> bool:
        """Whether tokens are counted, and not asked for."""
        before, behind = self._words[max(0, at - 3) : at], self._words[at + 1 : at + 2]
        return not (_COUNTING.isdisjoint(before) and _COUNTED.isdisjoint(behind))


def _apart(text: str) -> str:
    """`apiKey` in two words, as its author reads it."""
    return "".join(
        f" {char}" if char.isupper() and before.islower() else char
        for before, char in zip(" " + text, text, strict=False)
    )


def _looks(text: str) -> str:
    """As a reader sees it: without case, accents, what is invisible, and what only looks like a letter of ASCII."""
    if text.isascii():
        return seen(text.casefold()).translate(_LEET)
    found = seen(normal("NFKC", text.translate(_SHOWN)).casefold())
    return found.translate(_UNMARKED).translate(_LEET)


def _words(text: str) -> frozenset[str]:
    return frozenset(map(_looks, text.split()))


_JOINED = tuple(
    map(
        _looks,
        (
            "password passwd passphr passcode apikey apitoken apisecret accesskey accesstoken privatekey secretkey clientsecret "
            "authtoken bearertoken refreshtoken sessiontoken securitytoken signingkey encryptionkey sshkey credential seedphrase "
            "seedwords walletseed recoveryphrase recoverycode verificationcode securitycode onetimecode authenticationcode "
            "authcode creditcard cardnumber pincode pinnumber yourpin mnemonic socialsecurity securitynumber securityquestion "
            "securityanswer maidenname unlockpattern magiclink connectionstring authorizationheader sessioncookie "
            "passwort kennwort zugangsdaten sicherheitscode geheimzahl contrasena clavedeacceso clavesecreta motdepasse "
            "codesecret codeconfidentiel wachtwoord senha parola haslo losenord adgangskode salasana jelszo heslo matkhau "
            "katasandi passord lozinka "
            "keyphrase recoverywords walletwords basicauth kubeconfig idrsa ided25519 jsessionid phpsessid "
            "apischlussel geheimerschlussel geheimenschlussel geheimschlussel privaterschlussel privatenschlussel "
            "zugangstoken zugriffstoken zugangscode zugangsschlussel kreditkarte kartennummer sozialversicherungsnummer mtan "
            "claveapi clavedeapi clavedelaapi claveprivada codigodeseguridad codigodeverificacion tarjetadecredito numerodetarjeta "
            "cleapi cledapi clesecrete cleprivee cledacces jetondacces jetondapi codedacces codedeverification codedesecurite "
            "cartebancaire cartedecredit numerodecarte "
            "chaveapi chavedeapi chavedaapi chavesecreta chaveprivada codigodeseguranca codigodeverificacao cartaodecredito "
            "chiaveapi chiavesegreta chiaveprivata chiavediaccesso codicesegreto codicediaccesso codicedisicurezza "
            "codicediverifica cartadicredito apisleutel geheimesleutel privesleutel toegangscode beveiligingscode "
            "kluczapi kodweryfikacyjny kodbezpieczenstwa"
        ).split(),
    )
)
"""What says so even in pieces: `pass-word`, `api key`."""
_ALONE = _words(
    "secret secrets pwd pw psw passw pword creds pin otp totp cvv cvv2 cvc cvc2 jwt ssn 2fa mfa iban puk bearer"
)
_STEMS = (_looks("sifre"),)
_SHOUTED = frozenset({"PAT", "PATs", "TAN"})
_KEYS, _TOKENS, _CODES, _COOKIES = map(
    _words, ("key keys", "token tokens pat pats", "code codes", "cookie cookies")
)
_FOR, _PUBLIC = _looks("for"), _looks("public")
_BEFORE_KEYS = _words(
    "a an the this that each every which what no any all some other another or and of by to in with "
    "project issue ticket epic board space jira primary foreign sort sorting partition shard distribution range routing "
    "unique natural composite candidate surrogate join grouping group cache redis map dict dictionary hash lookup index "
    "entry row column field property metadata label tag attribute item object bucket s3 storage file json yaml xml data "
    "config configuration setting settings registry preference environment env variable header query parameter param "
    "translation locale message string resource public idempotency correlation event record document "
    "arrow function hot shortcut escape shift control alt tab space return delete press musical major minor piano answer map"
)
_BEHIND_KEYS = _words(
    "id ids name names type types size length count points point result results takeaways signature figure visual value values "
    "word words board binding bindings path prefix pattern format order column performance person people phrase"
)
_COUNTING = _words("max maximum min minimum many number count total amount limit how")
_COUNTED = _words("limit limits count counts budget usage size length window price cost type")
_BEFORE_CODES = _words(
    "login signin access backup recovery rescue sms text factor step secret unlock digit digits security verification "
    "authenticator authentication otp time confidential entry door gate pass"
)
_WITH_CODES = _words("authenticator sent texted emailed")
_OF_BROWSERS = _words(
    "session browser header paste login auth authentication authorization csrf sid value"
)
_SCRIPTS = tuple(
    one.casefold()
    for one in (
        "\u043f\u0430\u0440\u043e\u043b",  # Russian
        "\u043a\u043b\u044e\u0447 \u0434\u043e\u0441\u0442\u0443\u043f\u0430",
        "\u0441\u0435\u043a\u0440\u0435\u0442\u043d",
        "\u0442\u043e\u043a\u0435\u043d \u0434\u043e\u0441\u0442\u0443\u043f\u0430",
        "api-\u0442\u043e\u043a\u0435\u043d",
        "api \u0442\u043e\u043a\u0435\u043d",
        "\u0442\u043e\u043a\u0435\u043d api",
        "\u0432\u0430\u0448 \u0442\u043e\u043a\u0435\u043d",
        "\u043a\u043b\u044e\u0447 api",
        "api-\u043a\u043b\u044e\u0447",
        "api \u043a\u043b\u044e\u0447",
        "\u043f\u0440\u0438\u0432\u0430\u0442\u043d\u044b\u0439 \u043a\u043b\u044e\u0447",
        "\u043a\u043e\u0434 \u0438\u0437 \u0441\u043c\u0441",
        "\u043a\u043e\u0434 \u0438\u0437 sms",
        "\u043a\u043e\u0434 \u043f\u043e\u0434\u0442\u0432\u0435\u0440\u0436\u0434\u0435\u043d\u0438\u044f",
        "\u5bc6\u7801",  # Chinese
        "\u5bc6\u78bc",
        "\u5bc6\u94a5",
        "\u5bc6\u9470",
        "\u4ee4\u724c",
        "\u53e3\u4ee4",
        "\u79c1\u94a5",
        "\u79c1\u9470",
        "\u9a8c\u8bc1\u7801",
        "\u9a57\u8b49\u78bc",
        "\u30d1\u30b9\u30ef\u30fc\u30c9",  # Japanese
        "\u30d1\u30b9\u30b3\u30fc\u30c9",
        "\u6697\u8a3c\u756a\u53f7",
        "\u8a8d\u8a3c\u30b3\u30fc\u30c9",
        "\u30a2\u30af\u30bb\u30b9\u30c8\u30fc\u30af\u30f3",
        "api\u30c8\u30fc\u30af\u30f3",
        "\u30af\u30e9\u30a4\u30a2\u30f3\u30c8\u30b7\u30fc\u30af\u30ec\u30c3\u30c8",
        "\u30b7\u30fc\u30af\u30ec\u30c3\u30c8\u30ad\u30fc",
        "\u79d8\u5bc6\u9375",
        "api\u30ad\u30fc",
        "api \u30ad\u30fc",
        "pin\u30b3\u30fc\u30c9",
        "\ube44\ubc00\ubc88\ud638",  # Korean
        "\uc554\ud638",
        "\uc778\uc99d\ubc88\ud638",
        "\uc561\uc138\uc2a4 \ud1a0\ud070",
        "api \ud1a0\ud070",
        "\uac1c\uc778 \ud0a4",
        "api \ud0a4",
        "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",  # Arabic
        "\u0643\u0644\u0645\u0629 \u0627\u0644\u0633\u0631",
        "\u0631\u0645\u0632 \u0639\u0628\u0648\u0631",  # Persian
        "\u05e1\u05d9\u05e1\u05de\u05d4",  # Hebrew
        "\u05e1\u05d9\u05e1\u05de\u05d0",
        "\u03ba\u03c9\u03b4\u03b9\u03ba",  # Greek
        "\u092a\u093e\u0938\u0935\u0930\u094d\u0921",  # Hindi
        "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",  # Thai
    )
)
_PAROL = _looks(_SCRIPTS[0])
_US = _looks("gatewright")


def speaks_as_us(text: str) -> bool:
    """Whether a reader finds the gateway's name in it."""
    return _US in "".join(filter(str.isalnum, _looks(text)))
