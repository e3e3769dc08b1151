"""Estimates the worst-case cost of validating a value against a JSON Schema, before validation starts.

Theory: a schema of a kilobyte can ask for 2^60 evaluations (`anyOf` of two references to the next
definition, sixty times), a recursive one for exponentially many in the depth of the value, and a
check that has begun cannot be stopped. `weight[d]` is the number of evaluations along the worst path
through a value of depth `d`: a schema costs one, what judges the same place is added, what judges
a place below is taken from `weight[d - 1]`, and of `properties` only the heaviest counts, because one
name has one. Times the number of places in the value, this bounds the work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gatewright.schemas.graph import Graph, Schema, UnusableSchema

__all__ = ["BUDGET", "Cost", "affordable", "cost_of"]

BUDGET = 2_000_000
"""Evaluations for one value, about 30 ms."""
VALUE_DEPTH = 128
"""Deeper values are not checked; requests may have 64 levels."""
_CHEAP = 16
"""Up to this weight a value within `limits.values` (50,000) stays within the budget, so it is not measured."""
_DIVISION = 500
"""What `multipleOf` counts for: it is exact, so a number with a large exponent takes 25 µs."""


class Cost:
    """`weight[d]`: evaluations at most along one path through a value of depth `d`.

    Beyond the end of the list the last weight holds when `bounded`, and nothing may be checked when not.
    """

    __slots__ = ("bounded", "cheap", "graph", "weight")

    def __init__(self, weight: list[int], bounded: bool, graph: Graph) -> None:
        self.weight = weight
        self.bounded = bounded
        self.graph = graph
        self.cheap = bounded and weight[-1] <= _CHEAP


def affordable(cost: Cost, value: Any) -> bool:
    """Whether the value can be checked within the budget."""
    if cost.cheap:
        return True
    places, depth = _measure(value)
    # Weights end where they stop growing (`bounded`) or pass the budget: then no value as deep as this is checked.
    if depth >= len(cost.weight):
        if not cost.bounded:
            return False
        depth = -1
    return places * cost.weight[depth] <= BUDGET


def cost_of(schema: Schema, depth: int = 32, subschemas: int = 1000) -> Cost:
    """Measure a schema within the bounds of `Graph`.

    Raises `UnusableSchema`: out of bounds, or circular, or never affordable.
    """
    graph = Graph(schema, depth, subschemas)
    order = _in_order(graph)
    at = {id(node): index for index, node in enumerate(order)}
    same = [_places(at, graph.same_place(node)) for node in order]
    below = [_places(at, graph.below(node)) for node in order]
    named = [[_places(at, group) for group in graph.one_of_below(node)] for node in order]
    root = at[id(schema)]
    own = [_DIVISION if "multipleOf" in node else 1 for node in order]
    found: list[int] = []
    weights = [0] * len(order)
    for _ in range(VALUE_DEPTH):
        above, weights = weights, [0] * len(order)
        # In this order a node comes behind those that judge the same place: their weights of this round are there.
        for node in range(len(order)):
            down = sum(above[one] for one in below[node])
            down += sum(max((above[one] for one in group), default=0) for group in named[node])
            total = own[node] + down + sum(weights[one] for one in same[node])
            # Capped: growth is exponential, and sums of long integers would cost as much as what they are to prevent.
            weights[node] = min(total, BUDGET + 1)
        found.append(weights[root])
        # A fixed point: deeper values cost no more at each place.
        if weights == above:
            return Cost(found, bounded=True, graph=graph)
        if weights[root] > BUDGET:
            break
    if found[0] > BUDGET:
        raise UnusableSchema("would take too long to check, because its references multiply")
    return Cost(found, bounded=False, graph=graph)


def _in_order(graph: Graph) -> list[Schema]:
    """All reachable nodes, each after those that judge the same place."""
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
                stack.extend(_unfinished(graph.same_place(node), begun, done))
                waiting.extend(_down(graph, node))
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


def _measure(value: Any) -> tuple[int, int]:
    """How many places a value has, and how deep it is; a scalar is one place of depth 0."""
    places = 0
    depth = -1
    level = [value]
    while level:
        depth += 1
        places += len(level)
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(one.values())
            elif isinstance(one, list):
                below.extend(one)
        level = below
    return places, depth
