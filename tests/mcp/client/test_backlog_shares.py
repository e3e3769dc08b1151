from __future__ import annotations

from gatewright.mcp.client.backlog_shares import BacklogShares

ANN, BOB, EVE = ("agent", "ann"), ("agent", "bob"), ("agent", "eve")
MOST = 1200


def fill(shares: BacklogShares, who: tuple[str, str], behind: int, size: int = 10) -> int:
    """What a caller gets in who sends until it may not."""
    sent = 0
    while shares.allows(who, size, behind + sent, MOST):
        shares.sent(who, size)
        sent += size
    return sent


def test_whoever_comes_last_finds_room_however_many_came_before() -> None:
    shares, behind, got = BacklogShares(), 0, []
    for number in range(6):
        got.append(fill(shares, ("agent", str(number)), behind))
        behind += got[-1]
    assert got == [600, 300, 150, 80, 40, 20]
    assert behind < MOST


def test_two_who_send_in_turn_get_a_third_each() -> None:
    shares, got = BacklogShares(), {ANN: 0, BOB: 0}
    for _ in range(100):
        for who in got:
            if shares.allows(who, 10, sum(got.values()), MOST):
                shares.sent(who, 10)
                got[who] += 10
    assert got == {ANN: 400, BOB: 400}


def test_what_was_read_is_room_again() -> None:
    shares = BacklogShares()
    assert fill(shares, ANN, 0) == 600
    assert not shares.allows(ANN, 10, 600, MOST)
    assert shares.allows(ANN, 10, 300, MOST)
    assert fill(shares, BOB, 300) == 450
    assert fill(shares, ANN, 0) == 600
    assert fill(shares, EVE, 0) == 600


def test_what_is_taken_in_another_order_than_it_was_sent_is_its_senders_room_again() -> None:
    """Freed was whoever had sent first: one caller passed its share, another had none, and nothing of it waited."""
    shares = BacklogShares()
    for ident in range(4):
        shares.sent(ANN, 150, ident)
        shares.late(ident, True)
    assert shares.unaccepted == 600
    for ident in range(4, 40):
        assert shares.allows(BOB, 150, 600, MOST)
        assert not shares.allows(ANN, 10, 600, MOST)
        shares.sent(BOB, 150, ident)
        if ident % 2:
            shares.late(ident, True)
            shares.late(ident, False)
    shares.late(2, False)
    assert shares.allows(ANN, 300, 450, MOST)
    assert not shares.allows(ANN, 301, 450, MOST)


def test_nothing_is_kept_of_whom_nothing_waits() -> None:
    shares = BacklogShares()
    for number in range(1000):
        assert shares.allows(("agent", str(number)), 10, 0, MOST)
        shares.sent(("agent", str(number)), 10, number)
        if number % 3:
            shares.late(number, True)
            shares.late(number, False)
    assert shares.allows(ANN, 10, 0, MOST)
    assert not any(vars(shares).values())
