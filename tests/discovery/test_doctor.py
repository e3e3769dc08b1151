from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from gatewright.config import Discovery
from gatewright.config.embedder import Embedder
from gatewright.config.model import Profile
from gatewright.discovery.doctor import check_context, check_embedder, cost
from tests.discovery.embedders.models import onnx_model
from tests.discovery.houses import House
from tests.discovery.offers import made


def test_a_long_list_is_worth_a_word_unless_hosts_search() -> None:
    settings = House({}).settings
    few = [made("a", f"t{n}") for n in range(3)]
    many = [made("a", f"t{n}") for n in range(41)]
    assert not list(check_context(settings, []))
    (fine,) = check_context(settings, few)
    (heavy,) = check_context(settings, many)
    assert (fine.level, fine.fix, heavy.level) == ("ok", "", "warning")
    assert 'expose = "discover"' in heavy.fix
    assert f"{cost(many):,} tokens" in heavy.what
    for searching in (
        replace(settings, discovery=Discovery(expose="discover")),
        replace(settings, profiles={"p": Profile(expose="pinned+discover")}),
    ):
        (found,) = check_context(searching, many)
        assert found.level == "ok"
    (large,) = check_context(replace(settings, discovery=Discovery(max_tokens=10)), few)
    assert large.level == "warning"


def test_an_embedder_is_asked_once_and_its_failure_is_told(tmp_path: Path) -> None:
    settings = House({}).settings
    assert not list(check_embedder(settings))
    for folder, level in ((onnx_model(tmp_path / "m"), "ok"), (tmp_path / "none", "warning")):
        said = Discovery(embedder=Embedder(type="model", path=str(folder)))
        placed = replace(settings.storage, path=tmp_path)
        (found,) = check_embedder(replace(settings, discovery=said, storage=placed))
        assert (found.level, found.subject) == (level, "embedder model")
        assert ("3 components" in found.what) == (level == "ok")
        assert ("model.onnx" in found.why) == (level == "warning")
