"""One configuration of every host, as its documentation writes it, and the servers that it means.

Expected servers are whole objects without their `source`. Texts hold made-up secrets on purpose: the
same samples show that none of them comes out again.
"""

from __future__ import annotations

from gatewright.hosts.model import Auth, Server, Suggestion, Timeouts, Tools
from tests.hosts.sample import SECRETS, Sample

__all__ = ["AGENT_SAMPLES"]

_GH, _LOW, _SK, _PASS = SECRETS

AGENT_SAMPLES: dict[str, Sample] = {
    "gemini": Sample(
        form="gemini",
        text="""{
  "theme": "GitHub",
  "mcp": {"allowed": ["py", "stream"], "excluded": ["stream"]},
  "mcpServers": {
    "py": {
      "command": "python", "args": ["-m", "server", "--at", "$REGION"], "cwd": "/srv/py",
      "env": {"DB": "$DB_URL/${DB_NAME}"}, "timeout": 15000, "trust": true,
      "includeTools": ["safe_tool"], "excludeTools": ["unsafe_tool"]
    },
    "stream": {"httpUrl": "http://localhost:3000/mcp", "headers": {"X": "1"}, "timeout": 5000},
    "events": {"url": "https://api.example/events"}
  }
}""",
        servers=(
            Server(
                id="py",
                transport="stdio",
                command="python",
                args=("-m", "server", "--at", "${REGION}"),
                cwd="/srv/py",
                env={"DB": "${DB_URL}/${DB_NAME}"},
                timeouts=Timeouts(call_s=15.0),
                tools=Tools(include=("safe_tool",), exclude=("unsafe_tool",)),
            ),
            Server(
                id="stream",
                transport="http",
                url="http://localhost:3000/mcp",
                headers={"X": "1"},
                timeouts=Timeouts(call_s=5.0),
                enabled=False,
            ),
            Server(id="events", transport="sse", url="https://api.example/events", enabled=False),
        ),
        suggestions=(Suggestion(server="py", tools=("*",), key="mcpServers.py.trust"),),
    ),
    "codex": Sample(
        form="codex",
        text=f"""model = "gpt"

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp@1.0.0", "${{NOT_REPLACED}}"]
env_vars = ["LOCAL_TOKEN", {{ name = "OTHER", source = "local" }}]
startup_timeout_sec = 20
tool_timeout_sec = 45.5

[mcp_servers.context7.env]
MY_TOKEN = "{_SK}"

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = {{ "X-Figma-Region" = "us-east-1" }}
env_http_headers = {{ "X-Team" = "TEAM" }}
enabled = false
enabled_tools = ["open", "shot"]
disabled_tools = ["shot"]
default_tools_approval_mode = "approve"
""",
        servers=(
            Server(
                id="context7",
                transport="stdio",
                command="npx",
                args=("-y", "@upstash/context7-mcp@1.0.0", "$${NOT_REPLACED}"),
                env={"MY_TOKEN": _SK, "LOCAL_TOKEN": "${LOCAL_TOKEN}", "OTHER": "${OTHER}"},
                timeouts=Timeouts(connect_s=20.0, call_s=45.5),
            ),
            Server(
                id="figma",
                transport="http",
                url="https://mcp.figma.com/mcp",
                headers={"X-Figma-Region": "us-east-1", "X-Team": "${TEAM}"},
                auth=Auth(bearer="${FIGMA_TOKEN}"),
                enabled=False,
                tools=Tools(include=("open", "shot"), exclude=("shot",)),
            ),
        ),
        suggestions=(
            Suggestion(
                server="figma", tools=("*",), key="mcp_servers.figma.default_tools_approval_mode"
            ),
        ),
    ),
    "opencode": Sample(
        form="opencode",
        text="""{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "everything": {
      "type": "local", "command": ["npx", "-y", "@modelcontextprotocol/server-everything@1.0.0"],
      "environment": {"MY_ENV": "{env:MY_VALUE}", "PLAIN": "${MY_VALUE}"}, "enabled": true, "timeout": 5000,
    },
    "jira": {"type": "remote", "url": "https://jira.example/mcp", "enabled": false,
             "headers": {"Authorization": "Bearer {env:JIRA_KEY}"}, "oauth": false},
    "filed": {"type": "local", "command": ["x"], "environment": {"K": "{file:~/.secrets/k}"}},
  },
}""",
        servers=(
            Server(
                id="everything",
                transport="stdio",
                command="npx",
                args=("-y", "@modelcontextprotocol/server-everything@1.0.0"),
                env={"MY_ENV": "${MY_VALUE}", "PLAIN": "$${MY_VALUE}"},
                timeouts=Timeouts(connect_s=5.0),
            ),
            Server(
                id="jira",
                transport="http",
                url="https://jira.example/mcp",
                headers={"Authorization": "Bearer ${JIRA_KEY}"},
                enabled=False,
            ),
        ),
        left=(("filed", "refused"),),
    ),
    "zed": Sample(
        form="zed",
        text="""{
  // Zed settings
  "ui_font_size": 16,
  "context_servers": {
    "own": {"source": "custom", "command": "some-command", "args": ["arg-1"], "env": {"A": "b"}},
    "older": {"source": "custom", "command": {"path": "/opt/x", "args": ["--stdio"], "env": {"B": "c"}}},
    "remote": {"url": "https://z.example/mcp", "headers": {"X-Mode": "k"}},
    "mcp-server-github": {"source": "extension", "enabled": true, "settings": {}},
  },
}""",
        servers=(
            Server(
                id="own",
                transport="stdio",
                command="some-command",
                args=("arg-1",),
                env={"A": "b"},
            ),
            Server(
                id="older", transport="stdio", command="/opt/x", args=("--stdio",), env={"B": "c"}
            ),
            Server(
                id="remote",
                transport="http",
                url="https://z.example/mcp",
                headers={"X-Mode": "k"},
            ),
        ),
        left=(("mcp-server-github", "skipped"),),
    ),
    "goose": Sample(
        form="goose",
        text="""GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  github:
    name: GitHub
    cmd: npx
    args: [-y, "@modelcontextprotocol/server-github@2025.4.8"]
    enabled: true
    envs: {MODE: "ro"}
    env_keys: [GITHUB_PERSONAL_ACCESS_TOKEN]
    available_tools: [list_issues]
    type: stdio
    timeout: 60
  remote:
    name: remote
    enabled: false
    type: streamable_http
    uri: https://g.example/mcp
    headers: {Authorization: "Bearer ${G_TOKEN}"}
    timeout: 30
""",
        servers=(
            Server(
                id="github",
                transport="stdio",
                command="npx",
                args=("-y", "@modelcontextprotocol/server-github@2025.4.8"),
                env={
                    "MODE": "ro",
                    "GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_PERSONAL_ACCESS_TOKEN}",
                },
                timeouts=Timeouts(call_s=60.0),
                tools=Tools(include=("list_issues",)),
            ),
            Server(
                id="remote",
                transport="http",
                url="https://g.example/mcp",
                headers={"Authorization": "Bearer ${G_TOKEN}"},
                timeouts=Timeouts(call_s=30.0),
                enabled=False,
            ),
        ),
        left=(("developer", "skipped"),),
    ),
    "continue": Sample(
        form="continue",
        text="""name: My Config
version: 0.0.1
schema: v1
defaults: &defaults
  type: stdio
  cwd: /srv
mcpServers:
  - name: SQLite MCP
    <<: *defaults
    command: npx
    args: [-y, mcp-sqlite@1.0.0, /path/to/db]
    env: {KEY: "${{ secrets.SQLITE_KEY }}"}
    connectionTimeout: 2500
  - name: remote
    type: streamable-http
    url: https://c.example/mcp
    apiKey: ${{ secrets.C_KEY }}
    requestOptions:
      headers: {X-Org: "${{ inputs.ORG }}"}
""",
        servers=(
            Server(
                id="SQLite-MCP",
                transport="stdio",
                command="npx",
                args=("-y", "mcp-sqlite@1.0.0", "/path/to/db"),
                cwd="/srv",
                env={"KEY": "${secret:SQLITE_KEY}"},
                timeouts=Timeouts(connect_s=2.5),
            ),
            Server(
                id="remote",
                transport="http",
                url="https://c.example/mcp",
                headers={"X-Org": "${ORG}"},
                auth=Auth(bearer="${secret:C_KEY}"),
            ),
        ),
    ),
    "lm-studio": Sample(
        form="mcpServers",
        text="""{"mcpServers": {"hf": {"url": "https://huggingface.co/mcp",
            "headers": {"Authorization": "Bearer hunter2canary"}, "timeout": 30000}}}""",
        servers=(
            Server(
                id="hf",
                transport="http",
                url="https://huggingface.co/mcp",
                headers={"Authorization": f"Bearer {_LOW}"},
                timeouts=Timeouts(call_s=30.0),
            ),
        ),
    ),
    "copilot": Sample(
        form="mcpServers",
        text="""{"mcpServers": {
  "all": {"type": "local", "command": "npx", "args": ["-y", "x@1.0.0"], "tools": ["*"], "env": {}},
  "some": {"type": "sse", "url": "https://c.example/sse", "tools": ["one", "two"], "headers": {}}
}}""",
        servers=(
            Server(id="all", transport="stdio", command="npx", args=("-y", "x@1.0.0")),
            Server(
                id="some",
                transport="sse",
                url="https://c.example/sse",
                tools=Tools(include=("one", "two")),
            ),
        ),
    ),
    "kiro": Sample(
        form="kiro",
        host="kiro",
        text="""{"mcpServers": {"docs": {"command": "uvx", "args": ["awslabs.docs@1.0.0"],
  "env": {"FASTMCP_LOG_LEVEL": "ERROR"}, "disabled": false, "timeout": 60000,
  "autoApprove": ["search", "read"], "disabledTools": ["admin"]}}}""",
        servers=(
            Server(
                id="docs",
                transport="stdio",
                command="uvx",
                args=("awslabs.docs@1.0.0",),
                env={"FASTMCP_LOG_LEVEL": "ERROR"},
                timeouts=Timeouts(call_s=60.0),
                tools=Tools(exclude=("admin",)),
            ),
        ),
        suggestions=(
            Suggestion(server="docs", tools=("search", "read"), key="mcpServers.docs.autoApprove"),
        ),
    ),
    "amp": Sample(
        form="amp",
        text="""{"amp.notifications.enabled": true, "amp.mcpServers": {
  "playwright": {"command": "npx", "args": ["-y", "@playwright/mcp@0.0.40"], "includeTools": ["navigate"]},
  "linear": {"url": "https://mcp.linear.app/mcp", "headers": {"X-Org": "${ORG}"}}
}}""",
        servers=(
            Server(
                id="playwright",
                transport="stdio",
                command="npx",
                args=("-y", "@playwright/mcp@0.0.40"),
                tools=Tools(include=("navigate",)),
            ),
            Server(
                id="linear",
                transport="http",
                url="https://mcp.linear.app/mcp",
                headers={"X-Org": "${ORG}"},
            ),
        ),
    ),
    "cline": Sample(
        form="cline",
        text="""{"mcpServers": {
  "weather": {"disabled": false, "timeout": 60, "type": "stdio", "command": "node",
              "args": ["/w/index.js", "--password", "letmein-canary"], "autoApprove": ["forecast"]},
  "far": {"type": "streamableHttp", "url": "https://far.example/mcp", "disabled": true, "timeout": 5, "autoApprove": []}
}}""",
        servers=(
            Server(
                id="weather",
                transport="stdio",
                command="node",
                args=("/w/index.js", "--password", _PASS),
                timeouts=Timeouts(call_s=60.0),
            ),
            Server(
                id="far",
                transport="http",
                url="https://far.example/mcp",
                timeouts=Timeouts(call_s=5.0),
                enabled=False,
            ),
        ),
        suggestions=(
            Suggestion(server="weather", tools=("forecast",), key="mcpServers.weather.autoApprove"),
        ),
    ),
    "roo": Sample(
        form="roo",
        text="""{"mcpServers": {"r": {"type": "streamable-http", "url": "https://r.example/mcp",
  "headers": {"X-Who": "${env:WHO}"}, "alwaysAllow": ["*"], "timeout": 120, "watchPaths": []}}}""",
        servers=(
            Server(
                id="r",
                transport="http",
                url="https://r.example/mcp",
                headers={"X-Who": "${WHO}"},
                timeouts=Timeouts(call_s=120.0),
            ),
        ),
        suggestions=(Suggestion(server="r", tools=("*",), key="mcpServers.r.alwaysAllow"),),
    ),
    "inspector": Sample(
        form="inspector",
        text="""{"mcpServers": {
  "new": {"type": "streamable-http", "url": "http://127.0.0.1:9000/mcp", "protocolEra": "modern", "modernLogLevel": "debug"},
  "old": {"command": "node", "args": ["old.js"], "protocolEra": "legacy", "roots": []},
  "any": {"command": "node", "args": ["any.js"], "protocolEra": "auto"}
}}""",
        servers=(
            Server(id="new", transport="http", url="http://127.0.0.1:9000/mcp", era="modern"),
            Server(id="old", transport="stdio", command="node", args=("old.js",), era="legacy"),
            Server(id="any", transport="stdio", command="node", args=("any.js",)),
        ),
    ),
}
