#!/usr/bin/env python3
"""Writes corpus/kept/: what is kept of plugins and of crashes, and what comes from probing them: whole, without the hash, and with one
thing wrong each."""
import hashlib
import pathlib

FOLDER = pathlib.Path(__file__).parent / "corpus" / "kept"
KEY = "0123456789abcdef" * 4


def whole(text):
    return text + f"sha256 {hashlib.sha256(text.encode()).hexdigest()}\n"


def device(index=0, kind=2, name="GPU", uuid="00" * 16):
    return f"device {index} 0 {kind} 1 1 1 256 1024 5000\n{name}\n\n\n0000:01:00.0\n{uuid}\n"


def kept(verdict="answered\n", key=KEY, file="1 2 3 4 5"):
    return f"tenon plugin 1\npath {key}\nfile {file}\nhash {KEY}\n{verdict}"


def probed(answer="offers 0 none\n", calls=("load", "start", "stop")):
    return f"hash {KEY}\n" + "".join(f"at {call}\n" for call in calls) + answer


LISTED = f"listed {KEY}\noffers 2 more\n" + device() + device(1, 5, "Ü", "fe" * 16)
FILES = {
    "empty": "",
    "answered": whole(kept()),
    "quarantined": whole(kept("quarantined crashed in start\n")),
    "listed": whole(kept(LISTED)),
    "listed_without_hash": kept(LISTED),
    "other_path": whole(kept(key="f" * 64)),
    "no_reason": whole(kept("quarantined \n")),
    "a_cpu": whole(kept(f"listed {KEY}\noffers 1 \n" + device(kind=1))),
    "unknown_kind": whole(kept(f"listed {KEY}\noffers 1 \n" + device(kind=9))),
    "not_ascending": whole(kept(f"listed {KEY}\noffers 2 \n" + device(1) + device(0))),
    "fewer_devices": whole(kept(f"listed {KEY}\noffers 7 \n" + device())),
    "large_number": whole(kept(file="1 2 99999999999999999999 4 5")),
    "probed": whole(probed("whole\noffers 1 \n" + device())),
    "probed_without_hash": probed("whole\noffers 1 \n" + device()),
    "probed_refused": whole(probed("whole\nrefused no driver\n")),
    "probed_cut": probed(""),
    "probed_nothing": f"hash {KEY}\n",
    "probed_babble": "devices 7\n",
    "crashed": kept("signal 11 1796030931\n").replace("tenon plugin", "tenon crash"),
    "crashed_cut": kept("signal 11 17").replace("tenon plugin", "tenon crash"),
}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
