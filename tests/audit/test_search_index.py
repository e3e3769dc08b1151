"""The bitmaps of one block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatewright.audit import offload
from gatewright.audit.search_index import FACTS, SIZE, Block, Wanted

_RECORDS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(-5, 50), st.sampled_from(["a", "b", None])),
    max_size=60,
)


def _block(
    records: list[tuple[int, int, str | None]],
) -> tuple[Block, list[tuple[int, int, str | None]]]:
    """Numbers with gaps, times that may go back; added in two pieces."""
    block, told, seq = Block(0), [], -1
    for gap, time, value in records:
        seq += gap
        told.append((seq, time, value))
    for piece in (told[: len(told) // 2], told[len(told) // 2 :]):
        facts = [[one[2] for one in piece] for _ in FACTS]
        block.add([one[0] for one in piece], [one[1] for one in piece], facts)
    return block, told


@given(_RECORDS, st.booleans())
def test_another_process_hands_over_all_of_it(
    records: list[tuple[int, int, str | None]], whole: bool
) -> None:
    block, _ = _block(records)
    block.whole = whole
    assert vars(Block.unpacked(block.packed())) == vars(block)


def test_values_that_most_have_and_values_that_few_have_are_handed_over() -> None:
    block = Block(SIZE)
    values = ["most" if number % 9 else f"one{number % 900}" for number in range(SIZE)]
    block.add(range(SIZE, 2 * SIZE), range(SIZE), [values for _ in FACTS])
    found = Block.unpacked(block.packed())
    assert vars(found) == vars(block)
    assert isinstance(vars(found)["_facts"]["tool"]["most"], int)


@given(_RECORDS, st.integers(-5, 50) | st.none(), st.integers(-5, 50) | st.none())
def test_what_fits_is_what_a_walk_finds(
    records: list[tuple[int, int, str | None]], since: int | None, until: int | None
) -> None:
    block, told = _block(records)
    found = block.fits(Wanted(facts={"tool": "a"}, since=since, until=until))
    expected = 0
    for seq, time, value in told:
        within = (since is None or since <= time) and (until is None or time < until)
        if value == "a" and within:
            expected |= 1 << seq
    assert found == expected


@given(_RECORDS)
def test_slices_add_up_to_everything_that_fits(records: list[tuple[int, int, str | None]]) -> None:
    block, told = _block(records)
    counts = block.counted(block.fits(Wanted()), [-10, 0, 7, 20, 60])
    assert sum(counts) == len(told)
    assert sorted(block.values("tool")) == sorted({one[2] for one in told if one[2]})
    assert (block.begins is None) == (not told)


def test_a_full_block_is_found_by_a_value_that_all_have() -> None:
    block = Block(SIZE)
    seqs = range(SIZE, 2 * SIZE)
    block.add(seqs, seqs, [["x" if at % 2 else "y" for at in seqs] for _ in FACTS])
    assert block.fits(Wanted(facts={"agent": "x"})).bit_count() == SIZE // 2
    assert block.fits(Wanted(facts={"agent": "x", "rule": "y"})) == 0
    assert (block.last, block.ends) == (2 * SIZE - 1, 2 * SIZE - 1)


def test_a_block_of_the_longest_names_is_handed_over_and_each_of_them_is_found() -> None:
    """Whoever calls may name another tool with each call, of two thousand characters: the index goes past these."""
    block = Block(0)
    names = [f"{chr(0x10000) * 2040}{number}" for number in range(SIZE)]
    others = ["x"] * SIZE
    block.add(
        range(SIZE), range(SIZE), [names if one in ("tool", "rule") else others for one in FACTS]
    )
    packed = block.packed()
    assert len(packed) < offload._ANSWER_BYTES
    assert Block.unpacked(packed).fits(Wanted(facts={"tool": names[7], "rule": names[7]})) == 1 << 7
    (shown,) = block.among("tool", 1 << 7)
    assert block.fits(Wanted(facts={"tool": shown[0]})) == 1 << 7
    assert (len(shown[0]) < 256, shown[0][:20]) == (True, names[7][:20])
