"""One configuration of every host, as its documentation writes it, and the servers that it means.

Expected servers are whole objects without their `source`. Texts hold made-up secrets on purpose: the
same samples show that none of them comes out again.
"""

from __future__ import annotations

from gatewright.hosts.model import Auth, Isolation, Server, Suggestion, Tools
from tests.hosts.agent_samples import AGENT_SAMPLES
from tests.hosts.sample import SECRETS, Sample

__all__ = ["SAMPLES"]

_GH, _LOW, _SK, _PASS = SECRETS

SAMPLES: dict[str, Sample] = {
    "claude-desktop": Sample(
        form="mcpServers",
        text=f"""{{
  "globalShortcut": "",
  "mcpServers": {{
    "filesystem": {{
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"]
    }},
    "github": {{
      "command": "docker",
      "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "mcp/github"],
      "env": {{"GITHUB_TOKEN": "{_GH}", "RETRIES": 3, "DEBUG": true}}
    }},
    "gone": {{"command": ""}}
  }}
}}""",
        servers=(
            Server(
                id="filesystem",
                transport="stdio",
                command="npx",
                args=("-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"),
            ),
            Server(
                id="github",
                transport="stdio",
                command="docker",
                args=("run", "-i", "--rm", "-e", "GITHUB_TOKEN", "mcp/github"),
                env={"GITHUB_TOKEN": _GH, "RETRIES": "3", "DEBUG": "true"},
            ),
        ),
        left=(("gone", "refused"),),
    ),
    "claude-code": Sample(
        form="claude-code",
        host="claude-code",
        text=f"""{{
  "numStartups": 12,
  "mcpServers": {{
    "sentry": {{"type": "http", "url": "https://mcp.sentry.dev/mcp"}},
    "api": {{
      "type": "http",
      "url": "${{API_BASE_URL:-https://api.example.com}}/mcp",
      "headers": {{"Authorization": "Bearer ${{API_KEY}}"}},
      "oauth": {{"clientId": "our-client", "callbackPort": 8080}}
    }},
    "scripted": {{"type": "http", "url": "https://a.example/mcp", "headersHelper": "/bin/token"}}
  }},
  "projects": {{
    "/home/me/shop": {{
      "allowedTools": [],
      "disabledMcpServers": ["db"],
      "mcpServers": {{
        "db": {{
          "type": "stdio",
          "command": "uvx",
          "args": ["postgres-mcp==0.3.0", "postgres://me:{_LOW}@db/shop"],
          "env": {{"LOG": "${{LOG_LEVEL:-info}}"}}
        }}
      }}
    }},
    "/home/me/empty": {{"mcpServers": {{}}}}
  }}
}}""",
        servers=(
            Server(id="sentry", transport="http", url="https://mcp.sentry.dev/mcp"),
            Server(
                id="api",
                transport="http",
                url="${API_BASE_URL:-https://api.example.com}/mcp",
                headers={"Authorization": "Bearer ${API_KEY}"},
                auth=Auth(client_id="our-client"),
            ),
            Server(
                id="db",
                transport="stdio",
                command="uvx",
                args=("postgres-mcp==0.3.0", f"postgres://me:{_LOW}@db/shop"),
                cwd="/home/me/shop",
                env={"LOG": "${LOG_LEVEL:-info}"},
                enabled=False,
            ),
        ),
        left=(("scripted", "refused"),),
    ),
    "vscode": Sample(
        form="vscode",
        workspace="/home/me/shop",
        text="""{
  // what VS Code asks for once
  "inputs": [
    {"type": "promptString", "id": "perplexity-key", "description": "API Key", "password": true},
    {"type": "promptString", "id": "region", "description": "Region", "default": "eu"},
    {"type": "command", "id": "picked", "command": "shellCommand.execute"},
  ],
  "servers": {
    "perplexity": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "server-perplexity-ask@1.0.0", "${workspaceFolder}/data"],
      "env": {"PERPLEXITY_API_KEY": "${input:perplexity-key}", "REGION": "${input:region}"},
      "envFile": "${workspaceFolder}/.env",
    },
    "fetch": {
      "type": "http",
      "url": "https://fetch.example/mcp", /* both */
      "headers": {"X-Home": "${env:SITE}"},
      "sandboxEnabled": true,
    },
    "local": {"type": "http", "url": "unix:///tmp/server.sock"},
    "executed": {"type": "stdio", "command": "${input:picked}"},
  },
}""",
        servers=(
            Server(
                id="perplexity",
                transport="stdio",
                command="npx",
                args=("-y", "server-perplexity-ask@1.0.0", "/home/me/shop/data"),
                cwd="/home/me/shop",
                env={"PERPLEXITY_API_KEY": "${secret:perplexity-key}", "REGION": "${REGION:-eu}"},
                env_file="/home/me/shop/.env",
            ),
            Server(
                id="fetch",
                transport="http",
                url="https://fetch.example/mcp",
                headers={"X-Home": "${SITE}"},
            ),
        ),
        left=(("local", "refused"), ("executed", "refused")),
    ),
    "vscode-settings": Sample(
        form="vscode",
        text="""{"editor.fontSize": 12, "mcp": {"inputs": [], "servers": {"a": {
            "type": "stdio", "command": "node", "args": ["a.js"],
            "sandboxEnabled": true,
            "sandbox": {"filesystem": {"allowWrite": ["/tmp/a"]}, "network": {"allowedDomains": ["api.example"]}}
        }}}}""",
        servers=(
            Server(
                id="a",
                transport="stdio",
                command="node",
                args=("a.js",),
                isolation=Isolation(network="hosts", hosts=("api.example",), write=("/tmp/a",)),
            ),
        ),
    ),
    "cursor": Sample(
        form="mcpServers",
        workspace="/home/me/shop",
        text="""{
  "mcpServers": {
    "tools": {
      "type": "stdio",
      "command": "python",
      "args": ["${workspaceFolder}/tools/mcp_server.py", "${workspaceFolderBasename}${/}x"],
      "env": {"API_KEY": "${env:API_KEY}", "AT": "${userHome}"}
    },
    "remote": {
      "url": "https://api.example/mcp",
      "auth": {"CLIENT_ID": "cursor-app", "CLIENT_SECRET": "${env:OAUTH_SECRET}", "scopes": ["read", "write"]}
    },
    "older": {"url": "https://old.example/sse"}
  }
}""",
        servers=(
            Server(
                id="tools",
                transport="stdio",
                command="python",
                args=("/home/me/shop/tools/mcp_server.py", "shop/x"),
                cwd="/home/me/shop",
                env={"API_KEY": "${API_KEY}", "AT": "${HOME}"},
            ),
            Server(
                id="remote",
                transport="http",
                url="https://api.example/mcp",
                auth=Auth(
                    client_id="cursor-app",
                    client_secret="${OAUTH_SECRET}",
                    scopes=("read", "write"),
                ),
            ),
            Server(id="older", transport="sse", url="https://old.example/sse"),
        ),
    ),
    "windsurf": Sample(
        form="windsurf",
        text=f"""{{
  "mcpServers": {{
    "remote": {{
      "serverUrl": "https://h.example/mcp?api_key={_LOW}",
      "headers": {{"X-Team": "${{env:TEAM}}"}},
      "disabledTools": ["drop_table"],
      "alwaysAllow": ["list_tables"],
      "disabled": true
    }},
    "reads": {{"command": "x", "env": {{"A": "${{file:/etc/passwd}}"}}}}
  }}
}}""",
        servers=(
            Server(
                id="remote",
                transport="http",
                url=f"https://h.example/mcp?api_key={_LOW}",
                headers={"X-Team": "${TEAM}"},
                enabled=False,
                tools=Tools(exclude=("drop_table",)),
            ),
        ),
        suggestions=(
            Suggestion(
                server="remote", tools=("list_tables",), key="mcpServers.remote.alwaysAllow"
            ),
        ),
        left=(("reads", "refused"),),
    ),
    **AGENT_SAMPLES,
}
