"""What a query hears of: options that make no sense, and data that is gone."""

from penstock.core.base.errors import PenstockError


class OptionError(PenstockError):
    """An option of the source is missing, contradicts another one or has a value that cannot be."""


class DataLoss(PenstockError):
    """Offsets that the query was to read next are not there any more."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"{reason}. Some data may have been lost: it was removed by retention, or its topic was deleted. "
            'Set the option failOnDataLoss to "false" to go on with what is there'
        )


class TargetLost(PenstockError):
    """A query over what is available (AvailableNow) cannot reach its end any more, whatever failOnDataLoss says."""
