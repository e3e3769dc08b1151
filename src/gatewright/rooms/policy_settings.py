"""Makes the rooms' `Policy` from the settings under `[rooms]`: bounds, tokens, known participants, capabilities, topics and their members."""

from __future__ import annotations

from gatewright.config.rooms import Rooms
from gatewright.mcpx.topic import Bounds
from gatewright.rooms.policy import Known, Policy, Topic

__all__ = ["policy_of"]


def policy_of(rooms: Rooms) -> Policy:
    """What was configured, in the words of the rooms."""
    table = rooms.table
    known = {
        one.id: Known(
            one.id,
            rooms.capabilities(one.profile) if one.profile is not None else one.capabilities,
            one.mode,
            one.echo,
            one.topics,
        )
        for one in table.participants
    }
    return Policy(
        bounds=Bounds(
            message_bytes=table.message_bytes,
            messages_per_s=table.messages_per_s,
            burst=float(table.burst),
            bytes_per_s=table.bytes_per_s,
            burst_bytes=float(table.burst_bytes),
            participants=table.max_participants,
            strict_proposals=table.strict_proposals,
            violation_notice=table.violation_notice,
            presence_to_joiner=table.presence_to_joiner,
        ),
        tokens={bytes.fromhex(one): known[id] for one, id in rooms.tokens.items()},
        known=known,
        default=rooms.capabilities(table.default_profile),
        operators=rooms.capabilities(table.operator_profile),
        anonymous=rooms.capabilities(table.anonymous_profile) if table.anonymous_profile else None,
        mode=table.mode,
        echo=table.echo,
        topics={
            name: Topic(one.access or table.topic_access, one.members, one.max_participants)
            for name, one in table.topics.items()
        },
        topic_access=table.topic_access,
        reserved=tuple(one.name for one in (table.kernel, table.orchestrator) if one is not None),
        max_topics=table.max_topics,
        recorded=table.recorded,
        token_in_query=table.token_in_query,
        refusal=table.refusal,
    )
