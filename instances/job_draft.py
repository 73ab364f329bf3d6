"""A job graph with costs, built operator by operator."""

from collections.abc import Mapping, Sequence

from edgeplace.instances.draws import rounded
from edgeplace.model import (
    ClassCost,
    JobGraph,
    Operator,
    OperatorCost,
    ShipStrategy,
    SourceDemand,
    Stream,
    StreamCost,
)

PI, SERVER = "pi", "server"
"""The node classes of every generated cluster."""
SOURCE_RATE_PER_S = 1e6
"""Rate of a source: emitting costs almost nothing."""


class JobDraft:
    """A job under construction.

    Parameters
    ----------
    slot_each
        Give every operator a slot sharing group of its own: a subtask then needs a slot of its
        own.
    """

    def __init__(
        self,
        name: str,
        *,
        slot_each: bool = False,
        buffer_timeout_ms: float = 100.0,
        checkpoint_interval_ms: float | None = None,
    ) -> None:
        self._name = name
        self._slot_each = slot_each
        self._buffer_timeout_ms = buffer_timeout_ms
        self._checkpoint_interval_ms = checkpoint_interval_ms
        self._operators: list[Operator] = []
        self._streams: list[Stream] = []

    def source(self, name: str, born_at: Sequence[str], rates_per_s: Sequence[float]) -> str:
        """Add a source with a subtask at each place, and return its id."""
        cost = OperatorCost(
            operator=name,
            classes=_classes({PI: SOURCE_RATE_PER_S, SERVER: SOURCE_RATE_PER_S}),
            demand=SourceDemand(rates_per_s=tuple(rates_per_s), origin="stated"),
        )
        return self._add(name, len(rates_per_s), cost, tuple(born_at))

    def operator(
        self,
        name: str,
        parallelism: int,
        server_rate_per_s: float,
        *,
        pi_speed: float = 0.5,
        state_bytes: float | None = None,
        memory_bytes: float = 0.0,
    ) -> str:
        """Add an operator and return its id.

        Parameters
        ----------
        server_rate_per_s
            Records that one subtask takes in per busy second on a server's core.
        pi_speed
            The same on a Pi's core, as a share of the server's.
        """
        rates = {PI: rounded(server_rate_per_s * pi_speed), SERVER: rounded(server_rate_per_s)}
        cost = OperatorCost(
            operator=name,
            classes=_classes(rates),
            state_bytes=state_bytes,
            checkpointed_bytes=state_bytes,
        )
        return self._add(name, parallelism, cost, memory_bytes=memory_bytes)

    def stream(
        self,
        source: str,
        target: str,
        ship_strategy: ShipStrategy,
        bytes_per_record: float,
        *,
        selectivity: float = 1.0,
        shares: Sequence[float] | None = None,
    ) -> None:
        """Add a stream.

        Parameters
        ----------
        selectivity
            Records on it per record into its source operator.
        shares
            Share of the records that each consumer gets; None: by Flink's key groups, or even.
        """
        cost = StreamCost(
            source=source,
            target=target,
            selectivity=selectivity,
            bytes_per_record=bytes_per_record,
            shares=tuple(shares) if shares else None,
        )
        self._streams.append(
            Stream(source=source, target=target, ship_strategy=ship_strategy, cost=cost)
        )

    def job(self) -> JobGraph:
        """Return the job."""
        return JobGraph(
            name=self._name,
            operators=tuple(self._operators),
            streams=tuple(self._streams),
            buffer_timeout_ms=self._buffer_timeout_ms,
            checkpoint_interval_ms=self._checkpoint_interval_ms,
        )

    def _add(
        self,
        name: str,
        parallelism: int,
        cost: OperatorCost,
        born_at: tuple[str, ...] = (),
        memory_bytes: float = 0.0,
    ) -> str:
        self._operators.append(
            Operator(
                id=name,
                name=name,
                parallelism=parallelism,
                slot_sharing_group=name if self._slot_each else "default",
                born_at=born_at,
                memory_bytes=memory_bytes,
                cost=cost,
            )
        )
        return name


def _classes(rates_per_s: Mapping[str, float]) -> tuple[ClassCost, ...]:
    return tuple(
        ClassCost(node_class=name, true_rate_per_s=rate, origin="stated")
        for name, rate in rates_per_s.items()
    )
