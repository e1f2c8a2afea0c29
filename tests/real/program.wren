// SPDX-License-Identifier: BSD-3-Clause
//
// The Wren program that tests/real/run.sh records: a sieve, a sort by a function of ours, words
// counted in a map, objects and closures.
class Point {
  construct new(x, y) {
    _x = x
    _y = y
  }
  area { _x * _y }
}

var size = 2000
var check = 0

var composite = List.filled(size + 1, false)
for (i in 2..size) {
  if (!composite[i]) {
    check = check + 1
    var j = i * i
    while (j <= size) {
      composite[j] = true
      j = j + i
    }
  }
}

var seed = 42
var numbers = []
for (i in 1..size) {
  seed = (seed * 16807) % 2147483647
  numbers.add(seed)
}
numbers.sort {|a, b| a % 65536 < b % 65536 || (a % 65536 == b % 65536 && a < b) }
check = check + numbers[size / 2]

var counts = {}
for (word in numbers.map {|n| "w%(n % 997)" }.join(" ").split(" ")) {
  counts[word] = (counts.containsKey(word) ? counts[word] : 0) + 1
}
for (i in 0..996) {
  if (counts.containsKey("w%(i)")) check = check + i * counts["w%(i)"]
}

var adders = numbers.map {|n|
  var point = Point.new(n % 101, n % 103)
  return Fn.new {|x| x + point.area }
}.toList
System.print(adders.reduce(check) {|sum, add| add.call(sum) % 1000000007 })
