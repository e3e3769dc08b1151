"""Where sign-in by OpenID Connect is served, and where it is not."""

from __future__ import annotations

from pathlib import Path

from tests.console.in_process import within
from tests.console.oidc_issuer import configured, oidc_issuer


async def test_the_way_on_is_a_path_of_the_console_whatever_was_asked(tmp_path: Path) -> None:
    async with oidc_issuer() as issuer, within(tmp_path, configured(issuer.issuer)) as console:
        nobody = console.nobody()
        for way in ("/audit", "//elsewhere.example", "https://elsewhere.example", ""):
            answer = await nobody.get(f"/oidc/begin?next={way}")
            location = answer.headers["location"] or ""
            assert location.startswith(f"{issuer.issuer}/authorize?")
            assert "elsewhere" not in location
        page = (await nobody.get("/sign-in?next=/audit")).text
        assert 'href="/oidc/begin?next=/audit"' in page
        foreign = {"Origin": "http://elsewhere.example"}
        assert (await nobody.get("/oidc/begin", foreign)).status == 403
