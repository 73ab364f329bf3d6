"""Small jobs by chance."""

from typing import Any

import numpy as np

from tests.conformance.draws import Draws


class DrawsJobs(Draws):
    """Draws operators, streams and what they cost."""

    def job(
        self, name: str, sites: list[dict[str, Any]], cluster: dict[str, Any]
    ) -> dict[str, Any]:
        n_ops = int(self.draw.integers(2, 5))
        widest = 3 if self.often("wide") else 2
        alike = self.often("alike")
        width = int(self.draw.integers(1, widest + 1))
        operators: list[dict[str, Any]] = []
        streams: list[dict[str, Any]] = []
        hosts = sorted({n["site"] for n in cluster["nodes"]})
        n_sources = 2 if n_ops > 2 and self.draw.random() < 0.25 else 1
        for i in range(n_ops):
            p = (
                width
                if alike or self.draw.random() < 0.6
                else int(self.draw.integers(1, widest + 1))
            )
            op: dict[str, Any] = {"id": f"{name}o{i}", "name": f"op {i}", "parallelism": p}
            cost: dict[str, Any] = {"classes": self.classes()}
            if i < n_sources:
                each = [self.rate() for _ in range(p)]
                cost["demand"] = {"rates_per_s": each[:1] if alike else each}
                if self.often("anywhere"):
                    op["born_at"] = ["anywhere"]
                else:
                    homes = [self.pick(hosts) for _ in range(p)]
                    op["born_at"] = homes[:1] if alike else homes
            if self.draw.random() < 0.2:
                op["slot_sharing_group"] = self.pick(["g", "h"])
            if self.draw.random() < 0.1:
                op["max_parallelism"] = self.pick([4, 7, 128, 1000])
            if self.often("state"):
                cost["state_bytes"] = self.number(1e4, 1e8)
                cost["checkpointed_bytes"] = self.number(1e3, 1e6)
                if self.often("state_law"):
                    fixed, held = self.number(1e3, 1e7), self.number(1, 1e5)
                    cost["state_law"] = {"fixed_bytes": fixed, "held_bytes_s": held}
                if self.draw.random() < 0.4:
                    op["memory_bytes"] = self.number(1e5, 1e7)
            op["cost"] = cost
            operators.append(op)
        feeds: list[list[int]] = []
        for j in range(n_sources, n_ops):
            first = int(self.draw.integers(j)) if self.often("fan_out") else j - 1
            into = [first]
            if j == n_sources and n_sources == 2:
                into = [0, 1]
            elif j > 1 and self.draw.random() < 0.15:
                into = sorted({first, int(self.draw.integers(j))})
            feeds.append(into)
        outs = [sum(i in into for into in feeds) for i in range(n_ops)]
        for j, into in zip(range(n_sources, n_ops), feeds, strict=True):
            for i in into:
                streams.append(self.stream(operators[i], operators[j], i < n_sources, outs[i]))
        job: dict[str, Any] = {"name": name, "operators": operators, "streams": streams}
        if self.draw.random() < 0.5 or self.often("state"):
            job["checkpoint_interval_ms"] = float(self.pick([1000, 10000, 60000]))
        if self.draw.random() < 0.3:
            job["state_backend"] = "rocksdb"
        if self.draw.random() < 0.3:
            job["buffer_timeout_ms"] = float(self.pick([0, 1, 10, 1000]))
        if self.often("watermarks"):
            job["watermark_interval_ms"] = float(self.pick([50, 200, 1000]))
        return job

    def rate(self) -> float:
        return 0.0 if self.often("silent") else self.number(1, 1000)

    def classes(self) -> list[dict[str, Any]]:
        low, high = (200, 2000) if self.draw.random() < 0.5 else (1000, 1e5)
        out = []
        for c in ("pi", "server"):
            entry = {"node_class": c, "true_rate_per_s": self.number(low, high)}
            if self.draw.random() < 0.15:
                entry["cpu_ms_per_record"] = self.number(0.01, 2)
            out.append(entry)
        return out

    def stream(
        self, a: dict[str, Any], b: dict[str, Any], of_source: bool, outputs: int
    ) -> dict[str, Any]:
        same = a["parallelism"] == b["parallelism"]
        kinds = ["HASH", "HASH", "REBALANCE", "RESCALE", "SHUFFLE", "BROADCAST", "GLOBAL", "CUSTOM"]
        kind = "FORWARD" if same and self.draw.random() < 0.5 else self.pick(kinds)
        cost: dict[str, Any] = {}
        if self.often("by_rate"):
            rates = sorted({self.number(1, 1000) for _ in range(int(self.draw.integers(1, 4)))})
            cost["by_rate"] = [
                {
                    "rate_per_s": r,
                    "selectivity": self.number(0.01, 3),
                    "bytes_per_record": self.number(10, 1e4),
                }
                for r in rates
            ]
            if self.often("flush_law"):
                cost["flush_law"] = self.flush_law()
        else:
            cost["bytes_per_record"] = 0.0 if self.often("silent") else self.number(10, 1e4)
            if not (of_source and outputs == 1 and self.draw.random() < 0.5):
                cost["selectivity"] = 0.0 if self.often("silent") else self.number(0.01, 3)
        if kind == "CUSTOM" or (kind == "HASH" and self.draw.random() < 0.2):
            weights = self.draw.dirichlet([1.0] * b["parallelism"])
            if self.often("silent"):
                weights = np.eye(b["parallelism"])[0]
            cost["shares"] = [float(w) for w in weights]
        if kind == "CUSTOM" and self.draw.random() < 0.5:
            rows = self.draw.dirichlet([1.0] * b["parallelism"], size=a["parallelism"])
            cost["shares_by_producer"] = [[float(w) for w in row] for row in rows]
        if self.chances["bursts"] and self.often("bursts"):
            cost["flushes_per_s"] = self.number(0.05, 8)
        return {"source": a["id"], "target": b["id"], "ship_strategy": kind, "cost": cost}

    def flush_law(self) -> dict[str, Any]:
        """Draw a law; of Zipf with no more keys than the oracle sums one by one."""
        gathering: dict[str, Any] = {}
        if self.draw.random() < 0.7:
            gathering["interval_s"] = self.number(0.1, 10)
        if self.draw.random() < 0.5:
            gathering["records"] = float(np.ceil(self.number(2, 2000)))
        if self.draw.random() < 0.5:
            gathering["checkpoint_s"] = self.number(0.5, 60)
        if self.draw.random() < 0.3:
            gathering["keys_per_record"] = self.number(0.5, 10)
        zipf = self.draw.random() < 0.5
        return {
            "gathering": gathering,
            "form": "zipf" if zipf else "hot and cold",
            "keys": min(self.number(1, 32), 32) if zipf else self.number(1, 1000),
            "shape": float(f"{self.draw.uniform(0, 3 if zipf else 1):.3g}"),
        }
