"""Prints, for each structured configuration of a JSON list of YAML texts, what Arista's generator makes of it.

The answer is a JSON list with the configuration, or with what the generator's schema says against it. Exit code 3
says that the generator is not installed.
"""

import json
import sys

try:
    import pyavd
    import yaml
except ImportError:
    sys.exit(3)

answers = []
for text in json.load(sys.stdin):
    model = yaml.safe_load(text)
    found = pyavd.validate_structured_config(model).validation_result
    wrong = [f"{error.path}: {error.message}" for error in [*found.violations, *found.ignored_eos_config_keys]]
    answers.append({"wrong": wrong, "text": "" if wrong else pyavd.get_device_config(model)})
json.dump(answers, sys.stdout)
