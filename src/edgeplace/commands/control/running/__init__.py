"""The parts of `edgeplace control run`: clocks, network, solver, page and lease."""
