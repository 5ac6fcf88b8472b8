"""tf.data. plain: fancy upsampling and the accurate IDCT (Pillow's pixels), normalised per image; aa: the same, resized with
antialiasing; tuned: the fast IDCT without fancy upsampling, normalised and transposed once a batch. Workers: calls in
parallel and threads of the pool. Shards: TFRecord, shuffled, interleaved and shuffled again in a buffer, as its guide has it."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf  # noqa: E402

import common  # noqa: E402

arguments = common.arguments(__doc__, ["plain", "aa", "tuned"])
WORKERS = arguments.workers
TUNED = arguments.variant == "tuned"
FILES = common.files(arguments.data)
tf.config.threading.set_inter_op_parallelism_threads(WORKERS)
tf.config.threading.set_intra_op_parallelism_threads(WORKERS)
SCALE, SHIFT = tf.constant(common.SCALE), tf.constant(common.SHIFT)


def encoded_of(what):
    if not arguments.shards:
        return tf.io.read_file(what)
    return tf.io.parse_single_example(what, {"image/encoded": tf.io.FixedLenFeature([], tf.string)})["image/encoded"]


def load(what):
    encoded = encoded_of(what)
    image = tf.io.decode_jpeg(encoded, channels=3, fancy_upscaling=not TUNED,
                              dct_method="INTEGER_FAST" if TUNED else "INTEGER_ACCURATE")
    image = tf.image.resize(image, [common.SIZE, common.SIZE], method="bilinear", antialias=arguments.variant == "aa")
    return image if TUNED else tf.transpose(image * SCALE + SHIFT, [2, 0, 1])


def shuffled(data, count):
    return data if arguments.dump else data.shuffle(count, seed=common.SEED, reshuffle_each_iteration=True)


if arguments.shards:
    SHARDS = common.shards(arguments.shards)
    data = shuffled(tf.data.Dataset.from_tensor_slices(SHARDS), len(SHARDS))
    data = data.interleave(tf.data.TFRecordDataset, cycle_length=1 if arguments.dump else 4, num_parallel_calls=WORKERS)
    data = shuffled(data, common.WINDOW)
else:
    data = shuffled(tf.data.Dataset.from_tensor_slices([path for path, _ in FILES]), len(FILES))
data = data.map(load, num_parallel_calls=WORKERS).batch(common.BATCH, num_parallel_calls=WORKERS)
if TUNED:
    data = data.map(lambda images: tf.transpose(images * SCALE + SHIFT, [0, 3, 1, 2]), num_parallel_calls=WORKERS)
options = tf.data.Options()
options.threading.private_threadpool_size = WORKERS
options.threading.max_intra_op_parallelism = 1
options.deterministic = True
# One iterator for all epochs: taking one down takes seconds, and is no part of the work.
ITERATOR = iter(data.repeat().prefetch(2).with_options(options))


def batches(_):
    for _ in range(-(-len(FILES) // common.BATCH)):
        images = next(ITERATOR)
        yield int(images.shape[0]), images


common.run(arguments, "tf-" + arguments.variant, batches, "tensorflow " + tf.__version__)
