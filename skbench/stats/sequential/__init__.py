"""Sequential inference, valid at every look."""
