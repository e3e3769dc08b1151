"""What of MGP there is without any feature."""

from gatewright.mcp.protocol.negotiate import EXTENSIONS as STANDARD
from gatewright.servers.mgp_extensions import EXTENSIONS


def test_each_extension_is_one_of_the_standard_and_stands_in_its_order() -> None:
    assert tuple(one for one in STANDARD if one in EXTENSIONS) == EXTENSIONS
    assert "streaming" not in EXTENSIONS  # features bring it
