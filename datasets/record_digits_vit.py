#!/usr/bin/env python3
"""Records digits-vit.h5: the gradients of a small vision transformer in real training on two processes.

usage: record_digits_vit.py [--output digits-vit.h5] [--steps 20:31] [--train-until N]

The model (two convolutions with batch normalisation, a position embedding, two transformer blocks, a linear head; 40,106
parameters) learns the UCI handwritten digits that scikit-learn ships, under DistributedDataParallel with the gloo backend.
Steps 20 to 31 of the training are recorded, local gradients of both process ranks, by the hook in capture/.

Needs torch, h5py and scikit-learn (Debian: python3-torch python3-h5py python3-sklearn). The same versions on the same kind
of processor give the same file; elsewhere rounding differs.
"""

import argparse
import os
import sys
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "capture"))
from psgd_capture import Recorder, merge_files, rank_file  # noqa: E402

WORLD_SIZE = 2
BATCH = 32  # images per process rank and step
WIDTH, HEADS, DEPTH = 40, 4, 2
SEED = 20


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 3 * WIDTH), nn.GELU(), nn.Linear(3 * WIDTH, WIDTH))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class DigitsViT(nn.Module):
    """8x8 images -> a 4x4 grid of tokens by convolutions -> transformer -> mean over tokens -> 10 classes."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, WIDTH, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(WIDTH),
        )
        self.position = nn.Embedding(16, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, images):
        tokens = self.stem(images).flatten(2).transpose(1, 2)
        tokens = tokens + self.position(torch.arange(16))
        for block in self.blocks:
            tokens = block(tokens)
        return self.head(self.norm(tokens).mean(1))


def batches(rank):
    """This process rank's half of every epoch's shuffled images, without end."""
    digits = load_digits()
    images = torch.tensor(digits.images[:, None] / 8 - 1, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    order = np.random.RandomState(SEED)
    while True:
        own = order.permutation(len(labels))[rank::WORLD_SIZE]
        for start in range(0, len(own) - BATCH + 1, BATCH):
            chosen = own[start : start + BATCH]
            yield images[chosen], labels[chosen]


def train(rank, directory, path, recorded, until):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)
    # Buckets of 32 KiB and then 64 KiB, so that a small model has several; by default the first alone would take 1 MiB.
    dist._DEFAULT_FIRST_BUCKET_BYTES = 32 * 1024
    dist.init_process_group("gloo", init_method=f"file://{directory}/store", rank=rank, world_size=WORLD_SIZE)
    model = nn.parallel.DistributedDataParallel(DigitsViT(), bucket_cap_mb=64 / 1024)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    recorder = Recorder(model, path, steps=recorded, model="digits-vit")
    for iteration, (images, labels) in zip(range(until), batches(rank)):
        optimizer.zero_grad()
        output = model(images)
        loss = nn.functional.cross_entropy(output, labels)
        recorder.annotate(loss=loss.detach())
        loss.backward()
        optimizer.step()
        if rank == 0 and (iteration in recorded or iteration % 20 == 0):
            accuracy = (output.argmax(1) == labels).float().mean().item()
            print(f"step {iteration}: loss {loss.item():.4f}, accuracy in the batch {accuracy:.2f}", file=sys.stderr)
    recorder.close()
    if recorder.error is not None:
        raise recorder.error
    dist.barrier()


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default=os.path.join(here, "digits-vit.h5"), help="file to write (default: %(default)s)")
    parser.add_argument("--steps", default="20:31", help="first and last recorded step (default: %(default)s)")
    parser.add_argument("--train-until", type=int, help="train this many steps in all (default: until the last recorded one)")
    options = parser.parse_args()
    first, last = map(int, options.steps.split(":"))
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "digits-vit.h5")
        mp.spawn(train, (directory, path, range(first, last + 1), options.train_until or last + 1), nprocs=WORLD_SIZE)
        parts = [rank_file(path, rank, WORLD_SIZE) for rank in range(WORLD_SIZE)]
        steps = merge_files(options.output, parts, gzip=True, overwrite=True)
    print(f"{options.output}: {steps} steps, {os.path.getsize(options.output)} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
