#!/usr/bin/python3
"""tests/bench/bench_torch.py: whole training steps of the recipe for 94 % beside PyTorch's (Debian's python3-torch), the same
network, batch, augmentation, optimiser and threads, in turns in one run: ROUNDS (5) times STEPS (3) of each. Medians, ratios
and the share of this host's multiply-adds. PyTorch trains in its better layout, which a first round finds. Then the peak
resident memory of either side, each in a process of its own that takes STEPS steps more."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = int(os.environ.get("THREADS", str(len(os.sched_getaffinity(0)))))
os.environ["OMP_NUM_THREADS"] = str(THREADS)  # read as PyTorch is loaded; its backward pass has threads of its own

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    sys.exit("bench_torch.py: PyTorch is not installed: apt-get install python3-torch")

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AGENT = os.path.join(os.environ.get("BUILD", os.path.join(ROOT, "build")), "daybreak-agent")
ROUNDS, STEPS = int(os.environ.get("ROUNDS", "5")), int(os.environ.get("STEPS", "3"))
BATCH, IMAGES = 1024, 50000
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
LAYOUTS = {"channels last": torch.channels_last, "channels first": torch.contiguous_format}


class Group(nn.Module):
    """conv, max-pool, BN, GELU, conv, BN, GELU (arXiv 2404.00498)."""

    def __init__(self, into, width):
        super().__init__()
        self.conv1 = nn.Conv2d(into, width, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width, eps=1e-12, momentum=0.4)
        self.norm2 = nn.BatchNorm2d(width, eps=1e-12, momentum=0.4)
        for norm in (self.norm1, self.norm2):
            norm.weight.requires_grad = False

    def forward(self, x):
        x = functional.gelu(self.norm1(functional.max_pool2d(self.conv1(x), 2)))
        return functional.gelu(self.norm2(self.conv2(x)))


class Network(nn.Module):
    def __init__(self, widths=(64, 256, 256)):
        super().__init__()
        self.whiten = nn.Conv2d(3, 24, 2)
        self.whiten.weight.requires_grad = False
        self.groups = nn.Sequential(*(Group(a, b) for a, b in zip((24, *widths), widths)))
        self.head = nn.Linear(widths[-1], 10, bias=False)

    def forward(self, x):
        x = self.groups(functional.gelu(self.whiten(x)))
        return self.head(functional.max_pool2d(x, 3).flatten(1)) / 9


class Trainer:
    """One training whose steps are timed; images are random numbers: what they show costs nothing."""

    def __init__(self, dtype, layout):
        torch.manual_seed(1)
        self.dtype, self.layout = dtype, layout
        self.model = Network().to(dtype).to(memory_format=layout)
        self.images = torch.randn(IMAGES, 3, 32, 32).to(memory_format=layout)  # F32: its reflection knows no bf16
        self.labels = torch.randint(10, (IMAGES,))
        params = [p for p in self.model.parameters() if p.requires_grad]
        self.optimiser = torch.optim.SGD(params, lr=1e-3, momentum=0.85, weight_decay=1e-3, nesterov=True)

    def augment(self, index):
        """Reflect by 2, crop at a shift of its own, flip every other: as airbench does, shift by shift."""
        padded = functional.pad(self.images[index], (2,) * 4, "reflect")
        shifts = torch.randint(-2, 3, (len(index), 2))
        out = torch.empty_like(self.images[index])
        for dy in range(-2, 3):
            for dx in range(-2, 3):
                mask = (shifts[:, 0] == dy) & (shifts[:, 1] == dx)
                out[mask] = padded[mask, :, 2 + dy:34 + dy, 2 + dx:34 + dx]
        flip = (torch.rand(len(index)) < 0.5).view(-1, 1, 1, 1)
        return torch.where(flip, out.flip(-1), out).to(self.dtype).contiguous(memory_format=self.layout)

    def step(self):
        begin = time.perf_counter()
        index = torch.randint(IMAGES, (BATCH,))
        logits = self.model(self.augment(index)).float()
        loss = functional.cross_entropy(logits, self.labels[index], label_smoothing=0.2, reduction="sum")
        self.optimiser.zero_grad(set_to_none=True)
        (loss / BATCH).backward()
        self.optimiser.step()
        return time.perf_counter() - begin


def our_words(precision, isa):
    return [AGENT, "bench", "--steps", "cifar10", "--recipe", "cifar10-94", "--runs", str(STEPS), "--threads", str(THREADS),
            "--precision", precision, "--isa", isa]


def ours(precision, isa):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([*our_words(precision, isa), "--json", out.name], check=True, stdout=subprocess.DEVNULL)
        return json.load(open(out.name, encoding="utf-8"))


# A child's peak counts what its parent held when it forked, so a parent that holds nothing starts it.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_mib(words):
    """Peak resident memory of a process of its own."""
    said = subprocess.run([sys.executable, "-c", MEASURE, *words], check=True, capture_output=True, text=True).stdout
    code, kib = (int(word) for word in said.split())
    if code != 0:
        sys.exit(f"bench_torch.py: {' '.join(words)} ended with {code}")
    return kib / 1024


def train_alone(precision, layout):
    """The process whose memory is measured. STEPS and one to warm up, as the bench of ours takes them."""
    trainer = Trainer(TYPES[precision], LAYOUTS[layout])
    for _ in range(1 + STEPS):
        trainer.step()


def compare_memory(precision, isa, layout):
    mine = peak_mib(our_words(precision, isa))
    theirs = peak_mib([sys.executable, os.path.abspath(__file__), "--alone", precision, layout])
    images = IMAGES * 3 * 32 * 32 / 2**20
    print(f"  peak resident memory: ours {mine:.0f} MiB, torch {theirs:.0f} MiB, ratio {mine / theirs:.2f}; "
          f"its training images are {4 * images:.0f} MiB of F32, ours {images:.0f} MiB of bytes: "
          f"without them {(mine - images) / (theirs - 4 * images):.2f}")


def best_layout(dtype):
    """The name and a trainer of the layout whose steps are shorter, after one to warm up."""
    found = {}
    for name, layout in LAYOUTS.items():
        trainer = Trainer(dtype, layout)
        trainer.step()
        found[name] = (min(trainer.step() for _ in range(2)), trainer)
    name = min(found, key=lambda key: found[key][0])
    print(f"  PyTorch's layouts: {', '.join(f'{key} {value[0]:.3f} s' for key, value in found.items())}; taken: {name}")
    return name, found[name][1]


def compare(precision, isa):
    print(f"{precision}, --isa {isa}, {THREADS} threads:")
    layout, trainer = best_layout(TYPES[precision])
    times = {"ours": [], "torch": []}
    shares = []
    for _ in range(ROUNDS):
        result = ours(precision, isa)
        times["ours"] += result["step_seconds"]
        shares.append(result["share_of_ceiling"])
        times["torch"] += [trainer.step() for _ in range(STEPS)]
    for name, all_times in times.items():
        middle = statistics.median(all_times)
        print(f"  {name}: median of {len(all_times)} steps {middle:.3f} s, {BATCH / middle:.0f} images/s, "
              f"{min(all_times):.3f} to {max(all_times):.3f} s")
    print(f"  ratio {statistics.median(times['torch']) / statistics.median(times['ours']):.2f}; "
          f"{100 * statistics.median(shares):.0f} % of the multiply-adds of the same moment")
    compare_memory(precision, isa, layout)


def main():
    torch.set_num_threads(THREADS)
    if sys.argv[1:2] == ["--alone"]:
        train_alone(*sys.argv[2:])
        return
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        print(next(line for line in file if line.startswith("model name")).split(":")[1].strip(), "PyTorch", torch.__version__)
    flags = open("/proc/cpuinfo", encoding="utf-8").read()
    if "avx512f" in flags:
        compare("f32", "avx512")
    else:
        compare("f32", "auto")
    if "avx512_bf16" in flags:
        compare("bf16", "auto")


main()
