"""State database of the gateway: one file (`state.db`) with one list of migrations and a feed of other processes' changes.

Begin with `state`, the opened database. `engine` is what a database engine has to offer and `sqlite` the one there is; `migrations`
has every feature's tables, `opening` is how it is opened and what becomes of the files of former versions (`former_files`).
"""
