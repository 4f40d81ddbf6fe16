"""The Python API: `Producer`, `Consumer` and `Admin` over librdkafka, with what people write around it built in.

`from penstock import Producer, Consumer, Admin` is the way in. It works against Penstock and against Apache Kafka.
"""
