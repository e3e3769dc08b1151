"""The list of vendors."""

from __future__ import annotations

from gatewright.secret_scanning.vendors import VENDORS, VERSION_CONTROL


def test_vendors_are_lower_case_and_listed_once() -> None:
    assert all(name == name.lower() and len(name) > 2 for name in VENDORS)
    assert len(set(VENDORS)) == len(VENDORS)


def test_where_hashes_are_no_keys_is_said_of_vendors_that_are_listed() -> None:
    assert all(any(vendor.startswith(name) for vendor in VENDORS) for name in VERSION_CONTROL)
