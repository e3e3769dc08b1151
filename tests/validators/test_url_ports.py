"""Ports of other services."""

from __future__ import annotations

import pytest

from gatewright.validators.network import url_rule
from gatewright.validators.url_ports import is_of_another_service


@pytest.mark.parametrize("port", ["22", "25", "2375", "3306", "5432", "6379", "11211", "27017"])
def test_a_port_of_another_service_is_no_web_address(port: str) -> None:
    assert is_of_another_service(port)
    assert url_rule(f"http://api.example.com:{port}/x") == "port"
    assert url_rule(f"http://api.example.com:0{port}/x") is not None


@pytest.mark.parametrize("port", ["80", "443", "8080", "8443", "3000", "9200", "853"])
def test_a_port_of_the_web_is_one(port: str) -> None:
    assert not is_of_another_service(port)
    assert url_rule(f"http://api.example.com:{port}/x") is None


def test_no_port_is_the_schemes_own() -> None:
    assert not is_of_another_service("")
