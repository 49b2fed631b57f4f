"""What every bench shares: data, interleaved repeats, equal answers, results, the table."""
