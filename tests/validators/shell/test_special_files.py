"""tar, unzip, dd, ln, chmod, rsync, truncate."""

import pytest

from gatewright.validators.sandbox import prepare

INSPECT, DEVELOP = prepare({"allow": ["inspect"]}), prepare({"allow": ["develop"]})


@pytest.mark.parametrize("line", ["tar tf a.tar", "tar xOf a.tar b", "tar tzvf a.tgz", "unzip -l a.zip", "head -c 10 /dev/zero"])  # fmt: skip
def test_what_shows_passes(line: str) -> None:
    assert INSPECT.judge(line) is None


@pytest.mark.parametrize("line", ["tar xf a.tar", "tar cf a.tar b", "tar tf box:a", "tar f a", "tar xOf a.tar .env", "tar tf a -I sh", "unzip a.zip", "unzip -p a.zip .env", "head -c 1T /dev/zero", "dd if=/dev/zero"])  # fmt: skip
def test_what_unpacks_or_has_no_end_is_refused(line: str) -> None:
    assert INSPECT.judge(line) is not None


@pytest.mark.parametrize("line", ["tar xf a.tar -C b", "tar czf out/a.tgz src", "ln -s ../lib/a src/a", "chmod 755 a", "rsync -a --delete a/ b/", "truncate -s 0 a.log", "dd if=a of=b", "cp -r a b", "unzip -q a.zip -d b"])  # fmt: skip
def test_files_inside_are_changed(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize(
    "line",
    ["tar xf a.tar -C /", "tar cf box:a b", "tar cf a.tar -T names", "tar cf a.tar ~/.ssh", "ln -s ../x y", "ln -s /etc x", "chmod u+s a", "chmod 4755 a", "rsync -a --delete a/ ./",
     "rsync -a a box:b", "truncate -s 0 *", "dd if=a of=/x", "dd if=/etc/shadow of=x", "cp -r x/.git .", "mv a .claude", "unzip a.zip -d /"],
)  # fmt: skip
def test_others_are_not(line: str) -> None:
    assert DEVELOP.judge(line) is not None
