"""`NameOwners`: who registered each tool name, connected or not; indexes names that look alike, so that a new one is checked by look-up."""

from __future__ import annotations

from gatewright.schemas.lookalikes import keys

__all__ = ["NameOwners"]


class NameOwners:
    """Name → who answers for tools of it, or did last."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}
        self._alike: dict[str, dict[str, dict[str, None]]] = {}
        """How names look → owner → its names that look so."""

    def owner(self, name: str) -> str | None:
        """Whose a name is; None where it is nobody's."""
        return self._owners.get(name)

    def take(self, name: str, owner: str) -> None:
        """It is this owner's from now on."""
        if self._owners.get(name) == owner:
            return
        self.free(name)
        self._owners[name] = owner
        for key in keys(name):
            self._alike.setdefault(key, {}).setdefault(owner, {})[name] = None

    def free(self, name: str) -> None:
        """It is nobody's any more."""
        owner = self._owners.pop(name, None)
        if owner is None:
            return
        for key in keys(name):
            of = self._alike[key]
            of[owner].pop(name)
            if not of[owner]:
                del of[owner]
            if not of:
                del self._alike[key]

    def alike(self, name: str, owner: str) -> str:
        """A name of somebody else's than `owner` that reads as this one and is not the same; empty where there is none."""
        for key in keys(name):
            for other, names in self._alike.get(key, {}).items():
                found = next((one for one in names if one != name), "")
                if found and other != owner:
                    return found
        return ""
