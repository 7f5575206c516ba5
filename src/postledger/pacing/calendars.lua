-- The first half of the limiter's script: its clock, what Redis remembers, and calendars.
--
-- A rate is a calendar: the moments taken, in order, each at least one interval from the next. That
-- is GCRA without bursts, except that a mail may also go between two that were granted before it:
-- a slow sender takes moments far apart, and those between them are free for its neighbours.

local HOUR = 3600 * 1000000
local HOUR_TTL = 7200 -- seconds
local STATE_TTL = 3 * 86400 -- seconds; longer than any day or interval that it is needed for

local SERVER, ACCOUNT, SENDER, MEMBER = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local request = cjson.decode(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function whole(number)
  return string.format('%.0f', number) -- tostring() keeps 14 digits, a moment has 16
end

-- The generation: of one server's run, since it was last seen to be empty ------------------------

local function renew_generation(run_id)
  redis.call('SET', SERVER, run_id .. ':' .. whole(now))
  return run_id .. ':' .. whole(now), now
end

local function read_generation()
  -- After a restart or a failover the data may be older than what was granted from it.
  local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  local stored = redis.call('GET', SERVER)
  local owner, since = string.match(stored or '', '^(%w+):(%d+)$')
  since = tonumber(since)
  if owner ~= run_id or since > now then
    return renew_generation(run_id)
  end
  return stored, since
end

local generation, since = read_generation()

-- What is stored -------------------------------------------------------------------------------

local function load_hash(key, ...)
  local hash, values = {}, redis.call('HMGET', key, 'generation', ...)
  if values[1] ~= generation then
    return nil
  end
  for i, name in ipairs({...}) do
    hash[name] = values[i + 1] or nil
  end
  return hash
end

local function load_account()
  return load_hash(ACCOUNT, 'taken', 'opens', 'granted', 'filled', 'sync', 'ceiling', 'reserved',
    'tuned_rate', 'marked_at')
end

-- Nil also if what is counted has changed since: not every mail of before was counted.
local function load_counts(key, counted_since, ...)
  local hash = load_hash(key, 'counted_since', ...)
  return hash and tonumber(hash.counted_since) >= counted_since and hash or nil
end

local function load_sender()
  return load_counts(SENDER, request.counted_since, 'taken', 'opens', 'hour', 'day', 'day_ends',
    'day_used')
end

local function load_member()
  return load_counts(MEMBER, request.member_counted_since, 'day', 'day_ends', 'day_used')
end

-- Whether the asker's settings are older than those that others count by.
local function is_outdated(sender, member)
  return tonumber(sender.counted_since) > request.counted_since
    or member and tonumber(member.counted_since) > request.member_counted_since
end

local function hour_key(hour)
  return SENDER .. ':hour:' .. whole(hour)
end

-- Nil if the count is not known: another zone's day reaches into this one.
local function read_day(hash)
  if hash.day == request.day.key then
    return tonumber(hash.day_used)
  end
  return tonumber(hash.day_ends) <= request.day.starts_at and 0 or nil
end

-- Nil if the counter was there once and was evicted.
local function read_hour(sender, hour)
  local used = redis.call('GET', hour_key(hour))
  if used then
    return tonumber(used)
  end
  return tonumber(sender.hour) < hour and 0 or nil
end

-- Calendars ------------------------------------------------------------------------------------

-- An entry is twice its moment, plus one for bulk mail: one list of numbers is quick to read. These
-- loops are most of the script's cost, so they count up indexes themselves.
local function unpack_calendar(hash, interval, slots)
  local entries = hash.taken and cmsgpack.unpack(hash.taken) or {}
  local frame = slots and slots * interval
  local kept_since, from = (now - (frame or interval)) * 2, 1
  while entries[from] and entries[from] <= kept_since do
    from = from + 1
  end
  return {
    entries = entries, -- older ones than `from` count no more
    from = from,
    at = from,
    interval = interval,
    first = tonumber(hash.opens) + interval,
    slots = slots,
    frame = frame,
    frame_at = from,
    own_frame = -1, -- the last frame with a moment of this request
    own_count = 0,
  }
end

local function pack_calendar(calendar, taken)
  local entries, at, count = calendar.entries, calendar.from, 0
  local merged, kind = {}, request.is_reserved and 0 or 1
  for i = 1, #taken do
    local entry = taken[i] * 2 + kind
    while entries[at] and entries[at] < entry do
      count = count + 1
      merged[count] = entries[at]
      at = at + 1
    end
    count = count + 1
    merged[count] = entry
  end
  for i = at, #entries do
    count = count + 1
    merged[count] = entries[i]
  end
  return cmsgpack.pack(merged)
end

-- The first moment from `moment` on that keeps its distance from all those taken.
local function skip_taken(calendar, moment)
  local entries, interval, at = calendar.entries, calendar.interval, calendar.at
  if moment < calendar.first then
    moment = calendar.first
  end
  local entry = entries[at]
  while entry and entry < (moment + interval) * 2 do
    local free = (entry - entry % 2) / 2 + interval
    if free > moment then
      moment = free
    end
    at = at + 1
    entry = entries[at]
  end
  calendar.at = at
  return moment
end

local function count_bulk(calendar, number)
  local entries, at = calendar.entries, calendar.frame_at
  local starts, ends = number * calendar.frame * 2, (number + 1) * calendar.frame * 2
  while entries[at] and entries[at] < starts do
    at = at + 1
  end
  calendar.frame_at = at
  local count = calendar.own_frame == number and calendar.own_count or 0
  while entries[at] and entries[at] < ends do
    count = count + entries[at] % 2
    at = at + 1
  end
  return count
end

-- Of every so many slots, bulk mail leaves one.
local function skip_reserved(calendar, moment)
  local number = math.floor(moment / calendar.frame)
  if count_bulk(calendar, number) >= calendar.slots - 1 then
    return (number + 1) * calendar.frame
  end
  return moment
end

local function find_free(calendars, moment)
  local before
  repeat
    before = moment
    for i = 1, #calendars do
      local calendar = calendars[i]
      moment = skip_taken(calendar, moment)
      if calendar.slots and not request.is_reserved then
        moment = skip_reserved(calendar, moment)
      end
    end
  until moment == before
  return moment
end

local function find_first_free(calendars)
  for _, calendar in ipairs(calendars) do
    calendar.at, calendar.frame_at = calendar.from, calendar.from
  end
  return find_free(calendars, now)
end

local function note_bulk(calendar, moment)
  local number = math.floor(moment / calendar.frame)
  calendar.own_count = (calendar.own_frame == number and calendar.own_count or 0) + 1
  calendar.own_frame = number
end

-- Takes up to `count` moments, none at or after `ends_at`.
local function take_moments(calendars, moment, count, ends_at)
  local taken, step, limited = {}, 0, nil
  for _, calendar in ipairs(calendars) do
    step = math.max(step, calendar.interval)
    limited = calendar.slots and not request.is_reserved and calendar or limited
  end
  for i = 1, count do
    moment = find_free(calendars, moment)
    if moment >= ends_at then
      break
    end
    taken[i] = moment
    if limited then
      note_bulk(limited, moment)
    end
    moment = moment + step
  end
  return taken
end

local function open_calendars(account, sender)
  local calendars = {}
  local interval = request.account_interval
  if account.tuned_rate then
    interval = math.max(interval or 0, math.ceil(1000000 / tonumber(account.tuned_rate)))
  end
  if interval then
    calendars.account = unpack_calendar(account, interval, request.slots)
    table.insert(calendars, calendars.account)
  end
  if request.sender_interval then
    calendars.sender = unpack_calendar(sender, request.sender_interval)
    table.insert(calendars, calendars.sender)
  end
  return calendars
end

-- A moment lies this far ahead only if the clock was set back meanwhile.
local function is_clock_set_back(calendars)
  for _, calendar in ipairs(calendars) do
    local opens = calendar.first - calendar.interval
    local last = math.max((calendar.entries[#calendar.entries] or 0) / 2, opens)
    if last > now + request.lifetime + 1 then
      return true
    end
  end
  return false
end
