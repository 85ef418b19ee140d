"""Prints what is wrong with the options of tasks, by what `ansible-doc -j` says of their modules.

Arguments: the file with that answer, then files of tasks. A module without options in the answer is not judged.
"""

import json
import sys

import yaml

KEYWORDS = {"name", "when", "become", "register", "changed_when", "check_mode", "delegate_to", "run_once", "vars"}
TYPES = {"bool": bool, "int": int, "dict": dict, "list": list}


def judge(where, options, given):
    for option, value in given.items():
        known = options.get(option)
        if known is None:
            print(f"{where}: no option {option}")
            continue
        wanted = TYPES.get(known.get("type"))
        if wanted and not isinstance(value, wanted):
            print(f"{where}: {option} is no {known['type']}")
        if known.get("choices") and value not in known["choices"]:
            print(f"{where}: {option} is none of {known['choices']}")
        if isinstance(value, dict):
            judge(f"{where}: {option}", known.get("suboptions") or {}, value)
    for option, known in options.items():
        if known.get("required") and option not in given:
            print(f"{where}: {option} is missing")


with open(sys.argv[1], encoding="utf-8") as file:
    modules = json.load(file)
for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as file:
        tasks = yaml.safe_load(file)
    for task in tasks:
        (module,) = set(task) - KEYWORDS
        options = modules.get(module, {}).get("doc", {}).get("options")
        if options and isinstance(task[module], dict):
            judge(f"{path}: {module}", options, task[module])
