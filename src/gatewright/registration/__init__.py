"""Tool servers that are registered at run time (MGP §15.4, §15.5): who may register what, how it is kept and ends. Begin with `methods`."""
