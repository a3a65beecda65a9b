"""Counts what the loops of kernels are made of, in machine code.

Usage: nvcc -std=c++20 -arch=sm_90a -O3 -I. -cubin nodes/correlator/device/cuda_products.cu -o products.cubin
       cuobjdump -sass products.cubin | python3 tests/benchmarks/cuda/loop_instructions.py [PATTERN]

Prints for each kernel whose name holds PATTERN, and each loop (a jump back), how many instructions of which kind there
are from the jump's target to the jump. Counts say nothing of time by themselves.
"""

import re
import sys
from collections import Counter

FUNCTION = re.compile(r"Function : (\S+)")
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?\w+\s+)?(\S+)(.*);")
NAME = re.compile(r"\d([a-z_]+_kernel(?:I\w*?EE)?)")


def main(pattern: str) -> None:
    """Reads the listing from standard input."""
    functions: dict[str, list[tuple[int, str, str]]] = {}
    name = ""
    for line in sys.stdin:
        if found := FUNCTION.search(line):
            name = NAME.search(found[1])[1] if NAME.search(found[1]) else found[1]
            functions[name] = []
        elif found := INSTRUCTION.match(line):
            functions[name].append((int(found[1], 16), found[2].split(".")[0], found[3]))
    for name, code in functions.items():
        for place, operation, rest in code:
            target = re.search(r"0x([0-9a-f]+)", rest) if operation == "BRA" else None
            if pattern not in name or target is None or int(target[1], 16) >= place:
                continue
            kinds = Counter(kind for at, kind, _ in code if int(target[1], 16) <= at <= place)
            counted = ", ".join(f"{kind} {n}" for kind, n in kinds.most_common(8))
            print(f"{name}: {sum(kinds.values())} instructions: {counted}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
