"""The gateway's own methods: MGP's kernel methods that this version has. They are calls like any other."""
