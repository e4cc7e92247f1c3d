"""The error for ambiguous files."""


class Undecided(ValueError):
    """A file can be read in several ways; `choices` holds the arguments for each of them.

    Parameters
    ----------
    text : str
        Description of the ambiguity.
    choices : list of dict of str to (str or list of str)
        Arguments of `skbench.read_items`, one dict per way. A dict with the key "name" holds
        arguments of the command of this name.
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
