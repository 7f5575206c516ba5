-- Grants mails over all limits of a sender, its account and the member who launched them: all of
-- them count a block, or none does. The script is calendars.lua and this file.
--
-- KEYS: server, account, sender, member. ARGV: an action, and its request as JSON in whole
-- microseconds.

-- The quota ------------------------------------------------------------------------------------

-- A quota bounds the count of all mails ever granted in this Redis.
local function read_quota(account)
  local quota = request.quota
  if not quota then
    return nil
  end
  if quota.sync > tonumber(account.sync or -1) and quota.count_id == account.filled then
    account.sync = quota.sync
    account.ceiling = quota.granted + quota.remaining
    account.reserved = quota.reserved
    redis.call('HSET', ACCOUNT, 'sync', whole(account.sync), 'ceiling', whole(account.ceiling),
      'reserved', whole(account.reserved))
  end
  -- Without a ceiling nobody knows how much of the quota is used.
  local ceiling = tonumber(account.ceiling or 0)
  local reserved = request.is_reserved and 0 or tonumber(account.reserved or 0)
  return ceiling - reserved - tonumber(account.granted)
end

-- Actions --------------------------------------------------------------------------------------

local function refuse(refusals)
  return { 'refused', whole(now), unpack(refusals) }
end

local function refuse_until_settled()
  return refuse({ 'refill', whole(since + request.lifetime) })
end

local function unfilled()
  return { 'unfilled', whole(now), generation, math.floor(now / HOUR) }
end

-- Both rates where each refuses alone; the account's where only both together do.
local function list_rates(calendars, first)
  local refusals = {}
  if first <= now + request.start then
    return refusals
  end
  for _, name in ipairs({ 'sender', 'account' }) do
    local alone = calendars[name] and find_first_free({ calendars[name] }) or now
    if alone > now + request.start then
      table.insert(refusals, name .. '_rate')
      table.insert(refusals, whole(alone - request.start))
    end
  end
  if #refusals == 0 then
    refusals = { 'account_rate', whole(first - request.start) }
  end
  return refusals
end

local function list_refusals(counts, calendars, first, hour)
  local refusals = list_rates(calendars, first)
  for _, name in ipairs({ 'sender_hour', 'sender_day', 'member_day', 'quota' }) do
    if counts[name] and counts[name] <= 0 then
      table.insert(refusals, name)
      -- The caller knows when a day's mail goes on, and when the quota is read again.
      table.insert(refusals, name == 'sender_hour' and whole((hour + 1) * HOUR) or '0')
    end
  end
  return refusals
end

local function count_granted(sender, member, calendars, taken, hour)
  local count, day_ends = #taken, whole(request.day.ends_at)
  redis.call('INCRBY', hour_key(hour), count)
  redis.call('EXPIRE', hour_key(hour), HOUR_TTL)
  redis.call('HINCRBY', ACCOUNT, 'granted', count)
  for key, hash in pairs({ [SENDER] = sender, [MEMBER] = member or nil }) do
    redis.call('HSET', key, 'day', request.day.key, 'day_ends', day_ends,
      'day_used', whole(read_day(hash) + count))
    redis.call('EXPIRE', key, STATE_TTL)
  end
  redis.call('HSET', SENDER, 'hour', whole(math.max(hour, tonumber(sender.hour))))
  if calendars.account then
    redis.call('HSET', ACCOUNT, 'taken', pack_calendar(calendars.account, taken))
  end
  if calendars.sender then
    redis.call('HSET', SENDER, 'taken', pack_calendar(calendars.sender, taken))
  end
end

local function grant()
  if now < since + request.lifetime then
    return refuse_until_settled()
  end
  local counted_since = math.max(request.counted_since, request.member_counted_since)
  if now < counted_since + request.settling then
    -- Workers that have not read the change send without being counted.
    return refuse({ 'refill', whole(counted_since + request.settling) })
  end
  -- Before anything is filled: figures of another day would be taken for those of today.
  if now < request.day.starts_at or now >= request.day.ends_at then
    return { 'wrong_day', whole(now) }
  end
  local account, sender = load_account(), load_sender()
  local member = request.has_member and load_member()
  if not (account and sender) or member == nil then
    return unfilled()
  end
  if is_outdated(sender, member) then
    return refuse({ 'refill', whole(now + request.lifetime) })
  end
  local calendars = open_calendars(account, sender)
  if is_clock_set_back(calendars) then
    generation, since = renew_generation(string.match(generation, '^%w+'))
    return refuse_until_settled()
  end
  local first = find_first_free(calendars)
  local hour = math.floor(math.min(first, now + request.start) / HOUR)
  local hour_used, day_used = read_hour(sender, hour), read_day(sender)
  local member_used = member and read_day(member)
  if not (hour_used and day_used) or member_used == nil then
    return unfilled()
  end
  local counts = {
    sender_hour = request.per_hour and request.per_hour - hour_used,
    sender_day = request.per_day and request.per_day - day_used,
    member_day = request.member_per_day and request.member_per_day - member_used,
    quota = read_quota(account),
  }
  local refusals = list_refusals(counts, calendars, first, hour)
  if #refusals > 0 then
    return refuse(refusals)
  end
  local count = request.count
  for _, left in pairs(counts) do
    count = math.min(count, left)
  end
  -- A mail counts in the hour and the day of its moment, so no block reaches into the next ones.
  local ends_at = math.min(now + request.ends + 1, (hour + 1) * HOUR, request.day.ends_at)
  local taken = take_moments(calendars, first, count, ends_at)
  if #taken == 0 then
    return refuse({ 'account_rate', whole(ends_at) })
  end
  count_granted(sender, member, calendars, taken, hour)
  local delays = {}
  for i, moment in ipairs(taken) do
    delays[i] = moment - now
  end
  return { 'granted', whole(now), generation, hour, table.concat(delays, ',') }
end

local function remove_moments(key, packed)
  local unused, entries = {}, {}
  for _, moment in ipairs(request.moments) do
    unused[moment] = true
  end
  for _, entry in ipairs(cmsgpack.unpack(packed)) do
    if not unused[math.floor(entry / 2)] then
      table.insert(entries, entry)
    end
  end
  redis.call('HSET', key, 'taken', cmsgpack.pack(entries))
end

local function give_back()
  local account, sender = load_account(), load_sender()
  -- Counters of another generation never counted these mails.
  if request.generation ~= generation or not (account and sender) then
    return { 'stale' }
  end
  local count = #request.moments
  local member = request.has_member and load_member()
  -- A mark may have counted them, and the quota that was read then knows nothing of their return.
  if request.granted_at > tonumber(account.marked_at or 0) then
    redis.call('HINCRBY', ACCOUNT, 'granted', -count)
  end
  if redis.call('EXISTS', hour_key(request.hour)) == 1 then
    redis.call('DECRBY', hour_key(request.hour), count)
  end
  if sender.day == request.day.key then
    redis.call('HINCRBY', SENDER, 'day_used', -count)
  end
  if member and member.day == request.day.key then
    redis.call('HINCRBY', MEMBER, 'day_used', -count)
  end
  for key, hash in pairs({ [ACCOUNT] = account, [SENDER] = sender }) do
    if hash.taken then
      remove_moments(key, hash.taken)
    end
  end
  return { 'given_back' }
end

local function fill_account(figures, opens)
  redis.call('DEL', ACCOUNT)
  redis.call('HSET', ACCOUNT, 'generation', generation, 'filled', generation .. '/' .. whole(now),
    'granted', whole(figures.sent_since_sync), 'opens', opens)
  if request.quota then
    redis.call('HSET', ACCOUNT, 'sync', whole(request.quota.sync),
      'ceiling', whole(request.quota.remaining), 'reserved', whole(request.quota.reserved))
  end
  if figures.tuned_rate then
    redis.call('HSET', ACCOUNT, 'tuned_rate', figures.tuned_rate)
  end
end

local function fill_day(key, used, counted_since)
  redis.call('HSET', key, 'generation', generation, 'counted_since', whole(counted_since),
    'day', request.day.key, 'day_ends', whole(request.day.ends_at), 'day_used', whole(used))
  redis.call('EXPIRE', key, STATE_TTL)
end

-- The first to fill wins: nothing is granted before, so everybody's figures are right.
local function fill()
  if request.generation ~= generation then
    return { 'stale' }
  end
  local figures = request.figures
  -- Calendars open as if a mail had gone just now: the first one waits a full interval.
  local opens = whole(math.min(math.max(now, figures.last_sent_at), now + request.lifetime))
  if not load_account() then
    fill_account(figures, opens)
  end
  local sender, member = load_sender(), load_member()
  if not sender then
    redis.call('DEL', SENDER)
    redis.call('HSET', SENDER, 'opens', opens)
  end
  if not sender or not read_hour(sender, figures.hour) then
    redis.call('SET', hour_key(figures.hour), whole(figures.used_this_hour), 'EX', HOUR_TTL)
    redis.call('HSET', SENDER, 'hour', whole(figures.hour))
  end
  if not sender or not read_day(sender) then
    fill_day(SENDER, figures.used_today, request.counted_since)
  end
  if request.has_member and (not member or not read_day(member)) then
    fill_day(MEMBER, figures.member_used_today, request.member_counted_since)
  end
  return { 'filled' }
end

local function mark()
  local account = load_account()
  if not account or now < since + request.lifetime then
    return { 'stale' }
  end
  redis.call('HSET', ACCOUNT, 'marked_at', whole(now))
  return { 'marked', account.filled, tonumber(account.granted) }
end

local function read_tuning()
  local values = redis.call('HMGET', ACCOUNT, 'tuned_rate', 'tuned_state', 'tuned_version')
  return { 'tuning', values[1] or '', values[2] or '', tonumber(values[3] or 0), whole(now) }
end

local function write_tuning()
  local version = tonumber(redis.call('HGET', ACCOUNT, 'tuned_version') or 0)
  if version ~= request.version or not load_account() then
    return { 'stale' }
  end
  redis.call('HDEL', ACCOUNT, 'tuned_rate')
  if request.rate then
    redis.call('HSET', ACCOUNT, 'tuned_rate', request.rate)
  end
  redis.call('HSET', ACCOUNT, 'tuned_state', request.state, 'tuned_version', version + 1)
  return { 'written' }
end

local function renew()
  renew_generation(string.match(generation, '^%w+'))
  return { 'renewed' }
end

local actions = {
  grant = grant,
  give_back = give_back,
  fill = fill,
  mark = mark,
  read_tuning = read_tuning,
  write_tuning = write_tuning,
  renew = renew,
}
return actions[ARGV[1]]()
