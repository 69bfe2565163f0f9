"""Pure decisions: values in, values out. No clock, no dice, no threads, no I/O."""
