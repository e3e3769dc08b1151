"""Tool servers: supervised connections, what they offer, and whose call goes where.

`supervisor` has all servers, `server_set` those of one configuration, `server` one, `reconnector` one connection through its
losses; `permission_admission` lets a server in once it holds its permissions, `relisting` compares what it lists after a reconnection.
`dispatch` finds the server of a call, `session_affinity` its connection, `call_sender` leads the call over it. `server_catalogue`
is what one server offers, `catalogue` what all do (its texts: `list_cache`), `view` what one profile shows of it under which
`names`; `uri_owners` says which server a resource URI belongs to (by `uri_claims`, `resource_links`, `uri_templates`), `reserved_names` and
`last_heard` keep the names and URIs of servers that are away, `origin` tells what stands behind an id. `subscriptions` (with `log_levels`, `resource_subscriptions`, `listen_request`,
`subscription_counts`) tells each connection what clients want to hear; `notifications` brings it back to them. `task_owners`,
`task_store`, `task_methods`, `task_names`, `task_screening`: tasks that servers made, and whose each is. `server_screen` cleans what a
server says (`elicitation`, `form_check`, `secret_words`, `gateway_url_check`, `reserved_meta`, `cache_scope`). `authorize` logs in at
protected servers, `openapi/` makes a server of an HTTP API, `python_server` of Python functions.
"""
