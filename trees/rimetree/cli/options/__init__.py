"""Arguments and options that several commands share: what they are, and what is odd about what was given."""
