"""The policy corpus, and the search that the support agent answers from."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """One policy: each of its sentences can be quoted on its own."""

    id: int
    title: str
    keywords: frozenset[str]
    sentences: tuple[str, ...]
    withdrawn: bool = False

    @property
    def quoted(self) -> str:
        """The policy with its id behind every sentence, as the agent cites it."""
        return " ".join(f"{sentence.removesuffix('.')} [{self.id}]." for sentence in self.sentences)


def _policy(id: int, title: str, keywords: str, *sentences: str, withdrawn: bool = False) -> Policy:
    return Policy(id, title, frozenset(keywords.split()), sentences, withdrawn)


POLICIES = (
    _policy(
        4102,
        "Returns",
        "return returns back unused",
        "Unused items can be returned within 30 days of delivery.",
    ),
    _policy(
        4145,
        "Personalised items",
        "personalised engraved return name",
        "Personalised items cannot be returned unless they arrive damaged.",
    ),
    _policy(
        4188,
        "Damaged items",
        "damaged broken cracked refund",
        "Items that arrive damaged are refunded in full.",
        "We do not ask for the damaged item back.",
    ),
    _policy(
        4211,
        "Delivery times",
        "delivery deliver express long shipping",
        "Standard delivery takes 3 to 5 working days.",
        "Express delivery takes 1 working day.",
    ),
    _policy(
        4230,
        "Lost parcels",
        "lost late missing parcel",
        "A parcel counts as lost once it is 10 working days late.",
        "We then send it again or refund it, as you prefer.",
    ),
    _policy(
        4256,
        "Refund timing",
        "refund refunds card money",
        "Refunds reach your card within 5 working days.",
    ),
    _policy(
        4279,
        "Address changes",
        "address change move moving",
        "The address can be changed until the parcel leaves our warehouse.",
    ),
    # Withdrawn last year. The search leaves it out; a model that has read it before may still remember it.
    _policy(
        3901,
        "Christmas gifts",
        "gift gifts christmas",
        "Gifts bought in December can be returned until 31 January.",
        withdrawn=True,
    ),
)
BY_ID = {policy.id: policy for policy in POLICIES}


def search(question: str, limit: int = 2) -> list[Policy]:
    """Return the policies in force that share most words with the question, at most `limit`."""
    words = set(re.findall(r"[a-z]+", question.lower()))
    hits = [(len(policy.keywords & words), policy) for policy in POLICIES if not policy.withdrawn]
    found = sorted((hit for hit in hits if hit[0]), key=lambda hit: (-hit[0], hit[1].id))
    return [policy for _, policy in found[:limit]]
