"""Values cross the wire as they are, and rubbish is refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("hypothesis", reason="these tests need hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

from harness import wire

ARRAY = np.arange(24.0).reshape(2, 3, 4)
LAYOUTS = {
    "plain": ARRAY,
    "transposed": ARRAY.transpose(2, 0, 1),
    "fortran": np.asfortranarray(ARRAY),
    "backwards": ARRAY[::-1, :, ::-1],
    "every other": ARRAY[:, ::2],
    "a corner of much": np.arange(10_000)[5:5000:999],
    "broadcast": np.broadcast_to(np.arange(3), (4, 3)),
    "scalar array": np.array(2.5),
    "empty": np.zeros((0, 3)),
    "bool": ARRAY > 3,
    "big endian": ARRAY.astype(">f8"),
    "complex": ARRAY * 1j,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_keep_values_dtype_strides_and_writability(name: str) -> None:
    array = LAYOUTS[name]
    again = wire.unpack(bytearray(wire.pack(array)))
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()
    if name != "a corner of much":  # too spread out to be sent as it lies
        assert again.strides == array.strides or array.size == 0
    assert again.flags.writeable == array.flags.writeable


def test_an_array_sent_twice_arrives_as_two() -> None:
    turned = LAYOUTS["transposed"]
    first, second = wire.unpack(bytearray(wire.pack([turned, turned])))
    assert first.strides == second.strides == turned.strides
    first[:] = -1
    assert (second == turned).all()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(deadline=None, max_examples=60)
@given(values)
def test_plain_values_come_back_equal_and_of_the_same_type(value: object) -> None:
    again = wire.unpack(wire.pack(value))
    assert again == value
    assert type(again) is type(value)


def test_numpy_scalars_and_generators_cross() -> None:
    scalar = wire.unpack(wire.pack(np.float32(1.5)))
    assert type(scalar) is np.float32
    assert scalar == 1.5
    rng = np.random.default_rng(3)
    rng.random(5)
    again = wire.unpack(wire.pack(rng))
    assert again.random() == rng.random()


def test_what_cannot_cross_becomes_a_handle_and_finds_its_way_back() -> None:
    kept: list[object] = []

    def keep(value: object) -> wire.Handle:
        kept.append(value)
        return wire.Handle(0, type(value).__name__, "a mask")

    masked = np.ma.masked_array([1.0], mask=[True])
    handle = wire.unpack(wire.pack({"cache": masked}, keep))["cache"]
    assert handle == wire.Handle(0, "MaskedArray", "a mask")
    assert wire.unpack(wire.pack(handle), kept.__getitem__) is masked
    with pytest.raises(TypeError):
        wire.pack(object())


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200), st.integers(0, 200), st.integers(0, 255))
def test_rubbish_raises_one_kind_of_error(noise: bytes, at: int, byte: int) -> None:
    spoiled = bytearray(wire.pack({"value": [LAYOUTS["transposed"], (1, "x")]}))
    spoiled[at % len(spoiled)] = byte
    for data in (noise, bytes(spoiled), bytes(spoiled[:at])):
        try:
            wire.unpack(data)
        except wire.WireError:
            pass


def test_an_array_cannot_claim_more_than_it_sent() -> None:
    for head in (
        b'{"array": ["<f8", [4294967296, 4294967296], null, 0, 8, true]}',
        b'{"array": ["<f8", [1000], null, 0, 8, true]}',
        b'{"array": ["<f8", [2], [1048576], 0, 16, true]}',
        b'{"array": ["|O", [1], null, 0, 8, true]}',
        b'{"array": ["<f8", [1], null, 0, -8, true]}',
        b"[" * 100_000,
    ):
        data = len(head).to_bytes(8, "little") + head + b"\0" * 64
        with pytest.raises(wire.WireError):
            wire.unpack(data)
