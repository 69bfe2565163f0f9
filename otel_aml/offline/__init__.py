"""After the fact: files of exported spans become tables, verdicts and reports. Imported by name, never by an agent."""
