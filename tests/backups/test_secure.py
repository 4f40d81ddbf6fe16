"""A cluster that lets in nobody without a proof is backed up by whoever has one, for controllers too."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.backups import image_parts
from penstock.cli.backups.manifest import load
from penstock.cli.backups.store import FolderStore
from penstock.core.raft.ids import LogEnd
from tests.cli.running import Shell, running

pytestmark = [pytest.mark.slow, pytest.mark.client]


def test_controllers_have_a_way_in_of_their_own(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, keys, way_in = tmp_path / "backups", tmp_path / "data" / "security", tmp_path / "controllers.properties"
    way_in.write_text(
        "security.protocol=SSL\nssl.keystore.type=PEM\nssl.truststore.type=PEM\n"
        f"ssl.keystore.location={keys / 'node.pem'}\nssl.truststore.location={keys / 'ca.pem'}\n"
    )
    with running(tmp_path / "data", "--secure") as up:
        monkeypatch.setenv("PENSTOCK_COMMAND_CONFIG", str(keys / "client.properties"))
        create = ("backup", "create", place, "-b", up.bootstrap)
        refused = shell(*create)
        assert (refused.code, "the controllers listen with SSL, and brokers with SASL_SSL" in refused.err) == (1, True)
        done = shell(*create, "--name", "all", "--with-credentials", "--controller-config", way_in)
        assert done.code == 0, done.err
        assert shell(*create, "--name", "some", "--controller-config", way_in).code == 0
    store = FolderStore(str(place))
    names = []
    for name in ("all", "some"):
        made = load(store, name)
        data = store.get(made.metadata.path) or b""
        image = image_parts.decode(data, LogEnd(made.metadata_epoch, made.metadata_offset)).image
        names.append({user for user, _ in image.access.credentials})
        assert (b"admin" in data) == (name == "all")
    assert names == [{"admin", "node"}, set()]
