"""MGP capability negotiation (§2): reads a peer's offer, agrees on version and extensions, announces the reply where the offer stood.

Stock SDKs lose `capabilities.mgp`, so peers built on them offer MGP under `experimental.mgp` or as an
extension; all three count the same (decisions C-11, C-50, rows MGP-2.*).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from gatewright.call import Mgp
from gatewright.patterns import Pattern

__all__ = [
    "AUDIT_WANTED",
    "EVENTS_WANTED",
    "EXTENSION",
    "EXTENSIONS",
    "LIFECYCLE_WANTED",
    "SECURITY_META",
    "VERSION",
    "Face",
    "Offer",
    "agree",
    "announce",
    "flaw_of",
    "read_offer",
]

VERSION = "0.2.0"
"""The version we advertise."""

EXTENSION = "dev.cloto/mgp"
"""MGP's identifier in MCP's `extensions` map."""

SECURITY_META = "dev.cloto/security"
"""Where a tool's `security` is mirrored in its `_meta`, for stacks that drop members they do not know (C-50)."""

AUDIT_WANTED = "dev.cloto/audit"
"""How the filter of a `subscriptions/listen` asks for `notifications/mgp.audit` (decision 0031)."""

EVENTS_WANTED = "dev.cloto/events"
"""How it asks for `notifications/mgp.event`: an object with the params of `mgp/events/subscribe`."""
LIFECYCLE_WANTED = "dev.cloto/lifecycle"
"""How the filter of a `subscriptions/listen` asks for `notifications/mgp.lifecycle`."""

EXTENSIONS = (
    "security",
    "access_control",
    "audit",
    "code_safety",
    "lifecycle",
    "streaming",
    "bidirectional",
    "discovery",
    "tool_discovery",
)
"""The nine standard extension names (§2.2)."""

# At most nine digits a number: `int` of a long one takes the square of its length.
_SEMVER = Pattern(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:[-+][0-9A-Za-z.+-]*)?")

Place = Literal["mgp", "experimental", "extensions"]


class Offer(msgspec.Struct, frozen=True):
    """What a peer offered. `problem` says why the offer does not count; then plain MCP goes on."""

    place: Place
    version: str = ""
    extensions: tuple[str, ...] = ()
    server_id: str | None = None
    trust_level: str | None = None
    permissions_required: tuple[str, ...] = ()
    problem: str = ""


class Face(msgspec.Struct, frozen=True):
    """What we say of ourselves as an MGP server; the optional members of §2.3 stay out when unset."""

    extensions: tuple[str, ...] = ()
    version: str = VERSION
    server_id: str | None = None
    trust_level: str | None = None
    permissions_required: tuple[str, ...] = ()


def read_offer(capabilities: Mapping[str, Any]) -> Offer | None:
    """The first MGP offer among a peer's capabilities, or None where it makes none."""
    if _PLACES.isdisjoint(capabilities):
        return None
    # The first that is there counts, flawed or not: another place must not say something else.
    for place, found in _places(capabilities):
        if found is not None:
            return _check(place, found)
    return None


_PLACES: frozenset[Place] = frozenset(("mgp", "experimental", "extensions"))


def _places(capabilities: Mapping[str, Any]) -> Iterable[tuple[Place, Any]]:
    yield "mgp", capabilities.get("mgp")
    experimental = capabilities.get("experimental")
    yield "experimental", experimental.get("mgp") if isinstance(experimental, dict) else None
    extensions = capabilities.get("extensions")
    yield "extensions", extensions.get(EXTENSION) if isinstance(extensions, dict) else None


def _check(place: Place, found: Any) -> Offer:
    if not isinstance(found, dict):
        return Offer(place, problem="the mgp capability must be an object")
    version = found.get("version")
    if not isinstance(version, str) or not _SEMVER.fullmatch(version):
        return Offer(place, problem="mgp.version must be a semantic version such as 0.2.0")
    names = found.get("extensions")
    if not isinstance(names, list) or not _strings(names):
        return Offer(place, problem="mgp.extensions must be an array of strings")
    server_id, trust = found.get("server_id"), found.get("trust_level")
    needs = found.get("permissions_required")
    return Offer(
        place,
        version,
        tuple(names),
        server_id if isinstance(server_id, str) else None,
        trust if trust in ("trusted", "standard", "sandboxed") else None,
        tuple(needs) if isinstance(needs, list) and _strings(needs) else (),
    )


def _strings(values: list[Any]) -> bool:
    return all(isinstance(one, str) for one in values)


def agree(offer: Offer | None, ours: Face) -> Mgp | None:
    """What is active on the connection: the intersection of extensions at the lower version.

    None where there was no usable offer or the major versions differ (§2.4); in 0.x every minor is
    taken to be compatible (C-11).
    """
    if offer is None or offer.problem:
        return None
    theirs, mine = _numbers(offer.version), _numbers(ours.version)
    if theirs[0] != mine[0]:
        return None
    active = tuple(name for name in ours.extensions if name in offer.extensions)
    return Mgp(offer.version if theirs < mine else ours.version, active, offer.place)


def flaw_of(offer: Offer | None, ours: Face) -> str:
    """Why an offer does not count; empty where there is none, or it does."""
    if offer is None or offer.problem:
        return "" if offer is None else offer.problem
    if _numbers(offer.version)[0] != _numbers(ours.version)[0]:
        return f"mgp.version is of another major version than {ours.version}"
    return ""


def _numbers(version: str) -> tuple[int, int, int]:
    found = _SEMVER.fullmatch(version)
    if found is None:
        raise ValueError(f"not a semantic version: {version!r}")
    return int(found[1]), int(found[2]), int(found[3])


def announce(capabilities: dict[str, Any], active: Mgp | None, face: Face) -> dict[str, Any]:
    """Our capabilities with the MGP reply put where the peer made its offer; unchanged without one."""
    if active is None:
        return capabilities
    body: dict[str, Any] = {"version": active.version, "extensions": list(active.extensions)}
    if face.permissions_required:
        body["permissions_required"] = list(face.permissions_required)
    if face.server_id is not None:
        body["server_id"] = face.server_id
    if face.trust_level is not None:
        body["trust_level"] = face.trust_level
    if active.place == "mgp":
        return {**capabilities, "mgp": body}
    key = "mgp" if active.place == "experimental" else EXTENSION
    return {**capabilities, active.place: {**capabilities.get(active.place, {}), key: body}}
