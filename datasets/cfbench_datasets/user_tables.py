"""Data sets whose tables users bring: the annotation is ours, and the table's terms do not let us ship it.

Nothing is downloaded. The user puts the file into a folder that ``--data-dir`` or ``CFBENCH_DATA_DIR`` names.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfbench import DataSource
from cfbench.errors import DataError, UnavailableError
from cfbench.tables import TextTable, read_csv


@dataclass(frozen=True)
class UserTable:
    """What a user's file has to be. No digest is known: the header and the number of rows are compared."""

    file: str
    columns: tuple[str, ...]  # its header; a column without a name is called "row" here
    rows: int
    source: str  # where the table comes from, with its terms
    delimiter: str = ","
    gap: str = ""  # the text of a missing value, where rows with one are dropped


# fmt: off
USER_TABLES = {
    "heloc": UserTable(
        "heloc_dataset_v1.csv",
        (
            "RiskPerformance", "ExternalRiskEstimate", "MSinceOldestTradeOpen", "MSinceMostRecentTradeOpen",
            "AverageMInFile", "NumSatisfactoryTrades", "NumTrades60Ever2DerogPubRec", "NumTrades90Ever2DerogPubRec",
            "PercentTradesNeverDelq", "MSinceMostRecentDelq", "MaxDelq2PublicRecLast12M", "MaxDelqEver",
            "NumTotalTrades", "NumTradesOpeninLast12M", "PercentInstallTrades", "MSinceMostRecentInqexcl7days",
            "NumInqLast6M", "NumInqLast6Mexcl7days", "NetFractionRevolvingBurden", "NetFractionInstallBurden",
            "NumRevolvingTradesWBalance", "NumInstallTradesWBalance", "NumBank2NatlTradesWHighUtilization",
            "PercentTradesWBalance",
        ),
        10_459,
        "FICO's Explainable Machine Learning Challenge of 2018 (community.fico.com), which gives it to those who "
        "accept its data set usage licence; it may not be passed on",
    ),
    "give-me-some-credit": UserTable(
        "cs-training.csv",
        (
            "row", "SeriousDlqin2yrs", "RevolvingUtilizationOfUnsecuredLines", "age",
            "NumberOfTime30-59DaysPastDueNotWorse", "DebtRatio", "MonthlyIncome", "NumberOfOpenCreditLinesAndLoans",
            "NumberOfTimes90DaysLate", "NumberRealEstateLoansOrLines", "NumberOfTime60-89DaysPastDueNotWorse",
            "NumberOfDependents",
        ),
        150_000,
        "Kaggle's competition GiveMeSomeCredit of 2011, under the competition's rules, which need an account",
        gap="NA",
    ),
    "law-school": UserTable(
        "law_data.csv",
        ("row", "race", "sex", "LSAT", "UGPA", "region_first", "ZFYA", "sander_index", "first_pf"),
        21_791,
        "the code of Kusner et al., Counterfactual Fairness, 2017 (GitHub: mkusner/counterfactual-fairness), after the "
        "Law School Admission Council's National Longitudinal Bar Passage Study; no licence is stated",
    ),
    "lending-club": UserTable(
        "loan_data.csv",
        (
            "credit.policy", "purpose", "int.rate", "installment", "log.annual.inc", "dti", "fico",
            "days.with.cr.line", "revol.bal", "revol.util", "inq.last.6mths", "delinq.2yrs", "pub.rec",
            "not.fully.paid",
        ),
        9_578,
        "the loans of LendingClub.com from 2007 to 2010, which Kaggle lists as Loan Data; no licence of LendingClub is "
        "stated",
    ),
    "bank-marketing": UserTable(
        "bank-additional-full.csv",
        (
            "age", "job", "marital", "education", "default", "housing", "loan", "contact", "month", "day_of_week",
            "duration", "campaign", "pdays", "previous", "poutcome", "emp.var.rate", "cons.price.idx",
            "cons.conf.idx", "euribor3m", "nr.employed", "y",
        ),
        41_188,
        "the UCI repository, data set 222 (Moro, Rita and Cortez, DOI 10.24432/C5K306), bank-additional.zip, under "
        "CC BY 4.0",
        delimiter=";",
    ),
    "credit-card-default": UserTable(
        "UCI_Credit_Card.csv",
        (
            "ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5",
            "PAY_6", "BILL_AMT1", "BILL_AMT2", "BILL_AMT3", "BILL_AMT4", "BILL_AMT5", "BILL_AMT6", "PAY_AMT1",
            "PAY_AMT2", "PAY_AMT3", "PAY_AMT4", "PAY_AMT5", "PAY_AMT6", "default.payment.next.month",
        ),
        30_000,
        "the UCI repository, data set 350 (Yeh, DOI 10.24432/C55S3H), under CC BY 4.0, as a CSV file, which Kaggle "
        "lists as Default of Credit Card Clients Dataset",
    ),
}
# fmt: on


def user_table(name: str, source: DataSource) -> TextTable:
    """Return the table of a data set from one of the user's folders, without rows that have a gap.

    Raises
    ------
    UnavailableError
        If no folder holds the file; the message says which file it is and where it comes from.
    DataError
        If the file is another table.
    """
    wanted = USER_TABLES[name]
    path = next((folder / wanted.file for folder in source.data_dirs if (folder / wanted.file).is_file()), None)
    if path is None:
        raise UnavailableError(
            f"data set {name!r} is not shipped: put {wanted.file} ({len(wanted.columns)} columns, {wanted.rows:,} "
            f"rows) into a folder and name the folder with --data-dir or CFBENCH_DATA_DIR. The table comes from "
            f"{wanted.source}"
        )
    table = read_csv(path, delimiter=wanted.delimiter, unnamed="row")
    if table.header != wanted.columns:
        absent = [column for column in wanted.columns if column not in table.header]
        other = [column for column in table.header if column not in wanted.columns]
        raise DataError(
            f"{path} is not the table of data set {name!r}: its header is another one (missing: "
            f"{', '.join(absent) or 'none'}; not expected: {', '.join(other) or 'none'}). Expected, in this order: "
            f"{', '.join(wanted.columns)}"
        )
    if len(table.rows) != wanted.rows:
        raise DataError(
            f"{path} is not the table of data set {name!r}: it has {len(table.rows):,} rows, expected {wanted.rows:,}. "
            f"The table comes from {wanted.source}"
        )
    if not wanted.gap:
        return table
    whole = [i for i, row in enumerate(table.rows) if wanted.gap not in row and "" not in row]
    return TextTable(table.origin, table.header, [table.rows[i] for i in whole], tuple(table.lines[i] for i in whole))
