"""The power ledger of a run: what its parts supply, store and lose."""
