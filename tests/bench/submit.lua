-- tests/bench/submit.lua: wrk's side of bench_submit.py: every request is a training submission that differs from all
-- others by name and content. Says at the end how many were answered 201, and with what else.
local thread_count = 0

function setup(thread)
    thread:set("number", thread_count)
    thread_count = thread_count + 1
end

local progress, head, tail, count, created, other = "", "", "", 0, 0, 0

function init(args)
    local lines = { "epoch\\thours\\ttop1Accuracy" }
    for epoch = 1, 30 do
        lines[#lines + 1] = string.format("%d\\t%.9f\\t%.2f", epoch, epoch * 0.01, 60 + epoch * 1.2)
    end
    progress = table.concat(lines, "\\n") .. "\\n"
    wrk.method = "POST"
    wrk.headers["Authorization"] = "Bearer " .. args[1]
    wrk.headers["Content-Type"] = "application/json"
    tag = args[2]
end

function request()
    count = count + 1
    local name = string.format("bench_%s_%d_%d", tag, number, count)
    local entry = string.format(
        '{\\"version\\":\\"v1.0\\",\\"author\\":\\"Bench\\",\\"authorEmail\\":\\"bench@example.org\\",' ..
        '\\"framework\\":\\"daybreak 0.1\\",\\"codeURL\\":\\"https://example.org/tree/0123456\\",\\"model\\":\\"resnet9\\",' ..
        '\\"hardware\\":\\"1 x none\\",\\"costPerHour\\":0.5,\\"timestamp\\":\\"2026-01-01\\",\\"misc\\":{\\"run\\":\\"%s\\"}}', name)
    return wrk.format(nil, nil, nil,
        '{"task":"cifar10-train","name":"' .. name .. '","entry":"' .. entry .. '","progress":"' .. progress .. '"}')
end

function response(status, headers, body)
    if status == 201 then
        created = created + 1
    else
        other = other + 1
        if other == 1 then io.write("first refusal: ", status, " ", body, "\n") end
    end
end

function done(summary, latency, requests)
    io.write(string.format("RESULT requests=%d seconds=%.6f p50_us=%d p99_us=%d max_us=%d non2xx=%d\n", summary.requests,
        summary.duration / 1e6, latency:percentile(50), latency:percentile(99), latency.max, summary.errors.status))
end
