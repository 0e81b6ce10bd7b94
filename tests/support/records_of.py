"""The records of one kind that a run, or a run with derivatives, carries."""

from daedalus.simulation.result.records import Record


def records_of(result, kind: type[Record]) -> list:
    return [record for record in result.records if isinstance(record, kind)]
