-- Posts each line of a file once, in its order: BODIES, from line FIRST on, COUNT lines.
local bodies, last = {}, 0
local first, count = tonumber(os.getenv("FIRST")), tonumber(os.getenv("COUNT"))
local number = 0
for line in io.lines(os.getenv("BODIES")) do
  number = number + 1
  if number >= first and last < count then
    last = last + 1
    bodies[last] = line
  end
end

local headers = { ["Content-Type"] = "text/plain; charset=UTF-8" }
local sent = 0

function request()
  sent = sent + 1
  if sent > last then
    io.stderr:write("no body is left\n")
    os.exit(1)
  end
  return wrk.format("POST", nil, headers, bodies[sent])
end
