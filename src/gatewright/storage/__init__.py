"""The state database: one file (`state.db`) for everything that a gateway keeps but the audit trail, one list of migrations, one feed
of what other processes change.

`engine` is what a database engine has to offer and `sqlite` the one there is; `migrations` has every feature's tables, `state` is the
opened database, `opening` how it is opened and what becomes of the files of former versions (`former`).
"""
