"""At the step that failed: errors as data, what people are told, what is done about it, and who takes over."""
