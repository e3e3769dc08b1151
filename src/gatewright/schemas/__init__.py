"""JSON Schema of tools: compiling and cost bounds, gate and filter, error messages; member names and look-alike names."""
