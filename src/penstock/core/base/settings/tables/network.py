"""Listeners, connections and sockets."""

TABLE = """
# Where to listen
listeners | list | PLAINTEXT://:9092 | list | high per-broker
    The addresses to listen on, each as name://host:port; an empty host means every interface.
advertised.listeners | list | null | list | high
    The addresses given to clients, for when they differ from those listened on.
listener.security.protocol.map | string | \
SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT | | low per-broker
    Which security protocol each listener name speaks.
inter.broker.listener.name | string | null | | medium
    The listener brokers use among themselves.
security.inter.broker.protocol | string | PLAINTEXT | one of: PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL | medium
    The security protocol brokers use among themselves, if no listener is named for it.
early.start.listeners | list | null | list or empty | high
    Listeners that accept connections before authorization is ready.
# Limits of connections
max.connections | int | 2147483647 | >= 0 | medium cluster-wide
    The most connections open at one time.
max.connections.per.ip | int | 2147483647 | >= 0 | medium cluster-wide
    The most connections open at one time from one address.
max.connections.per.ip.overrides | string | | | medium cluster-wide
    Other limits for certain addresses, as host:count pairs.
max.connection.creation.rate | int | 2147483647 | >= 0 | medium cluster-wide
    The most connections accepted in a second.
connections.max.idle.ms | long | 600000 | | medium
    How long a connection may be idle before it is closed; a negative value means for ever.
connection.failed.authentication.delay.ms | int | 100 | >= 0 | low
    How long the answer to a failed authentication is held back.
# Sockets and requests
socket.listen.backlog.size | int | 50 | >= 1 | medium
    How many connections may wait to be accepted.
socket.receive.buffer.bytes | int | 102400 | | high
    The receive buffer of a socket; -1, or not to give it at all, leaves it to the system.
socket.send.buffer.bytes | int | 102400 | | high
    The send buffer of a socket; -1, or not to give it at all, leaves it to the system.
socket.request.max.bytes | int | 104857600 | >= 1 | high
    The largest request that is read; a larger one closes the connection.
socket.connection.setup.timeout.ms | long | 10000 | | medium
    How long this node waits for a connection of its own to be made.
socket.connection.setup.timeout.max.ms | long | 30000 | | medium
    The longest such wait after repeated failures.
num.network.threads | int | 3 | >= 1 | high cluster-wide
    The threads that read requests and write answers, per listener.
queued.max.requests | int | 500 | >= 1 | high
    How many requests may wait for a thread before reading stops.
queued.max.request.bytes | long | -1 | | medium
    How many bytes of requests may wait before reading stops; without it, penstock.frames.unfinished.bytes.max alone.
fetch.max.bytes | int | 57671680 | >= 1024 | medium
    The most bytes of records in one answer to a fetch, whatever the client asks for.
max.incremental.fetch.session.cache.slots | int | 1000 | >= 0 | medium
    How many incremental fetch sessions are kept.
max.request.partition.size.limit | int | 2000 | >= 1 | medium
    The most partitions that one request for topic descriptions returns.
"""
