"""x."""


def add_arguments(parser):
    """None."""


def tables(arguments):
    return []
