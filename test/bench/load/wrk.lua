-- Sends the requests of a plan in turn. The plan, a Lua file named by the one argument, is a list of {before, after}:
-- the bytes of a request around its number, or {whole}.
local requests, last, next, number

function init(args)
  requests = dofile(args[1])
  last, next, number = #requests, 0, 0
end

function request()
  next = next < last and next + 1 or 1
  local one = requests[next]
  if one[2] == nil then return one[1] end
  number = number + 1
  return one[1] .. string.format('%010d', number) .. one[2]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"us":%d,"meanUs":%.1f,"p50Us":%d,"p99Us":%d,"failed":%d}\n',
    summary.requests, summary.duration, latency.mean, latency:percentile(50), latency:percentile(99),
    e.status + e.connect + e.read + e.write + e.timeout))
end
