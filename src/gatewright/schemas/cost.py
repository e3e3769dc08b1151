"""Estimates the worst-case cost of validating a value against a JSON Schema, before validation starts.

Theory: a schema of a kilobyte can ask for 2^60 evaluations (`anyOf` of two references to the next
definition, sixty times), a recursive one for exponentially many in the depth of the value, and a
check that has begun cannot be stopped. `weights(d)` are the costs of each kind (`keyword_costs`) along the worst path
through a value of depth `d`: a schema costs its own, what judges the same place is added, what judges
a place below is taken from depth `d - 1`, and of `properties` only the heaviest counts, because one
name has one. Times what the value has of each kind (`value_size`), this bounds the work.

`unevaluatedProperties` and `unevaluatedItems` ask once more which parts of the schema fit the place: they cost what it takes to
mark (`marks`) all that judges this place, which is validating each part and marking what is in it. So nested ones multiply.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gatewright.schemas.graph import Graph, Schema, UnusableSchema
from gatewright.schemas.keyword_costs import Costs, costs_of
from gatewright.schemas.value_size import size_of

__all__ = ["BUDGET", "Cost", "Load", "Weights", "cost_of"]

_ON_LOOP = 1_100_000
"""Evaluations for one value on the event loop, about 15 ms: one that does not fit is gone through three times to say why."""
_MOST = 2_000_000
"""Of a schema more along one path are never made; of its texts no more on the event loop, which hardly any value takes."""
BUDGET = 64_000_000
"""Evaluations for one value anywhere, about a second."""
VALUE_DEPTH = 128
"""Deeper values are not checked; requests may have 64 levels."""
_CHEAP = 16
"""Up to this weight a value within `limits.values` (50,000) stays within a dozen milliseconds, so it is not measured."""
_EDGES_EACH = 5
"""References and parts, for each subschema that a schema may have."""
_ROUNDS = 16
"""Levels that are weighed at once; more when a value is as deep."""
_CAP = 2**40
"""Growth is exponential, and sums of long integers would cost as much as what they are to prevent."""

_OPTION = 128
"""Evaluations for comparing two numbers of which one is no whole one of 64 bits: 2 µs."""
_EXACT_OPTION = 256
_EXACT = 32
"""Values that a number counts for that is compared as a decimal."""
_SAME_HASH = 16
"""Evaluations for comparing each two of such numbers."""
_WIDE = 3
_WIDE_GROUP = 1024
_BACKTRACKS = 20_000
_BACKTRACKED = 14
"""Characters that a backtracking pattern goes through again in the time of one evaluation."""


class Load(NamedTuple):
    """What validating one value may take."""

    work: int
    """Evaluations."""
    text: int
    """Evaluations for its texts, if the worst of them meet the worst patterns: true of hardly any."""
    errors: int
    """Errors that are made if nothing fits: 10 µs each."""

    @property
    def takes_long(self) -> bool:
        """Whether that is too much for the event loop."""
        return self.work > _ON_LOOP or self.work + self.text > _MOST


class Cost:
    """The costs of one schema. `cheap`: no value within the limits takes long."""

    __slots__ = ("_weights", "backtracks", "cheap", "gathers", "graph")

    def __init__(self, weights: Weights, graph: Graph) -> None:
        self._weights = weights
        self.graph = graph
        self.backtracks = False
        """Whether the patterns may go through a text again; known when they are compiled."""
        self.gathers = weights.gathers
        """Whether one error may hold the errors of many parts."""
        last = weights.last
        self.cheap = last is not None and _is_cheap(last)

    def load(self, value: Any) -> Load | None:
        """What validating a value may take; None where it is too deep to say."""
        size = size_of(value)
        weight = self._weights.at(size.depth)
        if weight is None:
            return None
        work = (size.values + _EXACT * size.exact) * weight.work
        work += _OPTION * size.numbers * weight.options
        work += _EXACT_OPTION * size.fractions * weight.whole_options
        alike = _WIDE * size.wide * min(size.wide, _WIDE_GROUP) + _SAME_HASH * size.exact**2
        work += alike * weight.unique
        text = size.chars * weight.chars
        if self.backtracks:
            again = min(size.longest, _BACKTRACKS) // _BACKTRACKED
            text += size.chars * weight.patterns * again
        return Load(work, text, size.values * weight.errors)


def _is_cheap(weight: Costs) -> bool:
    compares = weight.options or weight.whole_options or weight.unique or weight.patterns
    return not compares and max(weight.work, weight.chars) <= _CHEAP


def cost_of(schema: Schema, depth: int = 32, subschemas: int = 1000) -> Cost:
    """Measure a schema within the bounds of `Graph`.

    Raises `UnusableSchema`: out of bounds, or circular, or never affordable.
    """
    graph = Graph(schema, depth, subschemas)
    weights = Weights(graph, subschemas * _EDGES_EACH)
    first = weights.at(0)
    if first is None:
        raise UnusableSchema("would take too long to check, because its references multiply")
    return Cost(weights, graph)


class Weights:
    """The costs of a schema's root by the depth of a value, made as far as they are asked for."""

    __slots__ = (
        "_above",
        "_active",
        "_below",
        "_ends",
        "_marking",
        "_named",
        "_own",
        "_root",
        "_same",
        "found",
        "gathers",
    )

    def __init__(self, graph: Graph, edges: int) -> None:
        order = _in_order(graph, edges)
        at = {id(node): index for index, node in enumerate(order)}
        self._root = at[id(graph.root)]
        self._same = [_places(at, graph.same_place(node)) for node in order]
        self._below = [_places(at, graph.below(node)) for node in order]
        self._named = [
            [places for group in graph.one_of_below(node) if (places := _places(at, group))]
            for node in order
        ]
        self._marking = [
            "unevaluatedProperties" in node or "unevaluatedItems" in node for node in order
        ]
        self.gathers = any("anyOf" in node or "oneOf" in node for node in order)
        kinds = [*zip(*map(costs_of, order), strict=True)]
        self._own = kinds
        self._active = [any(kind) for kind in kinds]
        self._above = [[0] * len(order) for _ in kinds]
        self.found: list[Costs] = []
        self._ends: bool | None = None
        """Whether deeper values cost no more (True) or are not checked (False); None as long as nobody knows."""
        self._make(_ROUNDS)

    @property
    def last(self) -> Costs | None:
        """What a value of any depth costs; None where that grows without end, or is not known."""
        return self.found[-1] if self._ends else None

    def at(self, depth: int) -> Costs | None:
        """What a value of some depth costs; None where it is not checked."""
        self._make(depth + 1)
        if depth < len(self.found):
            return self.found[depth]
        return self.last

    def _make(self, rounds: int) -> None:
        while len(self.found) < min(rounds, VALUE_DEPTH) and self._ends is None:
            before = self._above
            self._above = [
                self._round(own, above) if active else above
                for own, above, active in zip(self._own, before, self._active, strict=True)
            ]
            costs = Costs(*(kind[self._root] for kind in self._above))
            if costs.work > _MOST:
                self._ends = False
                return
            self.found.append(costs)
            # A fixed point: deeper values cost no more at each place.
            if self._above == before:
                self._ends = True

    def _round(self, own: Sequence[int], above: list[int]) -> list[int]:
        """The costs of one kind at each schema for values one level deeper than those of `above`."""
        weights, marks = [0] * len(own), [0] * len(own)
        marked = any(self._marking)
        # In this order a node comes behind those that judge the same place: their weights of this round are there.
        for node, same in enumerate(self._same):
            total = own[node] + sum([above[one] for one in self._below[node]])
            for group in self._named[node]:
                total += max([above[one] for one in group])
            total += sum([weights[one] for one in same])
            if marked:
                marks[node] = min(total + sum([marks[one] for one in same]), _CAP)
                total += marks[node] if self._marking[node] else 0
            weights[node] = min(total, _CAP)
        return weights


def _in_order(graph: Graph, most: int) -> list[Schema]:
    """All reachable nodes, each after those that judge the same place. Raises `UnusableSchema` where more than `most` edges
    lead to them."""
    left = most
    order: list[Schema] = []
    begun: set[int] = set()
    done: set[int] = set()
    waiting = [graph.root]
    while waiting:
        stack = [waiting.pop()]
        while stack:
            node = stack[-1]
            if id(node) in done:
                stack.pop()
            elif id(node) in begun:
                stack.pop()
                done.add(id(node))
                order.append(node)
            else:
                begun.add(id(node))
                same, below = [*graph.same_place(node)], _down(graph, node)
                left -= len(same) + len(below)
                if left < 0:
                    raise UnusableSchema(f"refers to its own parts in more than {most:,} places")
                stack.extend(_unfinished(same, begun, done))
                waiting.extend(below)
    return order


def _unfinished(nodes: Iterable[Schema], begun: set[int], done: set[int]) -> list[Schema]:
    found = [node for node in nodes if id(node) not in done]
    # A cycle that never leaves its place in the value would be followed for ever, whatever the value is.
    if any(id(node) in begun for node in found):
        raise UnusableSchema("refers to itself without end")
    return found


def _down(graph: Graph, node: Schema) -> list[Schema]:
    found = list(graph.below(node))
    for group in graph.one_of_below(node):
        found.extend(group)
    return found


def _places(at: dict[int, int], nodes: Iterable[Schema]) -> list[int]:
    return [at[id(node)] for node in nodes]
