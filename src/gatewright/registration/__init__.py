"""Tool servers that are registered at run time (MGP §15.4, §15.5): callers and what they register, how it is kept and ends. Begin with `methods`."""
