"""`penstock up --secure`: TLS, SCRAM, an admin and access rules for a local cluster, and what clients need to get in.

DIR/security/ca.pem, ca-key.pem        an authority of the cluster's own
DIR/security/node.pem                  the nodes' certificate, made anew at each start
DIR/security/node-password             how nodes log in at each other
DIR/security/client.properties         how the admin gets in
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from penstock.cli.cert import CA, CA_KEY, write_secret
from penstock.cli.first_users import record_of
from penstock.core.base.mechanisms import MODULES, SCRAM_NUMBERS, SCRAM_SHA_512
from penstock.core.node.quorum.bootstrap import bootstrap_checkpoint
from penstock.shell import clock
from penstock.tls.authority import Issued, issue, new_authority

ADMIN: Final = "admin"
NODE: Final = "node"
CLIENT_FILE: Final = "client.properties"
NODE_PASSWORD: Final = "node-password"
PASSWORD_BYTES: Final = 24
_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Keys:
    """The folder with what is secret."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    @property
    def client_file(self) -> Path:
        return self._folder / CLIENT_FILE

    def make(self, hosts: Iterable[str], bootstrap: str) -> None:
        """What is not there yet; a certificate for these hosts, and the settings for a client, anew."""
        os.umask(0o077)
        if not (self._folder / CA_KEY).exists():
            made = new_authority("penstock up")
            self._folder.mkdir(parents=True, exist_ok=True)
            write_secret(self._folder / CA_KEY, made.key)
            write_secret(self._folder / CA, made.certificate)
            write_secret(self._folder / NODE_PASSWORD, secrets.token_urlsafe(PASSWORD_BYTES))
        authority = Issued((self._folder / CA).read_text(), (self._folder / CA_KEY).read_text())
        given = issue(authority, NODE, list(dict.fromkeys(hosts)))
        write_secret(self._folder / "node.pem", given.key + given.certificate)
        write_secret(self.client_file, self._client_settings(bootstrap, self._admin_password()))

    def node_settings(self) -> dict[str, str]:
        """Clients and nodes come over SASL_SSL with a password, controllers over TLS with a certificate."""
        password = (self._folder / NODE_PASSWORD).read_text()
        login = f'{MODULES[SCRAM_SHA_512]} required username="{NODE}" password="{password}";'
        return {
            "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:SSL",
            "security.inter.broker.protocol": "SASL_SSL",
            "sasl.enabled.mechanisms": ",".join(SCRAM_NUMBERS),
            "sasl.mechanism.inter.broker.protocol": SCRAM_SHA_512,
            f"listener.name.sasl_ssl.{SCRAM_SHA_512.lower()}.sasl.jaas.config": login,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._folder / "node.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._folder / CA),
            "listener.name.controller.ssl.client.auth": "required",
            "authorizer.class.name": _AUTHORIZER,
            "super.users": f"User:{ADMIN};User:{NODE};User:CN={NODE}",
        }

    def bootstrap(self) -> bytes:
        """The first users, for a cluster that has none."""
        passwords = {ADMIN: self._admin_password(), NODE: (self._folder / NODE_PASSWORD).read_text()}
        records = [
            record_of(mechanism, {"name": name, "password": password})
            for name, password in passwords.items()
            for mechanism in SCRAM_NUMBERS
        ]
        return bootstrap_checkpoint(records, clock.wall_ms())

    def _admin_password(self) -> str:
        """The one in the client's settings, or a new one."""
        if self.client_file.exists():
            for line in self.client_file.read_text().splitlines():
                if line.startswith("sasl.password="):
                    return line.partition("=")[2]
        return secrets.token_urlsafe(PASSWORD_BYTES)

    def _client_settings(self, bootstrap: str, password: str) -> str:
        return f"""bootstrap.servers={bootstrap}
security.protocol=SASL_SSL
sasl.mechanism={SCRAM_SHA_512}
sasl.username={ADMIN}
sasl.password={password}
ssl.truststore.type=PEM
ssl.truststore.location={self._folder / CA}
sasl.jaas.config={MODULES[SCRAM_SHA_512]} required username="{ADMIN}" password="{password}";
"""
