"""Reads configurations as Ansible's network modules do, and prints how many statements lost what they stand below.

Arguments: for each file its path and the indentation that the module of its system expects. Exit code 3 says that
the collection ansible.netcommon is not there.
"""

import os
import sys

sys.path[:0] = [path for path in os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(":") if path]
try:
    from ansible_collections.ansible.netcommon.plugins.module_utils.network.common.config import NetworkConfig
except ImportError:
    sys.exit(3)

arguments = sys.argv[1:]
for path, indent in zip(arguments[::2], arguments[1::2]):
    config = NetworkConfig(indent=int(indent))
    with open(path, encoding="utf-8") as file:
        config.load(file.read())
    lost = [item for item in config.items if item.raw.startswith(" ") and not item.parents]
    print(path.rsplit("/", 1)[-1], len(config.items), len(lost))
