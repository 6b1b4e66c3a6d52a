"""Vectors of numbers in the processor's registers, for the compiled kernels: Numba types and operations in LLVM.

Numba caches the kernels by the file that holds them, so after a change of these operations the cache has to be deleted.
"""

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 16 if binding.get_host_cpu_features().get("avx512f") else 8
"""Numbers of a vector: two registers."""

INDEX = ir.IntType(32)


class Vector(types.Type):
    """The type of `LANES` numbers in registers."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(f"Vector({dtype})")


def _find_llvm_type(manager, vector):
    return ir.VectorType(manager[vector.dtype].get_value_type(), LANES)


register_model(Vector)(lambda manager, kind: models.PrimitiveModel(manager, kind, _find_llvm_type(manager, kind)))


def _fill(builder, number):
    """Return a vector with `number` in every lane."""
    vector = builder.insert_element(ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined), number, INDEX(0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(INDEX, LANES), [0] * LANES))


def _locate_lanes(context, builder, signature, values):
    """Return the pointer to `LANES` numbers and the mask of the first `count`, from values (array, start, count)."""
    data = context.make_array(signature.args[0])(context, builder, values[0]).data
    vector = ir.VectorType(data.type.pointee, LANES)
    pointer = builder.bitcast(builder.gep(data, [values[1]]), vector.as_pointer())
    lanes = ir.Constant(ir.VectorType(values[2].type, LANES), list(range(LANES)))
    return pointer, builder.icmp_signed("<", lanes, _fill(builder, values[2]))


@intrinsic
def fill(_, number):
    """Return a vector with `number` in every lane."""
    return Vector(number)(number), lambda context, builder, signature, values: _fill(builder, values[0])


@intrinsic
def load(_, array, start, count):
    """Return `count` numbers of an array from `start` as a vector, with zeros behind; `LANES` numbers are read."""

    def emit(context, builder, signature, values):
        pointer, mask = _locate_lanes(context, builder, signature, values)
        vector = builder.load(pointer, align=4)
        return builder.select(mask, vector, ir.Constant(vector.type, None))

    return Vector(array.dtype)(array, types.int64, types.int64), emit


@intrinsic
def store(_, array, start, count, vector):
    """Write the first `count` numbers of a vector into an array from `start` on."""

    def emit(context, builder, signature, values):
        pointer, mask = _locate_lanes(context, builder, signature, values)
        builder.store(builder.select(mask, values[3], builder.load(pointer, align=4)), pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, vector), emit


@intrinsic
def add_product(_, total, x, y):
    """Return total + x · y."""

    def emit(context, builder, signature, values):
        return builder.fadd(values[0], builder.fmul(*values[1:], flags=["contract"]), flags=["contract"])

    return total(total, x, y), emit


@intrinsic
def clip(_, vector, guide):
    """Return the vector with zeros where `guide` is at most zero."""

    def emit(context, builder, signature, values):
        zeros = ir.Constant(values[0].type, None)
        return builder.select(builder.fcmp_ordered("<=", values[1], zeros), zeros, values[0])

    return vector(vector, guide), emit


@intrinsic
def sum_lanes(_, vector):
    """Return the sum of a vector's numbers, added half by half."""

    def emit(context, builder, signature, values):
        (vector,), half = values, LANES // 2
        while half:
            of_half = ir.VectorType(INDEX, half)
            halves = (ir.Constant(of_half, list(range(at, at + half))) for at in (0, half))
            vector, half = builder.fadd(*(builder.shuffle_vector(vector, vector, each) for each in halves)), half // 2
        return builder.extract_element(vector, INDEX(0))

    return vector.dtype(vector), emit


@intrinsic
def compute_power_of_two(_, k):
    """Return 2ᵏ for an integral number from -1022: its bits are those of the exponent."""

    def emit(context, builder, signature, values):
        bits = builder.bitcast(builder.fadd(values[0], ir.Constant(ir.DoubleType(), 2.0**52 + 1023)), ir.IntType(64))
        return builder.bitcast(builder.shl(bits, ir.IntType(64)(52)), ir.DoubleType())

    return types.float64(types.float64), emit
