// A library needs one source file of its own even while every helper is header-only.
