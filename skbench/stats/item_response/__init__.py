"""Formulas for item responses: easiness, components, audits, and models of new answers."""
