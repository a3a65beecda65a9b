"""What several commands do over the groups of a Measurement Set, and what they say of it."""
