"""State database of the gateway: one file (`state.db`) with one list of migrations and a feed of other processes' changes.

`engine` is what a database engine has to offer and `sqlite` the one there is; `migrations` has every feature's tables, `state` is the
opened database, `opening` how it is opened and what becomes of the files of former versions (`former`).
"""
