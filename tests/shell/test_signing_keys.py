"""Keys from a file and from a server: fetched beside the loop, changed while running, kept when nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from penstock.core.base.settings import BrokerSettings
from penstock.core.sasl.jwt import read_token
from penstock.oauth.errors import OAuthError
from penstock.oauth.fetching import DOCUMENT_BYTES_MAX, fetched
from penstock.shell.signing_keys import ListenersKeys
from tests.oauth.minting import jwk, jwks
from tests.oauth.provider import Provider
from tests.settings.test_oauth_rules import LISTENER, WITH_TOKENS
from tests.shell.hosting import until

URL = f"{LISTENER}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@asynccontextmanager
async def keys_of(url: str, said: list[str], **more: str) -> AsyncIterator[ListenersKeys]:
    settings = {**WITH_TOKENS, URL: url, "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "20", **more}
    keys = ListenersKeys(BrokerSettings(settings), lambda level, text: said.append(f"{level}: {text}"))
    try:
        await keys.start()
        yield keys
    finally:
        keys.close()


def refusal(keys: ListenersKeys, provider: Provider) -> str | None:
    return keys.refusal("CLIENTS", read_token(provider.token()).signature)


def run(work: Callable[[list[str]], object]) -> list[str]:
    said: list[str] = []
    asyncio.run(work(said))  # type: ignore[arg-type]  # all of them are coroutines
    return said


def test_keys_of_a_server_change_when_an_unknown_one_is_shown(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.oauth.schedule.EXPEDITED_MS_MIN", 0)

    async def work(said: list[str]) -> None:
        async with keys_of(provider.keys_url, said) as keys:
            assert refusal(keys, provider) is None
            provider.key_name, provider.keys = "two", jwks(jwk("RS256", "two"))
            assert "is not known" in str(refusal(keys, provider))
            await until(lambda: refusal(keys, provider) is None)
            assert provider.asked == ["/keys", "/keys"]

    assert len(run(work)) == 2


def test_old_keys_go_on_when_the_server_fails(provider: Provider) -> None:
    async def work(said: list[str]) -> None:
        often = {"sasl.oauthbearer.jwks.endpoint.refresh.ms": "20"}
        async with keys_of(provider.keys_url, said, **often) as keys:
            provider.fails = True
            await until(lambda: any("tried again" in text for text in said))
            await until(lambda: len(provider.asked) > 5)
            assert refusal(keys, provider) is None
            provider.keys, provider.fails = b"garbage", False
            await until(lambda: len(provider.asked) > 8)
            assert refusal(keys, provider) is None
            provider.keys, provider.key_name = jwks(jwk("RS256", "two")), "two"
            await until(lambda: refusal(keys, provider) is None)

    said = run(work)
    (complaint,) = [text for text in said if text.startswith("warning")]
    assert "503" in complaint
    assert "not now" in complaint
    assert "the keys from before go on" in complaint


def test_a_node_begins_without_a_server(provider: Provider) -> None:
    async def work(said: list[str]) -> None:
        provider.fails = True
        async with keys_of(provider.keys_url, said) as keys:
            assert "there are no keys yet" in str(refusal(keys, provider))
            provider.fails = False
            await until(lambda: refusal(keys, provider) is None)

    assert "no token is taken" in run(work)[0]


def test_a_file_is_read_again_when_it_changes(provider: Provider, tmp_path: Path) -> None:
    path = tmp_path / "keys of a file.json"
    path.write_bytes(provider.keys)

    async def work(said: list[str]) -> None:
        async with keys_of(path.as_uri(), said) as keys:
            assert refusal(keys, provider) is None
            provider.key_name = "two"
            path.with_suffix(".new").write_bytes(jwks(jwk("RS256", "two")))
            path.with_suffix(".new").replace(path)
            await until(lambda: refusal(keys, provider) is None)
            path.unlink()
            await until(lambda: any("cannot be read" in text for text in said))
            assert refusal(keys, provider) is None

    assert len(run(work)) == 3


@pytest.mark.parametrize("content", [None, b"{}", b"x" * (DOCUMENT_BYTES_MAX + 1)])
def test_a_node_does_not_begin_without_its_file(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_bytes(content)

    async def work(said: list[str]) -> None:
        with pytest.raises(OAuthError, match="holds no keys that can be read"):
            async with keys_of(path.as_uri(), said):
                pass

    assert run(work)


def test_nobody_is_followed_elsewhere(provider: Provider) -> None:
    with pytest.raises(OAuthError, match="302"):
        fetched(provider.keys_url.replace("keys", "elsewhere"))
    with pytest.raises(OAuthError, match="only file, http, https"):
        fetched("ftp://127.0.0.1/keys")
    provider.keys = b"x" * (DOCUMENT_BYTES_MAX + 1)
    with pytest.raises(OAuthError, match="more than"):
        fetched(provider.keys_url)
