"""Every tolerance of the solver: its number, what it is relative to, and why it is that number.

Parameters of a method stay beside it: times, rounds, and how near to its best a heuristic goes
before it stops. No proof depends on those. Guards against dividing by 0 stay, too.
"""

from edgeplace.model.result import PROVED_GAP

# What floats do.

ROUNDING = 1e-9
"""Relative to a sum of floats: in another order it differs by less. Sums of a million terms lose
about 1e-10 at worst; amounts that differ by 1e-9 are not told apart by any measurement."""
ZERO = 1e-9
"""Absolute, beside `ROUNDING` where the value may be 0: in the unit of the value (`wan`, a
load)."""
CAPS_ZERO = 1e-12
"""As `ZERO`, for the thresholds of CAPS. It is less: loads of compute, in cores, are small."""
CANCELLATION = 1e-12
"""Relative to the largest numbers of a sum: where they cancel, less than this is their rounding.
Less than `ROUNDING`: what is left is compared with the largest numbers, not with the sum."""
STALL = 1e-12
"""A descent whose next step gains less has ended: rounding would let it go in circles. Relative to
the value in sites/shared.py, absolute in worker_load/pattern_bound.py."""
SILENT_BYTES_PER_S = 1e-12
"""What a channel that sends nothing counts where the site that sends most is looked for: more than
no channel, less than any that sends."""

# What keeps a limit, and which values are equal. The evaluator decides by these.

TOLERANCE = ROUNDING
"""Relative to a limit that is a sum of rates (links, cores, busy time, latency, credit windows): it
is kept up to here. Slots and counts have no tolerance."""
BYTES_TOLERANCE = 1e-15
"""Relative to the memory or disk of a TaskManager: whole bytes, whose sums are exact below 2^53. It
allows the last bit of a capacity that was given as a float, and not one byte up to 1 PB."""
TIE = ROUNDING
"""Relative to a value of the objective: values that differ by less are equal, and the next level
decides."""
UNSEEN = 1e-3
"""Relative to a term that nobody asked for: of two plans that are equal otherwise, the one that is
nearer to another plan may be worse in it by this. Three digits of it are printed."""

# What is proved.

OPTIMAL_GAP = PROVED_GAP
"""Relative to the value of a plan: with a bound as near as this, the plan is optimal. It is above
what the back ends resolve (`HIGHS_GAP`, `FEASIBILITY`), so that they can reach it."""
SAME_VALUE = OPTIMAL_GAP
"""Relative to the larger value: values of two answers that differ by less are one to the reader,
since neither answer is proved more exactly."""
CONTRADICTION = 1e-5
"""Relative to the value that the evaluator computes: a bound above it by more is an error of the
model or of a back end. Ten times `OPTIMAL_GAP`: the tolerances of back ends stay below it."""
AMOUNT_GAP = 1e-4
"""Relative to the least amount by which limits must be exceeded: how near to it the plan nearest to
the limits comes. Looser than `OPTIMAL_GAP`: the amount explains, nobody deploys it."""

HEADROOM_GAP = OPTIMAL_GAP
"""Relative to the factor by which rates can grow: how near to it the factor that is said comes. It
is never above it."""

# What models allow, so that no plan is cut off that the evaluator accepts.

HORIZON_ROOM = 1e-6
"""Relative to the limit on latency, which bounds the latencies of a model. Above `TOLERANCE` and
`FEASIBILITY`: a plan exactly at the limit stays in the model."""
SHARE_ROOM = 1e-8
"""Relative to the cores of a machine, in rows for groups of machines. Above `TOLERANCE`: a subtask
that takes half of a machine, and a rounding more, does not count as more than half."""
SHARE_WHOLE = 1e-9
"""Absolute: a multiple of a subtask's share of a machine that is nearer above a whole number is
that number."""
NEGLIGIBLE = 1e-6
"""Absolute, in the unit of the value (byte per second, ms, core, utilisation): below what solvers
resolve."""

# What solvers return.

FEASIBILITY = 1e-7
"""Absolute in HiGHS: it is told to keep rows and whole numbers this well. Relative where the value
of a column is read back: it is no more exact."""
INTEGRALITY = 1e-6
"""Absolute: a solver's value, or a bound on a count, that is nearer to a whole number is that
number. Above `FEASIBILITY`: what a solver takes for whole is taken for whole."""
HIGHS_GAP = 1e-7
"""Relative: HiGHS stops here, and its bound is believed no further: with feasibility and reduced
costs of 1e-7 it was 5e-9 too high at worst in 10,000 instances. Below `OPTIMAL_GAP`; HiGHS stops at
1e-4 unless told."""
HIGHS_RESOLUTION = 1e-6
"""Absolute, of an objective whose largest coefficient is scaled to 1e4: what HiGHS does not tell
from 0 then. Its own tolerances are absolute, 1e-7."""
PULP_GAP = 1e-9
"""Relative: what PuLP's solvers are asked for. Less than `HIGHS_GAP`: they treat the gap
differently, and `PULP_DIGITS` loosens the bound afterwards."""
PULP_DIGITS = 1e-7
"""Relative error of an objective: CBC writes 8 digits of each value."""

# Weights of routers, which linear programs find.

WEIGHTS_ROOM = 1e-7
"""Relative to the least `wan`: what weights that even the load may send more. Below `OPTIMAL_GAP`:
the proof does not suffer."""
WEIGHTS_TIGHTER = 1e-8
"""Relative to a limit that the evaluator finds exceeded: by how much more than needed it is
tightened. Above `TOLERANCE`: the next weights keep it."""
NO_WEIGHT = 1e-6
"""Absolute: a weight of a router below this is none. Above `FEASIBILITY`: it is what a linear
program leaves."""
NO_UNIT = 1e-12
"""What an objective without terms is divided by: any positive number."""

# What makes a cut or a pattern worth having.

CUT_VIOLATION = 1e-3
"""Absolute: a cut that the relaxed optimum breaks by less is not worth a row."""
CUT_FRACTION = 1e-3
"""Absolute, of the fraction that the division of a capacity leaves: with less, or with more than 1
minus this, the cut is all rounding error."""
COEFFICIENT_WHOLE = 1e-12
"""Absolute: a coefficient of a cut that is nearer below a whole number is that number. Less than
`SHARE_WHOLE`: it is one quotient."""
HULL = 1e-7
"""Absolute: a point less far outside a hull of patterns is inside. The distance is a solver's and
no more exact."""
LIKE_LOADS = 1e-10
"""Absolute, of the quotient of two loads: if it is as near to a whole number, one is a multiple of
the other."""
CAPS_SPREAD = 1e-6
"""Relative to the even share of a load: with less between it and the most, the ratios of CAPS would
be those of rounding."""
