"""At the step that failed: errors as data, what people are told, and what is done about it."""
