"""In the running agent: state, a clock, locks. Nothing here raises into the app, drops a span or grows unbounded."""
