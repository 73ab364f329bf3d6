"""A small cluster by chance."""

from typing import Any

from tests.conformance.draws import Draws


class DrawsClusters(Draws):
    """Draws sites, machines and links."""

    def cluster(self) -> dict[str, Any]:
        n_sites = int(self.draw.integers(2, int(self.chances["sites"]) + 1))
        n_sites = max(n_sites, 3 if self.chances.get("ring") == 1.0 else 2)
        sites = [{"id": f"s{i}", "tier": "cloud" if i == 0 else "edge"} for i in range(n_sites)]
        if self.draw.random() < 0.1:
            self.pick(sites)["tier"] = "cloud"
        classes = ["pi", "server"]
        nodes: list[dict[str, Any]] = []
        tms: list[dict[str, Any]] = []
        for i in range(n_sites):
            if i > 0 and self.draw.random() < 0.08:
                continue  # A junction.
            for _ in range(2 if self.draw.random() < 0.15 else 1):
                node = {
                    "id": f"n{len(nodes)}",
                    "site": f"s{i}",
                    "node_class": classes[0 if i else 1]
                    if self.draw.random() < 0.9
                    else classes[0],
                    "cores": float(self.pick([1, 2, 4])),
                }
                if self.draw.random() < 0.4:
                    node["labels"] = {"disk": self.pick(["ssd", "hdd"])}
                nodes.append(node)
                for _ in range(2 if self.often("several_tms") else 1):
                    tms.append(
                        {
                            "id": f"t{len(tms)}",
                            "node": node["id"],
                            "slots": int(self.pick([1, 2, 3, 8])),
                        }
                    )
        out: dict[str, Any] = {
            "sites": sites,
            "nodes": nodes,
            "task_managers": tms,
            "links": self.links(n_sites),
        }
        if self.draw.random() < 0.3 or self.often("state"):
            out["checkpoint_storage"] = self.pick(sites)["id"]
        if self.draw.random() < 0.3:
            out["cpu_target"] = self.pick([0.5, 0.9, 1.0])
            out["link_target"] = self.pick([0.5, 0.9, 1.0])
        if self.often("wire"):
            out["mtu_bytes"] = self.pick([576, 1500, 9000])
        if self.draw.random() < 0.1:
            out["buffers_per_channel"] = self.pick([0, 1, 4])
            out["floating_buffers_per_gate"] = self.pick([1, 8, 16])
            out["buffer_bytes"] = self.pick([4096, 32768])
        return out

    def links(self, n: int) -> list[dict[str, Any]]:
        if self.often("ring"):
            pairs = [(i, (i + 1) % n) for i in range(n)] if n > 2 else [(0, 1)]
        elif self.often("mesh"):
            pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        elif self.often("path"):
            pairs = [(i, i + 1) for i in range(n - 1)]
        else:
            pairs = [(int(self.draw.integers(j)), j) for j in range(1, n)]
        links: list[dict[str, Any]] = []
        for a, b in pairs:
            if self.often("cut"):
                continue
            if self.often("one_way"):
                links.append(self.link(*self.pick([(a, b), (b, a)])))
            elif self.often("asymmetric"):
                links += [self.link(a, b), self.link(b, a)]
            else:
                links.append({**self.link(a, b), "both_ways": True})
        return links

    def link(self, a: int, b: int) -> dict[str, Any]:
        link: dict[str, Any] = {"source": f"s{a}", "target": f"s{b}"}
        if self.draw.random() < 0.9:
            delay = self.number(1, 200)
            link["delay_ms"] = float(self.pick([0, 10, 10, 20])) if self.round else delay
        if self.draw.random() < 0.7:
            link["bandwidth_bytes_per_s"] = self.number(1e4, 1e7)
        if self.often("priced"):
            link["price_per_byte"] = self.pick(
                [0.0, 1.0, 2.0, 1e3, 1e6, float(f"{10 ** self.draw.uniform(0, 6):.4g}")]
            )
        if self.often("background") and "bandwidth_bytes_per_s" in link:
            room = link["bandwidth_bytes_per_s"] * 0.5
            link["background_bytes_per_s"] = float(f"{room * self.draw.uniform(0.01, 0.95):.4g}")
        return link
