"""Independent implementations of the record format, imported where their own deprecation warnings harm nobody."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import aiokafka.codec as aiokafka_codec
    import kafka.codec as kafka_codec
    from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
    from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
    from kafka.partitioner.default import murmur2 as kafka_murmur2
    from kafka.record.default_records import DefaultRecordBatch as KafkaBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaBuilder
    from kafka.record.util import decode_varint, encode_varint

__all__ = [
    "AiokafkaBatch",
    "AiokafkaBuilder",
    "KafkaBatch",
    "KafkaBuilder",
    "aiokafka_codec",
    "decode_varint",
    "encode_varint",
    "kafka_codec",
    "kafka_murmur2",
]
