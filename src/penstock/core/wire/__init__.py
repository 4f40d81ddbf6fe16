"""Kafka's wire format: message declarations, compiled codecs and frames, all without input or output.

`api` holds one module per request/response pair, `stored` the records that live inside logs; `schema` is the language
both are declared in; `decoder` and `encoder` turn a declaration and a version into flat code; `frames` cuts streams.
"""

from penstock.core.wire.errors import DecodeError, EncodeError
from penstock.core.wire.schema import Message

__all__ = ["DecodeError", "EncodeError", "Message"]
