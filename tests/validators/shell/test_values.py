"""Hosts, packages, modules and variables."""

import pytest

from gatewright.validators.shell.values import (
    is_harmless_variable,
    is_local,
    is_metadata,
    is_module,
    is_package,
    is_project_setting,
    is_url,
    may_hold_metadata,
)

SPELLED = [
    "169.254.169.254", "169.254.43518", "169.16689662", "0251.0376.0251.0376", "0xa9.0xfe.0xa9.0xfe", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fd00:ec2::254]", "metadata.google.internal", "metadata", "100.100.100.200",
    "169.254.170.2", "169.254.169.254.nip.io", "a9fea9fe.x.example", "instance-data",
]  # fmt: skip


@pytest.mark.parametrize("host", SPELLED)
@pytest.mark.parametrize("form", ["{}", "http://{}/latest", "HTTP://user@{}:80/x", "{}:80/x"])
def test_metadata_is_known_in_every_spelling(host: str, form: str) -> None:
    assert is_metadata(form.format(host))


@pytest.mark.parametrize("url", ["https://x.example/", "localhost:3000", "127.0.0.1", "10.0.0.1", "1.2.3.4", "https://x.example/169.254.169.254"])  # fmt: skip
def test_other_hosts_are_not(url: str) -> None:
    assert not is_metadata(url)


def test_a_text_may_hold_such_an_address() -> None:
    assert may_hold_metadata("--url=http://169.254.169.254/")
    assert not may_hold_metadata("--port=16925")
    assert not may_hold_metadata("plain")


@pytest.mark.parametrize("url", ["localhost", "http://127.0.0.1:3000/x", "https://[::1]:80", "0.0.0.0:1", "a.localhost"])  # fmt: skip
def test_this_machine_is_local(url: str) -> None:
    assert is_local(url)


@pytest.mark.parametrize("url", ["localhost.x.example", "http://127.0.0.1@x.example/", "x.example/localhost", "http://x.example#localhost"])  # fmt: skip
def test_nothing_else_is(url: str) -> None:
    assert not is_local(url)


def test_addresses_of_the_web_are_urls() -> None:
    assert is_url("https://x.example")
    assert is_url("x.example/a")
    assert is_url("git@x.example:a/b")
    assert not any(map(is_url, ["file:///etc/x", "ext::sh -c id", "/etc/x", "../x", "telnet://x"]))


@pytest.mark.parametrize("text", ["lodash", "@types/node@^20", "typescript@5", "requests==2.1", "a>=1,<2", "x[dev]", ".", "./packages/a"])  # fmt: skip
def test_packages_have_plain_names(text: str) -> None:
    assert is_package(text, of="npm install") or is_package(text, of="pip install")


@pytest.mark.parametrize("text", ["x@npm:evil", "github:a/b", "a/b", "https://x.example/a.tgz", "git+ssh://x/a", "file:../x", "../x", "/x", "a@../x"])  # fmt: skip
def test_nothing_else_is_a_package_of_node(text: str) -> None:
    assert not is_package(text, of="npm install")


def test_a_file_inside_is_a_package_of_python() -> None:
    assert is_package("dist/a-1.0.whl", of="pip install")
    assert not is_package("../a.whl", of="pip install")


def test_modules_are_paths_without_a_scheme() -> None:
    assert all(map(is_module, ["golang.org/x/tools@v0.1", "./...", "phpunit/phpunit:^10", "."]))
    assert not any(map(is_module, ["https://x.example/a", "../x", "a b"]))


@pytest.mark.parametrize("variable", ["NODE_ENV=test", "FOO=1", "CI=true", "PORT=3000", "PYTHONPATH=src", "CC=clang", "GOFLAGS=-mod=mod"])  # fmt: skip
def test_settings_of_a_program_are_harmless(variable: str) -> None:
    assert is_harmless_variable(variable, writes=True)


@pytest.mark.parametrize(
    "variable",
    ["PATH=.", "LD_PRELOAD=x.so", "NODE_OPTIONS=--require=x", "GIT_SSH_COMMAND=id", "BASH_ENV=x", "PYTHONSTARTUP=x", "PYTHONPATH=../x", "EDITOR=vi", "FOO=/x", "http_proxy=x",
     "HOME=x", "GIT_DIR=x", "PERL5OPT=x", "PIP_INDEX_URL=x", "CC=x", "MAKEFLAGS=x"],
)  # fmt: skip
def test_what_names_code_is_not(variable: str) -> None:
    assert not is_harmless_variable(variable, writes=True)


def test_inspection_takes_few_variables() -> None:
    assert is_harmless_variable("LANG=C", writes=False)
    assert not is_harmless_variable("FOO=1", writes=False)
    assert not is_harmless_variable("PYTHONPATH=src", writes=False)


def test_a_setting_behind_make_is_plain() -> None:
    assert is_project_setting("V=1")
    assert is_project_setting("BUILD=build/x")
    assert not any(
        map(is_project_setting, ["CC=../x", "SHELL=sh", "X=/tmp/x", "X=$(id)", "DESTDIR=x"])
    )
