"""What the operations about the audit trail give, as JSON."""

import msgspec

from gatewright.console.audit_shapes import OpenedRecord, Records, Slices


def test_shapes_are_written_with_every_member() -> None:
    records = Records(records=[{"seq": 1}], before=None, unsearched=False, newest=1)
    assert msgspec.to_builtins(records) == {
        "records": [{"seq": 1}],
        "before": None,
        "unsearched": False,
        "newest": 1,
    }
    slices = Slices(edges=[0, 1], counts={"denied": [2]}, whole=True, newest=1, more=False)
    assert msgspec.convert(msgspec.to_builtins(slices), Slices) == slices
    assert {*OpenedRecord.__struct_fields__} >= {"record", "line", "hash", "previous", "trace"}
