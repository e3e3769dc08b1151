"""The servers that benchmarks put behind the gateway: as fast as plain Python gets, so that what is
measured is the gateway and not them."""
