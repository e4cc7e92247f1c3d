"""What is raised where a file may be read in several ways."""


class Undecided(ValueError):
    """A file that may be read in several ways, with the arguments for each.

    Parameters
    ----------
    text : str
        What is open.
    choices : list of dict of str to (str or list of str)
        Arguments of `skbench.read_items`, a dict for each way; one with a "name" is of the
        command of this name.
    """

    def __init__(self, text, choices):
        self.text, self.choices = text, choices
        shown = [
            ", ".join(f"{name}={value!r}" for name, value in choice.items())
            for choice in choices
            if "name" not in choice
        ]
        more = f" In Python, pass {'; or '.join(shown)}." if shown else ""
        super().__init__(f"{text}{more}")
