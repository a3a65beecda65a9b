"""How trees are written: names, indices, operators and definitions, before a forest compiles them."""
