"""The two-level store: a tier of memory in front of a parallel file system.

Safe to change: clients. What breaks: a client that does not check whose store answers
(`crates/store/src/client`) reads data of another account.
"""
