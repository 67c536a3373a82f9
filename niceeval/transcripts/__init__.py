"""Readers of recorded conversations, one for each format."""
