"""The copilot's page: an analyst's investigations, a colleague's queue, and how one becomes the other and comes back.

doors     who may come in: loopback, a token, no forged request
app       addresses and templates
office    what a person can do, each under a lock and on disk before the page answers
work      the copilot's steps, and what becomes of one that fails
cases     the investigations that the demo deals: one for each way to fail
"""
