"""The typology notes of the demo: what an analyst would look up, in our own words.

Ids beginning `typ-` describe a typology, `ord-` an ordinary activity that looks like one, `how-` a duty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from otel_aml.demo.cases import Typology


@dataclass(frozen=True, slots=True)
class Note:
    """One note.

    Args:
        note_id: Like `typ-structuring`.
        typology: The label that the note argues for; None if it is about a duty.
        text: The words that are searched, and that the model reads.
    """

    note_id: str
    title: str
    typology: Typology | None
    text: str


NOTES: Final[tuple[Note, ...]] = (
    Note(
        "typ-structuring",
        "Structuring",
        Typology.STRUCTURING,
        "One customer breaks a larger sum of cash into pieces so that no report is triggered. Every piece stays just "
        "under the reporting limit, the pieces are handed over at several branches, sometimes two offices on one "
        "afternoon, and the whole sum is in within a few days. What counts is the intent that the pattern shows: "
        "pieces slightly beneath the ten thousand threshold, counters changed in turn, haste. A single amount "
        "beneath the threshold shows nothing. Ask where the cash came from and why one counter was not enough. "
        "Breaking up a sum to avoid the report is an offence by itself, even if the money is clean.",
    ),
    Note(
        "typ-funnel-account",
        "Funnel account",
        Typology.FUNNEL_ACCOUNT,
        "An account takes in banknotes in one region and gives them out in another. Modest sums are paid in across "
        "one area, at counters that lie close to each other, and a day or so later the same value is drawn in a "
        "distant area, often near a border. Depositors do not explain the geography, and the holder has no business "
        "in either region. Individual sums stay well below any threshold. Compare the place of each paying-in with "
        "the place of each cash withdrawal, and look at how little time lies between the two.",
    ),
    Note(
        "typ-rapid-movement",
        "Rapid movement",
        Typology.RAPID_MOVEMENT,
        "The account is a corridor: large credits arrive by wire and are sent on the same day, nearly in full, to "
        "one onward beneficiary. After each pass almost nothing is left behind except a small cut. There is no trade, "
        "no wage and no saving that would explain why the holder stands in between. Compare arrival and onward "
        "payment hour by hour, add up what stayed, and ask for contracts behind the incoming wires. Typical of "
        "layering, where passing through accounts quickly is meant to tire out whoever follows the trail.",
    ),
    Note(
        "typ-fan-in",
        "Fan-in",
        Typology.FAN_IN,
        "Within about a week many unrelated senders pay into one account. They share no surname, employer or "
        "address, and nothing was sold to them. The sums are middling, and the money then rests: the pooled balance "
        "grows and is not passed on yet. Look for a reference text that all of the remitters use, for accounts "
        "that were opened on one date, and for a reason why strangers should fund this holder. Crowd collections "
        "and club dues are innocent twins, and carry a public purpose.",
    ),
    Note(
        "typ-fan-out",
        "Fan-out",
        Typology.FAN_OUT,
        "There is one large credit beforehand, and over the next two or three days it is divided among many "
        "first-time receivers. None of the recipients was ever paid before, the portions are alike, and together "
        "they use up the incoming lump. Distribution of this kind ends a scheme: proceeds go to helpers or to fresh "
        "accounts. Ask what the recipients did to earn their portion. Wages differ from it, since staff is paid "
        "again and again.",
    ),
    Note(
        "typ-cycle",
        "Cycle",
        Typology.CYCLE,
        "Money leaves the account, walks through a handful of others and comes back to where it began. The sum is "
        "a little smaller at every hop, as if each station kept a fee, and every leg is later than the one before. "
        "Nobody in the loop gains anything from trade. Such a round trip makes old money look like new income or "
        "a loan. Draw the chain of accounts, check that the last leg ends at the first payer, and compare the "
        "amounts leg by leg.",
    ),
    Note(
        "typ-gather-scatter",
        "Gather-scatter",
        Typology.GATHER_SCATTER,
        "The account works as a hub. Funds are collected first and spread afterwards: many unrelated senders pay in "
        "over some days, a short pause follows, and many first-time receivers are paid out of the pooled balance. "
        "Strangers on both sides of one hub, and totals that nearly agree, are the mark. It joins the pooling stage "
        "with the distribution stage in a single place. List who paid in and who was paid out, and check whether any "
        "name stands on both lists.",
    ),
    Note(
        "typ-scatter-gather",
        "Scatter-gather",
        Typology.SCATTER_GATHER,
        "A sum is divided among many first-time receivers who act as intermediaries, and two or three days later it "
        "meets again in one account that the customer never paid directly. The parallel intermediaries hide that "
        "payer and final account belong together. Follow every intermediary one step further and see whether the "
        "paths converge. Portions shrink slightly on the way, and the final account often belongs to a relative or "
        "to the customer under another name.",
    ),
    Note(
        "typ-smurfing",
        "Smurfing",
        Typology.SMURFING,
        "A team rather than one customer pays small sums in for a principal: the banknotes are deposited by different "
        "people, none of whom is the holder, and each shows a different document. Their visits follow a roster. "
        "Footage and signatures matter more than amounts. Distinguish it from a family that helps out in a shop, and "
        "from a courier firm with a contract.",
    ),
    Note(
        "typ-money-mule",
        "Money mule",
        Typology.MONEY_MULE,
        "The holder was recruited by a job advert or an online friend, lends the account for a commission, and often "
        "believes the story. Logins come from devices that were never used before, and the beneficiary of onward "
        "wires is abroad. Students and newcomers are approached most. A victim and a helper can be the same person; "
        "write down what the holder was told.",
    ),
    Note(
        "typ-trade-based",
        "Trade-based laundering",
        Typology.TRADE_BASED,
        "Value crosses a border in the price of merchandise. The invoices do not match the goods in kind, quantity or "
        "price, one shipment is billed twice, or no cargo ever moved at all. Compare customs papers with bills of "
        "lading and with market prices. Payments by third parties that appear in no contract are a further hint.",
    ),
    Note(
        "typ-shell-company",
        "Shell company",
        Typology.SHELL_COMPANY,
        "A firm with neither staff nor premises takes part in large deals. Its address is shared with hundreds of "
        "others, its owner cannot be traced past a nominee, and its stated line of business never shows in the "
        "payments. Registers, tax filings and a visit to the address settle most doubts.",
    ),
    Note(
        "typ-behaviour-change",
        "Change of behaviour",
        Typology.BEHAVIOUR_CHANGE,
        "An account that was long asleep before wakes up, and what follows breaks with the account's history: new "
        "countries, new products, other hours. Compare with the profile given at onboarding. A sale of a house or an "
        "inheritance explains many of these, so ask before judging.",
    ),
    Note(
        "ord-shop-takings",
        "Takings of a shop",
        Typology.NONE,
        "Retailers and restaurants bank their revenue evening after evening. The amounts follow a steady trading "
        "rhythm on business days, go to the one or two counters nearest to the till, and some deposits exceed the "
        "limit when business is good, which nobody does who wants to avoid a report. Sums a little short of ten "
        "thousand are then the size of the business, no evasion. Suppliers are paid from the account. Closing days "
        "show as gaps.",
    ),
    Note(
        "ord-payroll",
        "Payroll",
        Typology.NONE,
        "An employer pays its staff: the same payees every month, with nearly the same salary, on the usual pay day, "
        "out of revenue from clients. Seen for one month alone it resembles a distribution of money. Seen over a "
        "quarter, the list of employees is constant. Compare it with social security filings when the workforce "
        "looks too large for the trade.",
    ),
    Note(
        "ord-rent-roll",
        "Rent roll",
        Typology.NONE,
        "A landlord or a housing association collects from the same payers every month, on the first days of the "
        "month, for flats that a land register shows. In a single month it resembles strangers who fund one holder. "
        "Over a quarter, tenants and amounts hardly change. Deposits at the start of a tenancy explain the one "
        "larger sum.",
    ),
    Note(
        "ord-household",
        "Private household",
        Typology.NONE,
        "A salary comes in, and ordinary living costs go out: groceries, rent, insurance, a holiday. Nothing large, "
        "nothing in haste, and few counterparties. No report is called for, and closing the alert with one "
        "sentence is enough.",
    ),
    Note(
        "how-narrative",
        "Writing the narrative",
        None,
        "Say who, what, when, where, why and how, in order of time, for a reader who has never seen the customer or "
        "the account. Review every statement against a transaction in the file. Give the period of the activity and "
        "its total. Do not attach tables instead of words. A draft goes to an officer, who decides what should be "
        "reported.",
    ),
    Note(
        "how-continuing",
        "Continuing activity",
        None,
        "When activity of a customer account that was reported before goes on, a further report may cover a period of "
        "ninety days. Review the account at the end of the period and say what is new. The calendar is set by the "
        "institution.",
    ),
    Note(
        "how-confidential",
        "Confidentiality",
        None,
        "Neither the customer nor anyone outside the review may learn whether an account was reported. Do not say so "
        "in a letter, in a call or in the message of a system. Questions by the customer about the activity of the "
        "account go to the officer for the period of the review.",
    ),
    Note(
        "how-retention",
        "Keeping records",
        None,
        "Keep what was reported, and the papers behind it, for a period of five years. The file of the review shows "
        "which account activity was looked at, by whom, and what the officer did say. A customer request to delete "
        "does not shorten the period.",
    ),
    Note(
        "how-deadlines",
        "Deadlines",
        None,
        "A report is due thirty days after the activity was recognised, not after the alert. The period is longer when "
        "no person can be named. Review customer and account early, say in the file what was decided, and note when it "
        "was reported.",
    ),
)

BY_ID: Final = {note.note_id: note for note in NOTES}
