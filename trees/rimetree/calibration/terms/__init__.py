"""Terms: lines of text, kinds of Jones terms, the unknowns of a chain of them, and what no data can tell of it."""
