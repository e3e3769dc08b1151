"""MGP §13: event subscriptions with replay, events of MGP servers passed on, and callbacks that servers ask callers in mid-call.

Begin with `channels` (what can be heard, and which records of the audit trail it is made of), then `subscriptions` (who hears it),
`server_events` (what servers add) with `event_rate` (how much of it), `methods` (`mgp/events/…`) and `callbacks` (`mgp/callback/respond`).
"""
