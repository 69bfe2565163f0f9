"""Labels, judges and gates: what an evaluation concludes from verdicts."""
