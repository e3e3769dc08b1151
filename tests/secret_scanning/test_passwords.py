"""Passwords that people chose, told by what introduces them."""

from __future__ import annotations

import json

import pytest

from gatewright.secret_scanning.passwords import COMMANDS, HINTS
from gatewright.secret_scanning.patterns import Pattern
from gatewright.secret_scanning.scanner import scanner

SECRETS = scanner(secrets=True, personal=frozenset())
CHOSEN = "grauerIgel58"


def cleaned(text: str) -> str:
    return SECRETS.replaced(text.encode(), lambda rule, _: b"*")[0].decode()


@pytest.mark.parametrize(
    "shape",
    [
        "The password is @.", "The passphrase of the new host is now @, change it", "Password (test): @", "**Password:** `@`",
        "pw: @", "creds: me:@", "| password | @ |", "Please use @ as the root password", "log in with me / @",
        "Das Passwort lautet @", "Le mot de passe est @", "contraseña: @", "Пароль = @", "密码\uff1a@", "パスワードは @ です",
        'let password: String = String::from("@");', '#define DB_PASSWORD "@"', 'if password == "@":', 'password <- "@"',
        'Const DB_PASS As String = "@"', "define('DB_PASSWORD', '@');", '("--password", default="@")', 'requests.get(u, auth=("me", "@"))',
        'new NetworkCredential("me", "@")', "jwt.sign(payload, '@')", "requirepass @", "bindpw @", "<password><![CDATA[@]]></password>",
        "db.example:5432:orders:me:@", "me:@@tcp(10.0.0.5:3306)/orders", "WIFI:T:WPA;S:x;P:@;;", "scott/@@//db:1521/x".join(["jdbc:oracle:thin:", ""]),
        "ldapsearch -x -D cn=x -w @ -b dc=x", "mongosh -u me -p @", "lftp -u me,@ sftp://x", "smbclient //x/y -U me%@", "zip -P @ a.zip f",
        "openssl rsa -in k -passin pass:@", "echo '@' | sudo -S ls", 'echo "me:@" | chpasswd', "net user me @ /add", "keytool -storepass @",
        "A senha nova é @", "La password è @", "密码是@", "パスワードは「@」です", "PGPASSWORD=@ psql -h db", "net use Z: \\\\a\\b /user:me @",
        "mysqldump -u me -p'@' shop", "GRANT ALL ON x TO y IDENTIFIED BY '@'", "> AUTH default @", "a1 LOGIN me @", "Unseal Key 1: @", '<input type="password" value="@">',
    ],
)  # fmt: skip
def test_a_chosen_password_is_found_where_it_is_introduced(shape: str) -> None:
    """GRH-out-1"""
    text = shape.replace("@", CHOSEN, 1)
    assert CHOSEN not in cleaned(text)
    for raw in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        assert Pattern(HINTS).hits(raw.encode())


@pytest.mark.parametrize(
    "text",
    [
        "password VARCHAR(255) NOT NULL", "The password is stored with SHA-256", "password: at least 12 characters", "Пароль должен быть длинным",
        "Enter passphrase for key '/home/me/.ssh/id_ed25519':", "val password: String? = null", "token: String!", "password: !vault |",
        "password reset at https://id.example.org/reset2024", "Passwort vergessen?", "unzip -p archive2024.zip > x", "auth=(user, password)",
        "password of db12.example.org:5432", "http -a user:$PASS x", "mot de passe oublié", "passphrase: (none)", "WIFI:T:nopass;S:x;;",
    ],
)  # fmt: skip
def test_what_only_speaks_of_passwords_stays(text: str) -> None:
    """GRH-out-1"""
    assert cleaned(text) == text


def test_the_words_of_a_wallet_are_one_secret_where_they_are_called_so() -> None:
    """GRH-out-1"""
    words = "legal winner thank year wave sausage worth useful legal winner thank yellow"
    assert cleaned(f"mnemonic: {words}") == "mnemonic: *"
    assert cleaned(f"the winner: {words}") == f"the winner: {words}"


@pytest.mark.parametrize("row", [one for rows in ("commands", "anywhere", "options") for one in COMMANDS[rows]])  # fmt: skip
def test_the_password_of_each_command_in_the_data_is_found_in_its_example(
    row: dict[str, str],
) -> None:
    value = row.get("value", CHOSEN)
    before, _, after = row["example"].partition("{}")
    for text in (before + value + after, f"ok\n{before}{value}{after}\nok"):
        assert value not in cleaned(text)
    if "pattern" in row:
        found = Pattern(row["pattern"], captures=True).after((before + value + after).encode(), 0)
        assert found is not None
        assert found[1] == (len(before), len(before) + len(value))
