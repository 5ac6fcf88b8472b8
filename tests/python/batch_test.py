#!/usr/bin/env python3
"""Batches and single images as arrays: no copies, lifetime, what may be held, memory of the caller's."""
import gc
import importlib.util
import unittest
import weakref

import numpy

import stoker
from engine import MINI, config, run_python

IMAGE = sorted(MINI.glob("*/*.jpg"))[0].read_bytes()


def address(array):
    return array.__array_interface__["data"][0]


class BatchTest(unittest.TestCase):

    def test_is_images_and_labels(self):
        with stoker.Loader(config()) as loader:
            batch = next(iter(loader))
            images, labels = batch
            self.assertIs(images, batch[0])
            self.assertIs(labels, batch.labels)
            self.assertEqual((images.shape, images.dtype, len(images)), ((16, 32, 32, 3), "uint8", 16))
            self.assertEqual((labels.shape, labels.dtype), ((16,), "int64"))
            self.assertEqual((batch.epoch, batch.index, batch.size, batch.whole, batch.filler), (0, 0, 16, 16, False))
            self.assertIsNone(batch.targets)
            self.assertEqual((batch.skipped, batch.tolerated), ([], []))
            self.assertGreater(batch.bytes_read, 16 * 1000)
            self.assertGreater(batch.read_s + batch.decode_s, 0)
            self.assertEqual(len(batch.digests), 16 * 16)
            self.assertLess(numpy.asarray(labels).max(), 10)

    def test_float_samples_are_planes_and_normalised(self):
        with stoker.Loader(config(), ["decoder.output=float32"]) as loader, stoker.Loader(config()) as levels:
            floats, levels = next(iter(loader)).images, next(iter(levels)).images
            self.assertEqual((floats.shape, floats.dtype), ((16, 3, 32, 32), "float32"))
            mean, deviation = numpy.array([0.485, 0.456, 0.406]), numpy.array([0.229, 0.224, 0.225])
            expected = (numpy.asarray(levels) / 255 - mean) / deviation
            numpy.testing.assert_allclose(numpy.asarray(floats), expected.transpose(0, 3, 1, 2), atol=0.03)

    def test_maps_follow_their_planes(self):
        planes = {"channels": 2, "height": 4, "width": 6, "target": True}
        sections = config(dataset={"type": "synthetic", "samples": 8, "test_samples": 8, "classes": 4, "planes": planes},
                          decoder={"type": "planes", "channels": 2, "height": 4, "width": 6, "target": True})
        with stoker.Loader(sections, ["loader.batch_size=4"]) as loader:
            images, targets = next(iter(loader))
            self.assertEqual((images.shape, targets.shape, targets.dtype), ((4, 2, 4, 6), (4, 4, 6), "uint8"))
            self.assertTrue(numpy.isfinite(numpy.asarray(images)).all())
            self.assertLess(numpy.from_dlpack(targets).max(), 10)

    def test_shares_its_memory(self):
        with stoker.Loader(config()) as loader:
            images = next(iter(loader)).images
            a, b = numpy.asarray(images), numpy.from_dlpack(images)
            self.assertEqual(address(a), address(b))
            a[0, 0, 0, 0] = a[0, 0, 0, 0] ^ 255
            self.assertEqual(a[0, 0, 0, 0], b[0, 0, 0, 0])
            self.assertEqual(images.__dlpack_device__(), (1, 0))
            self.assertNotEqual(address(numpy.array(images)), address(a))
            self.assertEqual(numpy.asarray(images, dtype="float32").dtype, numpy.float32)
            with self.assertRaises(ValueError):
                images.__array__(dtype="float32", copy=False)

    def test_arrays_live_as_long_as_any_of_them(self):
        loader = stoker.Loader(config())
        kept = []
        for batch in loader:
            kept.append((numpy.from_dlpack(batch.images), numpy.asarray(batch.images).copy()))
        del batch
        for _ in loader:
            pass
        loader.close()
        del loader
        gc.collect()
        for array, copy in kept:
            numpy.testing.assert_array_equal(array, copy)

    def test_memory_is_used_again_once_arrays_are_gone(self):
        with stoker.Loader(config()) as loader:
            self.assertLessEqual(len({address(numpy.asarray(batch.images)) for _ in range(3) for batch in loader}), 5)

    def test_holding_too_much_is_an_error_that_says_how_much(self):
        with stoker.Loader(config(), max_held=6 * 16 * 32 * 32 * 3) as loader:
            iteration = iter(loader)
            held = [next(iteration) for _ in range(6)]
            with self.assertRaises(stoker.Error) as caught:
                next(iteration)
            self.assertIn("6 batches (0.3 MB) are still held", str(caught.exception))
            self.assertIn("let go of batches, copy what is to be kept, or allow more", str(caught.exception))
            view = numpy.asarray(held.pop(0).images)[0, 0]  # a part holds the whole
            with self.assertRaises(stoker.Error):
                next(iteration)
            del view
            self.assertEqual(next(iteration).index, 6)


class AllocatorTest(unittest.TestCase):

    def test_gives_the_memory_and_gets_it_back(self):
        given = []

        def allocate(size):
            array = numpy.zeros(size, dtype=numpy.uint8)
            given.append((weakref.ref(array), address(array), size))
            return array

        loader = stoker.Loader(config(), allocate=allocate)
        images = numpy.asarray(next(iter(loader)).images)
        self.assertTrue(any(begin <= address(images) < begin + size for _, begin, size in given))
        self.assertEqual(address(images) % 64, 0)
        loader.close()
        gc.collect()
        self.assertEqual(sum(reference() is not None for reference, _, _ in given), 1)
        self.assertGreater(images.max(), 0)
        del images
        gc.collect()
        self.assertEqual([reference() for reference, _, _ in given], [None] * len(given))

    def test_that_fails_or_gives_something_else_is_an_error(self):
        def fails(size):
            raise MemoryError("there is none")

        with self.assertRaisesRegex(stoker.Error, "there is none"):
            stoker.Loader(config(), allocate=fails)
        for wrong in (lambda size: None, lambda size: numpy.zeros(3, dtype=numpy.uint8),
                      lambda size: numpy.zeros(size, dtype=numpy.int8)):
            with self.assertRaisesRegex(stoker.Error, "must give a uint8 array of that many bytes"):
                stoker.Loader(config(), allocate=wrong)


    def test_arrays_compare_value_by_value(self):
        with stoker.Loader(config()) as loader:
            labels = next(iter(loader)).labels
        values = numpy.asarray(labels)
        for equal in (labels == labels, labels == values, values == labels, ~(labels != values)):
            self.assertTrue(equal.all() and equal.shape == (16,))
        self.assertEqual((labels == values[0]).sum(), (values == values[0]).sum())
        if importlib.util.find_spec("torch"):
            run_python("""
import torch
labels = next(iter(stoker.Loader(config()))).labels
tensor = torch.from_dlpack(labels)
assert (tensor == labels).all() and (labels == tensor).all() and (labels != tensor + 1).all()
assert torch.stack([labels, tensor]).shape == (2, 16)
try:
    stoker.Loader(config(), device="cuda:99")
except stoker.Error as error:
    assert error.code == 6 and "is not here" in str(error), error
else:
    raise AssertionError("there are no hundred GPUs")
""")


class DecodeTest(unittest.TestCase):

    def test_options_with_parts_and_numbers_of_numpy(self):
        for options in ({"limits": {"max_pixels": 100}}, {"limits.max_pixels": 100}, {"limits": {"max_pixels": numpy.int64(100)}}):
            with self.assertRaisesRegex(stoker.Error, "max_pixels"):
                stoker.decode_jpeg(IMAGE, numpy.int64(41), **options)
        self.assertEqual(stoker.decode_jpeg(IMAGE, 41, augment={"flip": True}).shape, (41, 41, 3))
        for _ in range(2):
            with self.assertRaisesRegex(stoker.Error, "must be an integer"):
                stoker.decode_jpeg(IMAGE, 41.0)

    def test_one_image(self):
        array = stoker.decode_jpeg(IMAGE, size=40)
        self.assertEqual((array.shape, array.dtype), ((40, 40, 3), "uint8"))
        for same in (memoryview(IMAGE), bytearray(IMAGE), numpy.frombuffer(IMAGE, dtype=numpy.uint8)):
            numpy.testing.assert_array_equal(numpy.asarray(stoker.decode_jpeg(same, size=40)), numpy.asarray(array))
        other = numpy.asarray(stoker.decode_jpeg(IMAGE, size=40, resize="antialias", fit="center_crop"))
        self.assertFalse((other == numpy.asarray(array)).all())
        self.assertEqual(stoker.decode_jpeg(IMAGE, size=40, output="float32").shape, (3, 40, 40))

    def test_errors(self):
        for data, options, code, text in ((b"no image", {}, 4, "it is text that begins 'no image'"), (IMAGE[:500], {}, 4, ""),
                                          (IMAGE, {"sise": 3}, 2, "unknown key 'sise' (did you mean 'size'?)"),
                                          (IMAGE, {"on_device": "decode"}, 2, "on_device=nothing")):
            with self.assertRaises(stoker.Error) as caught:
                stoker.decode_jpeg(data, **options)
            self.assertEqual(caught.exception.code, code)
            self.assertIn(text, str(caught.exception))
        with self.assertRaises(TypeError):
            stoker.decode_jpeg("text")


if __name__ == "__main__":
    unittest.main()
