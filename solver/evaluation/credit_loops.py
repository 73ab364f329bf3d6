"""Credit windows beside busy processors: how much of them is in use, on the way or waiting.

A buffer of a credit window goes round: it is filled and read by threads of two subtasks, and under
way between them. So a window is a closed loop with a delay, its round trip, and two stations, the
processors of both ends (Reiser, "A queueing network analysis of computer communication networks
with window flow control", IEEE Trans. Communications 27, 1979). Where both a window and a processor
are near their limits, buffers wait for the processor, and the loop carries less than either allows.

By approximate mean value analysis (Schweitzer, 1979) with processor sharing, a buffer stays

    R = D / (1 - (1 - 1/N) U)

at a station that is busy for D per buffer and for a share U in all, with N buffers in all loops
through it. By Little's law, R times the buffers/s is what waits there; and D times the buffers/s of
all loops is U. So of a window of W buffers U / (N (1 - U) + U) wait: 1/N of what is served, and all
of them where the station is full.
"""

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.problem import Problem


def windows_in_use(
    p: Problem, assignment: Ints, far: Ints, under_way: Floats, cores: Floats, busy: Floats
) -> Floats:
    """Return the share of each credit window that is in use: 1 where it holds sources back.

    Parameters
    ----------
    assignment
        TaskManager of each subtask, shape (n_subtasks,).
    far
        Channels with traffic between two sites, shape (n_far,).
    under_way
        Share of each window that is on its round trip, shape (n_far,).
    cores
        Used of each node, shape (n_nodes,).
    busy
        Busy share of each subtask's thread, shape (n_subtasks,).
    """
    share = under_way.copy()
    k = np.flatnonzero(under_way)
    sent, ends = p.channels.bytes_per_s[far], (p.channels.source[far], p.channels.target[far])
    node = p.tms.node[assignment]
    # What `cpu_target` keeps free has no queue.
    full = np.minimum(cores * p.cluster.cpu_target / p.tms.node_cores, 1.0)
    at_work = np.minimum(busy, 1.0)
    through_thread = _at_both(ends, sent, p.n)
    through_node = _at_both((node[ends[0]], node[ends[1]]), sent, len(full))
    buffers = p.channels.window_bytes[far[k]] / (p.cluster.buffer_bytes * sent[k])
    for end in ends:
        thread, place = end[k], node[end[k]]
        at_thread = _waiting(at_work[thread], buffers * through_thread[thread])
        at_node = _waiting(full[place], buffers * through_node[place])
        # A thread works on the cores of its node, so the longer one of the queues counts.
        share[k] = share[k] + np.maximum(at_thread, at_node)
    return share


def _at_both(ends: tuple[Ints, Ints], sent: Floats, n: int) -> Floats:
    """Return bytes/s of all channels that begin or end at each of n places."""
    first, last = (np.bincount(end, weights=sent, minlength=n) for end in ends)
    return (first + last).astype(float, copy=False)


def _waiting(used: Floats, buffers: Floats) -> Floats:
    """Return the share of a window that is at a station, from the station's use and the buffers of
    all loops through it.
    """
    share: Floats = used / (buffers * (1 - used) + used)
    return share
