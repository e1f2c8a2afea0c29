// SPDX-License-Identifier: BSD-3-Clause
//
// The JavaScript program that tests/real/run.sh records: a sieve, a sort by a function of ours,
// strings cut and counted in a map, JSON there and back, objects and closures.
const size = Number(scriptArgs[1]);
let check = 0;

const composite = new Uint8Array(size + 1);
for (let i = 2; i <= size; i++) {
    if (composite[i]) continue;
    check++;
    for (let j = i * i; j <= size; j += i) composite[j] = 1;
}

let seed = 42;
const numbers = [];
for (let i = 0; i < size; i++) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    numbers.push(seed);
}
numbers.sort((a, b) => (a % 65536) - (b % 65536) || a - b);
check += numbers[size >> 1];

const counts = new Map();
const text = numbers.map((n) => "w" + (n % 997)).join(" ");
for (const word of text.match(/w\d+/g)) counts.set(word, (counts.get(word) || 0) + 1);
for (let i = 0; i < 997; i++) check += i * (counts.get("w" + i) || 0);

const points = numbers.map((n, i) => ({ name: "p" + i, at: [n % 101, n % 103] }));
const again = JSON.parse(JSON.stringify(points));
const adders = again.map((p) => (x) => x + p.at[0] * p.at[1]);
print(adders.reduce((sum, add) => add(sum) % 1000000007, check));
