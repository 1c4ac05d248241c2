"""Loops over active constraints, compiled once and cached on disk.

Each fact's rivals are rows of a table, each with a scale; a pair costs a few passes over vectors of
the output dimension. The kernels release the interpreter lock and use one thread: who calls them
decides about threads, so that they never fight with those of the matrix products.
"""

from __future__ import annotations

from simonides.compiled import kernel

_jit = kernel(fastmath=True, error_model="numpy")

_in_order = kernel(error_model="numpy")
"""For sums beside what is written: reordered, their rounding depends on where arrays happen to lie."""


@_in_order
def share_slack(excess, pointer, price, residuals):  # type: ignore[no-untyped-def]
    """Write what is left of each pair's excess above its fact's slack; return the objective.

    The slack u of a fact minimises price * u^2 / 2 plus half the sum of (excess - u)_+^2: the excess of
    the pairs above it, summed and divided by their number plus the price.
    """
    objective = 0.0
    for fact in range(len(pointer) - 1):
        first, last = pointer[fact], pointer[fact + 1]
        slack, above = 0.0, last - first + 1
        while True:
            total, count = 0.0, 0
            for pair in range(first, last):
                if excess[pair] > slack:
                    total += excess[pair]
                    count += 1
            if count >= above:  # the set above the slack only shrinks, but for rounding
                break
            slack, above = total / (count + price), count
        square = price * slack * slack
        for pair in range(first, last):
            residuals[pair] = max(excess[pair] - slack, 0.0)
            square += residuals[pair] * residuals[pair]
        objective += square / 2
    return objective


@_jit
def pull(values, targets, table, pointer, index, out):  # type: ignore[no-untyped-def]
    """Write, per fact, the sum over its pairs of value * (target - rival)."""
    width = out.shape[1]
    for fact in range(out.shape[0]):
        row, target = out[fact], targets[fact]
        row[:] = 0.0
        total = 0.0
        for pair in range(pointer[fact], pointer[fact + 1]):
            value, rival = values[pair], table[index[pair]]
            total += value
            for k in range(width):
                row[k] -= value * rival[k]
        for k in range(width):
            row[k] += total * target[k]


@_jit
def curve(images, targets, table, pointer, index, scales, price, leads, out):  # type: ignore[no-untyped-def]
    """Write, per fact, a sum over its pairs of (target - rival): a Hessian's action.

    A pair's lead is scale * image . (target - rival); what its fact's slack takes of it, the sum of the
    leads over their number plus the price, is taken off before it is scaled again. ``leads`` is scratch.
    Four rivals at a time share what is read of the image and of the row.
    """
    width = out.shape[1]
    for fact in range(images.shape[0]):
        row, image, target = out[fact], images[fact], targets[fact]
        first, last = pointer[fact], pointer[fact + 1]
        zero = image[0] - image[0]
        own, total = zero, zero
        for k in range(width):
            own += image[k] * target[k]
        pair = first
        while pair + 4 <= last:
            r0, r1 = table[index[pair]], table[index[pair + 1]]
            r2, r3 = table[index[pair + 2]], table[index[pair + 3]]
            g0, g1, g2, g3 = zero, zero, zero, zero
            for k in range(width):
                g0 += image[k] * r0[k]
                g1 += image[k] * r1[k]
                g2 += image[k] * r2[k]
                g3 += image[k] * r3[k]
            leads[pair], leads[pair + 1] = own - g0, own - g1
            leads[pair + 2], leads[pair + 3] = own - g2, own - g3
            pair += 4
        while pair < last:
            rival = table[index[pair]]
            # Not np.dot, which would enter the matrix library and its threads for every pair.
            g0 = zero
            for k in range(width):
                g0 += image[k] * rival[k]
            leads[pair] = own - g0
            pair += 1
        for pair in range(first, last):
            leads[pair] *= scales[pair]
            total += leads[pair]
        slack = total / (last - first + price)
        total = zero
        for pair in range(first, last):
            leads[pair] = scales[pair] * (leads[pair] - slack)
            total += leads[pair]
        for k in range(width):
            row[k] = total * target[k]
        pair = first
        while pair + 4 <= last:
            r0, r1 = table[index[pair]], table[index[pair + 1]]
            r2, r3 = table[index[pair + 2]], table[index[pair + 3]]
            g0, g1, g2, g3 = leads[pair], leads[pair + 1], leads[pair + 2], leads[pair + 3]
            for k in range(width):
                row[k] -= (g0 * r0[k] + g1 * r1[k]) + (g2 * r2[k] + g3 * r3[k])
            pair += 4
        while pair < last:
            rival = table[index[pair]]
            for k in range(width):
                row[k] -= leads[pair] * rival[k]
            pair += 1
