-- Which lines does a zst file hold, byte for byte?
-- grain:     line, in order; body is null where it is blank
-- A zst file as lines, byte for byte, since Latin-1 makes each byte a character. The separator is one that no line
-- holds; the rest of the options keep a line what it is. A line that is too long is named in reject_errors instead.
create or replace macro zst_lines(path, newline, most) as table (
    select body
    from read_csv(
        path,
        columns = { 'body': 'VARCHAR' },
        auto_detect = false,
        header = false,
        delim = e'\x01\x02\x03',
        quote = '',
        escape = '',
        comment = '',
        new_line = newline,
        encoding = 'latin-1',
        compression = 'zstd',
        parallel = false,
        strict_mode = false,
        store_rejects = true,
        rejects_limit = 0,
        max_line_size = most
    )
);
