"""What `[servers.auth]` becomes."""

from __future__ import annotations

from pathlib import Path

from gatewright.config.build import build
from gatewright.config.documents import parse
from gatewright.oauth.client import Identity
from gatewright.servers.authorize import Bearer, OAuth
from gatewright.servers.settings_adapters import authorizers_of, spec_of
from gatewright.servers.spec import Auth

FILE = """\
[[servers]]
id = "oauth"
url = "https://h.example/mcp"
[servers.auth]
client_id = "me"
client_secret = "${SECRET}"
issuer = "https://as.example"
client_metadata_url = "https://me.example/client.json"
scopes = ["read"]

[[servers]]
id = "bearer"
url = "https://h.example/mcp"
[servers.auth]
bearer = "${SECRET}"

[[servers]]
id = "header"
url = "https://h.example/mcp"
headers = { Authorization = "${SECRET}" }

[[servers]]
id = "child"
command = "x"
"""


async def test_each_server_is_got_into_in_the_way_its_table_says(tmp_path: Path) -> None:
    document = parse(FILE, tmp_path / "mgp.toml")
    settings = build([document], {"SECRET": "s3cret"}, tmp_path / "state")
    specs = [spec_of(settings, server) for server in settings.servers]
    ours = Identity(
        "me", "s3cret", "https://as.example", "https://me.example/client.json", ("read",)
    )
    assert [spec.auth for spec in specs] == [
        Auth("oauth", ours),
        Auth("bearer", bearer="s3cret"),
        Auth("none"),
        Auth("oauth"),
    ]
    found = {name: type(one) for name, one in authorizers_of(settings, specs).items()}
    assert found == {"oauth": OAuth, "bearer": Bearer}
    assert "s3cret" not in repr(specs)
    assert not (tmp_path / "state").exists()
