"""What a forest is asked on which cells, and what comes back: values, times, derivatives and solutions."""
