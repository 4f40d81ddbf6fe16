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
        "access rules are not built yet, so everybody could do everything",
        """
        authorizer.class.name
        super.users
        allow.everyone.if.no.acl.found
        """,
    ),
    (
        "TLS is not built yet, so connections would be neither private nor authenticated",
        """
        security.inter.broker.protocol
        ssl.keystore.location
        ssl.keystore.password
        ssl.keystore.type
        ssl.keystore.key
        ssl.keystore.certificate.chain
        ssl.key.password
        ssl.truststore.location
        ssl.truststore.password
        ssl.truststore.type
        ssl.truststore.certificates
        ssl.client.auth
        ssl.principal.mapping.rules
        ssl.endpoint.identification.algorithm
        ssl.protocol
        ssl.enabled.protocols
        ssl.cipher.suites
        ssl.provider
        ssl.engine.factory.class
        ssl.keymanager.algorithm
        ssl.trustmanager.algorithm
        ssl.secure.random.implementation
        ssl.allow.dn.changes
        ssl.allow.san.changes
        """,
    ),
    (
        "SASL is not built yet, so nobody would have to authenticate",
        """
        connections.max.reauth.ms
        delegation.token.secret.key
        sasl.enabled.mechanisms
        sasl.jaas.config
        sasl.mechanism.inter.broker.protocol
        sasl.mechanism.controller.protocol
        sasl.server.callback.handler.class
        sasl.client.callback.handler.class
        sasl.login.callback.handler.class
        sasl.login.class
        sasl.server.max.receive.size
        sasl.login.connect.timeout.ms
        sasl.login.read.timeout.ms
        sasl.login.refresh.buffer.seconds
        sasl.login.refresh.min.period.seconds
        sasl.login.refresh.window.factor
        sasl.login.refresh.window.jitter
        sasl.login.retry.backoff.ms
        sasl.login.retry.backoff.max.ms
        sasl.kerberos.service.name
        sasl.kerberos.kinit.cmd
        sasl.kerberos.min.time.before.relogin
        sasl.kerberos.principal.to.local.rules
        sasl.kerberos.ticket.renew.jitter
        sasl.kerberos.ticket.renew.window.factor
        sasl.oauthbearer.token.endpoint.url
        sasl.oauthbearer.jwks.endpoint.url
        sasl.oauthbearer.jwks.endpoint.refresh.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
        sasl.oauthbearer.expected.audience
        sasl.oauthbearer.expected.issuer
        sasl.oauthbearer.clock.skew.seconds
        sasl.oauthbearer.scope.claim.name
        sasl.oauthbearer.sub.claim.name
        sasl.oauthbearer.jwt.retriever.class
        sasl.oauthbearer.jwt.validator.class
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
