"""Authentication, authorization and encryption."""

TABLE = """
# Who may do what
authorizer.class.name | string | | | low
    The Java class that decides who may do what; empty lets everybody do everything.
super.users | string | | | low hidden
    Principals that may do everything, whatever the access rules say.
allow.everyone.if.no.acl.found | boolean | false | | low hidden
    Whether a resource without access rules is open to everybody.
principal.builder.class | class | org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder | | \
medium per-broker
    The Java class that makes a principal out of an authenticated connection.
security.providers | string | null | | low
    Java classes that add security algorithms.
connections.max.reauth.ms | long | 0 | | medium
    How long an authenticated connection may live before it must authenticate again.
delegation.token.secret.key | password | null | | medium
    The secret that signs delegation tokens.
delegation.token.max.lifetime.ms | long | 604800000 | >= 1 | medium
    The longest life of a delegation token.
delegation.token.expiry.time.ms | long | 86400000 | >= 1 | medium
    How long a delegation token lives if nobody renews it.
delegation.token.expiry.check.interval.ms | long | 3600000 | >= 1 | low
    How often expired delegation tokens are looked for.
# TLS
ssl.keystore.location | string | null | | medium per-broker
    The file with this node's certificate and key.
ssl.keystore.password | password | null | | medium per-broker
    The password of that file.
ssl.keystore.type | string | JKS | | medium per-broker
    The format of that file.
ssl.keystore.key | password | null | | medium per-broker
    The private key itself, as PEM.
ssl.keystore.certificate.chain | password | null | | medium per-broker
    The certificates themselves, as PEM.
ssl.key.password | password | null | | medium per-broker
    The password of the private key.
ssl.truststore.location | string | null | | medium per-broker
    The file with the certificates this node trusts.
ssl.truststore.password | password | null | | medium per-broker
    The password of that file.
ssl.truststore.type | string | JKS | | medium per-broker
    The format of that file.
ssl.truststore.certificates | password | null | | medium per-broker
    The trusted certificates themselves, as PEM.
ssl.client.auth | string | none | one of: required requested none | medium per-broker
    Whether clients must show a certificate.
ssl.principal.mapping.rules | string | DEFAULT | | low
    How the name in a client's certificate becomes a principal.
ssl.endpoint.identification.algorithm | string | https | | low per-broker
    How this node checks a server's name against its certificate.
ssl.protocol | string | TLSv1.3 | | medium per-broker
    The TLS version that is preferred.
ssl.enabled.protocols | list | TLSv1.2,TLSv1.3 | list or empty | medium per-broker
    The TLS versions that are allowed.
ssl.cipher.suites | list | | list or empty | medium per-broker
    The cipher suites that are allowed; empty leaves it to the implementation.
ssl.provider | string | null | | medium per-broker
    The Java security provider for TLS.
ssl.engine.factory.class | class | null | | low per-broker
    The Java class that makes TLS engines.
ssl.keymanager.algorithm | string | SunX509 | | medium per-broker
    The Java key manager's algorithm.
ssl.trustmanager.algorithm | string | PKIX | | medium per-broker
    The Java trust manager's algorithm.
ssl.secure.random.implementation | string | null | | low per-broker
    The Java source of random numbers for TLS.
ssl.allow.dn.changes | boolean | false | | low
    Whether a certificate may be replaced by one with another name.
ssl.allow.san.changes | boolean | false | | low
    Whether a certificate may be replaced by one with other alternative names.
# SASL
sasl.enabled.mechanisms | list | GSSAPI | list or empty | medium per-broker
    The mechanisms clients may authenticate with.
sasl.jaas.config | password | null | | medium per-broker
    The login modules and their options, in Java's notation.
sasl.mechanism.inter.broker.protocol | string | GSSAPI | | medium per-broker
    The mechanism brokers use among themselves.
sasl.mechanism.controller.protocol | string | GSSAPI | | high
    The mechanism brokers use towards controllers.
sasl.server.callback.handler.class | class | null | | medium
    The Java class that checks what a client presents.
sasl.client.callback.handler.class | class | null | | medium
    The Java class that answers on this node's behalf when it is the client.
sasl.login.callback.handler.class | class | null | | medium
    The Java class that answers a login's questions.
sasl.login.class | class | null | | medium
    The Java class that logs in.
sasl.server.max.receive.size | int | 524288 | | medium
    The largest message during authentication.
sasl.login.connect.timeout.ms | int | null | | low
    How long a login waits for a connection to its provider.
sasl.login.read.timeout.ms | int | null | | low
    How long a login waits for its provider's answer.
sasl.login.refresh.buffer.seconds | short | 300 | | medium per-broker
    How long before the end of a credential it must have been refreshed.
sasl.login.refresh.min.period.seconds | short | 60 | | medium per-broker
    The shortest time between two refreshes.
sasl.login.refresh.window.factor | double | 0.8 | | medium per-broker
    The share of a credential's life after which it is refreshed.
sasl.login.refresh.window.jitter | double | 0.05 | | medium per-broker
    The random part of that share.
sasl.login.retry.backoff.ms | long | 100 | | low
    The first wait after a failed login.
sasl.login.retry.backoff.max.ms | long | 10000 | | low
    The longest wait after failed logins.
sasl.kerberos.service.name | string | null | | medium per-broker
    The Kerberos service name of the brokers.
sasl.kerberos.kinit.cmd | string | /usr/bin/kinit | | medium per-broker
    The path of Kerberos' kinit.
sasl.kerberos.min.time.before.relogin | long | 60000 | | medium per-broker
    The shortest time between two Kerberos logins.
sasl.kerberos.principal.to.local.rules | list | DEFAULT | list or empty | medium per-broker
    How a Kerberos principal becomes a short name.
sasl.kerberos.ticket.renew.jitter | double | 0.05 | | medium per-broker
    The random part of the time of renewal.
sasl.kerberos.ticket.renew.window.factor | double | 0.8 | | medium per-broker
    The share of a ticket's life after which it is renewed.
# OAuth
sasl.oauthbearer.token.endpoint.url | string | null | | medium
    Where tokens come from.
sasl.oauthbearer.jwks.endpoint.url | string | null | | medium
    Where the keys that check tokens come from.
sasl.oauthbearer.jwks.endpoint.refresh.ms | long | 3600000 | | low
    How often those keys are fetched again.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms | long | 100 | | low
    The first wait after those keys could not be fetched.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms | long | 10000 | | low
    The longest wait after those keys could not be fetched.
sasl.oauthbearer.expected.audience | list | | list or empty | high
    The audiences a token may be for.
sasl.oauthbearer.expected.issuer | string | null | | high
    Who must have issued a token.
sasl.oauthbearer.clock.skew.seconds | int | 30 | | low
    How far clocks may differ when a token's times are checked.
sasl.oauthbearer.scope.claim.name | string | scope | | low
    The claim that holds a token's scopes.
sasl.oauthbearer.sub.claim.name | string | sub | | low
    The claim that holds a token's principal.
sasl.oauthbearer.jwt.retriever.class | class | org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever | | \
medium
    The Java class that gets tokens.
sasl.oauthbearer.jwt.validator.class | class | org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator | | \
medium
    The Java class that checks tokens.
sasl.oauthbearer.scope | string | null | | medium
    The scopes asked for with a token.
sasl.oauthbearer.client.credentials.client.id | string | null | | medium
    The client id that tokens are asked for with.
sasl.oauthbearer.client.credentials.client.secret | password | null | | medium
    The secret that tokens are asked for with.
sasl.oauthbearer.assertion.algorithm | string | RS256 | one of, any case: ES256 RS256 | medium
    The algorithm that signs an assertion.
sasl.oauthbearer.assertion.claim.aud | string | null | | medium
    The audience of an assertion.
sasl.oauthbearer.assertion.claim.exp.seconds | int | 300 | 0 .. 86400 | low
    How long an assertion is good for.
sasl.oauthbearer.assertion.claim.iss | string | null | | medium
    The issuer of an assertion.
sasl.oauthbearer.assertion.claim.jti.include | boolean | false | | medium
    Whether an assertion carries an id of its own.
sasl.oauthbearer.assertion.claim.nbf.seconds | int | 60 | 0 .. 3600 | low
    How long before now an assertion begins to be good.
sasl.oauthbearer.assertion.claim.sub | string | null | | medium
    The subject of an assertion.
sasl.oauthbearer.assertion.file | string | null | | medium
    A file that holds a ready assertion.
sasl.oauthbearer.assertion.private.key.file | string | null | | medium
    The file with the key that signs an assertion.
sasl.oauthbearer.assertion.private.key.passphrase | password | null | | medium
    The password of that key.
sasl.oauthbearer.assertion.template.file | string | null | | medium
    A file with further claims of an assertion.
"""
