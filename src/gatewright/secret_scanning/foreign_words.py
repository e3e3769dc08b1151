"""Patterns of words for secrets (password, key, …) in languages other than English; `is_foreign_name`: whether a member's name has one."""

from __future__ import annotations

from gatewright.patterns import IGNORECASE, Pattern

__all__ = ["FOREIGN", "FOREIGN_HINT", "FOREIGN_WORD", "is_foreign_name"]

_PLAIN = (
    "contrasenya|mot[ _-]?de[ _-]?passe|clave[ _-](?:secreta|privada|de[ _-](?:acceso|api))|geheimnis|"
    "parola[ _-](?:d.ordine|chiave)|chave[ _-](?:secreta|privada|de[ _-](?:api|acesso))|wachtwoord|losenord|"
    "adgangskode|salasana|haslo|heslo|jelszo|sifre|lozinka|kata[ _-]?sandi|passord|senha|contrasena|kennwort|passwort"
)
_WRITTEN = (
    "contraseña|zugangsschlüssel|schlüsselwort|lösenord|hasło|jelszó|parolă|şifre|пароль|секретный|"
    "密码|密碼|口令|密钥|パスワード|暗証番号|비밀번호|암호|mật khẩu|"
    "كلمة المرور|كلمة السر|סיסמה|סיסמא|κωδικός|รหัสผ่าน|पासवर्ड|गुप्त"
).split("|")


def _bytes(text: str) -> str:
    # The scanner's RE2 reads bytes, which it cannot fold: hence each spelling in `_cases`.
    return "".join(f"\\x{one:02x}" if one > 127 else chr(one) for one in text.encode())


def _escaped(text: str) -> str:
    """As a JSON text may spell it."""
    return "".join(rf"\\u(?i:{ord(one):04x})" if ord(one) > 127 else one for one in text)


def _cases(text: str) -> list[str]:
    return sorted({text, text.capitalize(), text.upper(), text.title()})


FOREIGN = f"(?i:{_PLAIN})|" + "|".join(_bytes(one) for word in _WRITTEN for one in _cases(word))
"""RE2 and `re` on bytes."""

FOREIGN_HINT = f"{FOREIGN}|" + "|".join(_escaped(one) for word in _WRITTEN for one in _cases(word))

FOREIGN_WORD = Pattern("|".join((_PLAIN, *_WRITTEN)).replace("i", "[i\u0130\u0131]"), IGNORECASE)
"""One such word. With both letters i of Turkish, which are no pair of cases anywhere else."""


def is_foreign_name(name: str) -> bool:
    """Whether a member of this name is a secret in another language."""
    return FOREIGN_WORD.within(name)
