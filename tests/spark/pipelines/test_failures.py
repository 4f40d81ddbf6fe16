"""One line about a query that died."""

from penstock.spark.pipelines.failures import LINE_CHARS_MAX, cause_of, failure_line

TELLING = """[STREAM_FAILED] Query terminated with exception: An exception was raised. Return Message: Traceback (most \
recent call last):
  File "gate.py", line 33, in __call__
    self._write(frame, number)
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "pipes.py", line 9, in bad
    raise ValueError("whole frame trouble")
      ^^^^^^^^^^
ValueError: whole frame trouble

\tat py4j.Protocol.getReturnValue(Protocol.java:476)
"""


def test_the_cause_is_the_end_of_the_innermost_traceback() -> None:
    assert cause_of(TELLING) == "ValueError: whole frame trouble"


def test_without_python_in_it_the_first_line_says_it() -> None:
    assert cause_of("\n[DIVIDE_BY_ZERO] Division by zero.\n\tat java") == "[DIVIDE_BY_ZERO] Division by zero."
    assert cause_of("") == "no reason was given"
    assert cause_of("Traceback (most recent call last):\n  File") == "Traceback (most recent call last):"


def test_the_line_names_pipeline_and_offsets_and_has_an_end() -> None:
    line = failure_line("revenue", '[{"orders":{"0":5}}]', '[{"orders":{"0":9}}]', TELLING)

    assert line == (
        'pipeline revenue failed between offsets [{"orders":{"0":5}}] and [{"orders":{"0":9}}]: '
        "ValueError: whole frame trouble"
    )
    assert failure_line("p", "", "", "why") == "pipeline p failed before its first batch: why"
    assert len(failure_line("p", "", "[1]", "x" * 10_000)) == LINE_CHARS_MAX
