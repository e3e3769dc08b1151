"""Formats that are no host's file: registry, bundles, Docker's catalogue, and our own."""

from __future__ import annotations

from gatewright.hosts.model import Isolation, Server, Suggestion, Timeouts, Tools
from tests.hosts.sample import SECRETS, Sample

__all__ = ["BUNDLES", "MANIFEST", "MORE_SAMPLES"]

BUNDLES = "/state/bundles"
_GH = SECRETS[0]
_IMAGE = (
    "ghcr.io/github/github-mcp-server@sha256:"
    "a1d43076a36638ee24520fd6e83c3905ae41bc9850179081df1de2ba3a7afae0"
)

_PACKAGE = """{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "io.github.example/weather",
  "title": "Weather",
  "description": "Weather data",
  "version": "0.5.0",
  "packages": [{
    "registryType": "pypi", "identifier": "weather-mcp-server", "version": "0.5.0", "runtimeHint": "uvx",
    "transport": {"type": "stdio"},
    "packageArguments": [
      {"type": "named", "name": "--units", "default": "celsius"},
      {"type": "named", "name": "--verbose"},
      {"type": "named", "name": "--port", "format": "number"},
      {"type": "positional", "valueHint": "station", "isRequired": true}
    ],
    "environmentVariables": [
      {"name": "WEATHER_API_KEY", "isRequired": true, "isSecret": true},
      {"name": "CACHE", "default": "/tmp/cache"},
      {"name": "OPTIONAL", "description": "left out"}
    ]
  }]
}"""

_WEATHER = Server(
    id="weather",
    title="Weather",
    transport="stdio",
    command="uvx",
    args=("weather-mcp-server==0.5.0", "--units", "celsius", "--verbose", "${STATION}"),
    env={"WEATHER_API_KEY": "${secret:weather.WEATHER_API_KEY}", "CACHE": "/tmp/cache"},
)

MANIFEST = """{
  "manifest_version": "0.3",
  "name": "local-files",
  "display_name": "Local Files",
  "version": "1.2.0",
  "author": {"name": "Somebody"},
  "server": {
    "type": "node",
    "entry_point": "server/index.js",
    "mcp_config": {
      "command": "node",
      "args": ["${__dirname}/server/index.js", "${user_config.folders}", "--out=${DOCUMENTS}${/}x"],
      "env": {"API_KEY": "${user_config.api_key}", "LEVEL": "${user_config.level}", "MUST": "${user_config.must}"},
      "platform_overrides": {"win32": {"command": "node.exe"}, "linux": {"env": {"ON": "linux"}}}
    }
  },
  "user_config": {
    "folders": {"type": "directory", "multiple": true, "default": ["${HOME}/Desktop", "/srv"]},
    "api_key": {"type": "string", "sensitive": true, "required": true},
    "level": {"type": "number", "default": 3},
    "must": {"type": "string", "required": true}
  },
  "tools": [{"name": "read"}],
  "compatibility": {"platforms": ["linux", "darwin", "win32"]}
}"""

MORE_SAMPLES: dict[str, Sample] = {
    "server.json": Sample(form="server.json", text=_PACKAGE, servers=(_WEATHER,)),
    "registry-api": Sample(
        form="server.json",
        text=f'{{"server": {_PACKAGE}, "_meta": {{"io.modelcontextprotocol.registry/official": {{"status": "active"}}}}}}',
        servers=(_WEATHER,),
    ),
    "registry-list": Sample(
        form="server.json",
        text=f'{{"servers": [{{"server": {_PACKAGE}, "_meta": {{}}}}], "metadata": {{"count": 1}}}}',
        servers=(_WEATHER,),
    ),
    "server.json-2025-07": Sample(
        form="server.json",
        text="""{
  "name": "io.modelcontextprotocol/filesystem",
  "description": "Files",
  "version_detail": {"version": "1.0.2"},
  "packages": [{
    "registry_type": "oci", "identifier": "mcp/filesystem", "version": "1.0.2",
    "runtime_arguments": [{
      "type": "named", "name": "--mount", "value": "type=bind,src={source_path},dst={target_path}",
      "is_required": true,
      "variables": {"source_path": {"format": "filepath", "is_required": true}, "target_path": {"default": "/project"}}
    }],
    "package_arguments": [{"type": "positional", "value_hint": "target_dir", "value": "/project"}],
    "environment_variables": [{"name": "LOG_LEVEL", "default": "info"}]
  }]
}""",
        servers=(
            Server(
                id="filesystem",
                transport="stdio",
                command="docker",
                args=(
                    "run",
                    "-i",
                    "--rm",
                    "--mount",
                    "type=bind,src=${SOURCE_PATH},dst=/project",
                    "-e",
                    "LOG_LEVEL",
                    "mcp/filesystem:1.0.2",
                    "/project",
                ),
                env={"LOG_LEVEL": "info"},
            ),
        ),
    ),
    "server.json-remote": Sample(
        form="server.json",
        text="""{
  "name": "com.example/hybrid", "description": "Both", "version": "1.5.0",
  "packages": [{"registryType": "npm", "identifier": "@example/hybrid", "version": "1.5.0"}],
  "remotes": [
    {"type": "sse", "url": "https://h.example/sse"},
    {"type": "streamable-http", "url": "https://{tenant}.h.example/mcp",
     "variables": {"tenant": {"description": "Yours", "isRequired": true}},
     "headers": [
       {"name": "Authorization", "value": "Bearer {token}", "isSecret": true},
       {"name": "X-Region", "default": "us-east-1"},
       {"name": "X-Optional"}
     ]}
  ]
}""",
        servers=(
            Server(
                id="hybrid",
                transport="http",
                url="https://${TENANT}.h.example/mcp",
                headers={
                    "Authorization": "Bearer ${secret:hybrid.token}",
                    "X-Region": "us-east-1",
                },
            ),
        ),
    ),
    "docker-entry": Sample(
        form="docker",
        text="""name: github-official
title: GitHub Official
type: server
image: ghcr.io/github/github-mcp-server@sha256:a1d43076a36638ee24520fd6e83c3905ae41bc9850179081df1de2ba3a7afae0
description: Official GitHub MCP server
user: "1000:1000"
volumes: ["{{github.folder}}:/data:ro"]
command: [stdio]
secrets:
  - name: github.personal_access_token
    env: GITHUB_PERSONAL_ACCESS_TOKEN
    example: <YOUR_TOKEN>
env:
  - name: ENDPOINT
    value: "{{github.endpoint}}"
  - name: MODE
    value: "${literal}"
config:
  - name: github
    type: object
    properties:
      endpoint: {type: string, default: api.github.com}
      folder: {type: string}
allowHosts: ["api.github.com:443"]
""",
        servers=(
            Server(
                id="github-official",
                title="GitHub Official",
                transport="stdio",
                command="docker",
                args=(
                    *("run", "--rm", "-i", "--init", "-u", "1000:1000"),
                    *("-v", "${GITHUB_FOLDER}:/data:ro"),
                    *("-e", "ENDPOINT", "-e", "MODE", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN"),
                    _IMAGE,
                    "stdio",
                ),
                env={
                    "ENDPOINT": "${GITHUB_ENDPOINT:-api.github.com}",
                    "MODE": "$${literal}",
                    "GITHUB_PERSONAL_ACCESS_TOKEN": "${secret:github.personal_access_token}",
                },
                isolation=Isolation(network="hosts", hosts=("api.github.com:443",)),
            ),
        ),
    ),
    "docker-catalogue": Sample(
        form="docker",
        text="""version: 2
name: docker-mcp
registry:
  cloudflare-docs:
    title: Cloudflare Docs
    type: remote
    remote: {transport_type: sse, url: "https://docs.mcp.cloudflare.com/sse"}
  sealed:
    title: Sealed
    type: server
    image: mcp/sealed
    disableNetwork: true
  curl:
    title: Curl
    type: poci
    tools: [{name: curl}]
  named: {ref: ""}
""",
        servers=(
            Server(
                id="cloudflare-docs",
                title="Cloudflare Docs",
                transport="sse",
                url="https://docs.mcp.cloudflare.com/sse",
            ),
            Server(
                id="sealed",
                title="Sealed",
                transport="stdio",
                command="docker",
                args=("run", "--rm", "-i", "--init", "--network", "none", "mcp/sealed"),
                isolation=Isolation(network="none"),
            ),
        ),
        left=(("curl", "refused"), ("named", "skipped")),
    ),
    "docker-profile": Sample(
        form="docker",
        text="""id: dev
name: dev
servers:
  - type: image
    image: mcp/fetch
    snapshot:
      server: {name: fetch, title: Fetch, type: server, image: "mcp/fetch"}
""",
        servers=(
            Server(
                id="fetch",
                title="Fetch",
                transport="stdio",
                command="docker",
                args=("run", "--rm", "-i", "--init", "mcp/fetch"),
            ),
        ),
    ),
    "mgp": Sample(
        form="mgp",
        text=f"""# an MGP file, section 15.2
[[servers]]
id = "filesystem"
command = "npx"
args = ["-y", "@example/mgp-server-filesystem@1.0.0"]
transport = "stdio"
default_policy = "opt-out"
call_timeout_s = 12.5

[servers.mgp]
extensions = ["permissions", "tool_security"]
permissions_required = ["filesystem.read"]
trust_level = "standard"
restart_policy = "on_failure"

[servers.env]
ROOT = "${{DATA_ROOT}}"
TOKEN = "{_GH}"

[servers.tools.delete_file]
enabled = false

[servers.tools.write_file]
confirmation_required = true
risk_level = "safe"

[[servers]]
id = "remote"
url = "https://mgp.example/mcp"
era = "modern"
share = "session"

[[servers]]
id = "trusted"
command = "x"
[servers.mgp]
trust_level = "trusted"

[[servers]]
id = "executed"
command = "${{cmd: id}}"

[[grants]]
agent = "*"
server = "filesystem"
""",
        servers=(
            Server(
                id="filesystem",
                transport="stdio",
                command="npx",
                args=("-y", "@example/mgp-server-filesystem@1.0.0"),
                env={"ROOT": "${DATA_ROOT}", "TOKEN": _GH},
                timeouts=Timeouts(call_s=12.5),
                tools=Tools(exclude=("delete_file",)),
                mgp={
                    "extensions": ["permissions", "tool_security"],
                    "trust_level": "standard",
                    "restart_policy": "on_failure",
                },
                native={"tools": {"write_file": {"confirmation_required": True}}},
            ),
            Server(
                id="remote",
                transport="http",
                url="https://mgp.example/mcp",
                era="modern",
                native={"share": "session"},
            ),
            Server(id="trusted", transport="stdio", command="x", mgp={}),
        ),
        suggestions=(
            Suggestion(server="filesystem", tools=("*",), key="servers.0.default_policy"),
        ),
        left=(("executed", "refused"),),
    ),
}
