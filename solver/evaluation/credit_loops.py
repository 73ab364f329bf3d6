"""Credit windows beside busy processors: how much of them is in use, on the way or waiting.

A buffer of a credit window goes round: it is filled and read by threads of two subtasks, and under
way between them. So a window is a closed loop with a delay, its round trip, and two stations, the
processors of both ends (Reiser, "A queueing network analysis of computer communication networks
with window flow control", IEEE Trans. Communications 27, 1979). Where both a window and a processor
are near their limits, buffers wait for the processor, and the loop carries less than either allows.

By approximate mean value analysis (Schweitzer, 1979) with processor sharing, a buffer of loop k,
whose window has W_k of them, stays

    R_k = D_k (1 + Q - Q_k / W_k) / (1 - U_0)

at a station that needs D_k for it, where U_0 is the share that the station works for others than
these loops, and Q the buffers that are there, Q_k of loop k. By Little's law Q_k = x_k R_k, and
U_k = x_k D_k is the share that it works for loop k. So

    a_k = v_k / (1 + v_k / W_k),    v_k = U_k / (1 - U_0),    Q_k = a_k / (1 - sum of all a)

A thread fills and reads buffers by the same work, so loops that begin there and loops that end
there are looked at apart.
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
        Share of each window that is on its round trip, shape (n_far,). Where it is 0, the window
        has no limit, and no loop is counted.
    cores
        Used of each node, shape (n_nodes,).
    busy
        Busy share of each subtask's thread, shape (n_subtasks,).
    """
    share = under_way.copy()
    k = np.flatnonzero(under_way)
    loops = far[k]
    # In buffers: a window's bytes have overheads, and so have those of the traffic.
    buffer_on_wire = p.channels.bytes_per_s[loops] * p.channels.fill_ms[loops] / 1000
    window = p.channels.window_bytes[loops] / buffer_on_wire
    # What `cpu_target` keeps free has no queue.
    free = p.cluster.cpu_target / p.tms.node_cores
    node = p.tms.node[assignment]
    used = np.minimum(cores * free, 1.0)
    own = p.work.cores[np.arange(p.n), p.tms.node_class[assignment]]
    # `cores` may be of grown rates; the part of them that a subtask has stays as it is.
    whole = np.bincount(node, weights=own, minlength=len(cores))[node]
    own = used[node] * np.divide(own, whole, out=np.zeros(p.n), where=whole > 0)
    at_work = np.minimum(busy, 1.0)
    for end, of_end in (
        (p.channels.source, p.channels.of_source),
        (p.channels.target, p.channels.of_target),
    ):
        at, part = end[loops], of_end[loops]
        in_thread = _waiting(window, at, at_work[at] * part, at_work)
        in_node = _waiting(window, node[at], own[at] * part, used)
        # A thread works on the cores of its node, so the longer one of the queues counts.
        share[k] += np.maximum(in_thread, in_node)
    return share


def _waiting(window: Floats, at: Ints, own: Floats, used: Floats) -> Floats:
    """Return the share of each window that is at a station; 1 where that is full.

    Parameters
    ----------
    window
        Buffers of each loop, shape (n,).
    at
        Station of each loop, shape (n,).
    own
        Share that the station works for each loop, shape (n,).
    used
        Share that each station works at all, shape (n_stations,).
    """
    others = np.maximum(used - np.bincount(at, weights=own, minlength=len(used)), 0.0)
    full = (used >= 1)[at]
    with np.errstate(divide="ignore", invalid="ignore"):
        v = own / (1 - others)[at]
        a = v / (1 + v / np.maximum(window, 1.0))
        left = 1 - np.bincount(at, weights=np.where(full, 0.0, a), minlength=len(used))
        waiting: Floats = np.where(full, 1.0, a / (window * left[at]))
    return waiting
