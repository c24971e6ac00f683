#!/usr/bin/env python3
"""Writes corpus/measured/: files of what tenon tune measured, whole, without their hash, and with one thing wrong each."""
import hashlib
import pathlib

FOLDER = pathlib.Path(__file__).parent / "corpus" / "measured"
KEY = "0123456789abcdef" * 4


def body(key=KEY, claim="1500000", submit="12345", up="10000 16000000000", down="0 18446744073709551615", peers=1):
    lines = ["tenon tune 1", f"device {key}", f"claim_ppm {claim}", f"submit_ns {submit}", f"up {up}", f"down {down}"]
    lines += [f"peer {KEY} {i} {i + 1}" for i in range(peers)]
    return "".join(line + "\n" for line in lines)


def whole(text):
    return text + f"sha256 {hashlib.sha256(text.encode()).hexdigest()}\n"


FILES = {
    "empty": "",
    "whole": whole(body()),
    "without_hash": body(),
    "without_peers": body(peers=0),
    "most_peers": body(peers=16),
    "too_many_peers": body(peers=17),
    "other_device": body(key="f" * 64),
    "short_key": body(key="0123"),
    "no_claim": body(claim="0"),
    "large_number": body(submit="99999999999999999999999"),
    "no_number": body(up="10000"),
    "sign": body(down="-1 1"),
    "other_release": "tenon tune 2\n",
}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (FOLDER / name).write_text(text, encoding="ascii")
