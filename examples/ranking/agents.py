"""Three variants of one agent that answers questions about delivery: which of them would you ship?"""

from niceeval import AgentContext, Reply, Usage

FACTS = {
    "express": "Express delivery takes 1 working day.",
    "abroad": "We deliver to all countries of the EU.",
    "weekend": "We do not deliver on Sundays.",
}


def _fact(message: str) -> str:
    return next((fact for word, fact in FACTS.items() if word in message.lower()), "I do not know that.")


def _reply(text: str, reading: int) -> Reply:
    """A reply with its usage: what was read before answering, and a token for each word of the answer."""
    return Reply(text, usage=Usage(input_tokens=reading, output_tokens=len(text.split())))


def brief(message: str) -> Reply:
    """Says the fact and nothing else."""
    return _reply(_fact(message), reading=60)


def friendly(message: str) -> Reply:
    """Says the fact kindly, for a few more tokens."""
    return _reply(f"Good question! {_fact(message)} Is there anything else I can do?", reading=80)


def hurried(message: str, ctx: AgentContext) -> Reply:
    """Answers from a cache where it can; a cached answer costs nobody knows what, and it says so by saying nothing."""
    if "weekend" in message.lower():
        return Reply(_fact(message))
    return _reply(f"{_fact(message)[:20]}...", reading=20)
