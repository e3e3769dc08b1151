"""HTML page at `/docs` of the REST endpoint: lists the caller's tools and lets a person call them from the browser.

It loads nothing from anywhere: its style and its script stand in it, and its policy names them by their
digests, so that not even a tool's description could bring another one in. What tools say of themselves
is written as text, by us and by the script alike. Without the script the page still shows each tool, its
schema and how to call it; a key that is typed in stays in the page.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import Any
from urllib.parse import quote

__all__ = ["api_page"]

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
details{border:1px solid #bbb;border-radius:.3rem;margin:.6rem 0;padding:.3rem .8rem}
summary{cursor:pointer;font-weight:600;font-family:ui-monospace,monospace}
pre,textarea,input{font:14px/1.4 ui-monospace,monospace;width:100%;box-sizing:border-box}
pre{background:#f3f3f3;padding:.6rem;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere}
textarea{min-height:6rem}
button{font:inherit;padding:.2rem 1rem;margin:.4rem 0}
@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#181818}pre{background:#262626}}
"""

_SCRIPT = """
'use strict';
const key = document.getElementById('key');
const list = document.getElementById('tools');
const say = document.getElementById('say');
const make = (kind, text) => {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  return made;
};
const headers = () => key.value ? {authorization: 'Bearer ' + key.value.trim()} : {};
const call = async (name, text, shown) => {
  shown.textContent = '…';
  try {
    const answer = await fetch('tools/' + encodeURIComponent(name), {
      method: 'POST', credentials: 'omit', body: text,
      headers: {...headers(), 'content-type': 'application/json'}});
    const body = await answer.text();
    let told = body;
    try { told = JSON.stringify(JSON.parse(body), null, 2); } catch (no) { /* as it came */ }
    shown.textContent = 'HTTP ' + answer.status + '\\n' + told;
  } catch (problem) { shown.textContent = String(problem); }
};
const show = tool => {
  const box = make('details');
  box.append(make('summary', tool.name), make('p', tool.description));
  box.append(make('pre', JSON.stringify(tool.inputSchema, null, 2)));
  const label = make('label', 'Arguments');
  const given = make('textarea');
  given.value = '{}';
  label.append(given);
  const run = make('button', 'Call');
  const shown = make('pre', '');
  shown.setAttribute('aria-live', 'polite');
  run.addEventListener('click', () => call(tool.name, given.value, shown));
  box.append(label, run, shown);
  return box;
};
const load = async () => {
  const answer = await fetch('tools', {headers: headers(), credentials: 'omit'});
  const body = await answer.json();
  if (!answer.ok) { say.textContent = body.error.data.reason; list.replaceChildren(); return; }
  say.textContent = body.tools.length + ' tools';
  list.replaceChildren(...body.tools.map(show));
};
document.getElementById('open').hidden = false;
document.getElementById('open').addEventListener('submit', event => { event.preventDefault(); load(); });
load();
"""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Tools</title><style>{style}</style></head><body>
<h1>Tools</h1>
<p>What the caller may call here. For programs: <a href="openapi.json">openapi.json</a>.</p>
<form id="open" hidden><label>Key <input id="key" type="password" autocomplete="off"></label>
<button>Show what it may call</button></form>
<p id="say" role="status">{said}</p>
<div id="tools">{tools}</div>
<script>{script}</script></body></html>
"""


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


_HEADERS = (
    (
        b"content-security-policy",
        (
            f"default-src 'none'; style-src {_digest(_STYLE)}; script-src {_digest(_SCRIPT)}; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ).encode(),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


def api_page(
    tools: Sequence[Mapping[str, Any]], *, known: bool
) -> tuple[bytes, tuple[tuple[bytes, bytes], ...]]:
    """The page and its headers. `tools` are decoded definitions; `known` says whether it is known who
    asks, without which there are none."""
    said = f"{len(tools)} tools" if known else "Type in a key, or send Authorization: Bearer KEY."
    page = _PAGE.format(
        style=_STYLE, script=_SCRIPT, said=said, tools="".join(_tool(one) for one in tools)
    )
    return page.encode(), _HEADERS


def _tool(tool: Mapping[str, Any]) -> str:
    name = str(tool["name"])
    schema = json.dumps(tool.get("inputSchema", {}), indent=2, ensure_ascii=False, default=float)
    path = quote(name, safe="")
    line = f"curl -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' -d '{{}}' …/tools/{path}"
    return (
        f"<details><summary>{escape(name)}</summary><p>{escape(str(tool.get('description', '')))}</p>"
        f"<pre>{escape(schema)}</pre><pre>{escape(line)}</pre></details>"
    )
