"""What became of the records that `penstock produce` was given, also where it ends before the last of them."""

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.cli.output import Output, print_json
from penstock.cli.talk import say
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Delivered


class Report:
    """Counts what was given and what was acknowledged."""

    def __init__(self, topic: str, output: Output, transactional_id: str | None = None) -> None:
        self._topic = topic
        self._output = output
        self._transactional_id = transactional_id
        self._transactions = 0
        # Acknowledged in a transaction that is still open.
        self._open: list[Delivered] = []
        self._places: dict[TopicPartition, tuple[int, int, int]] = {}
        self.given = 0

    def take(self, batch: Delivered) -> None:
        """A batch was acknowledged, or sent where nobody acknowledges."""
        if self._transactional_id is None:
            self._count(batch)
        else:
            self._open.append(batch)

    def committed(self) -> None:
        """A transaction counts, and all that was acknowledged in it."""
        self._transactions += 1
        for batch in self._open:
            self._count(batch)
        self._open.clear()

    def _count(self, batch: Delivered) -> None:
        first, _, count = self._places.get(batch.where, (batch.offset, 0, 0))
        last = batch.offset + batch.records - 1 if batch.offset >= 0 else -1
        self._places[batch.where] = (first, last, count + batch.records)

    @contextmanager
    def of_what_fails(self) -> Iterator[None]:
        """However it ends, by ctrl-c too, it is said how far it came."""
        try:
            yield
        except BaseException:
            if self.given:
                self._tell(is_complete=False)
            raise

    def finish(self) -> None:
        self._tell(is_complete=True)

    def _tell(self, is_complete: bool) -> None:
        total = sum(count for _, _, count in self._places.values())
        if self._output is Output.JSON:
            rows = [
                {"partition": where.partition, "first_offset": first, "last_offset": last, "records": count}
                for where, (first, last, count) in sorted(self._places.items())
            ]
            facts = {"topic": self._topic, "records": total, "complete": is_complete, "partitions": rows}
            own = {"transactional_id": self._transactional_id, "transactions": self._transactions}
            print_json(facts if self._transactional_id is None else facts | own)
            return
        spans = ", ".join(
            f"partition {where.partition}: offsets {first} to {last}" if first >= 0 else f"partition {where.partition}"
            for where, (first, last, _) in sorted(self._places.items())
        )
        amount = f"{total} record{'' if total == 1 else 's'}"
        count = amount if is_complete else f"{total} of {self.given} records that were read are"
        done = "written to" if self._transactional_id is None else f"committed in {self._transactions_text()} to"
        say(f"{count} {done} {self._topic}" + (f" ({spans})" if spans else ""))

    def _transactions_text(self) -> str:
        return f"{self._transactions} transaction{'' if self._transactions == 1 else 's'}"
