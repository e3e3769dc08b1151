from __future__ import annotations

from tests.cli.shell import Shell


def test_who_is_known_is_whoever_has_a_key_a_host_or_a_word_of_the_configuration(
    shell: Shell,
) -> None:
    shell.write("mgp.toml", '[agents.writer]\nrole = "scribe"\n')
    operator = shell.run("key", "create", "root", "--operator").out.strip()
    words = ("--deny", "--allow-unknown", "--key", operator)
    for known in ("root", "writer", "cursor", "local", "anonymous", "*", "issuer:subject"):
        done = shell.run("grant", "add", known, "files", *words)
        assert (done.code, "is known" in done.err) == (0, False), known
    done = shell.run("grant", "add", "wirter", "files", *words)
    assert "no agent 'wirter' is known" in done.err
    assert "did you mean writer" in done.err
