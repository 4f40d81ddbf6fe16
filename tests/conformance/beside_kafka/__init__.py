"""The same requests to Apache Kafka and to us: the answers must say the same.

What may differ is masked: addresses, ids that a broker invents, the time of day, and the wording of messages.
"""
