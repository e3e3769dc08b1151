"""Tool servers registered at run time (MGP §15.4, §15.5): who registers what, how it is kept, how it ends. Begin with `methods`."""
