-- The scripts of redis_store.py, one for each method of the store. Each runs at once, while no other command does.
-- KEYS[1] is the prefix of all keys, ARGV are the arguments. Names of scripts stand behind `-- script:`.
local P, A, call, time = KEYS[1], ARGV, redis.call, redis.call('TIME')
local now = time[1] + time[2] / 1e6
local function count(id, box, size)
  call('HINCRBY', P..'sizes', box, size)
  if call('HINCRBY', P..'held:'..id, box, size) == 0 then call('HDEL', P..'held:'..id, box) end
end
-- Keys may be gone that others name: an eviction, or half of a restore. What is left of them is removed, too.
local function drop(n)  -- a letter
  local f = call('HMGET', P..'letter:'..n, 'id', 'box', 'size')
  call('DEL', P..'letter:'..n)
  for _, key in ipairs({'letters', 'aged'}) do call('ZREM', P..key, n) end
  if not f[3] then return end
  call('ZREM', P..'box:'..f[1]..':'..f[2], n)
  count(f[1], f[2], -f[3])
end
local function event(id, n)
  local found = call('HGET', P..'events:'..id, n)
  return found and cmsgpack.unpack(found)
end
local function forget(id, n)  -- an event
  local e = event(id, n)
  call('HDEL', P..'events:'..id, n) call('ZREM', P..'order:'..id, n) call('ZREM', P..'due', n..' '..id)
  if not e then return end
  call('ZREM', P..'stream:'..id..':'..e[1], n)
  count(id, 'events', -e[3])
end
local function remove(id)  -- a session
  if call('ZREM', P..'used', id) == 0 then return 0 end
  for _, n in ipairs(call('ZRANGE', P..'order:'..id, 0, -1)) do forget(id, n) end
  for _, box in ipairs({'in', 'notes', 'out', 'streams'}) do
    for _, n in ipairs(call('ZRANGE', P..'box:'..id..':'..box, 0, -1)) do drop(n) end
    call('UNLINK', P..'box:'..id..':'..box)
  end
  for _, key in ipairs({'session:', 'values:', 'changed:', 'questions:'}) do call('UNLINK', P..key..id) end
  return 1
end
local function expire(idle)
  local found = call('ZRANGEBYSCORE', P..'used', '-inf', now - idle, 'LIMIT', 0, 1000)
  for _, id in ipairs(found) do remove(id) end
  return #found
end
local function fits(count, most, held, size, bytes) return count < most + 0 and held + size <= bytes + 0 end
local function letters(numbers)
  local found = {}
  for _, n in ipairs(numbers) do
    local f = call('HMGET', P..'letter:'..n, 'id', 'box', 'subject')
    if f[3] then found[#found + 1] = {n, f[1], f[2], f[3]} end
  end
  return found
end

-- script: create_session
if call('ZCARD', P..'used') >= A[2] + 0 then expire(A[3]) end
if call('ZCARD', P..'used') >= A[2] + 0 then return 0 end
call('ZADD', P..'used', now, A[1]) call('HSET', P..'session:'..A[1], 'version', 1, 'base', 0)
for i = 4, #A, 2 do
  if A[i + 1] ~= '' then call('HSET', P..'values:'..A[1], A[i], A[i + 1]) call('ZADD', P..'changed:'..A[1], 1, A[i]) end
end
return 1

-- script: read_session
local used = call('ZSCORE', P..'used', A[1])
if not used or used + A[2] <= now then return nil end
local f = call('HMGET', P..'session:'..A[1], 'version', 'base')
if not f[2] then return nil end
if used + A[2] / 20 <= now then call('ZADD', P..'used', now, A[1]) end
local whole = A[3] + 0 < math.max(f[2] + 0, 1)
local found = {f[1], whole and 1 or 0}
if f[1] == A[3] then return found end
for _, name in ipairs(call('ZRANGEBYSCORE', P..'changed:'..A[1], whole and '-inf' or '('..A[3], '+inf')) do
  found[#found + 1] = name found[#found + 1] = call('HGET', P..'values:'..A[1], name)
end
return found

-- script: update_session
if not call('ZSCORE', P..'used', A[1]) then return 0 end
local values, changed = P..'values:'..A[1], P..'changed:'..A[1]
local before, after = tonumber(call('HGET', P..'session:'..A[1], 'version') or 0), nil
if before == 0 then return 0 end
for i = 2, #A, 2 do
  local known = call('HGET', values, A[i])
  if (known or '') ~= A[i + 1] then
    after = before + 1
    call('ZADD', changed, after, A[i])
    if A[i + 1] == '' then call('HDEL', values, A[i]) else call('HSET', values, A[i], A[i + 1]) end
  end
end
if not after then return before end
call('HSET', P..'session:'..A[1], 'version', after) call('ZADD', P..'used', now, A[1])
if call('ZCARD', changed) - call('HLEN', values) > 1000 then  -- removed values of which others learn by reading all
  for _, name in ipairs(call('ZRANGE', changed, 0, -1)) do
    if call('HEXISTS', values, name) == 0 then call('ZREM', changed, name) end
  end
  call('HSET', P..'session:'..A[1], 'base', after)
end
return after

-- script: remove_session
return remove(A[1])

-- script: sweep_old
local aged = call('ZRANGEBYSCORE', P..'aged', '-inf', now - 60, 'LIMIT', 0, 1000)
for _, n in ipairs(aged) do drop(n) end
local due = call('ZRANGEBYSCORE', P..'due', '-inf', now, 'LIMIT', 0, 1000)
for _, both in ipairs(due) do
  local n, id = both:match('(%S+) (.*)')
  forget(id, n)
end
return math.max(#aged, #due)

-- script: sweep_sessions
return expire(A[1])

-- script: expect
if call('ZSCORE', P..'used', A[1]) then call('SADD', P..'questions:'..A[1], A[2]) end

-- script: send
local id, box, size, asked = A[1], A[2], #A[3] + #A[4] + 256, P..'questions:'..A[1]
local mine, held = P..'box:'..id..':'..box, function() return tonumber(call('HGET', P..'held:'..id, box) or 0) end
if A[9] ~= '' and call('SISMEMBER', asked, A[9]) == 0 then return 0 end
while call('ZCARD', mine) > 0 and not fits(call('ZCARD', mine), A[5], held(), size, A[6]) do
  if A[8] == '0' then return 2 end
  local oldest = call('ZRANGE', mine, 0, 0)[1]
  drop(oldest) call('ZREM', mine, oldest)
end
local total = tonumber(call('HGET', P..'sizes', box) or 0)
if total > 0 and total + size > A[7] + 0 then return 2 end
local n = call('INCR', P..'last:letter')
call('HSET', P..'letter:'..n, 'id', id, 'box', box, 'subject', A[3], 'content', A[4], 'size', size)
call('ZADD', P..'letters', n, n) call('ZADD', mine, n, n) count(id, box, size)
if box ~= 'out' or not call('ZSCORE', P..'used', id) then call('ZADD', P..'aged', now, n) end
if box == 'in' and A[9] ~= '' then call('SREM', asked, A[9]) end
return 1

-- script: news
local since = A[1] + 0 <= tonumber(call('GET', P..'last:letter') or 0) and '('..A[1] or '-inf'
return letters(call('ZRANGEBYSCORE', P..'letters', since, '+inf'))

-- script: waiting
return letters(call('ZRANGE', P..'box:'..A[1]..':out', 0, -1))

-- script: take
local found = call('HGET', P..'letter:'..A[1], 'content') if found then drop(A[1]) end return found

-- script: keep
local id, stream, place, size = A[1], A[2], A[3] + 0, #A[4] + #A[6] + 256
local order, mine = P..'order:'..id, P..'stream:'..id..':'..stream
local last = call('ZRANGE', mine, -1, -1, 'WITHSCORES')[2]
if not call('ZSCORE', P..'used', id) or (last and last + 0 >= place) then return 0 end
local function held(key, name) return tonumber(call('HGET', P..key, name) or 0) end
while call('ZCARD', order) > 0 and not (fits(call('ZCARD', order), A[8], held('held:'..id, 'events'), size, A[9])
    and held('sizes', 'events') + size <= A[10] + 0) do forget(id, call('ZRANGE', order, 0, 0)[1]) end
local total = held('sizes', 'events')
if total > 0 and total + size > A[10] + 0 then return 2 end
local n = call('INCR', P..'last:event')
call('HSET', P..'events:'..id, n, cmsgpack.pack({stream, A[3], size, now + A[7], A[4], A[5], A[6]}))
call('ZADD', order, n, n) call('ZADD', mine, place, n) call('ZADD', P..'due', now + A[7], n..' '..id)
count(id, 'events', size)
return 1

-- script: kept
local found = {}
for _, n in ipairs(call('ZRANGEBYSCORE', P..'stream:'..A[1]..':'..A[2], A[3], '+inf')) do
  local e = event(A[1], n)
  if e and e[4] > now then found[#found + 1] = {e[2], e[5], e[6], e[7]} end
end
return found

-- script: unkeep
local last = call('ZRANGE', P..'stream:'..A[1]..':'..A[2], -1, -1, 'WITHSCORES')
if not last[1] or last[2] + 0 ~= A[3] + 0 then return 0 end
forget(A[1], last[1]) return 1

-- script: create
local own, counts = P..'owner:'..A[2], {}
counts = {call('ZCARD', P..'tasks'), call('ZCARD', own), tonumber(call('HGET', P..'sizes', 'tasks') or 0)}
for i = 1, 3 do if counts[i] >= A[6 + i] + 0 then return -i end end
local n = call('INCR', P..'last:task')
call('HSET', P..'task:'..A[1], 'record', A[3], 'number', n, 'change', 0, 'size', A[6], 'owner', A[2])
call('ZADD', P..'tasks', A[4], A[1]) call('ZADD', own, n, A[1]) call('HINCRBY', P..'sizes', 'tasks', A[6])
if A[5] + 0 > 0 then call('ZADD', P..'leases', A[5], A[1]) end
return n

-- script: change
local f = call('HMGET', P..'task:'..A[1], 'change', 'size')
if f[1] ~= A[2] then return 0 end
call('HSET', P..'task:'..A[1], 'record', A[3], 'size', A[6], 'change', f[1] + 1)
call('HINCRBY', P..'sizes', 'tasks', A[6] - f[2]) call('ZADD', P..'tasks', A[4], A[1])
if A[5] + 0 > 0 then call('ZADD', P..'leases', A[5], A[1]) else call('ZREM', P..'leases', A[1]) end
return 1

-- script: sweep
local found = call('ZRANGEBYSCORE', P..'tasks', '-inf', '('..A[1], 'LIMIT', 0, 1000)
for _, id in ipairs(found) do
  local f = call('HMGET', P..'task:'..id, 'owner', 'size')
  for _, key in ipairs({'tasks', 'leases'}) do call('ZREM', P..key, id) end
  if f[2] then
    call('ZREM', P..'owner:'..f[1], id)
    call('HINCRBY', P..'sizes', 'tasks', 0 - f[2]) call('DEL', P..'task:'..id)
  end
end
return #found

-- script: spend
call('ZREMRANGEBYSCORE', P..'spent', '-inf', A[3])
if call('ZSCORE', P..'spent', A[1]) then return 0 end
if call('ZCARD', P..'spent') >= A[4] + 0 then return 2 end
call('ZADD', P..'spent', A[2], A[1]) return 1
