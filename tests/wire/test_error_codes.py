"""Error codes against kio's list of them."""

from kio.schema.errors import ErrorCode as KioErrorCode

from penstock.core.base.errors import RETRIABLE, ApiError, ErrorCode


def test_numbers_and_names() -> None:
    ours = {code.value: code.name for code in ErrorCode}
    theirs = {code.value: code.name.upper() for code in KioErrorCode}
    assert {number: ours[number] for number in theirs} == theirs
    assert sorted(ours) == list(range(-1, 134))


def test_which_are_retriable() -> None:
    theirs = {ErrorCode(code.value) for code in KioErrorCode if code.retriable}
    assert theirs == set(RETRIABLE)


def test_an_api_error_says_what_it_is() -> None:
    error = ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "too long")
    assert (error.code, error.message, str(error)) == (17, "too long", "INVALID_TOPIC_EXCEPTION: too long")
    assert str(ApiError(ErrorCode.NOT_CONTROLLER)) == "NOT_CONTROLLER"
