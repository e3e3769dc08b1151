"""Tool servers: supervised connections, the server catalogue, dispatch of calls, tasks, subscriptions and server commands."""
