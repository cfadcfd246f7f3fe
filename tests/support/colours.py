"""tests/support/colours.py: a data set like CIFAR-10 that any network learns in seconds. Python 3, standard library."""
import os
import random

COUNT = 10000  # images of a file


def make_data(folder, classes=10):
    """Six files in the official layout, with so many classes; noise of +-12 around a level for each class and colour."""
    rng = random.Random(1)
    os.makedirs(folder)
    tables = {}
    for label in range(10):
        for colour in range(3):
            level = 30 + 190 * ((label * (3, 7, 9)[colour]) % 10) // 9
            tables[label, colour] = bytes(level - 12 + byte % 25 for byte in range(256))
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        with open(os.path.join(folder, name), "wb") as out:
            for i in range(COUNT):
                label = i % classes
                noise = rng.randbytes(3072)
                planes = b"".join(noise[1024 * c:1024 * c + 1024].translate(tables[label, c]) for c in range(3))
                out.write(bytes([label]) + planes)
