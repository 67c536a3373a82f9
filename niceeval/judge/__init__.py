"""Judges: the models that answer judge matches, how they are reached, and how well they agree with people."""
