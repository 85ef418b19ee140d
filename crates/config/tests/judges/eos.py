"""Prints the EOS configuration that Arista's generator makes of the structured model on standard input.

Exit code 3 says that the generator is not installed.
"""

import json
import sys

try:
    import pyavd
except ImportError:
    sys.exit(3)

print(pyavd.get_device_config(json.load(sys.stdin)))
