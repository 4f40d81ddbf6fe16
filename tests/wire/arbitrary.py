"""Messages filled at random from a seed.

Only fields that exist in the version are filled, so that every codec must bring every value back. Edges are likely:
nulls, empty and long strings, arrays beyond one length byte, the ends of integer ranges.
"""

import random
from typing import Any

from penstock.core.wire.fields import ARRAY, BLOB, RECORDS, STRING, STRUCT, Field, StructSpec
from penstock.core.wire.schema import Message

INTEGER_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
# Codecs that turn numbers into enumerations, dates and durations know only some of them.
MODEST_RANGES = INTEGER_RANGES | {"int64": (0, 2**41)}
MODEST_ERROR_CODE_MAX = 100

ALPHABET = "abz09.-_ é世\U0001f600"
LENGTHS = (0, 1, 1, 2, 3, 5, 8, 30)
RARE_LENGTHS = (126, 127, 128, 200, 20_000)
ARRAY_LENGTHS = (0, 1, 1, 2, 3)
RARE_ARRAY_LENGTHS = (126, 127, 128, 300)


class Arbitrary:
    """A source of messages. `modest` keeps to the values that every foreign codec accepts."""

    def __init__(self, seed: int | str, modest: bool = False) -> None:
        self.random = random.Random(seed)
        self.modest = modest
        self.ranges = MODEST_RANGES if modest else INTEGER_RANGES

    def message(self, message: type[Message], version: int) -> Message:
        made = self.struct(message.SPEC, version)
        assert isinstance(made, message)
        return made

    def struct(self, spec: StructSpec, version: int) -> Any:
        made = spec.python_class()
        for field in spec.fields:
            if not field.exists_in(version):
                continue
            if field.tagged_in(version) and self.random.random() < 0.5:
                continue
            setattr(made, field.name, self.value(field, version))
        return made

    def value(self, field: Field, version: int) -> Any:
        if field.nullable_in(version) and self.random.random() < 0.3:
            return None
        match field.kind:
            case "bool":
                return self.random.random() < 0.5
            case "uuid":
                return self.random.randbytes(16)
            case "float64":
                return self.random.uniform(-1e9, 1e9)
            case k if k in self.ranges:
                return self.integer(field)
            case k if k == STRING:
                return "".join(self.random.choices(ALPHABET, k=self.length() // 4))
            case k if k in (BLOB, RECORDS):
                return self.random.randbytes(self.length())
            case k if k == ARRAY:
                assert field.element is not None
                element = field.element
                return [self.value(element, version) for _ in range(self.array_length(element))]
        assert field.kind == STRUCT
        assert field.struct is not None
        made = self.struct(field.struct, version)
        # A tagged struct that is all defaults is not written, hence comes back as None.
        is_silent = field.tagged_in(version) and not field.nullable_in(version) and made == field.struct.python_class()
        return None if is_silent else made

    def integer(self, field: Field) -> int:
        low, high = self.ranges[field.kind]
        if self.modest and field.kind == "int16" and "error_code" in field.name:
            return self.random.randint(0, MODEST_ERROR_CODE_MAX)
        return self.random.choice((low, high, 0, low + 1, self.random.randint(low, high)))

    def length(self) -> int:
        return self.random.choice(RARE_LENGTHS if self.random.random() < 0.05 else LENGTHS)

    def array_length(self, element: Field) -> int:
        if element.kind != STRUCT and self.random.random() < 0.05:
            return self.random.choice(RARE_ARRAY_LENGTHS)
        return self.random.choice(ARRAY_LENGTHS)
