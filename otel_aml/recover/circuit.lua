-- One event on one circuit, on the server: `otel_aml.core.circuit.step` again, by the server's clock.
-- KEYS  the circuit
-- ARGV  event, id, generation or '', window, minimum_calls, failure_ratio, consecutive_failures, open_ms, open_max_ms,
--       half_open_probes, successes_to_close, lease_ms, lost_kept, ttl_ms
-- gives allowed (1, 0), retry_after_ms, state, generation, outcomes, failures_in_a_row, open_for_ms, open_left_ms,
--       successes, then id and lease_left_ms of each probe
-- All times are whole milliseconds: Lua writes a number with 14 digits.
local key = KEYS[1]
local event, id, reported = ARGV[1], ARGV[2], ARGV[3]
local window, minimum_calls, ratio, consecutive = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local open_ms, open_max_ms = tonumber(ARGV[8]), tonumber(ARGV[9])
local half_open_probes, to_close, lease_ms = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local lost_kept, ttl_ms = tonumber(ARGV[13]), ARGV[14]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local kept = redis.call(
    'HMGET', key, 'state', 'generation', 'outcomes', 'row', 'open_for', 'open_until', 'successes', 'probes'
)
if kept[1] and kept[1] ~= 'closed' and kept[1] ~= 'open' and kept[1] ~= 'half_open' then
    return redis.error_reply('WRONGTYPE the key holds no circuit')
end
local circuit = {
    state = kept[1] or 'closed',
    generation = tonumber(kept[2] or 0),
    outcomes = kept[3] or '',
    row = tonumber(kept[4] or 0),
    open_for = tonumber(kept[5] or 0),
    open_until = tonumber(kept[6] or 0),
    successes = tonumber(kept[7] or 0),
    probes = {},
}
-- A clock that was set back makes no wait and no lease longer than it was.
circuit.open_until = math.min(circuit.open_until, now + circuit.open_for)
for probe, leased_until in string.gmatch(kept[8] or '', '(%S+) (%d+)') do
    table.insert(circuit.probes, {id = probe, leased_until = math.min(tonumber(leased_until), now + lease_ms)})
end

local is_changed = false

local function enter(state)
    circuit.state = state
    circuit.generation = circuit.generation + 1
    circuit.outcomes, circuit.row, circuit.open_until, circuit.successes, circuit.probes = '', 0, 0, 0, {}
    if state == 'closed' then
        circuit.open_for = 0
    end
    is_changed = true
end

local function open()
    local wait = math.min(circuit.open_for * 2, open_max_ms)
    enter('open')
    circuit.open_for = wait > 0 and wait or open_ms
    circuit.open_until = now + circuit.open_for
end

local function retry_after()
    if circuit.state == 'open' then
        return math.max(circuit.open_until - now, 0)
    end
    local in_flight, first = 0, math.huge
    for _, probe in ipairs(circuit.probes) do
        if probe.leased_until > now then
            in_flight = in_flight + 1
            first = math.min(first, probe.leased_until)
        end
    end
    return in_flight < half_open_probes and 0 or first - now
end

local function without(probes, name)
    local others = {}
    for _, probe in ipairs(probes) do
        if probe.id ~= name then
            table.insert(others, probe)
        end
    end
    return others
end

local function let_through()
    local lost, in_flight = {}, {}
    for _, probe in ipairs(without(circuit.probes, id)) do
        table.insert(probe.leased_until > now and in_flight or lost, probe)
    end
    circuit.probes = {}
    for place = math.max(#lost - lost_kept, 0) + 1, #lost do
        table.insert(circuit.probes, lost[place])
    end
    for _, probe in ipairs(in_flight) do
        table.insert(circuit.probes, probe)
    end
    table.insert(circuit.probes, {id = id, leased_until = now + lease_ms})
    is_changed = true
end

local function acquire()
    if circuit.state == 'open' and retry_after() == 0 then
        enter('half_open')
    end
    for _, probe in ipairs(circuit.probes) do
        if probe.id == id and probe.leased_until > now then
            return 0
        end
    end
    local wait = retry_after()
    if circuit.state == 'half_open' and wait == 0 then
        let_through()
    end
    return wait
end

local function count()
    local failed = event == 'failure'
    circuit.outcomes = string.sub(circuit.outcomes .. (failed and '1' or '0'), -window)
    circuit.row = failed and circuit.row + 1 or 0
    is_changed = true
    local calls = #circuit.outcomes
    local _, failures = string.gsub(circuit.outcomes, '1', '')
    if failed and (circuit.row >= consecutive or (calls >= minimum_calls and failures / calls >= ratio)) then
        open()
    end
end

local function judge()
    if event == 'failure' then
        open()
        return
    end
    circuit.probes = without(circuit.probes, id)
    circuit.successes = circuit.successes + (event == 'cancel' and 0 or 1)
    is_changed = true
    if circuit.successes >= to_close then
        enter('closed')
    end
end

local function report()
    if reported ~= '' and tonumber(reported) ~= circuit.generation then
        return
    end
    if circuit.state == 'closed' then
        if event == 'success' or event == 'failure' then
            count()
        end
    elseif circuit.state == 'half_open' and #without(circuit.probes, id) < #circuit.probes then
        judge()
    end
end

local wait = 0
if event == 'acquire' then
    wait = acquire()
else
    report()
end

if is_changed then
    local probes = {}
    for _, probe in ipairs(circuit.probes) do
        table.insert(probes, string.format('%s %.0f', probe.id, probe.leased_until))
    end
    redis.call(
        'HSET', key, 'state', circuit.state, 'generation', circuit.generation, 'outcomes', circuit.outcomes,
        'row', circuit.row, 'open_for', string.format('%.0f', circuit.open_for),
        'open_until', string.format('%.0f', circuit.open_until), 'successes', circuit.successes,
        'probes', table.concat(probes, ' ')
    )
    redis.call('PEXPIRE', key, ttl_ms)
end

local answer = {
    wait == 0 and 1 or 0, wait, circuit.state, circuit.generation, circuit.outcomes, circuit.row, circuit.open_for,
    math.max(circuit.open_until - now, 0), circuit.successes,
}
for _, probe in ipairs(circuit.probes) do
    table.insert(answer, probe.id)
    table.insert(answer, probe.leased_until - now)
end
return answer
