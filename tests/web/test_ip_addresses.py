"""Which addresses belong to the public internet, in all the forms in which an internal one can hide."""

import pytest

from gatewright.web.ip_addresses import is_public


@pytest.mark.parametrize(
    "address",
    [
        "9.9.9.9",
        "11.0.0.1",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "168.63.129.15",
        "169.253.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.167.0.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2620:fe::fe",
        "2a00:1450:4001:830::200e",
        "::ffff:9.9.9.9",
        "64:ff9b::9.9.9.9",
        "2a00::5efe:9.9.9.9",
    ],
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.1.2.3",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.8.8.8",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.7",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b:1::9.9.9.9",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2a00::5efe:10.0.0.1",
        "2a00::200:5efe:192.168.1.1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "",
        "localhost",
        "127.1",
        "256.1.1.1",
    ],
)
def test_everything_else_is_not_public(address: str) -> None:
    """MGP-4.5-3"""
    assert not is_public(address)
