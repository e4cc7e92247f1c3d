"""Items answered by many models: easiness, components, one new model on a part of them."""
