"""The commands as they are typed; each module imports what it runs only when it runs."""
