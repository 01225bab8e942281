"""Functions that examine the machine and return their section of the Snapshot. They judge nothing.

Nothing is imported here: a child that calls native code imports one module of this package and must start fast.
"""
