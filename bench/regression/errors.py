"""What ends a night early, each with the exit code that the programs of this project share."""


class Failure(Exception):
    """One line for the user: what is wrong, where, and what to do."""

    exit_code = 1


class UsageError(Failure):
    exit_code = 2


class BadInput(Failure):
    """A file, or what a program wrote, is not what it has to be."""

    exit_code = 3


class NotAvailable(Failure):
    """A package or program is missing, or a commit does not build."""

    exit_code = 4
