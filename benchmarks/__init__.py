"""How fast the gateway is, each figure beside a named peer that was measured in the same run.

`python -m benchmarks` runs everything, `python -m benchmarks.NAME` one file; `--json` gives one
JSON object a row. Absolute rates belong to the machine; ratios and CPU a call travel.
"""
