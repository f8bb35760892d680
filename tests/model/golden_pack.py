#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""golden_pack.py REFERENCE.json IDS.json > tests/data/smollm2-golden.json

Keeps what tests/model/golden.c needs of a reference run of SmolLM2-135M-Instruct Q4_1:
prompts, float64 greedy tokens and top-5 logits, and the mean negative log likelihoods of a text.
IDS.json is the list of the text's token ids (without BOS, at least 1024 of them).
"""
import json
import sys


def main():
    with open(sys.argv[1]) as f:
        ref = json.load(f)
    with open(sys.argv[2]) as f:
        ids = json.load(f)[:1024]
    out = {
        "model_sha256": ref["model"]["sha256"],
        "rule": ref["how"]["rule"],
        "nll": {
            "text": ref["nll"]["text"],
            "text_sha256": ref["nll"]["text_sha256"],
            "windows": [[n, ref["nll"]["N%d" % n]["float64"]] for n in (512, 1024)],
            "ids": ids,
        },
        "generation": [
            {
                "prompt_ids": g["prompt_ids"],
                "greedy": g["float64"]["greedy"],
                "top5": g["float64"]["top5"],
            }
            for g in ref["generation"]
        ],
    }
    # One line a step keeps diffs readable.
    text = json.dumps(out, separators=(",", ":"), sort_keys=True)
    print(text.replace("]],[[", "]],\n[["))


main()
