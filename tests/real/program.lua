-- SPDX-License-Identifier: BSD-3-Clause
--
-- The Lua program that tests/real/run.sh records: a sieve, a sort by a function of ours,
-- strings cut and counted in a table, objects and closures, and garbage to collect.
local size = tonumber(arg[1]) or 20000
local check = 0

local composite, primes = {}, {}
for i = 2, size do
    if not composite[i] then
        primes[#primes + 1] = i
        for j = i * i, size, i do
            composite[j] = true
        end
    end
end
check = check + #primes

local seed, numbers = 42, {}
for i = 1, size do
    seed = (seed * 1103515245 + 12345) % 2147483648
    numbers[i] = seed
end
table.sort(numbers, function(a, b) return a % 65536 < b % 65536 or
    (a % 65536 == b % 65536 and a < b) end)
for i = 2, size do
    assert(numbers[i - 1] % 65536 <= numbers[i] % 65536)
end
check = check + numbers[size // 2]

local words, counts = {}, {}
for i = 1, size do
    words[i] = string.format("w%d", numbers[i] % 997)
end
for word in table.concat(words, " "):gmatch("%a%d+") do
    counts[word] = (counts[word] or 0) + 1
end
for i = 0, 996 do
    check = check + i * (counts["w" .. i] or 0)
end

local Account = {}
Account.__index = Account
function Account.new(balance) return setmetatable({ balance = balance }, Account) end
function Account:add(amount) self.balance = self.balance + amount end
local accounts = {}
for i = 1, size do
    accounts[i % 100 + 1] = Account.new(i)
    accounts[i % 100 + 1]:add(i % 7)
end
for _, account in ipairs(accounts) do
    check = check + account.balance
end
print("program", size, check)
