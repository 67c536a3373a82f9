"""Evals: how they are defined, where their cases come from, how they are found and selected."""
