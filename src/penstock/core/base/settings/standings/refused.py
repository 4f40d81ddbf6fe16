"""Settings about safety or secrecy that cannot act yet: a node that is given one does not start, and says why."""

from typing import Final

BROKER: Final = (
    (
        "tiered storage is not built yet, so segments would never leave this disk",
        """
        remote.log.storage.system.enable
        """,
    ),
    (
        "it names a Java class that Penstock cannot run, and what it checks or fills in would be left out",
        """
        create.topic.policy.class.name
        alter.config.policy.class.name
        client.quota.callback.class
        config.providers
        principal.builder.class
        security.providers
        """,
    ),
    (
        "it chooses among Java's means; here OpenSSL's are used, as the system has set them up",
        """
        ssl.cipher.suites
        ssl.provider
        ssl.engine.factory.class
        ssl.keymanager.algorithm
        ssl.trustmanager.algorithm
        ssl.secure.random.implementation
        """,
    ),
    (
        "it is for one listener and mechanism: listener.name.NAME.MECHANISM.sasl.jaas.config, in small letters",
        """
        sasl.jaas.config
        """,
    ),
    (
        "Kerberos is not supported: let clients authenticate with SCRAM, PLAIN or a certificate",
        """
        sasl.kerberos.service.name
        sasl.kerberos.kinit.cmd
        sasl.kerberos.min.time.before.relogin
        sasl.kerberos.principal.to.local.rules
        sasl.kerberos.ticket.renew.jitter
        sasl.kerberos.ticket.renew.window.factor
        """,
    ),
    (
        "it names a Java class that Penstock cannot run; signed tokens are checked with sasl.oauthbearer.jwks.* alone",
        """
        sasl.oauthbearer.jwt.validator.class
        """,
    ),
    (
        "nodes ask nobody for a token: at each other they log in with SCRAM, PLAIN or a certificate",
        """
        sasl.client.callback.handler.class
        sasl.login.callback.handler.class
        sasl.login.class
        sasl.login.connect.timeout.ms
        sasl.login.read.timeout.ms
        sasl.login.refresh.buffer.seconds
        sasl.login.refresh.min.period.seconds
        sasl.login.refresh.window.factor
        sasl.login.refresh.window.jitter
        sasl.login.retry.backoff.ms
        sasl.login.retry.backoff.max.ms
        sasl.oauthbearer.token.endpoint.url
        sasl.oauthbearer.jwt.retriever.class
        sasl.oauthbearer.scope
        sasl.oauthbearer.client.credentials.client.id
        sasl.oauthbearer.client.credentials.client.secret
        sasl.oauthbearer.assertion.algorithm
        sasl.oauthbearer.assertion.claim.aud
        sasl.oauthbearer.assertion.claim.exp.seconds
        sasl.oauthbearer.assertion.claim.iss
        sasl.oauthbearer.assertion.claim.jti.include
        sasl.oauthbearer.assertion.claim.nbf.seconds
        sasl.oauthbearer.assertion.claim.sub
        sasl.oauthbearer.assertion.file
        sasl.oauthbearer.assertion.private.key.file
        sasl.oauthbearer.assertion.private.key.passphrase
        sasl.oauthbearer.assertion.template.file
        """,
    ),
)
TOPIC: Final = (
    (
        "tiered storage is not built yet, so segments would never leave this disk",
        """
        remote.storage.enable
        """,
    ),
)
GROUP: Final[tuple[tuple[str, str], ...]] = ()
