"""What can be wrong with a request, in the codes and the words that clients of Confluent's registry know."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import PenstockError


class RestError(PenstockError):
    """An answer that is no success: `code` begins with the status of HTTP, where it has more to say."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        return self.code if self.code < 1000 else self.code // 100

    @property
    def body(self) -> dict[str, Any]:
        return {"error_code": self.code, "message": self.message}


def subject_not_found(subject: str) -> RestError:
    return RestError(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> RestError:
    return RestError(40402, f"Version {version} not found.")


def schema_not_found(name: object = None) -> RestError:
    return RestError(40403, "Schema not found" if name is None else f"Schema {name} not found")


def subject_soft_deleted(subject: str) -> RestError:
    return RestError(40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently")


def subject_not_soft_deleted(subject: str) -> RestError:
    return RestError(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> RestError:
    message = f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently"
    return RestError(40406, message)


def version_not_soft_deleted(subject: str, version: int) -> RestError:
    message = f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    return RestError(40407, message)


def no_own_compatibility(subject: str) -> RestError:
    return RestError(40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def no_own_mode(subject: str) -> RestError:
    return RestError(40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, messages: list[str]) -> RestError:
    details = f"[{', '.join(messages)}]"
    text = f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: {details}'
    return RestError(40901, text)


def invalid_schema(why: str) -> RestError:
    return RestError(42201, why)


def invalid_version(version: str) -> RestError:
    return RestError(
        42202,
        f"The specified version '{version}' is not a valid version id. "
        'Allowed values are between [1, 2^31-1] and the string "latest"',
    )


def invalid_compatibility() -> RestError:
    levels = "none, backward, forward, full, backward_transitive, forward_transitive, and full_transitive"
    return RestError(42203, f"Invalid compatibility level. Valid values are {levels}")


def invalid_mode() -> RestError:
    return RestError(42204, "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD.")


def not_permitted(why: str) -> RestError:
    return RestError(42205, why)


def reference_exists(subject: str, version: int) -> RestError:
    key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
    return RestError(42206, f"One or more references exist to the schema {key}.")


def id_does_not_match(known: int, given: int) -> RestError:
    return RestError(42207, f"Schema already registered with id {known} instead of input id {given}")


def invalid_subject(subject: str) -> RestError:
    return RestError(42208, f"The specified subject '{subject}' is not a valid.")


def too_large() -> RestError:
    return RestError(42209, "Register operation failed because schema is too large")


def context_not_empty(context: str) -> RestError:
    return RestError(42211, f"The specified context '{context}' is not empty.")


def store_failed(why: str) -> RestError:
    return RestError(50001, why)


def timed_out(why: str) -> RestError:
    return RestError(50002, why)


def forwarding_failed(why: str) -> RestError:
    return RestError(50003, why)


def unknown_leader() -> RestError:
    return RestError(50004, "Leader not known.")
