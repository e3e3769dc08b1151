"""Texts of hosts' files as people have them, for every syntax; and the hosts whose files they are."""

from __future__ import annotations

from gatewright.hosts.host_table import HOSTS, Host

__all__ = ["SAMPLES", "samples"]

_JSON = {
    "usual": '{\n  "KEY": {\n    "files": {\n      "command": "npx",\n      "args": ["-y", "x"]\n    }\n  },\n  "other": true\n}\n',
    "comments": '// mine\n{\n  /* all */\n  "KEY": {\n    // files\n    "files": { "command": "a" }, // end\n  },\n}\n',
    "comment after the last": '{\n  "KEY": {\n    "files": 1 // the last\n  } // servers\n}\n',
    "tabs": '{\n\t"a": 1,\n\t"KEY": {\n\t\t"files": {\n\t\t\t"command": "a"\n\t\t}\n\t}\n}\n',
    "CRLF": '{\r\n    "KEY": {\r\n        "files": {}\r\n    }\r\n}\r\n',
    "no final newline": '{\n  "KEY": {\n    "files": {}\n  }\n}',
    "empty container": '{\n  "KEY": {}\n}\n',
    "empty container over two lines": '{\n  "KEY": {\n  }\n}\n',
    "container of a comment": '{\n  "KEY": {\n    // none yet\n  }\n}\n',
    "missing container": '{\n    "theme": "dark",\n    "list": [1, 2]\n}\n',
    "empty object": "{}",
    "one line": '{"KEY":{"files":{"command":"a"}},"z":[1,{"b":null}]}',
    "one line, spaced": '{ "KEY": { "files": { "command": "a" } } }\n',
    "one line, missing container": '{"a":1}\n',
    "one line, line comment": '{"a": 1, "KEY": {"files": {} // x\n}}\n',
    "trailing comma on one line": '{"KEY":{"files":1,},}',
    "byte order mark": '\ufeff{\n  "KEY": {}\n}\n',
    "odd indentation": '{\n "a": 1,\n      "KEY":\n  {\n "files": {},\n\n }\n\n\n}\n\n',
    "container twice": '{\n  "KEY": {"old": {}},\n  "KEY": {\n    "files": {}\n  }\n}\n',
    "letters of the world": '{\n  "KEY": {\n    "файлы": "\\u00e9\\ud83d\\ude00 😀"\n  }\n}\n',
    "only a comment": "// nothing yet",
    "blank lines": "\n\n",
    "empty file": "",
    "members on the line of the brace": '{"a": 1,\n "KEY": {"files": 1,\n  "more": 2}}\n',
}
_TOML = {
    "usual": '# mine\nmodel = "o"\n\n[KEY.files]\ncommand = "npx" # runs\nargs = [\n  "-y",\n]\n\n[KEY.files.env]\nA = "1"\n',
    "another table last": '[KEY.files]\ncommand = "a"\n\n[tui]\ntheme = "dark"\n',
    "CRLF": '[KEY.files]\r\ncommand = "a"\r\n',
    "no final newline": 'model = "o"',
    "container table": "[KEY]\n",
    "inline container": 'KEY = { files = { command = "a" } } # here\nmodel = "o"\n',
    "dotted keys": 'KEY.files.command = "a"\n\n[tui]\nx = 1\n',
    "lines that look like tables": 'text = """\n[KEY.gatewright]\nurl = 1\n"""\n',
    "only a comment": "# nothing yet\n",
    "empty file": "",
    "missing container": 'model = "o"\n\n[[things]]\na = 1\n',
    "one line": "a = 1\n",
    "byte order mark": "\ufeffa = 1\n",
    "blank lines": "\n\n",
}
_YAML_MAP = {
    "usual": "# mine\nKEY: # all\n  # the files\n  files:\n    type: stdio\n    cmd: npx\n    args:\n      - -y\n# end\nGOOSE_MODEL: x\n",
    "four spaces": "KEY:\n    files:\n        type: stdio\n",
    "CRLF": "a: 1\r\nKEY:\r\n  files:\r\n    type: stdio\r\n",
    "no final newline": "KEY:\n  files:\n    type: stdio",
    "key at the end": "a: 1\nKEY:",
    "nothing in it": "KEY:\nb: 2\n",
    "empty braces": "a: 1\nKEY: {} # none\nb: 2\n",
    "braces": "KEY: {files: {type: stdio}}\n",
    "missing container": "a: 1\nb:\n  - 1\n",
    "one line": "a: 1",
    "block text last": "a: |\n  text\n  more\n",
    "only a comment": "# nothing yet\n",
    "empty file": "",
    "byte order mark": "\ufeffKEY:\n  files:\n    type: stdio\n",
    "document mark": "---\nKEY:\n  files:\n    type: stdio\n",
    "anchor": "KEY: &servers\n  files: &f\n    type: stdio\n  more: *f\n",
}
_YAML_LIST = {
    "usual": "name: Local\nversion: 1.0.0\nschema: v1\nKEY:\n  # one\n  - name: files\n    command: npx\nmodels: []\n",
    "not indented": "KEY:\n- name: files\n  command: npx\nmodels: []\n",
    "no final newline": "KEY:\n  - name: files\n    command: npx",
    "CRLF": "KEY:\r\n  - name: files\r\n    command: npx\r\n",
    "empty brackets": "KEY: []\nname: x\n",
    "brackets": 'KEY: [{name: files, command: "npx"}]\n',
    "nothing in it": "KEY:\nname: x\n",
    "missing container": "name: Local\nmodels:\n  - name: m\n",
    "only a comment": "# nothing yet\n",
    "empty file": "",
    "one line": "name: x",
}

SAMPLES = {"json": _JSON, "jsonc": _JSON, "toml": _TOML, "map": _YAML_MAP, "list": _YAML_LIST}


def samples() -> list[tuple[Host, str, str]]:
    """(host, what is special about it, text) for every host."""
    found = []
    for host in HOSTS.values():
        kind = host.syntax if host.syntax != "yaml" else "list" if host.listed else "map"
        key = host.container[0]
        found += [(host, what, text.replace("KEY", key)) for what, text in SAMPLES[kind].items()]
    return found
