"""Registry of reader functions for programs whose arguments are a language of their own (find, sed, docker run, curl, SQL clients).

`SPECIALS` read all words of a command; `PREPARES` take words out before options are read; `CHECKS` look at options and operands that were
read by the table, and say which operands are left for it to judge. Each is known by the word `special` of an entry, or its first name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gatewright.validators.shell import special_asking as asking
from gatewright.validators.shell import special_databases as databases
from gatewright.validators.shell import special_files as files
from gatewright.validators.shell import special_host as host
from gatewright.validators.shell import special_running as running
from gatewright.validators.shell import special_texts as texts
from gatewright.validators.shell.call import Call
from gatewright.validators.shell_syntax import Word

__all__ = ["CHECKS", "PREPARES", "SPECIALS"]

Special = Callable[[Call], bool]

Check = Callable[[Call], list[Word]]

PREPARES: Mapping[str, Check] = {
    "jq": texts.named_values,
    "fd": running.fd,
    "xxd": files.xxd,
    "tree": files.tree,
    "uniq": files.ended,
    "git-config": files.ended,
}
"""What takes words out before options are read."""

SPECIALS: Mapping[str, Special] = {
    "find": running.find,
    "python-module": running.python_module,
    "xargs": running.xargs,
    "env": running.env,
    "cd": running.cd,
    "test": running.test,
    "ip": host.ip,
    "command": running.command,
    "tar": files.tar,
    "ps": host.ps,
    "kill": running.kill,
    "echo": texts.echo,
}

CHECKS: Mapping[str, Check] = {
    "sed": texts.sed,
    "awk": texts.awk,
    "jq": texts.jq,
    "yq": texts.yq,
    "date": host.date,
    "sleep": host.sleep,
    "seq": host.seq,
    "set": host.shown,
    "pkill": host.pkill,
    "ping": host.ping,
    "interval": host.interval,
    "make": running.make,
    "less": texts.less,
    "printf": texts.printf,
    "curl": asking.curl,
    "git-remote": asking.git_remote,
    "git log": asking.git_log,
    "docker inspect": running.docker_inspect,
    "pdftotext": files.pdftotext,
    "git-config": asking.git_config,
    "sqlite": databases.sqlite,
    "zip": files.archive,
    "head": files.head,
    "tail": files.head,
    "cp": files.copied,
    "mv": files.copied,
    "rsync": files.rsync,
    "truncate": files.truncate,
    "named": host.named,
    "numbers": host.numbers,
    "top": host.top,
    "sysctl": host.sysctl,
    "docker-run": running.docker_run,
    "sql": databases.sql,
    "dd": files.dd,
    "ln": files.ln,
    "chmod": files.rights,
    "install": files.rights,
    "mkdir": files.rights,
}
